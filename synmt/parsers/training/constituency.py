"""Trains the embedded constituency model: benepar's own model class over a character LSTM, from scratch.

A general treebank is read whole each epoch, a specialised one sampled: as much of it as of the general one at
first, a quarter of that at the end, so that its conventions do not drown the general text's.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from math import cos, pi
from pathlib import Path
from typing import Any

import click
import torch
from benepar.char_lstm import RetokenizerForCharLSTM

from synmt.parsers.benepar_models import save_model
from synmt.parsers.character_model import CharacterModel
from synmt.parsers.chart import predict
from synmt.parsers.training.chart import TAG_LOSS_SCALE, loss
from synmt.parsers.training.treebank import Example, read_examples

HYPERPARAMETERS: dict[str, Any] = {
    "attention_dropout": 0.1,
    "char_lstm_input_dropout": 0.2,
    "d_char_emb": 64,
    "d_ff": 512,
    "d_kv": 32,
    "d_label_hidden": 128,
    "d_model": 256,
    "d_tag_hidden": 128,
    "encoder_max_len": 512,
    "force_root_constituent": True,
    "morpho_emb_dropout": 0.2,
    "num_heads": 8,
    "num_layers": 4,
    "predict_tags": True,
    "pretrained_model": "",
    "relu_dropout": 0.1,
    "residual_dropout": 0.1,
    "tag_loss_scale": TAG_LOSS_SCALE,
    "use_chars_lstm": True,
    "use_encoder": True,
    "use_pretrained": False,
}
LONGEST = 100  # words; longer sentences cost quadratic time and are rare
BATCH_WORDS = 400
PEAK_LEARNING_RATE = 1e-3
WARM_UP = 0.02  # of the budget
AVERAGED_STEPS = 500  # the averaged weights' horizon, at most a twentieth of the steps so far
RAREST_CHARACTER = 5  # occurrences; rarer ones are learnt as unknown
EVALUATIONS = 20


def new_model(examples: Sequence[Example]) -> CharacterModel:
    """An untrained model with the characters, tags and labels of the examples."""
    characters = Counter(char for each in examples for word in each.words for char in word)
    frequent = [char for char, count in characters.items() if count >= RAREST_CHARACTER]
    labels = sorted({label for each in examples for _, _, label in each.spans})
    tags = sorted({tag for each in examples for tag in each.tags})
    return CharacterModel(
        {
            "tag_vocab": {tag: index for index, tag in enumerate(["UNK", *tags])},
            "label_vocab": {label: index for index, label in enumerate(["", *labels])},
            "char_vocab": RetokenizerForCharLSTM.build_vocab([["".join(frequent)]]),
            "hparams": HYPERPARAMETERS,
        }
    )


def batches(examples: Sequence[Example], randomness: random.Random) -> Iterator[list[Example]]:
    """Batches of about BATCH_WORDS words, sentences of similar length together, in random order."""
    ordered = sorted(examples, key=lambda each: len(each.words) + 2 * randomness.random())
    whole: list[list[Example]] = [[]]
    for each in ordered:
        if (len(whole[-1]) + 1) * len(each.words) > BATCH_WORDS and whole[-1]:
            whole.append([])
        whole[-1].append(each)
    randomness.shuffle(whole)
    yield from whole


def span_f1(model: CharacterModel, examples: Sequence[Example]) -> float:
    """F1 of the labelled spans in percent, unary chains as one label: a quick guide while training."""
    model.eval()
    matched = gold = predicted = 0
    for batch in batches(examples, random.Random(0)):
        for each, analysis in zip(batch, predict(model, [each.words for each in batch]), strict=True):
            spans = {span for span in analysis.spans if span[2]}
            matched += len(spans.intersection(each.spans))
            gold += len(each.spans)
            predicted += len(spans)
    return 200 * matched / (gold + predicted)


def learning_rate(progress: float) -> float:
    """Linear warm-up, then a cosine to zero, over the share of the budget used."""
    if progress < WARM_UP:
        return PEAK_LEARNING_RATE * progress / WARM_UP
    return PEAK_LEARNING_RATE * 0.5 * (1 + cos(pi * (progress - WARM_UP) / (1 - WARM_UP)))


def train(
    general: Sequence[Example],
    special: Sequence[Example],
    dev: Sequence[Example],
    seconds: float,
    seed: int,
    save: Callable[[CharacterModel], None],
) -> None:
    """Trains for `seconds` of CPU time; saves the averaged model whenever it is the best on `dev` so far."""
    torch.manual_seed(seed)
    randomness = random.Random(seed)
    model = new_model([*general, *special])
    average = deepcopy(model)
    best_score = 0.0
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    started = time.process_time()
    progress, steps, next_evaluation = 0.0, 0, 1 / EVALUATIONS
    while progress < 1:
        share = int(len(general) * (1 - 0.75 * progress))
        sample = randomness.sample(special, min(share, len(special)))
        for batch in batches([*general, *sample], randomness):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(progress)
            model.train()
            optimizer.zero_grad()
            batch_loss = loss(model, batch)
            batch_loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            steps += 1
            with torch.no_grad():
                horizon = max(1.0, min(AVERAGED_STEPS, steps / 20))
                for mean, current in zip(average.parameters(), model.parameters(), strict=True):
                    mean.lerp_(current, 1 / horizon)
            progress = min(1.0, (time.process_time() - started) / seconds)
            if progress >= next_evaluation:
                next_evaluation += 1 / EVALUATIONS
                dev_score = span_f1(average, dev)
                print(
                    f"{progress:.0%}\tstep {steps}\tloss {batch_loss.item():.3f}\tdev {dev_score:.2f}",
                    flush=True,
                )
                if dev_score > best_score:
                    best_score = dev_score
                    save(average)
            if progress >= 1:
                break


file_option = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--general", type=file_option, required=True, help="PTB file, read whole each epoch.")
@click.option("--special", type=file_option, required=True, help="PTB file, sampled each epoch.")
@click.option("--dev", type=file_option, required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Path ending in .safetensors.")
@click.option("--minutes", default=45.0, show_default=True, help="CPU time.")
@click.option("--seed", default=1, show_default=True)
def main(general: Path, special: Path, dev: Path, output: Path, minutes: float, seed: int) -> None:
    """Trains a constituency model on one thread and writes OUTPUT and its .json."""
    torch.set_num_threads(1)
    train(
        read_examples(general, LONGEST),
        read_examples(special, LONGEST),
        read_examples(dev, LONGEST),
        60 * minutes,
        seed,
        lambda model: save_model(model, output),
    )


if __name__ == "__main__":
    main()
