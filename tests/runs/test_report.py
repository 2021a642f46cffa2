"""The report of a run, from existing translations, links and trees."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from synmt.inspection.words import report_words
from synmt.runs import report
from synmt.runs.commands import Options
from synmt.runs.file import LOSS, ParallelFiles, RunFile
from synmt.runs.report import RunFindings, page
from synmt.runs.steps import Record, RunFolder
from synmt.runs.systems import trees_of
from synmt.runs.table import Measured, SystemOutput, by_test, learned_of, results
from synmt.trees.record import ParseRecord, write_record
from tests.inspection.test_page import HOSTILE, Tags, drawn, needed_width

REFERENCES = [f"the cat number {n} sat on the mat{' of the old house' * (n % 3)} ." for n in range(24)]
SYSTEMS = {"base": 3, "new": 5, HOSTILE: 4}  # every third, fifth or fourth word is wrong
LOG = "update\tloss\tvalid_bleu\tvalid_loss\n100\t{}\t\t\n200\t{}\t{}\t5\n"


def lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def translated(every: int, seed: int) -> list[str]:
    return [
        " ".join("dog" if (place + n + seed) % every == 0 else word for place, word in enumerate(line.split()))
        for n, line in enumerate(REFERENCES)
    ]


def of_translations(folder: Path) -> RunFindings:
    """Return a run of three systems and two seeds, with a hostile sentence; the second system writes trees."""
    run_folder = RunFolder(folder / "out")
    sources = [ParseRecord(tokens=line.split(), heads=[0, *[1] * (len(line.split()) - 1)]) for line in REFERENCES]
    sources[2].tokens[0] = HOSTILE
    for record in sources:
        record.deprels = ["dep"] * len(record.tokens)
    (folder / "test.jsonl").write_text(lines(list(map(write_record, sources))))
    (folder / "test.de").write_text(lines([*REFERENCES[:2], HOSTILE, *REFERENCES[3:]]))
    (folder / "set").write_text("1\n3\n5\n")
    outputs = []
    for seed in (1, 2):
        for number, (system, every) in enumerate(SYSTEMS.items()):
            model = run_folder.path / f"all/{number}.{seed}"
            model.mkdir(parents=True)
            (model / "log.tsv").write_text(LOG.format(4 + seed, 3 + seed, 20 + 2 * seed))
            path, texts = model.with_name(f"{number}.{seed}.test"), translated(every, seed)
            path.write_text(lines(texts))
            if system == "new":
                trees = trees_of(run_folder, path)
                trees.parent.mkdir(parents=True, exist_ok=True)
                records = [ParseRecord(text, text.split(), heads=[0, *[1] * text.count(" ")]) for text in texts]
                trees.write_text(lines(list(map(write_record, records))))
            pair = ParallelFiles(folder / "test.jsonl", folder / "test.de")
            outputs.append(SystemOutput(None, f"t {HOSTILE}", system, seed, path, pair.target, model, None, pair))
    return found_of(run_folder, outputs, "systems", ("bleu", "chrf", LOSS), {HOSTILE: folder / "set"})


def of_links(folder: Path) -> RunFindings:
    """Return a run of two aligners on two pairs in one file, with gold links that count from 1."""
    (folder / "pairs").write_text("a <b> c\tx y\nd\tz\n")
    (folder / "gold").write_text("1-1 2p2\n1-1\n")
    outputs = []
    for system, text in (("hmm", "0-0 2-1\n0-0\n"), ("other", "0-0 1-1\n0-0\n")):
        (folder / system).write_text(text)
        pair = ParallelFiles(folder / "pairs", folder / "pairs", folder / "gold")
        outputs.append(SystemOutput(None, "t", system, 1, folder / system, folder / "gold", folder / system, pair=pair))
    return found_of(RunFolder(folder / "out"), outputs, "aligners", ("aer",), {})


def of_trees(folder: Path) -> RunFindings:
    """Return a run of two projections of a sentence, one of which leaves a word without a head."""
    trees = {"gold": "[2, 0]", "direct": "[null, 0]", "votes": "[2, 0]", "source": "[0, 1]"}
    for name, heads in trees.items():
        (folder / name).write_text(f'{{"tokens": ["Er", "ist"], "heads": {heads}, "deprels": ["nsubj", "root"]}}\n' * 3)
    pair = ParallelFiles(folder / "source", folder / "gold")
    outputs = [
        SystemOutput(None, "t", system, 1, folder / system, folder / "gold", folder / system, pair=pair)
        for system in ("direct", "votes")
    ]
    return found_of(RunFolder(folder / "out"), outputs, "projections", ("uas", "las"), {})


def found_of(
    run_folder: RunFolder, outputs: list[SystemOutput], kind: str, metrics: tuple[str, ...], sets: dict[str, Path]
) -> RunFindings:
    systems: dict[str, Options] = {each.system: {} for each in outputs}
    run = RunFile(None, None, {}, systems, metrics=metrics, kind=kind)
    measured = [Measured.of(own, run.of_outputs, with_losses=LOSS in metrics) for own in by_test(outputs)]
    made = {each: Record({}, 60.0 * each.seed, 100) for each in outputs}
    written = {each: Record({}, 1.2 * each.seed, 50) for each in outputs if kind == "systems"}
    return RunFindings(
        run,
        run_folder,
        measured,
        [each for own in measured for each in results(own, sets)],
        made,
        written,
        learned_of(made),
    )


def page_of(found: RunFindings, folder: Path) -> str:
    (folder / "<i>run.toml").write_text(f"# {HOSTILE}\n")
    return page(found, folder / "<i>run.toml")


def data_of(found: RunFindings, folder: Path) -> Any:
    return Tags(page_of(found, folder)).data


def test_the_report_is_self_contained_and_runs_no_data(tmp_path: Path) -> None:
    text = page_of(of_translations(tmp_path), tmp_path)
    tags = Tags(text)
    assert re.findall("https?:", text) == re.findall("https?:", tags.data["citations"])
    assert [tag for tag, _ in tags.tags].count("script") == 2
    assert not any({"src", "href"} & attributes.keys() for _, attributes in tags.tags)
    assert tags.data["systems"] == list(SYSTEMS) and tags.data["file"] == [f"# {HOSTILE}"]
    assert tags.data["tests"][0]["items"][2]["source"]["text"].startswith(HOSTILE)


def test_numbers_in_the_report_match_the_outputs(tmp_path: Path) -> None:
    data = data_of(of_translations(tmp_path), tmp_path)
    references = (tmp_path / "test.de").read_text().splitlines()
    chrf = [sacrebleu.corpus_chrf(translated(5, seed), [references]).score for seed in (1, 2)]
    whole, part = data["tables"]
    assert whole["rows"][1]["cells"][1]["scores"] == pytest.approx(chrf, abs=0.006)
    assert (whole["part"], part["part"], part["test"]) == ("", HOSTILE, f"t {HOSTILE}")
    assert [cell["holm"] >= cell["p"] for cell in whole["rows"][2]["cells"]] == [True, True, True]
    lengths, (_, mean) = data["lengths"][0], data["curves"][0]["lines"][0]["mean"]
    assert sum(lengths["sentences"]) == len(references) and mean == [200, 4.5]
    for place, bucket in enumerate(lengths["buckets"]):
        low, high = (int(each or 999) for each in re.split("[–+]", bucket))
        own = [n for n, line in enumerate(REFERENCES) if low <= len(line.split()) <= high]
        assert len(own) == lengths["sentences"][place]
        scores = [
            sacrebleu.corpus_bleu([translated(5, seed)[n] for n in own], [[references[n] for n in own]]).score
            for seed in (1, 2)
        ]
        assert lengths["scores"][0][1][place][0] == pytest.approx(sum(scores) / 2, abs=0.006)
    costs = data["costs"][1]
    assert (costs["minutes"], costs["updates"], costs["megabytes"]) == ([1, 2], [200, 200], 100)
    assert (costs["seconds"], costs["peak"]) == ([1200 / len(references), 2400 / len(references)], 50)
    assert [[row["updates"] for row in each["rows"]] for each in data["tables"]] == [["200"] * 3] * 2
    assert "two seeds rarely show a difference; use three or more" in data["notes"]
    item = data["tests"][0]["items"][7]
    assert item["outputs"][1][0]["text"] == translated(5, 1)[7] and "dependencies" in item["outputs"][1][0]
    of_sentence = sacrebleu.sentence_chrf(translated(5, 1)[7], [references[7]]).score
    assert item["scores"][1][1][0] == pytest.approx(of_sentence, abs=0.006)


def test_the_report_says_in_what_training_differs(tmp_path: Path) -> None:
    found = of_translations(tmp_path)
    for output in found.made:
        (output.model / "log.tsv").write_text(LOG.format(5, 4, 20).replace("200", f"{len(output.system)}00"))
    data = data_of(replace(found, learned=learned_of(found.made)), tmp_path)
    assert [row["updates"] for row in data["tables"][0]["rows"]] == [f"{len(system)}00" for system in SYSTEMS]
    assert [note for note in data["notes"] if note.startswith("training updates differ: base 400, new 300, ")]


def test_long_tests_show_the_sentences_that_differ_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_translations(tmp_path)

    def spread(item: Any) -> float:
        means = [sum(seeds) for seeds in item["scores"][1]]
        return max(means) - min(means)

    every = data_of(found, tmp_path)["tests"][0]["items"]
    monkeypatch.setattr(report, "MOST_OUTPUTS", 5 * 6)
    few = data_of(found, tmp_path)["tests"][0]
    assert (few["total"], len(few["items"])) == (24, 5)
    assert min(map(spread, few["items"])) >= sorted(map(spread, every))[-6]


def test_trees_of_other_translations_are_left_out(tmp_path: Path) -> None:
    found = of_translations(tmp_path)
    output = found.measured[0].outputs[1]
    output.path.write_text(lines([*translated(5, 1)[:7], "other", *translated(5, 1)[8:]]))
    items = data_of(found, tmp_path)["tests"][0]["items"]
    assert ["dependencies" in items[n]["outputs"][1][0] for n in (6, 7, 8)] == [True, False, True]
    trees_of(found.folder, output.path).write_text('{"text": "a", "tokens": ["b"]}\n' * len(REFERENCES))
    assert not any("dependencies" in item["outputs"][1][0] for item in data_of(found, tmp_path)["tests"][0]["items"])


def test_links_and_trees_have_reports(tmp_path: Path) -> None:
    item = data_of(of_links(tmp_path), tmp_path)["tests"][0]["items"][0]
    assert item["source"]["words"] == ["a", "<b>", "c"]
    assert item["reference"] == {"words": ["x", "y"], "links": [[0, 0]], "possible": [[1, 1]]}
    assert [seeds[0]["links"] for seeds in item["outputs"]] == [[[0, 0], [2, 1]], [[0, 0], [1, 1]]]
    assert item["scores"] == [[[pytest.approx(100 / 3, abs=0.01)], [0]]]
    item = data_of(of_trees(tmp_path), tmp_path)["tests"][0]["items"][0]
    assert [seeds[0]["dependencies"]["heads"] for seeds in item["outputs"]] == [[-1, 0], [2, 0]]
    assert item["scores"][0] == [[pytest.approx(200 / 3, abs=0.01)], [100]]


LOOK = """
  const seen = {}, all = (query) => [...document.querySelectorAll(query)];
  const column = (n) => all("#results tbody tr").map((row) => row.children[n].textContent);
  const heads = all("#results thead button");
  const lines = () => all("article h3").map((head) => head.firstChild.textContent);
  seen.best = all("#results .best").length;
  seen.updates = all("#results tbody tr").map((row) => row.lastElementChild.textContent);
  heads[1].click();
  seen.sorted = [column(1), heads[1].parentElement.getAttribute("aria-sort")];
  heads[0].click();
  seen.systems = column(0);
  seen.lines = lines();
  at("find").value = "NUMBER 13"; at("find").dispatchEvent(new Event("input"));
  seen.found = [lines(), at("status").textContent];
  at("find").value = "nothing of this"; at("find").dispatchEvent(new Event("input"));
  seen.none = [lines(), at("status").textContent];
  at("find").value = ""; at("order").value = "line"; at("order").dispatchEvent(new Event("change"));
  at("after").click();
  seen.turned = [lines(), at("before").disabled];
  at("other").value = 2; at("other").dispatchEvent(new Event("change"));
  seen.terms = all("article")[0].querySelectorAll("dt").length;
  seen.marks = [...all("article")[0].querySelectorAll("mark")].map((mark) => [mark.className, mark.textContent]);
  const tree = all("article details")[0];
  tree.open = true; tree.dispatchEvent(new Event("toggle"));
  seen.words = tree.querySelectorAll("svg text").length;
  seen.scripts = all("script").length;
  seen.unlabelled = all("input, select").filter((each) => !each.labels[0]?.textContent.trim()).length;
  seen.unscoped = all("th").filter((each) => !each.scope).length;
  seen.unnamed = all("svg:not([aria-hidden])").filter((each) => !each.getAttribute("aria-label")).length;
  seen.levels = all("h1, h2, h3, h4").map((each) => Number(each.tagName[1]));
  seen.unreachable = all("button, select, input, summary").filter((each) => each.tabIndex < 0).length;
  document.body.textContent = JSON.stringify(seen);
"""


def seen(text: str, folder: Path, act: str = LOOK) -> Any:
    (body,) = re.findall("<body>(.*)</body>", drawn(text, act, folder), re.DOTALL)
    return json.loads(body.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def test_a_browser_sorts_searches_and_compares(tmp_path: Path) -> None:
    look = seen(page_of(of_translations(tmp_path), tmp_path), tmp_path)
    scores = [float(cell.split()[0]) for cell in look["sorted"][0]]
    assert scores == sorted(scores, reverse=True) and look["sorted"][1] == "descending"
    assert look["best"] == 2 and look["systems"] == list(SYSTEMS) and look["updates"] == ["200"] * 3
    assert len(look["lines"]) == 10 and look["found"] == [["Line 14"], "1–1 of 1 sentences."]
    assert look["none"] == [[], "No sentence has this text."]
    assert look["turned"] == [[f"Line {n}" for n in range(11, 21)], False]
    assert look["terms"] == 4 and look["words"] > 5
    assert {kind for kind, _ in look["marks"]} == {"right", "wrong"} and ["wrong", "dog"] in look["marks"]
    assert look["scripts"] == 3  # the data, the page's script, and this test's script
    assert look["unlabelled"] == look["unscoped"] == look["unnamed"] == look["unreachable"] == 0
    assert all(after <= before + 1 for before, after in zip(look["levels"], look["levels"][1:], strict=False))


def test_a_printout_has_headers_and_legends_but_no_controls(tmp_path: Path) -> None:
    act = """
      const seen = (query) => [...document.querySelectorAll(query)].map((each) => each.getClientRects().length > 0);
      const queries = ["thead th:not(.seeds) button", ".legend button", "nav, form, .turn button"];
      document.body.textContent = JSON.stringify(queries.map(seen));
    """
    text = page_of(of_translations(tmp_path), tmp_path).replace("@media print", "@media screen")
    heads, legends, controls = seen(text, tmp_path, act)
    assert len(heads) > 5 and sum(heads) > 5 and legends and all(legends) and controls and not any(controls)


def test_the_report_counts_words_of_the_references(tmp_path: Path) -> None:
    """As `synmt inspect words` counts them, as means over seeds; parses are known if references are records."""
    found = of_translations(tmp_path)
    train, records = tmp_path / "train.de", []
    train.write_text(lines(REFERENCES[:4]))
    for number, line in enumerate((tmp_path / "test.de").read_text().splitlines()):
        words = line.split()
        upos = ["NOUN" if place == number % 2 else "DET" for place in range(len(words))]
        relations = ["root", *["det"] * (len(words) - 1)]
        records.append(ParseRecord(line, words, heads=[0, *[1] * (len(words) - 1)], deprels=relations, upos=upos))
    (tmp_path / "test.de").write_text(lines(list(map(write_record, records))))
    found = replace(found, run=replace(found.run, train=ParallelFiles(train, train)))
    given = data_of(found, tmp_path)["words"]
    assert [each["attribute"] for each in given] == ["frequency", "upos", "relation"]
    every, count = tmp_path / "out/all", 0
    names = [str(every / f"{number}.{seed}.test") for number in range(3) for seed in (1, 2)]
    rows = [json.loads(row) for row in report_words(names, str(tmp_path / "test.de"), str(train), "jsonl")]
    for each in given:
        own = [row for row in rows if row["attribute"] == each["attribute"]]
        for place, (value, words) in enumerate(zip(each["values"], each["items"], strict=True)):
            for number, of_system in enumerate(each["scores"]):
                of_seeds = [
                    row["percent"]
                    for row in own
                    if row["system"] in names[2 * number : 2 * number + 2]
                    and (row["value"].replace("-", "–"), row["words"]) == (value, words)
                ]
                assert of_system[place][0] == pytest.approx(sum(of_seeds) / 2, abs=0.006)
                count += 1
    assert count > 15


def test_the_report_fits_a_phone(tmp_path: Path) -> None:
    text = page_of(of_translations(tmp_path), tmp_path).replace("<details", "<details open")
    assert needed_width(text, 390, tmp_path) <= 390


def test_a_browser_draws_links(tmp_path: Path) -> None:
    """It draws the links of both aligners, and the sure and possible links of the reference."""
    act = """
      const count = (query) => document.querySelectorAll(`article .wide rect${query}`).length;
      const kinds = ["[fill^='var(--c']", "[stroke-dasharray='']", "[stroke-dasharray='3 2']"];
      document.body.textContent = JSON.stringify(kinds.map(count));
    """
    assert seen(page_of(of_links(tmp_path), tmp_path), tmp_path, act) == [2 + 2 + 1 + 1, 2, 1]
