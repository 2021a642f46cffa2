"""The table of a run, from translations that are there."""

import json
import statistics
from pathlib import Path

import pytest
import sacrebleu

from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.significance import compare
from synmt.runs.file import Pair, RunFile
from synmt.runs.notes import Made
from synmt.runs.plan import Plan, Training
from synmt.runs.table import Result, report, results
from synmt.runs.translations import translation_of
from synmt.runs.work import Workplace

REFERENCE = [f"the cat number {n} sat on the mat of the house {n % 7}" for n in range(60)]


def spoiled(every: int, seed: int) -> list[str]:
    return [line.replace("cat", "dog") if (n + seed) % every == 0 else line for n, line in enumerate(REFERENCE)]


TRANSLATIONS = {
    ("base", 1): spoiled(2, 0),
    ("base", 2): spoiled(3, 1),
    ("new", 1): spoiled(5, 0),
    ("new", 2): spoiled(6, 1),
}


@pytest.fixture
def done(tmp_path: Path) -> tuple[Workplace, Plan, RunFile]:
    reference = tmp_path / "test.de"
    reference.write_text("".join(f"{line}\n" for line in REFERENCE))
    pair = Pair(reference, reference)
    run = RunFile(pair, pair, {"flickr": pair}, {"base": {}, "new": {}}, (1, 2))
    trainings = [Training(system, seed, None, ()) for seed in (1, 2) for system in ("base", "new")]
    place, plan = Workplace(tmp_path / "out", run), Plan(trainings, (frozenset(), frozenset()))
    for training in trainings:
        path = translation_of(place, training, "flickr")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in TRANSLATIONS[training.system, training.seed]))
    return place, plan, run


def found(done: tuple[Workplace, Plan, RunFile]) -> list[Result]:
    return list(results(*done, {}))


def test_scores_are_sacrebleus_for_each_seed(done: tuple[Workplace, Plan, RunFile]) -> None:
    bleu = {
        system: [sacrebleu.corpus_bleu(TRANSLATIONS[system, seed], [REFERENCE]).score for seed in (1, 2)]
        for system in ("base", "new")
    }
    base, _, new, _ = found(done)
    assert base.scores == pytest.approx(bleu["base"])
    assert new.scores == pytest.approx(bleu["new"])
    assert new.mean == pytest.approx(statistics.mean(bleu["new"]))
    assert new.deviation == pytest.approx(statistics.stdev(bleu["new"]))
    assert new.difference == pytest.approx(statistics.mean(bleu["new"]) - statistics.mean(bleu["base"]))
    assert (base.difference, base.p) == (None, None)


def test_with_one_seed_p_is_that_of_synmt_significance(done: tuple[Workplace, Plan, RunFile], tmp_path: Path) -> None:
    place, plan, run = done
    one = RunFile(run.train, run.dev, run.tests, run.systems, (1,))
    _, _, new, _ = results(place, plan, one, {})
    files = tuple(str(tmp_path / f"out/all/{system}.1.flickr") for system in ("base", "new"))
    given = open_input(["bleu"], Files(files, (str(tmp_path / "test.de"),)), MetricConfig())
    expected = compare(given, "bootstrap-wins", 10_000, 12345).comparisons[1][0]
    assert (new.difference, new.p) == (pytest.approx(expected.difference), expected.p)
    assert new.deviation != new.deviation  # of one seed there is none


def test_more_seeds_are_no_more_sentences(done: tuple[Workplace, Plan, RunFile], tmp_path: Path) -> None:
    """A model that is there twice is no more certain than once."""
    place, plan, run = done
    for system in ("base", "new"):
        first = (tmp_path / f"out/all/{system}.1.flickr").read_text()
        (tmp_path / f"out/all/{system}.2.flickr").write_text(first)
    one = RunFile(run.train, run.dev, run.tests, run.systems, (1,))
    assert [each.p for each in results(place, plan, run, {})] == [each.p for each in results(place, plan, one, {})]


def test_forms_of_the_table(done: tuple[Workplace, Plan, RunFile]) -> None:
    trained = {each: Made([], 60.0 * each.seed) for each in done[1].trainings}
    title, header, base, new, *notes = report(found(done), trained, "text")
    assert title == "flickr, trained on all pairs"
    assert header.split() == ["system", "BLEU", "Δ", "p", "chrF2", "Δ", "p", "CPU", "min"]
    assert base.split()[0] == "base" and base.split()[-1] == "1.5" and "±" in base
    assert "+" in new
    assert notes[0] == "mean ± standard deviation over 2 seeds; Δ from base"
    rows = [json.loads(line) for line in report(found(done), trained, "json")]
    assert [(row["system"], row["metric"]) for row in rows] == [
        ("base", "BLEU"), ("base", "chrF2"), ("new", "BLEU"), ("new", "chrF2"),
    ]  # fmt: skip
    assert rows[2]["seeds"] == 2 and rows[2]["cpu_minutes"] == 1.5
    assert len(list(report(found(done), trained, "tsv"))) == 5
    assert r"\begin{tabular}{lrrrrrrr}" in list(report(found(done), trained, "latex"))
