"""The table of a run, from existing translations."""

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.config import FORMS
from synmt.metrics.significance import holm
from synmt.model.files import FORMAT
from synmt.runs.file import Segments
from synmt.runs.steps import Record
from synmt.runs.table import (
    Learning,
    Measured,
    Result,
    SystemOutput,
    found_words,
    learned_of,
    legend,
    report,
    results,
    warnings_of,
)  # fmt: skip
from synmt.streams import BadInput
from tests.conftest import Noted

REFERENCE = [f"the cat number {n} sat on the mat of the house {n % 7}" for n in range(60)]


def spoiled(every: int, seed: int) -> list[str]:
    return [line.replace("cat", "dog") if (n + seed) % every == 0 else line for n, line in enumerate(REFERENCE)]


TRANSLATIONS = {
    ("base", 1): spoiled(2, 0),
    ("base", 2): spoiled(3, 1),
    ("new", 1): spoiled(5, 0),
    ("new", 2): spoiled(6, 1),
}


class Done:
    """Translations of a test set by several systems and seeds. metrics, seeds, systems: shown in the table."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reference = folder, folder / "test.de"
        self.reference.write_text("".join(f"{line}\n" for line in REFERENCE))
        self.metrics, self.seeds, self.systems = ["bleu", "chrf"], [1, 2], ["base", "new"]
        for (system, seed), lines in TRANSLATIONS.items():
            self.write(system, seed, lines)

    def path(self, system: str, seed: int) -> Path:
        return self.folder / f"{system}.{seed}"

    def write(self, system: str, seed: int, lines: list[str]) -> None:
        self.path(system, seed).write_text("".join(f"{line}\n" for line in lines))

    def outputs(self) -> list[SystemOutput]:
        return [
            SystemOutput(None, "flickr", each, seed, self.path(each, seed), self.reference, Path(f"{each}.{seed}"))
            for seed in self.seeds
            for each in self.systems
        ]

    def found(self) -> list[Result]:
        return list(results(Measured.of(self.outputs(), self.metrics)))

    def report(self, form: str) -> list[str]:
        costs = learned_of({each: Record({}, 60.0 * each.seed, 100) for each in self.outputs()})
        return list(report(self.found(), costs, form))


@pytest.fixture
def done(tmp_path: Path) -> Done:
    return Done(tmp_path)


def test_scores_of_each_seed_equal_sacrebleu(done: Done) -> None:
    bleu = {
        system: [sacrebleu.corpus_bleu(TRANSLATIONS[system, seed], [REFERENCE]).score for seed in (1, 2)]
        for system in ("base", "new")
    }
    base, _, new, _ = done.found()
    assert base.scores == pytest.approx(bleu["base"])
    assert new.scores == pytest.approx(bleu["new"])
    assert new.mean == pytest.approx(statistics.mean(bleu["new"]))
    assert new.deviation == pytest.approx(statistics.stdev(bleu["new"]))
    assert new.difference == pytest.approx(statistics.mean(bleu["new"]) - statistics.mean(bleu["base"]))
    assert (base.difference, base.p) == (None, None)


def test_sentence_scores_of_another_program_are_compared_like_those_of_a_metric(done: Done) -> None:
    """The score of a corpus by RIBES is the mean over its sentences."""
    done.metrics = ["ribes"]
    outputs, table = done.outputs(), done.folder / "ribes.tsv"
    measured = Measured.of(outputs, ["ribes"])
    columns = {
        f"{done.folder.name}/{system}.{seed}": statistics[0][:, 0]
        for system, seeds in measured.statistics.items()
        for seed, statistics in zip((1, 2), seeds, strict=True)
    }
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    both = list(results(Measured.of(outputs, ["ribes"], {"theirs": Segments({"flickr": table})})))
    for own, theirs in zip(both[::2], both[1::2], strict=True):
        assert (own.metric, theirs.metric) == ("RIBES", "theirs")
        assert theirs.scores == pytest.approx(own.scores) and theirs.verdict == own.verdict
        assert (theirs.p, theirs.holm) == (own.p and pytest.approx(own.p), own.holm and pytest.approx(own.holm))
    assert both[2].p and 0 < both[2].p < 1
    lower = list(results(Measured.of(outputs, ["ribes"], {"errors": Segments({"flickr": table}, False)})))
    assert [each.better for each in lower] == [None, None, True, False]


def test_losses_on_dev_are_compared_over_seeds(done: Done) -> None:
    """Each system has two losses with the same spread, so t has 2 degrees of freedom and p a closed form."""
    for name, losses in {"base.1": (2.3, 2.0), "base.2": (2.2, 2.4), "new.1": (1.0,), "new.2": (1.2, 3.0)}.items():
        rows = [f"{update}\t\t{loss}\n" for update, loss in enumerate(losses, 1)]
        (done.folder / f"{name}.model").mkdir()
        (done.folder / f"{name}.model" / "log.tsv").write_text("update\tloss\tvalid_loss\n" + "".join(rows))
    outputs = [replace(each, model=done.folder / f"{each.model}.model") for each in done.outputs()]
    measured = Measured.of(outputs, ["bleu"], with_losses=True)
    _, base, _, new = results(measured)
    assert (base.metric, base.scores, new.scores) == ("dev loss", [2.0, 2.2], [1.0, 1.2])
    t = 1 / math.sqrt(0.02 / 2 + 0.02 / 2)
    assert new.difference == pytest.approx(-1) and new.better
    assert new.p == new.holm == pytest.approx(1 - t / math.sqrt(2 + t**2), rel=1e-4)
    (done.folder / "part").write_text("1\n2\n")
    assert {each.metric for each in results(measured, {"part": done.folder / "part"}) if each.part} == {"BLEU"}
    *_, alone = results(Measured.of([each for each in outputs if each.seed == 1], ["bleu"], with_losses=True))
    assert (alone.metric, alone.difference, alone.p, alone.verdict) == ("dev loss", -1, None, "")
    (done.folder / "one").write_text("the cat\n")
    outputs_of_one = [replace(each, path=done.folder / "one", reference=done.folder / "one") for each in outputs]
    *_, of_one = results(Measured.of(outputs_of_one, ["bleu"], with_losses=True))
    assert of_one.p == new.p and of_one.margin == pytest.approx(new.margin)
    log = (done.folder / "new.1.model" / "log.tsv").read_text()  # of a model that writes trees
    (done.folder / "new.1.model" / "log.tsv").write_text(
        "update\tloss\tvalid_loss\tvalid_loss_words\n1\t\t0.5\t1.5\n2\t\t0.6\t1.4\n"
    )
    assert list(results(Measured.of(outputs, ["bleu"], with_losses=True)))[-1].scores == [1.4, 1.2]
    (done.folder / "new.1.model" / "log.tsv").write_text(log)
    for log, cause in ("update\tloss\n1\t2\n", "the field 'valid_loss' is missing"), ("", "the log has no numbers"):
        (done.folder / "new.2.model" / "log.tsv").write_text(log)
        with pytest.raises(BadInput, match=rf"new.2.model/log.tsv: {cause}$"):
            Measured.of(outputs, ["bleu"], with_losses=True)


def test_costs_are_compared_on_sentences_that_all_models_can_score(done: Done) -> None:
    """Otherwise a system would gain by leaving out a sentence that is hard for the others, too."""
    rows = {"base": "-30\n" + "-26\n" * 59, "new": "\n" + "-26\n" * 59}  # a reference has 12 words and an end
    for system, text in rows.items():
        (done.folder / f"{system}.costs").write_text(text)
    outputs = [replace(each, costs=done.folder / f"{each.system}.costs") for each in done.outputs()]
    found = [each.scores for each in results(Measured.of(outputs, ["bleu"])) if each.metric == "nats"]
    assert found == [[2.0, 2.0], [2.0, 2.0]]
    for text, cause in (
        ("-2\n" * 59, r"new.costs: 59 lines, \S+: 60 lines"),
        ("-2\t1\n" * 60, "new.costs:1: could not convert"),
    ):
        (done.folder / "new.costs").write_text(text)
        with pytest.raises(BadInput, match=cause):
            Measured.of(outputs, ["bleu"])


def test_with_one_seed_the_table_warns_about_p(done: Done) -> None:
    done.seeds = [1]
    new = done.found()[2]
    assert new.difference and new.p and new.deviation != new.deviation  # one seed has no standard deviation
    assert "with one seed, the variance between training runs is unknown and not in p" in "\n".join(done.report("text"))


def test_p_belongs_to_the_difference_in_its_row(done: Done) -> None:
    """If seeds were pooled, a short and a long translation would together have the right length, and `new` would
    win."""
    short = [" ".join(line.split()[:7]) for line in REFERENCE]
    long = [f"{line} of a cat of a mat" for line in REFERENCE]
    base = [line.replace("house", "home") for line in spoiled(1, 0)]
    for seed, lines in ((1, short), (2, long)):
        done.write("base", seed, base)
        done.write("new", seed, lines)
    bleu = done.found()[2]
    pooled = [sacrebleu.corpus_bleu(lines, [REFERENCE * 2]).score for lines in ([*base, *base], [*short, *long])]
    assert pooled[1] > pooled[0] + 3
    assert bleu.difference is not None and bleu.p is not None
    assert bleu.difference < -5 and bleu.verdict == ""


def test_a_gain_with_one_of_two_seeds_is_not_significant(done: Done) -> None:
    """A test over sentences alone would call it significant, since all seeds of a system get similar words wrong."""
    for seed, every in ((1, 2), (2, 12)):
        done.write("base", seed, spoiled(every, 0))
    for seed, every in ((1, 3), (2, 20)):
        done.write("new", seed, spoiled(every, 0))
    assert all(each.p > 0.2 for each in done.found()[2:] if each.p)


@pytest.mark.parametrize("metric", ["ter", "bleu", "chrf", "ribes"])
def test_improvements_get_a_plus_for_every_metric(done: Done, metric: str) -> None:
    done.metrics = [metric]
    for seed in (1, 2):
        done.write("base", seed, spoiled(2, seed))
        done.write("new", seed, spoiled(9, seed))
    for systems, verdict, mark in ((["base", "new"], "better", "+"), (["new", "base"], "worse", "-")):
        done.systems = systems
        found = done.found()
        assert [each.verdict for each in found] == ["", verdict]
        assert (found[1].difference or 0) * (-1 if metric == "ter" else 1) * (1 if mark == "+" else -1) > 0
        assert done.report("text")[3].split()[-3] == mark


def test_repeated_models_add_no_significance(done: Done) -> None:
    """Counting the same model twice does not make a difference more significant."""
    for system in ("base", "new"):
        done.write(system, 2, done.path(system, 1).read_text().splitlines())
    both = [each.p for each in done.found()]
    done.seeds = [1]
    assert both == [each.p for each in done.found()]


def test_formats_of_the_table(done: Done) -> None:
    title, header, base, new, *notes = done.report("text")
    assert title == "flickr, trained on all pairs"
    assert header.split() == ["system", "BLEU", "Δ", "p", "chrF2", "Δ", "p", "CPU", "min", "MB"]
    assert base.split()[0] == "base" and base.split()[-2:] == ["1.5", "100"] and "±" in base
    assert "+" in new
    assert notes[0] == "mean ± standard deviation over 2 seeds; Δ: difference of the means from base"
    rows = list(map(json.loads, done.report("jsonl")))
    assert [(row["system"], row["metric"]) for row in rows] == [
        ("base", "BLEU"), ("base", "chrF2"), ("new", "BLEU"), ("new", "chrF2"),
    ]  # fmt: skip
    assert rows[2]["seeds"] == 2 and rows[2]["cpu_minutes"] == 1.5 and rows[2]["megabytes"] == 100
    assert len(done.report("tsv")) == 5
    assert r"\begin{tabular}{lrrrrr}" in done.report("latex")


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_latex_marks_the_best_system_and_explains_the_numbers(done: Done, metric: str) -> None:
    done.metrics, done.systems = [metric], ["base", "new", "50% & more"]
    for seed in (1, 2):
        done.write("base", seed, spoiled(2, seed))
        done.write("new", seed, spoiled(9, seed))
        done.write("50% & more", seed, spoiled(2, seed + 1))
    base, new, other = done.found()
    text = "\n".join(done.report("latex"))
    assert text.count(r"\textbf") == text.count(r"$^{\dagger}$") == 1
    assert rf"new & \textbf{{{new.mean:.2f}}} $\pm$ {new.deviation:.2f}$^{{\dagger}}$ & $<$0.0001 & 1.5 \\" in text
    assert rf"50\% \& more & {other.mean:.2f} $\pm$ {other.deviation:.2f} & {other.holm:.4f} & 1.5 \\" in text
    assert rf"base & {base.mean:.2f} $\pm$ {base.deviation:.2f} &  & 1.5 \\" in text
    for part in (r"mean $\pm$ standard deviation over 2 seeds", "difference from base", "2 systems per metric (Holm)"):
        assert part in text
    done.seeds = [1]
    text = "\n".join(done.report("latex"))
    assert r"\pm" not in text and "score of one seed" in text and "between test sentences only" in text


def trained(done: Done, system: str, seed: int, updates: int, examples: int, encoder: str = "sequence") -> None:
    """Write the log and the config of a model."""
    folder = done.folder / f"{system}.{seed}.model"
    folder.mkdir(exist_ok=True)
    (folder / "log.tsv").write_text(f"update\tvalid_loss\n{updates}\t2.5\n")
    config = {"model": {"source": {encoder: {}}, "target": {"components": {"sequence": {}}}}}
    fields = {"format": FORMAT, **config, "training": {"examples": examples}}
    (folder / "config.json").write_text(json.dumps(fields))


def test_tables_show_updates_and_say_in_what_training_differs(done: Done) -> None:
    """A line names the systems whose training differs; every form of the table shows updates."""
    own = {("base", 1): (144, 800), ("base", 2): (144, 800), ("new", 1): (234, 799), ("new", 2): (230, 799)}
    for (system, seed), numbers in own.items():
        trained(done, system, seed, *numbers, encoder="mask" if system == "new" else "sequence")
    outputs = [replace(each, model=done.folder / f"{each.model}.model") for each in done.outputs()]
    found = list(results(Measured.of(outputs, done.metrics)))
    learned = learned_of({each: Record({}, 60.0, 100) for each in outputs})
    said = {
        "base: encoder sequence, decoder sequence",
        "new: encoder mask, decoder sequence",
        "training updates differ: base 144, new 230–234",
        "training examples differ: base 800, new 799",
        "two seeds rarely show a difference; use three or more",
    }
    assert set(warnings_of(found, learned)) == said
    forms = {form: list(report(found, learned, form)) for form in FORMS}
    assert forms["text"][1].split()[-4:] == ["updates", "CPU", "min", "MB"]
    assert forms["text"][2].split()[-3:] == ["144", "1.0", "100"] and forms["text"][3].split()[-3] == "230–234"
    assert said < set(forms["text"]) and {f"% {line}" for line in said} < set(forms["latex"])
    assert any(line.endswith(r"& 144 & 1.0 \\") for line in forms["latex"])
    assert any(line.endswith(r"& 230--234 & 1.0 \\") for line in forms["latex"])
    rows = json.loads("\n".join(forms["json"]))
    assert list(map(json.loads, forms["jsonl"])) == rows
    assert [(row["updates"], row["examples"]) for row in rows[::2]] == [(144, 800), (232, 799)]
    assert [(row["encoder"], row["decoder"]) for row in rows[::2]] == [("sequence", "sequence"), ("mask", "sequence")]
    header, first, *_ = (line.split("\t") for line in forms["tsv"])
    assert first[header.index("updates")] == "144" and first[header.index("examples")] == "800"
    for system, seed in own:
        trained(done, system, seed, 144, 800)
    equal = learned_of({each: Record({}, 60.0, 100) for each in outputs})
    assert not any("differ:" in line for line in warnings_of(found, equal))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4), st.booleans())
def test_latex_marks_what_reads_as_the_best_unless_all_are_equal(scores: list[tuple[int, int]], higher: bool) -> None:
    """A difference that is not printed does not count."""
    means = [5 + whole / 100 + part / 10_000 for whole, part in scores]
    found = [Result(None, "test", f"s{n}", "BLEU", [each], "", higher_is_better=higher) for n, each in enumerate(means)]
    lines = report(found, {(None, each.system): Learning(1.0, None) for each in found}, "latex")
    rows = [line for line in lines if line.startswith("s")]
    shown = [whole for whole, _ in scores]
    best = (max if higher else min)(shown)
    assert [r"\textbf" in row for row in rows] == [each == best and len(set(shown)) > 1 for each in shown]


def test_a_table_without_anything_learned_says_so(done: Done) -> None:
    """Every BLEU is below 1, of all systems and seeds."""
    line = "flickr, trained on all pairs: every BLEU is below 1, so nothing was learned"
    assert line not in done.report("text")
    for system, seed in TRANSLATIONS:
        done.write(system, seed, ["x"] * len(REFERENCE))
    assert {form: any(line in each for each in done.report(form)) for form in FORMS} == {
        "text": True, "tsv": False, "csv": False, "json": False, "jsonl": False, "latex": True,
    }  # fmt: skip
    done.write("new", 2, REFERENCE)
    assert line not in done.report("text")


def test_several_systems_have_a_corrected_p(done: Done) -> None:
    done.systems = ["base", "new", "other"]
    for seed in (1, 2):
        done.write("other", seed, spoiled(4, seed))
    found = done.found()
    for metric in ("BLEU", "chrF2"):
        _, *others = (each for each in found if each.metric == metric)
        assert [each.holm for each in others] == holm([each.p or 0.0 for each in others])
    assert done.report("text")[1].split() == [
        "system", *["BLEU", "Δ", "p", "Holm"], *["chrF2", "Δ", "p", "Holm"], "CPU", "min", "MB",
    ]  # fmt: skip
    assert "Holm: p corrected for 2 systems that are compared with base, for each metric" in done.report("text")
    others = [replace(each, test="tatoeba") for each in found if each.system != "base"]
    assert [line.partition(" (")[0] for line in legend([*found, *others])] == [
        "mean ± standard deviation over 2 seeds; Δ: difference of the means from the first system of each table",
        "p: two-sided t-test of Δ, with its variance between seeds and between test sentences",
        "synmt significance compares the outputs of single models, without the variance between seeds",
        "Holm: p corrected for 1 or 2 systems that are compared with the first system of each table, for each metric",
        "+ better, - worse than the first system of each table with Holm < 0.05",
    ]


def test_links_contain_no_words_of_a_set(tmp_path: Path) -> None:
    for name, text in {"found": "0-0\n1-1\n", "gold": "0-0\n1-1\n", "set": "1\tcat\n2\tthe dog\n"}.items():
        (tmp_path / name).write_text(text)
    outputs = [SystemOutput(None, "vilar", each, 1, tmp_path / "found", tmp_path / "gold", Path(each)) for each in "ab"]
    found = results(Measured.of(outputs, ["aer"]), {"cats": tmp_path / "set"})
    assert {(each.test, each.metric) for each in found} == {("vilar", "AER"), ("vilar, cats", "AER")}


def test_words_with_punctuation_are_found(tmp_path: Path) -> None:
    """A translation that equals the reference has all of its words."""
    lines = ["Ein Mann im T-Shirt fährt U-Bahn.", "Es sind 9,5 % weniger.", "The man's dog"]
    (tmp_path / "translation").write_text("\n".join(lines) + "\n")
    words = [["t-shirt", "u-bahn", "shirts"], ["9,5", "%", "."], ["man", "'s", "mans", "do"]]
    assert found_words(tmp_path / "translation", [0, 1, 2], words).tolist() == [[2, 3], [3, 3], [2, 4]]


def test_challenge_sets_have_their_own_scores(done: Done, tmp_path: Path, noted: Noted) -> None:
    """A set is scored on its own sentences, and by the share of its words that occur in the translations."""
    numbers = list(range(2, 61, 3))
    (tmp_path / "set").write_text("".join(f"{number}\tcat sat\n" for number in numbers))
    (tmp_path / "bare").write_text("".join(f"{number}\n" for number in numbers))
    (tmp_path / "none").touch()
    measured = Measured.of(done.outputs(), ["bleu"])
    found = list(results(measured, {"cats": tmp_path / "set", "bare": tmp_path / "bare"}))
    of_set = {(each.test, each.system, each.metric): each.scores for each in found}
    for system in ("base", "new"):
        own = [[TRANSLATIONS[system, seed][number - 1] for number in numbers] for seed in (1, 2)]
        bleu = [sacrebleu.corpus_bleu(lines, [[REFERENCE[n - 1] for n in numbers]]).score for lines in own]
        assert of_set["flickr, cats", system, "BLEU"] == of_set["flickr, bare", system, "BLEU"] == pytest.approx(bleu)
        words = [100 * sum(("cat" in line) + 1 for line in lines) / (2 * len(lines)) for lines in own]
        assert of_set["flickr, cats", system, "found"] == pytest.approx(words)
    assert len(list(results(measured, {"dogs": tmp_path / "none"}))) == 2
    assert noted() == "challenge dogs has no sentences of flickr"
    for wrong in "0", "61", "-1", "cat", "":
        (tmp_path / "wrong").write_text(f"60\n{wrong}\n")
        with pytest.raises(BadInput, match=f"wrong:2: {wrong!r} is not the number of a line of the test, from 1 to 60"):
            list(results(measured, {"wrong": tmp_path / "wrong"}))
    for text, cause in (
        ("1\tcat\n2\n", "either all sentences of a set have words after a tab, or none"),
        ("1\n2\tcat\n", "either all sentences of a set have words after a tab, or none"),
        ("1\n1\n", "sentence 1 is a duplicate"),
    ):
        (tmp_path / "wrong").write_text(text)
        with pytest.raises(BadInput, match=f"wrong:2: {cause}"):
            list(results(measured, {"wrong": tmp_path / "wrong"}))
