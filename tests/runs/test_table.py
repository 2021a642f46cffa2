"""The table of a run, from translations that are there."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu

from synmt.metrics.significance import holm
from synmt.runs.file import Pair, RunFile
from synmt.runs.notes import Made
from synmt.runs.plan import Plan, Training
from synmt.runs.table import Result, report, results
from synmt.runs.tasks import translation_of
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
    trainings = [Training(system, seed, None, {}) for seed in (1, 2) for system in ("base", "new")]
    place, plan = Workplace(tmp_path / "out"), Plan(trainings, (frozenset(), frozenset()))
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


def write(done: tuple[Workplace, Plan, RunFile], system: str, seed: int, lines: list[str]) -> None:
    (training,) = (each for each in done[1].trainings if (each.system, each.seed) == (system, seed))
    translation_of(done[0], training, "flickr").write_text("".join(f"{line}\n" for line in lines))


def test_with_one_seed_the_table_says_what_p_lacks(done: tuple[Workplace, Plan, RunFile]) -> None:
    place, plan, run = done
    one = RunFile(run.train, run.dev, run.tests, run.systems, (1,))
    found = list(results(place, plan, one, {}))
    new = found[2]
    assert new.difference and new.p and new.deviation != new.deviation  # of one seed there is none
    text = "\n".join(report(found, {each: Made({}, 60.0) for each in plan.trainings}, "text"))
    assert "with one seed, the variance between training runs is unknown and not in p" in text


def test_p_is_that_of_the_difference_in_its_row(done: tuple[Workplace, Plan, RunFile]) -> None:
    """Pooled over seeds, a short and a long translation would have the right length, and `new` would be better."""
    short = [" ".join(line.split()[:7]) for line in REFERENCE]
    long = [f"{line} of a cat of a mat" for line in REFERENCE]
    base = [line.replace("house", "home") for line in spoiled(1, 0)]
    for seed, lines in ((1, short), (2, long)):
        write(done, "base", seed, base)
        write(done, "new", seed, lines)
    bleu = found(done)[2]
    pooled = [sacrebleu.corpus_bleu(lines, [REFERENCE * 2]).score for lines in ([*base, *base], [*short, *long])]
    assert pooled[1] > pooled[0] + 3
    assert bleu.difference is not None and bleu.p is not None
    assert bleu.difference < -5 and bleu.verdict == ""


def test_what_only_one_of_two_seeds_has_is_not_significant(done: tuple[Workplace, Plan, RunFile]) -> None:
    """Sentences alone would be sure of it, for each has the same words wrong in all seeds of a system."""
    for seed, every in ((1, 2), (2, 12)):
        write(done, "base", seed, spoiled(every, 0))
    for seed, every in ((1, 3), (2, 20)):
        write(done, "new", seed, spoiled(every, 0))
    assert all(each.p > 0.2 for each in found(done)[2:] if each.p)


@pytest.mark.parametrize("metric", ["ter", "bleu", "chrf", "ribes"])
def test_an_improvement_has_a_plus_by_each_metric(done: tuple[Workplace, Plan, RunFile], metric: str) -> None:
    place, plan, run = done
    for seed in (1, 2):
        write(done, "base", seed, spoiled(2, seed))
        write(done, "new", seed, spoiled(9, seed))
    for systems, verdict, mark in ((["base", "new"], "better", "+"), (["new", "base"], "worse", "-")):
        asked = replace(run, metrics=(metric,), systems={name: {} for name in systems})
        trainings = sorted(plan.trainings, key=lambda each: systems.index(each.system))
        found = list(results(place, Plan(trainings, plan.needs), asked, {}))
        assert [each.verdict for each in found] == ["", verdict]
        assert (found[1].difference or 0) * (-1 if metric == "ter" else 1) * (1 if mark == "+" else -1) > 0
        trained = {each: Made({}, 60.0) for each in trainings}
        assert list(report(found, trained, "text"))[3].split()[-2] == mark


def test_more_seeds_are_no_more_sentences(done: tuple[Workplace, Plan, RunFile], tmp_path: Path) -> None:
    """A model that is there twice is no more certain than once."""
    place, plan, run = done
    for system in ("base", "new"):
        first = (tmp_path / f"out/all/{system}.1.flickr").read_text()
        (tmp_path / f"out/all/{system}.2.flickr").write_text(first)
    one = RunFile(run.train, run.dev, run.tests, run.systems, (1,))
    assert [each.p for each in results(place, plan, run, {})] == [each.p for each in results(place, plan, one, {})]


def test_forms_of_the_table(done: tuple[Workplace, Plan, RunFile]) -> None:
    trained = {each: Made({}, 60.0 * each.seed) for each in done[1].trainings}
    title, header, base, new, *notes = report(found(done), trained, "text")
    assert title == "flickr, trained on all pairs"
    assert header.split() == ["system", "BLEU", "Δ", "p", "chrF2", "Δ", "p", "CPU", "min"]
    assert base.split()[0] == "base" and base.split()[-1] == "1.5" and "±" in base
    assert "+" in new
    assert notes[0] == "mean ± standard deviation over 2 seeds; Δ: difference of the means from base"
    rows = [json.loads(line) for line in report(found(done), trained, "json")]
    assert [(row["system"], row["metric"]) for row in rows] == [
        ("base", "BLEU"), ("base", "chrF2"), ("new", "BLEU"), ("new", "chrF2"),
    ]  # fmt: skip
    assert rows[2]["seeds"] == 2 and rows[2]["cpu_minutes"] == 1.5
    assert len(list(report(found(done), trained, "tsv"))) == 5
    assert r"\begin{tabular}{lrrrrrrr}" in list(report(found(done), trained, "latex"))


def test_several_systems_have_a_corrected_p(done: tuple[Workplace, Plan, RunFile]) -> None:
    place, plan, run = done
    three = replace(run, systems={"base": {}, "new": {}, "other": {}})
    trainings = [Training(system, seed, None, {}) for seed in (1, 2) for system in three.systems]
    planned = Plan(trainings, plan.needs)
    for seed in (1, 2):
        write((place, planned, three), "other", seed, spoiled(4, seed))
    found = list(results(place, planned, three, {}))
    for metric in ("BLEU", "chrF2"):
        _, *others = (each for each in found if each.metric == metric)
        assert [each.holm for each in others] == holm([each.p or 0.0 for each in others])
    header = list(report(found, {each: Made({}, 60.0) for each in trainings}, "text"))[1]
    assert header.split() == ["system", *["BLEU", "Δ", "p", "Holm"], *["chrF2", "Δ", "p", "Holm"], "CPU", "min"]
