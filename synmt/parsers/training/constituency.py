"""Trains and evaluates the embedded constituency model: benepar's own model class over a character LSTM.

Each epoch reads all of the general treebank, and a sample of the specialized one: at first twice as many sentences as
the general treebank has, at the end as many, so that its conventions do not drown out the general ones. It also samples
a dependency treebank, whose subtrees are the spans of a second task, which shares all layers but the last with the
first.

The loss is max-margin over trees, as in benepar: Stern, Andreas & Klein (2017), "A minimal span-based neural
constituency parser". We do not differentiate the chart: the gradient of its maximum is the gradient
of the best tree's score.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from benepar.char_lstm import RetokenizerForCharLSTM
from torch import Tensor
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel

from synmt.metrics.metric import corpus_score
from synmt.metrics.parses import Bracketing
from synmt.parsers.benepar_models import CharacterModel, save_model
from synmt.parsers.benepar_parser import (
    FORBIDDEN,
    BeneparParser,
    best_spans,
    device_of,
    predict,
    roots,
    score,
    triangle,
    word_vectors,
)
from synmt.parsers.stream import parse_texts
from synmt.parsers.training import complaining
from synmt.parsers.training.treebank import TreebankSentence, read_dependency_examples, read_examples, read_trees
from synmt.trees.constituency import Tree

TAG_LOSS_SCALE = 0.5
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
LONGEST = 100  # words; longer sentences are rare, and cost quadratic time
BATCH_WORDS = 400
PEAK_LEARNING_RATE = 1e-3
WARM_UP = 0.02  # of the budget
AVERAGED_STEPS = 500  # horizon of the averaged parameters, at most a twentieth of the steps so far
RAREST_CHARACTER = 5  # occurrences; rarer characters become unknown
# Sentences to read per sentence of the general treebank; the number falls to half by the end of training.
SPECIAL_SHARE, DEPENDENCY_SHARE = 2, 1
EVALUATIONS = 20
file_option = click.Path(path_type=Path, exists=True)


def gold_labels(model: CharacterModel, examples: Sequence[TreebankSentence]) -> Tensor:
    """Return the label of every span in `triangle` order, 0 for none and for unknown ones, [N]."""
    labels = []
    for each in examples:
        n = len(each.words)
        square = np.zeros((n, n), dtype=np.int64)
        for first, end, label in each.spans:
            square[first, end - 1] = model.label_vocab.get(label, 0)
        labels.append(square[triangle(n)])
    return torch.from_numpy(np.concatenate(labels))


def loss(model: CharacterModel, examples: Sequence[TreebankSentence]) -> Tensor:
    """Return the structured hinge loss of the trees plus the cross-entropy of the tags, both per word."""
    lengths = [len(each.words) for each in examples]
    sentences = [each.words for each in examples]
    scores = score(model, sentences, word_vectors(model, sentences))
    gold = gold_labels(model, examples).to(device_of(model))
    with torch.no_grad():
        augmented = scores.spans + 1
        augmented.scatter_add_(1, gold[:, None], -torch.ones_like(gold[:, None], dtype=torch.float32))
        augmented[roots(lengths), 0] = FORBIDDEN
        best_value, best_label = augmented.max(-1)
        chosen = torch.from_numpy(best_spans(best_value.cpu().numpy(), lengths)).to(device_of(model))
        margin = (best_label[chosen] != gold[chosen]).sum()
    predicted = scores.spans[chosen, best_label[chosen]].sum()
    true = scores.spans.gather(1, gold[:, None]).sum()
    tags = torch.tensor([model.tag_vocab.get(tag, -100) for each in examples for tag in each.tags])
    tags = tags.to(device_of(model))
    tag_loss = F.cross_entropy(scores.tags, tags, ignore_index=-100)
    return (predicted + margin - true) / sum(lengths) + TAG_LOSS_SCALE * tag_loss


def new_model(examples: Sequence[TreebankSentence], further: Sequence[TreebankSentence] = ()) -> CharacterModel:
    """Make a model with the labels of the examples, and the characters and tags of all sentences."""
    everything = [*examples, *further]
    characters = Counter(char for each in everything for word in each.words for char in word)
    frequent = [char for char, count in characters.items() if count >= RAREST_CHARACTER]
    tags = sorted({tag for each in everything for tag in each.tags} - {"UNK"})
    return CharacterModel(
        {
            "tag_vocab": {tag: index for index, tag in enumerate(["UNK", *tags])},
            "label_vocab": label_vocabulary(examples),
            "char_vocab": RetokenizerForCharLSTM.build_vocab([["".join(frequent)]]),
            "hparams": HYPERPARAMETERS,
        }
    )


def label_vocabulary(examples: Sequence[TreebankSentence]) -> dict[str, int]:
    """Return the index of each span label; 0 stands for no label."""
    labels = sorted({label for each in examples for _, _, label in each.spans})
    return {label: index for index, label in enumerate(["", *labels])}


def with_labels(model: CharacterModel, labels: dict[str, int]) -> CharacterModel:
    """Return a model with its own span labels, which shares everything else with the given one."""
    twin = CharacterModel({**model.config, "label_vocab": labels})
    for name, part in model.named_children():
        if name != "f_label":
            setattr(twin, name, part)
    return twin


def batches(examples: Sequence[TreebankSentence], randomness: random.Random) -> Iterator[list[TreebankSentence]]:
    """Yield batches of about BATCH_WORDS words with sentences of similar length, in random order."""
    ordered = sorted(examples, key=lambda each: len(each.words) + 2 * randomness.random())
    whole: list[list[TreebankSentence]] = [[]]
    for each in ordered:
        if (len(whole[-1]) + 1) * len(each.words) > BATCH_WORDS and whole[-1]:
            whole.append([])
        whole[-1].append(each)
    randomness.shuffle(whole)
    yield from whole


@torch.no_grad()
def span_f1(model: CharacterModel, examples: Sequence[TreebankSentence]) -> float:
    """Return the F1 of labelled spans in percent, counting unary chains as one label: a quick check during training."""
    model.eval()
    matched = gold = predicted = 0
    for batch in batches(examples, random.Random(0)):
        sentences = [each.words for each in batch]
        found = predict(model, sentences, word_vectors(model, sentences))
        for each, analysis in zip(batch, found, strict=True):
            spans = {span for span in analysis.spans if span[2]}
            matched += len(spans.intersection(each.spans))
            gold += len(each.spans)
            predicted += len(spans)
    return 200 * matched / (gold + predicted)


def learning_rate(progress: float) -> float:
    """Return the rate at a share of the budget: linear warm-up, then a cosine to zero."""
    if progress < WARM_UP:
        return PEAK_LEARNING_RATE * progress / WARM_UP
    return PEAK_LEARNING_RATE * 0.5 * (1 + cos(pi * (progress - WARM_UP) / (1 - WARM_UP)))


@dataclass(frozen=True)
class Treebanks:
    """general, special, dev: sentences with trees; dependencies: sentences with the spans of the second task."""

    general: Sequence[TreebankSentence]
    special: Sequence[TreebankSentence]
    dependencies: Sequence[TreebankSentence]
    dev: Sequence[TreebankSentence]

    def epoch(self, progress: float, randomness: random.Random) -> list[tuple[bool, list[TreebankSentence]]]:
        """Return the batches of one epoch in random order, each with whether it consists of trees."""
        special, dependencies = (
            randomness.sample(examples, min(len(examples), int(len(self.general) * share * (1 - progress / 2))))
            for examples, share in ((self.special, SPECIAL_SHARE), (self.dependencies, DEPENDENCY_SHARE))
        )
        trees = [(True, batch) for batch in batches([*self.general, *special], randomness)]
        others = [(False, batch) for batch in batches(dependencies, randomness)] if dependencies else []
        return randomness.sample(trees + others, len(trees) + len(others))


def averaged(mean: Tensor, current: Tensor, steps: Tensor | int) -> Tensor:
    """Return the mean of a parameter's recent values, given the mean after so many steps and the current value."""
    horizon = max(1.0, min(AVERAGED_STEPS, (int(steps) + 1) / 20))
    return mean.lerp(current, 1 / horizon)


def train(data: Treebanks, seconds: float, seed: int, save: Callable[[CharacterModel], None]) -> None:
    """Train for `seconds` of CPU time, and save the averaged model whenever it is the best on `dev` so far."""
    torch.manual_seed(seed)
    randomness = random.Random(seed)
    model = new_model([*data.general, *data.special], data.dependencies)
    twin = with_labels(model, label_vocabulary(data.dependencies))
    recent = AveragedModel(model, avg_fn=averaged)
    parameters = list(dict.fromkeys([*model.parameters(), *twin.parameters()]))
    optimizer = torch.optim.Adam(parameters, betas=(0.9, 0.98), fused=True)
    best_score = -1.0  # the first model is saved, too
    started = time.process_time()
    progress, evaluations = 0.0, 0
    while progress < 1:
        for is_trees, batch in data.epoch(progress, randomness):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(progress)
            learner = (model if is_trees else twin).train()
            optimizer.zero_grad()
            loss(learner, batch).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 5.0)
            optimizer.step()
            recent.update_parameters(model)
            progress = min(1.0, (time.process_time() - started) / seconds)
            if progress * EVALUATIONS >= evaluations + 1:
                evaluations += 1
                mean: Any = recent.module
                dev_score = span_f1(mean, data.dev)
                print(f"{progress:.0%}\tstep {recent.n_averaged}\tdev {dev_score:.2f}", flush=True)
                if dev_score > best_score:
                    best_score = dev_score
                    save(mean)
            if progress >= 1:
                break


@click.group()
def main() -> None:
    """Train or evaluate a constituency model."""


@main.command("train")
@click.option("--general", type=file_option, required=True, help="PTB file, read whole each epoch.")
@click.option("--special", type=file_option, required=True, help="PTB file, sampled each epoch.")
@click.option("--dependencies", type=file_option, required=True, help="CoNLL-U file, sampled each epoch.")
@click.option("--dev", type=file_option, required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Path ending in .safetensors.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=45.0, show_default=True, help="CPU time.")
@click.option("--seed", default=1, show_default=True)
@complaining("constituency")
def train_command(
    general: Path, special: Path, dependencies: Path, dev: Path, output: Path, minutes: float, seed: int
) -> None:
    """Train a constituency model on one thread, and write OUTPUT and its .json."""
    torch.set_num_threads(1)
    output.parent.mkdir(parents=True, exist_ok=True)  # before training
    data = Treebanks(
        read_examples(general, LONGEST),
        read_examples(special, LONGEST),
        read_dependency_examples(dependencies, LONGEST),
        read_examples(dev, LONGEST),
    )
    train(data, 60 * minutes, seed, lambda model: save_model(model, output))


def predicted_trees(parser: BeneparParser, gold: list[Tree]) -> list[Tree]:
    """Return the parser's trees over the words of the gold trees. A sentence that is too long gets a single bracket."""
    records = parse_texts((tree.leaves() for tree in gold), parser)
    return [record.tree or Tree(["X", *record.tokens], [-1, *[0] * len(record.tokens)]) for record in records]


@main.command("evaluate")
@click.option("--model", help="Default: the embedded model.")
@click.argument("treebanks", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@complaining("constituency")
def evaluate_command(model: str | None, treebanks: tuple[Path, ...]) -> None:
    """Print evalb scores for each PTB file: gold tokens, predicted tags, labelled bracketing F1."""
    parser = BeneparParser(model)
    for path in treebanks:
        gold = list(read_trees(path))
        print(f"{path.name}\t{corpus_score(Bracketing(), predicted_trees(parser, gold), [gold]).line}", flush=True)
    if parser.unparsed:
        print(f"too long to parse: {parser.unparsed}")


if __name__ == "__main__":
    main()
