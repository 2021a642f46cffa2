"""Validation computes in the precision of training, and compares words, or characters in languages without spaces."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.inspection.curves import panels, read_curves
from synmt.streams import Line
from synmt.training.distribution import Processes
from synmt.training.validation import Validation, score_of_text
from tests import tiny
from tests.components.slow_tags import slow_log_probabilities
from tests.inspection.models import write_model
from tests.search.slow_search import next_logits, slow_arcs
from tests.training.runs import SHORT, run, with_target_trees, write_corpus

WITH_LOSS = {"lisa": {"lisa"}, "supervised heads": {"supervised-heads"}, "all but multitask": {"lisa"}}
CPU = torch.device("cpu")
MONKEY = "\u7334\u5b50\u5728\u6811\u4e0a\u5403\u9999\u8549\u548c\u82f9\u679c"
NEARLY = MONKEY[:-1] + "\u6811"  # another last character, so as text split at spaces, no word is the same


@pytest.mark.parametrize(("language", "least", "most"), [("de", 0, 0), ("ja", 80, 99), ("zh", 80, 99), ("th", 80, 99)])
def test_bleu_works_without_spaces(language: str, least: float, most: float) -> None:
    assert least <= score_of_text("bleu", language, [NEARLY], [MONKEY]) <= most
    assert score_of_text("bleu", language, [MONKEY], [MONKEY]) == pytest.approx(100) or language == "de"


def test_chrf_works() -> None:
    assert score_of_text("chrf", "de", [MONKEY], [MONKEY]) == pytest.approx(100)
    assert 50 < score_of_text("chrf", "de", [NEARLY], [MONKEY]) < 100


@pytest.mark.parametrize("select", ["loss", "bleu"])
def test_validation_has_the_precision_of_training(select: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for the loss, which differs slightly between precisions for the same model, and for the search."""
    from synmt.search import translation

    data, losses, seen = write_corpus(tmp_path), [], list[bool]()
    search = translation.beam_search

    def noted(*arguments: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return search(*arguments)

    monkeypatch.setattr(translation, "beam_search", noted)
    for precision in ("auto", "fp32", "bf16"):
        still: Any = replace(SHORT, learning_rate=0.0, updates=1, precision=precision, select=select)
        folder = run(tmp_path / precision, data, config=still)
        header, row = (line.split("\t") for line in (folder.path / "log.tsv").read_text().splitlines())
        losses.append(float(row[header.index("valid_loss")]))
    assert losses[0] == losses[1] != losses[2] == pytest.approx(losses[1], rel=0.01)
    assert seen == ([] if select == "loss" else [False] * (len(seen) // 3 * 2) + [True] * (len(seen) // 3))


@pytest.mark.parametrize(
    "target", ["sequence", "bitran", "transitions", "compose", "tags", "parent, split arcs", "gcn"]
)
@torch.inference_mode()
def test_losses_of_words_and_arcs(target: str, tmp_path: Path) -> None:
    """The test computes each token in turn. An end of sentence counts as a word, each half of an arc as an arc."""
    folder = write_model(tmp_path / "model", "sequence", target)
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = folder.load_model(CPU)
    validation = Validation(Bitext([]), corpus, folder, replace(SHORT, batch_tokens=10))
    scores = validation.scores([validation.shard(model, Processes(0, 1, CPU))])
    arcs = slow_arcs(folder.config.target, vocabulary)
    losses: dict[str, list[float]] = {"words": [], "arcs": []}
    for index, row in enumerate(corpus.targets):
        ids = row["ids"]
        encoded = model.encode(corpus.batch([index], CPU)[0])
        for place, number in enumerate(ids.tolist()):
            logits = next_logits(model, ids[:place].tolist(), encoded, arcs)
            kind = "arcs" if "ARC" in vocabulary.target[number] else "words"
            losses[kind].append(-float(logits.log_softmax(dim=0)[number]))
            if "tag" in row and row["tag"][place]:
                prefix = [vocabulary.begin, *ids[:place].tolist()]
                of_tags = slow_log_probabilities(model, prefix, encoded, True)
                losses["arcs"].append(-float(of_tags[row["tag"][place] - 1]))
    every = [*losses["words"], *losses["arcs"]]
    assert scores.loss == pytest.approx(sum(every) / len(every), rel=1e-5)
    means = {kind: sum(values) / len(values) for kind, values in losses.items() if losses["arcs"]}
    assert scores.losses == pytest.approx(means, rel=1e-5)


def test_the_log_contains_them(tmp_path: Path) -> None:
    data = with_target_trees(write_corpus(tmp_path, 2))
    folder = run(tmp_path / "model", data, "sequence", replace(SHORT, updates=2), target="transitions")
    points = read_curves(folder.path).points
    assert points.keys() == {"loss", "valid_loss", "valid_loss_words", "valid_loss_arcs"}


@torch.inference_mode()
@pytest.mark.parametrize("source", ["lisa", "supervised heads", "all but multitask", "multitask", "sequence"])
def test_the_loss_of_a_component_is_its_part_of_the_total(source: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", source)
    corpus, model = tiny.corpus(source)[0], folder.load_model(CPU)
    validation = Validation(Bitext([]), corpus, folder, replace(SHORT, batch_tokens=10))
    scores = validation.scores([validation.shard(model, Processes(0, 1, CPU))])
    batches = [corpus.batch([number], CPU) for number in range(len(corpus))]
    found = [model.loss(*batch) for batch in batches]
    tokens = sum(each.tokens for each in found)
    beyond = float(sum(each.total - each.translation for each in found)) / tokens
    assert scores.losses.keys() == WITH_LOSS.get(source, set())
    assert sum(scores.losses.values()) == pytest.approx(beyond, rel=1e-5)


def test_the_log_contains_the_losses_of_components(tmp_path: Path) -> None:
    """A figure has a panel for each."""
    data = write_corpus(tmp_path, 2)
    folder = run(tmp_path / "model", data, "supervised-heads", replace(SHORT, updates=2))
    curves = read_curves(folder.path)
    assert "valid_loss_supervised-heads" in curves.points
    assert panels([curves])["valid_loss_supervised-heads"] == (
        "validation loss of supervised-heads", "nats per token",
    )  # fmt: skip


@torch.inference_mode()
def test_several_processes_give_the_scores_of_one(tmp_path: Path) -> None:
    """The losses of words and arcs, the accuracies of a component, and the score of translations are the same bit by
    bit."""
    folder = write_model(tmp_path / "model", "lisa", "transitions")
    corpus, line = tiny.corpus("lisa", "transitions")[0], Line("", "pairs", 1)
    pairs = [SentencePair(*both, (line, line)) for both in zip(tiny.records(), tiny.target_records()[:4], strict=True)]
    validation = Validation(Bitext(pairs), corpus, folder, replace(SHORT, batch_tokens=10, select="chrf"))
    model = folder.load_model(CPU)
    shares = {
        size: [validation.shard(model, Processes(rank, size, CPU)) for rank in range(size)] for size in (1, 2, 3, 9)
    }
    one, *others = map(validation.scores, shares.values())
    assert one.metrics["chrf"] > 0 and one.losses.keys() == {"lisa", "words", "arcs"} and one.measures
    assert others == [one] * 3
    for size, of_size in shares.items():
        for column in zip(*(shard.losses for shard in of_size), strict=True):
            assert sum(each is not None for each in column) == 1, size  # each batch is computed once


def test_batches_count_what_those_of_training_count(tmp_path: Path) -> None:
    folder, corpus = write_model(tmp_path / "model", "sequence"), tiny.corpus("sequence")[0]
    two = replace(SHORT, batch_by="sentences", batch_tokens=2)
    shard = Validation(Bitext([]), corpus, folder, two).shard(folder.load_model(CPU), Processes(0, 1, CPU))
    assert len(shard.losses) == -(-len(corpus) // 2) < len(corpus)


@pytest.mark.parametrize("target", ["bitran", "parent"])
def test_validation_uses_no_random_numbers(target: str, tmp_path: Path) -> None:
    """The same model always has the same loss, even if targets have more prefixes than are computed at a time."""
    data = with_target_trees(write_corpus(tmp_path, 2))
    still = replace(SHORT, learning_rate=0.0, updates=2, validate_every=1, word_dropout=0.0)
    losses = [
        read_curves(
            run(tmp_path / f"{tokens}", data, "sequence", replace(still, prefix_tokens=tokens), target=target).path
        )
        for tokens in (1, 10_000)
    ]
    few, many = (each.points["valid_loss"][1] for each in losses)
    assert few[0] == few[1] == pytest.approx(many[0], rel=1e-5)
