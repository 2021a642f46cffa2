"""The model that is kept: the one with the best score and, among equal scores, the lowest loss."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from safetensors.torch import load_file

from synmt.streams import BadInput
from synmt.training import loop
from synmt.training.checkpoint import Progress
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.loop import Trainer
from synmt.training.run import PairFiles
from synmt.training.validation import ValidationScores, score_of_text
from tests import tiny
from tests.training.runs import SHORT, run

Validated = tuple[float, float]  # the score and the loss of a model
ONE = Processes(0, 1, torch.device("cpu"))
FEW = st.tuples(st.sampled_from([0.0, 12.5, 12.75, 90.0]), st.sampled_from([0.09, 0.64, 5.75, 6.85]))
ANY = st.tuples(*[st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, -math.inf]))] * 2)


def is_worse(one: Validated, other: Validated) -> bool:
    """A slow twin of the rule; NaN is the worst score and the worst loss."""
    (score, loss), (better_score, lower_loss) = one, other
    if math.isnan(score) or score == -math.inf:
        scores_less, scores_same = better_score > -math.inf, math.isnan(better_score) or better_score == -math.inf
    else:
        scores_less, scores_same = better_score > score, better_score == score
    losses_more = lower_loss < math.inf if math.isnan(loss) or loss == math.inf else lower_loss < loss
    return scores_less or (scores_same and losses_more)


def kept_of(history: Sequence[Validated]) -> int:
    """Return the number, from 1, of the first model that is not worse than any other one, 0 if all are useless."""
    nothing = (-math.inf, math.inf)
    return next(
        n
        for n, each in enumerate([nothing, *history])
        if not any(is_worse(each, other) for other in [nothing, *history])
    )


@given(st.one_of(st.lists(ANY, max_size=6), st.lists(FEW, max_size=12)))
def test_the_best_model_is_kept(history: list[Validated]) -> None:
    progress = Progress()
    for number, (score, loss) in enumerate(history, 1):
        progress.update = number
        before = progress.best_update
        assert progress.keep_if_best(score, loss) == (progress.best_update == number != before)
        assert progress.best_update == kept_of(history[:number])
        assert progress.stale == number - progress.best_update
    if progress.best_update:
        score, loss = history[progress.best_update - 1]
        assert not any(other >= score and less < loss for other, less in history)
    finite = len(history) > 1 and all(map(math.isfinite, sum(history, ())))
    if finite:
        assert (progress.ties > 0) == (len({score for score, _ in history}) == 1)


@dataclass
class Scripted:
    """A Validate whose scores after each update are given, or the last ones. decides: as in ValidationScores."""

    history: Sequence[Validated]
    decides: bool = True
    progress: Progress = field(default_factory=Progress)

    def shard(self, model: Any, processes: Processes) -> bool:
        return True

    def scores(self, shares: Sequence[Any]) -> ValidationScores:
        score, loss = self.history[min(self.progress.update, len(self.history)) - 1]
        return ValidationScores(loss, {"bleu": score}, {}, self.decides)


def trained(path: Path, config: TrainingConfig, validation: Scripted | None, resume: bool = False) -> Trainer:
    corpus, vocabulary = tiny.corpus("sequence")
    path.mkdir(exist_ok=True)
    trainer = Trainer(path, lambda: tiny.model("sequence", vocabulary), corpus, validation, config, ONE)
    if resume:
        trainer.resume()
    if validation:
        validation.progress = trainer.progress
    trainer.run()
    return trainer


EACH = replace(SHORT, batch_tokens=1000, epochs=10**6, validate_every=1, average=1, checkpoint_minutes=0)


@settings(max_examples=15)
@given(st.lists(FEW, min_size=1, max_size=8), st.sampled_from([0, 1, 2, 3]), st.integers(0, 8), st.sampled_from([1, 2]))
def test_a_run_keeps_the_best_model(history: list[Validated], patience: int, stop: int, average: int) -> None:
    """This holds with patience, and for a run that is stopped and resumed or extended."""
    ends = [n for n in range(1, len(history) + 1) if patience and n - kept_of(history[:n]) >= patience]
    last = ends[0] if ends else len(history)
    config = replace(EACH, patience=patience, updates=len(history), average=average)
    with TemporaryDirectory() as name:
        path = Path(name) / "model"
        if stop:
            trained(path, replace(config, updates=min(stop, len(history))), Scripted(history))
        progress = trained(path, config, Scripted(history), resume=stop > 0).progress
        assert (progress.update, progress.best_update) == (last, kept_of(history[:last]))
        other = Path(name) / "other"
        trained(other, replace(config, patience=0, updates=progress.best_update), None)
        expected, found = (load_file(each / "model.safetensors") for each in (other, path))
        assert all(torch.equal(found[key], tensor) for key, tensor in expected.items())


@pytest.mark.parametrize("validation", [None, Scripted([(90.0, 0.1), (0.0, 9.0), (0.0, 9.5)], decides=False)])
def test_the_last_model_is_kept_if_nothing_decides(validation: Scripted | None, tmp_path: Path) -> None:
    progress = trained(tmp_path / "model", replace(EACH, updates=3, patience=1), validation).progress
    assert (progress.update, progress.best_update, progress.best) == (3, 3, -math.inf)


def test_a_training_run_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once after half a minute, and in each validation; without the time that is left if that is short."""
    history = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]
    trained(tmp_path / "short", replace(EACH, updates=3), Scripted(history))
    found = re.findall("^update.*", capsys.readouterr().err, re.MULTILINE)
    assert found == [f"update {n} of 3: validation loss {4 - n}.0000, BLEU {n}.00" for n in (1, 2, 3)]
    monkeypatch.setattr(loop, "FIRST_ESTIMATE", 0)
    monkeypatch.setattr(loop, "LEAST_ESTIMATE", 0)
    trained(tmp_path / "long", replace(EACH, updates=3, validate_every=3), Scripted(history))
    first, last = re.findall("^update.*", capsys.readouterr().err, re.MULTILINE)
    assert re.fullmatch(r"update 1 of 3, about \d+ s left", first) and last.startswith("update 3 of 3: validation")


@pytest.mark.parametrize("bad", list(product([1.0, math.nan, math.inf, -math.inf], repeat=2))[1:])
def test_scores_that_are_not_finite_end_the_run(bad: Validated, tmp_path: Path) -> None:
    """The best model remains."""
    with pytest.raises(BadInput, match=r"the validation gives (nan|-?inf) at update 2: try a lower --learning-rate"):
        trained(tmp_path / "model", replace(EACH, updates=3), Scripted([(0.0, 3.0), bad, (0.0, 2.0)]))
    trained(tmp_path / "other", replace(EACH, updates=1), None)
    kept, first = (load_file(tmp_path / name / "model.safetensors") for name in ("model", "other"))
    assert all(torch.equal(kept[key], tensor) for key, tensor in first.items())


WORDS = st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6))
def test_bleu_is_that_of_sacrebleu_without_smoothing(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    with_and_without = [BLEU(smooth_method=each).corpus_score(hypotheses, [references]) for each in ("exp", "none")]
    score = score_of_text("bleu", "en", hypotheses, references)
    assert score == pytest.approx(with_and_without[1].score, abs=1e-9)
    if all(with_and_without[0].counts):
        assert score == with_and_without[0].score


def test_repeated_words_score_no_more_than_short_translations() -> None:
    """With sacreBLEU's smoothing, the first would be at 16, and the second, with no words to count, at 0."""
    references = ["ein hund", "zwei katzen", "der ball"]
    for hypotheses in (["ein ein ein ein", "zwei zwei zwei zwei", "der der der der"], references):
        assert score_of_text("bleu", "de", hypotheses, references) == 0


def rows_of_log(folder: Path) -> dict[int, Validated]:
    header, *lines = (line.split("\t") for line in (folder / "log.tsv").read_text().splitlines())
    rows = (dict(zip(header, line, strict=True)) for line in lines)
    return {
        int(row["update"]): (float(row["valid_bleu"]), float(row["valid_loss"])) for row in rows if row["valid_loss"]
    }


def test_the_loss_decides_in_segments_of_two_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """BLEU counts four words at least. A line says that it decided nothing, and patience waits for the loss."""
    names = [f"{first} {second}" for first, second in product("abcd", "efgh")]
    (tmp_path / "pairs").write_text("".join(f"{each}\t{each.upper()}\n" for each in names * 2))
    pairs = PairFiles(str(tmp_path / "pairs"))
    config = replace(SHORT, select="bleu", batch_tokens=60, learning_rate=0.01, epochs=6, patience=2, average=1)
    folder = run(tmp_path / "model", pairs, "sequence", config, network=tiny.CONFIG)
    rows = rows_of_log(folder.path)
    losses = {update: loss for update, (_, loss) in rows.items()}
    best = min(losses, key=lambda update: losses[update])
    assert len(rows) > 2 and {bleu for bleu, _ in rows.values()} == {0.0} and best != min(rows)
    said = f"(BLEU 0.00 in all validations, so the loss decided: {losses[best]:.4f})"
    (last,) = [line for line in capsys.readouterr().err.splitlines() if "decided" in line]
    assert last.startswith(f"synmt train: saved update {best} of {max(rows)} {said} in {folder.path}; ")


@pytest.mark.parametrize(("select", "words"), [("chrf", r"CHRF \d+\.\d\d"), ("loss", r"loss \d\.\d{4}")])
def test_a_score_that_decides_is_named(
    select: Any, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs").write_text("a b c\tx y z\nc b a\tz y x\n" * 4)
    config = replace(SHORT, select=select, learning_rate=0.01, epochs=20, average=1)
    run(tmp_path / "model", PairFiles(str(tmp_path / "pairs")), "sequence", config, network=tiny.CONFIG)
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.search(rf"saved update \d+ of \d+ \({words}, the best\)", said), said
