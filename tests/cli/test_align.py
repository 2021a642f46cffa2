"""synmt align, synmt symmetrize"""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from shlex import split
from typing import get_args

import psutil
import pytest

from synmt.alignment import ALIGNERS
from synmt.alignment.choice import used_by
from synmt.alignment.config import Vote
from synmt.alignment.statistical import LETTERS
from synmt.streams import BadInput, WrongUsage
from synmt.text.links import read_links, write_scores
from tests.alignment.test_statistical import MODULES
from tests.alignment.words import bitext
from tests.cli.commands import HANGS, in_process, is_one_line_of_error, output_of, shell, synmt
from tests.cli.test_options import commands
from tests.conftest import Noted

TINY = split(
    "--width 32 --feedforward 64 --heads 2 --encoder-layers 1 --decoder-layers 1 --merges 50 --batch-tokens 100"
    " --learning-rate 0.005 --warmup 10 --epochs 2"
)
LINES = [f"{' '.join(source)}\t{' '.join(target)}" for source, target, _ in bitext(50)]
TEXT = "".join(f"{line}\n" for line in LINES)


def align(*arguments: object, text: str | bytes = TEXT) -> str:
    """Return the command's output. Raises BadInput."""
    given = text.encode() if isinstance(text, str) else text
    return in_process("align", *map(str, arguments), text=given).decode()


def link(*arguments: object, text: str | bytes = TEXT) -> str:
    """Return the output of `synmt link`. Raises BadInput."""
    given = text.encode() if isinstance(text, str) else text
    return in_process("link", *map(str, arguments), text=given).decode()


def symmetrized(*arguments: object, text: str) -> str:
    """Return the output of `synmt symmetrize` for these pairs. Raises its errors."""
    return in_process("symmetrize", *map(str, arguments), "--pairs", text=text.encode()).decode()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a fitted aligner, and the links that fitting it wrote."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    return folder, align("--method", "mask-align", "--tokenizer", "none", *TINY, "--out", str(folder))


def test_a_bitext_is_aligned_line_by_line(fitted: tuple[Path, str]) -> None:
    model, links = fitted
    done = synmt("link", model, text=TEXT, cold=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, links, "")
    assert links.count("\n") == len(LINES)
    for line, found in zip(LINES, links.splitlines(), strict=True):
        sizes = [len(side.split()) for side in line.split("\t")]
        assert all(i < sizes[0] and j < sizes[1] for i, j in read_links(found).possible)


def test_posteriors_need_models_that_predict_words(fitted: tuple[Path, str], tmp_path: Path) -> None:
    model, links = fitted
    found = link(model, "--links-by", "posterior", "--threshold", "0.01", text=TEXT)
    assert found != links and found == link(model, "--links-by", "posterior", "--threshold", "0.01", text=TEXT)
    assert link(model, "--links-by", "attention", text=TEXT) == links
    for line, each in zip(LINES, found.splitlines(), strict=True):
        sizes = [len(side.split()) for side in line.split("\t")]
        assert all(i < sizes[0] and j < sizes[1] for i, j in read_links(each).possible)
    (tmp_path / "links").write_text("0-0\n" * len(LINES))
    for others, cause in (
        (["--method", "hmm"], "hmm does not use --links-by; it belongs to mask-align, naive-att, naive-att-last"),
        (["--method", "mask-align", "--guide", tmp_path / "links"], "--links-by has no effect with --guide"),
        (["--method", "naive-att", "--preset", "paper"], "posterior needs the last decoder layer, not layer 5"),
    ):
        with pytest.raises(WrongUsage, match=cause):
            align(*others, "--links-by", "posterior", text="no pairs")


def test_empty_and_one_sided_lines_may_be_anywhere(fitted: tuple[Path, str]) -> None:
    model, links = fitted
    mixed = [line for each in reversed(LINES) for line in (each, "", "\tx", "x\t", " ")]
    expected = [line for each in reversed(links.splitlines()) for line in (each, "", "", "", "")]
    assert link(model, text="".join(f"{line}\n" for line in mixed)).splitlines() == expected


def test_formats_agree(fitted: tuple[Path, str]) -> None:
    model, links = fitted
    records = [json.loads(line) for line in link(model, "--format", "jsonl", text=TEXT + "\n").splitlines()]
    *records, empty = records
    assert empty == {}
    assert ["\t".join(" ".join(each[side]) for side in ("source", "target")) for each in records] == LINES
    assert [" ".join(f"{i}-{j}" for i, j, _ in each["links"]) for each in records] == links.splitlines()
    assert all(0.2 <= score <= 1 for each in records for _, _, score in each["links"])
    for each in records:
        for side in ("source", "target"):
            text = " ".join(each[side])
            assert [text[first:end] for first, end in each[f"{side}_spans"]] == each[side]
    talp = link(model, "--format", "talp", text=TEXT).splitlines()
    assert [read_links(line, base=1) for line in talp] == [read_links(line) for line in links.splitlines()]
    scored = link(model, "--scores", text=TEXT).splitlines()
    written = [" ".join(f"{i}-{j}:{score:.2f}" for i, j, score in each["links"]) for each in records]
    assert [line.split("\t")[0] for line in scored] == written
    assert [float(line.split("\t")[1]) for line in scored] == [each["confidence"] for each in records]


@pytest.mark.parametrize("scores", [(), ("--scores",)])
@pytest.mark.parametrize("form", ["pharaoh", "talp", "jsonl"])
def test_other_commands_read_the_links_of_every_format(
    form: str, scores: tuple[str, ...], fitted: tuple[Path, str], tmp_path: Path
) -> None:
    (tmp_path / "gold").write_text(fitted[1] + "\n")
    (tmp_path / "bitext").write_text(TEXT + "\n")
    found = tmp_path / "found"
    found.write_text(link(fitted[0], "--format", form, *scores, text=TEXT + "\n"))
    scored = output_of("score", found, "--references", tmp_path / "gold", "--metric", "aer", "--format", "tsv")
    assert b"\tAER\t0.0000\t" in scored
    if form == "talp":  # all other commands count words from 0
        return
    combined = output_of("symmetrize", found, "--tokenizer", "none", "--pairs", tmp_path / "bitext")
    assert combined.decode() == fitted[1] + "\n"
    sides = [tmp_path / "source", tmp_path / "target"]
    for path, column in zip(sides, zip(*(line.split("\t") for line in LINES), strict=True), strict=True):
        path.write_text("\n".join([*column, "", ""]))
    of_found, of_gold = (output_of("challenge", "reordering", *sides, tmp_path / name) for name in ("found", "gold"))
    assert of_found == of_gold


def test_several_processes_write_the_same_links(fitted: tuple[Path, str], tmp_path: Path) -> None:
    """Scores are the same, too. An interrupt ends all processes."""
    command, text = [fitted[0], "--format", "jsonl", "--scores"], TEXT * 5 + "\n" + TEXT
    one, two = (link(*command, "--jobs", name, text=text) for name in "12")
    assert one == two and one.count("\n") == 6 * len(LINES) + 1
    (tmp_path / "long").write_text(TEXT * 20_000)  # more than a pipe holds unread
    started = list(map(str, [sys.executable, "-m", "synmt", "link", fitted[0], "--jobs", 2, tmp_path / "long"]))
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline()
        workers = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=HANGS)
        finally:
            process.kill()
        assert (process.returncode, said) == (130, "synmt link: interrupted\n")
        assert psutil.wait_procs(workers, timeout=HANGS)[1] == []
    with pytest.raises(WrongUsage, match=r"unknown option --jobs; .*`synmt link MODEL` links pairs"):
        align("--method", "hmm", "--jobs", "2")


def test_temperature_changes_scores_but_not_links(fitted: tuple[Path, str]) -> None:
    command = [fitted[0], "--format", "jsonl", "--scores"]
    as_they_are, tempered = ([json.loads(line) for line in link(*command, *more).splitlines()] for more in
                             ([], ["--temperature", "2"]))  # fmt: skip
    for before, after in zip(as_they_are, tempered, strict=True):
        assert [link[:2] for link in before["links"]] == [link[:2] for link in after["links"]]
        for old, new in zip(before["scores"], after["scores"], strict=True):
            odds = [(score / (1 - score)) ** 0.5 for score in old]
            assert new == pytest.approx([each / (1 + each) for each in odds], abs=2e-3)
        assert all(after["scores"][i][j] == score for i, j, score in after["links"])
        assert after["confidence"] != before["confidence"]
    with pytest.raises(WrongUsage, match="--temperature needs --scores or --format jsonl"):
        link(fitted[0], "--temperature", "2")


def test_hidden_markov_models_write_probabilities() -> None:
    """They have their own temperature unless the user sets another one."""
    fit = ["--method", "hmm", "--tokenizer", "none", "--format", "jsonl", "--scores"]
    own, asked, plain = (
        [json.loads(line)["scores"] for line in align(*fit, *more).splitlines()]
        for more in ([], ["--temperature", "1.75"], ["--temperature", "1"])
    )
    assert own == asked != plain


def test_json_lines_contain_chunks_and_phrases(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0 1-2 4-2 2-3 3-1\n\n")
    text = "er nimmt es gern an\the gladly accepts it\n\n"
    whole, empty = symmetrized(tmp_path / "links", "--format", "phrases", text=text).splitlines()
    assert json.loads(whole)["chunks"] == [[[0], [0]], [[1, 4], [2]], [[2], [3]], [[3], [1]]]
    assert json.loads(whole)["phrases"] == [[0, 0, 0, 0], [2, 2, 3, 3], [3, 3, 1, 1]]
    assert empty == "{}"
    fields = symmetrized(tmp_path / "links", "--format", "jsonl", text=text).splitlines()[0]
    assert json.loads(whole).items() >= json.loads(fields).items()


def test_methods_share_translation_models_that_translate(tmp_path: Path) -> None:
    fit = ["--tokenizer", "none", *TINY]
    align(*fit, "--method", "naive-att", "--out", tmp_path / "naive")
    links = align(*fit[:2], "--method", "shift-att", "--models", tmp_path / "naive", "--out", tmp_path / "shift")
    with pytest.raises(BadInput, match=r"naive: was trained on other words \(none en\) than given here \(words en\)"):
        align("--method", "shift-att", "--models", tmp_path / "naive")
    with pytest.raises(WrongUsage, match="--width has no effect with --models"):  # the models exist already
        align("--method", "shift-att", "--models", tmp_path / "naive", "--width", "8")
    with pytest.raises(BadInput, match="the text is in fi, but the aligner was fitted to en and en"):
        link(tmp_path / "naive", "--source-language", "fi")
    assert link(tmp_path / "shift") == links
    assert link(tmp_path / "shift", "--method", "naive-att") == link(tmp_path / "naive") != links
    source = "".join(line.split("\t")[0] + "\n" for line in LINES[:2])
    assert in_process("translate", str(tmp_path / "shift" / "forward"), text=source.encode()).count(b"\n") == 2
    with pytest.raises(WrongUsage, match="shift-att does not use --predictions; it belongs to mask-align"):
        link(tmp_path / "shift", "--format", "jsonl", "--predictions")
    with pytest.raises(BadInput, match="shift/forward: is not an aligner; name a --method"):
        link(tmp_path / "shift" / "forward")


def test_json_lines_contain_all_scores_and_predictions(fitted: tuple[Path, str]) -> None:
    lines = link(fitted[0], "--format", "jsonl", "--scores", "--predictions", "--threshold", "0.5").splitlines()
    for each in map(json.loads, lines):
        assert [len(row) for row in each["scores"]] == [len(each["target"])] * len(each["source"])
        assert [[i, j, each["scores"][i][j]] for i, j, _ in each["links"]] == each["links"]
        assert len(each["predicted"]) == len(each["target"])
    assert {right for line in lines for right in json.loads(line)["predicted"]} == {True, False}


def test_thresholds_and_symmetrizations_are_nested(fitted: tuple[Path, str]) -> None:
    def found(*options: str) -> list[frozenset[tuple[int, int]]]:
        return [read_links(line).sure for line in link(fitted[0], *options).splitlines()]

    for less, more in (
        (found("--threshold", "0.5"), found("--threshold", "0.1")),
        (found("--symmetrize", "intersection"), found("--symmetrize", "grow-diag")),
        (found("--symmetrize", "grow-diag"), found("--symmetrize", "union")),
    ):
        assert all(few <= many for few, many in zip(less, more, strict=True)) and less != more


def test_many_pairs_without_links_are_reported(fitted: tuple[Path, str], noted: Noted) -> None:
    link(fitted[0], "--symmetrize", "grow-diag")
    assert noted() == ""
    assert link(fitted[0], "--threshold", "1").strip() == ""
    assert noted() == f"most pairs have no link ({len(LINES)} of {len(LINES)}): lower --threshold"


def test_links_number_the_words_of_the_languages_of_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("l'homme qu'il a vu\n")
    (tmp_path / "a.en").write_text("the man he saw\n")
    (tmp_path / "links").write_text("0-0\n")
    files = tmp_path / "a.fr", tmp_path / "a.en"
    pairs = [each for file in files for each in ("--pairs", file)]
    found = json.loads(output_of("symmetrize", tmp_path / "links", "--format", "jsonl", *pairs))
    assert found["source"][:2] == ["l'", "homme"]


def test_standard_input_has_one_role() -> None:
    with pytest.raises(WrongUsage, match="standard input can be read only once"):
        output_of("symmetrize", "-", "-")
    with pytest.raises(WrongUsage, match="standard input can be read only once"):
        output_of("symmetrize", "-", "--pairs", "-")


def test_links_of_other_programs_are_symmetrized(tmp_path: Path) -> None:
    (tmp_path / "bitext").write_text("a b c\td e f g\n\nx\ty\n")
    forward, backward = tmp_path / "forward", tmp_path / "backward"
    forward.write_text("0-0 1-1 2-3\n\n0-0\n")
    backward.write_text("0-0 1-2 2-3\n\n0-0\n")
    command: list[str | Path] = ["--tokenizer", "none", forward, backward]
    text = (tmp_path / "bitext").read_text()
    for options, first in (
        ("", "0-0 1-1 1-2 2-3"),
        ("--heuristic intersection", "0-0 2-3"),
        ("--heuristic union", "0-0 1-1 1-2 2-3"),
        ("--heuristic grow-diag-lilt", "0-0 1-1 2-3"),
        ("--heuristic grow-diag --format talp", "1-1 2-2 2-3 3-4"),
    ):
        last = "1-1" if "talp" in options else "0-0"
        assert symmetrized(*command, *options.split(), text=text).splitlines() == [first, "", last]
    third = tmp_path / "third"
    third.write_text('{"links": [[0, 0, 0.5], [1, 1, 0.4], [2, 0, 0.9]]}\n{}\n{"links": []}\n')
    scored = symmetrized(*command, third, "--format", "jsonl", text=text).splitlines()
    assert [json.loads(line).get("links") for line in scored] == [
        [[0, 0, 0.833333], [1, 1, 0.466667], [2, 3, 0.666667]],
        None,
        [[0, 0, 0.666667]],
    ]
    few = symmetrized(*command, third, "--threshold", "0.5", text=text).splitlines()
    assert few == ["0-0 2-3", "", "0-0"]
    assert symmetrized(*command, "--heuristic", "mean", text=text).splitlines() == ["0-0 1-1 1-2 2-3", "", "0-0"]
    one: list[str | Path] = ["--tokenizer", "none", third, "--heuristic", "mean"]
    assert symmetrized(*one, text=text).splitlines() == ["0-0 2-0", "", ""]
    with pytest.raises(BadInput, match="third:1: a score must be between 0 and 1"):
        third.write_text('{"links": [[0, 0, 1.5]]}\n{}\n{}\n')
        symmetrized(*one, text=text)
    loaded = (
        "python -X importtime -m synmt symmetrize forward backward --pairs bitext 2>&1 >/dev/null | grep -c '| torch$'"
    )
    assert shell(loaded, tmp_path).stdout == "0\n"


@pytest.mark.parametrize(("files", "votes"), [(3, 3), (12, 12), (12, 9), (23, 23), (25, 5)])
def test_votes_reach_the_threshold_of_their_share(files: int, votes: int, tmp_path: Path) -> None:
    (tmp_path / "with").write_text("0-0\n")
    (tmp_path / "without").write_text("\n")
    names = ["with"] * votes + ["without"] * (files - votes)
    given = [tmp_path / name for name in names]
    assert symmetrized(*given, "--threshold", str(votes / files), text="a\tb\n") == "0-0\n"


HARD = [
    b"s1\tt1",
    b"no tab",
    b"s1\tt\0",
    b"s1\tt\xff",
    b"word " * 1000 + b"\tt1",
    b"word " * 1001 + b"\tt1",
    b"s2\tt2 .",
]


def test_difficult_lines_are_errors_or_blank(fitted: tuple[Path, str], noted: Noted) -> None:
    lines = link(fitted[0], "--on-error", "blank", text=b"\n".join(HARD) + b"\n").split("\n")
    assert noted() == "3 bad lines left empty\n1 pair of more than 1000 words on a side left empty"
    assert len(lines) == len(HARD) + 1
    assert lines[1:4] == ["", "", ""] and lines[5] == ""
    for number, cause in ((2, "found 1 column"), (3, "NUL byte"), (4, "not UTF-8")):
        with pytest.raises(BadInput, match=f":{number}: .*{cause}"):
            link(fitted[0], text=HARD[0] + b"\n" * (number - 1) + HARD[number - 1])


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["nothing"], "nothing: No such file or directory"),
        (["x", "--links-from", "y"], "unknown option --links-from; `synmt symmetrize LINKS LINKS` combines files"),
        (["x", "--lexicon", "y"], "unknown option --lexicon; `synmt lexicon LINKS FILE` makes the table of linked"),
        (["--resume"], "--resume needs --out"),
        (["--pascal-heads", "3"], "auto does not use --pascal-heads; it belongs to pascal: add --source-syntax"),
        (["--method", "mask-align", "--heads", "3"], "width 128 does not divide into 3 heads"),
        (["--heads", "2"], "auto does not use --heads; it belongs to mask-align, naive-att.*: add --method"),
        (["--preset", "small"], "auto does not use --preset; it belongs to mask-align"),
        (["--method", "mask-align", "--positions", "rotary"], "mask-align does not use --positions; it belongs"),
        (["--method", "hmm", "--device", "cuda"], "hmm does not use --device; it belongs to auto, neural-hmm"),
        (["--guide", "x"], "to mask-align, shift-aet, mtl-fullc, bao-guided: add --method mask-align"),
        (["--method", "naive-att", "--tree-dropout", "0.1"], "--tree-dropout needs an encoder that reads trees"),
        (["--shift-att-layer", "2"], "does not use --shift-att-layer; it belongs to shift-att, shift-aet"),
        (["--method", "bao", "--mask-align-loss-form", "paper"], "bao does not use --mask-align-loss-form"),
        (["--method", "eflomal", "--epochs", "2"], "eflomal does not use --epochs"),
        (["--method", "add-sgd", "--models", "nowhere"], "nowhere/forward/config.json: No such file"),
        (["--method", "mask-align", "--guide", "nothing"], "nothing: No such file or directory"),
        (["--method", "mask-align", "--predictions"], "--predictions needs --format jsonl or --format phrases"),
    ],
)
def test_wrong_requests_give_one_error(arguments: list[str], cause: str) -> None:
    with pytest.raises((BadInput, WrongUsage), match=cause):
        align(*arguments)


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["a", "a", "a", "--heuristic", "union"], "union merges two files of links; any number vote with --heuristic"),
        (["a", "--heuristic", "union"], "union merges two files of links; any number vote"),
        (["a", "b", "--threshold", "0.5"], "--threshold needs a vote: add --heuristic mean"),
        (["a", "b", "--scores", "--pairs", "x", "--temperature", "2"], "--temperature needs a vote: add --heuristic"),
        (["a", "b", "--temperature", "2"], "--temperature needs --scores or --format jsonl"),
        (["a", "b", "--format", "jsonl"], "--format jsonl needs --pairs"),
        (["a", "b", "--tree-links"], "--tree-links needs --pairs"),
        (["a", "b", "--tokenizer", "none"], "--tokenizer needs --pairs"),
        (["-i", "a", "-j", "b"], "unknown option -i; name the files of links without an option"),
        (["a", "b", "-c", "union"], "unknown option -c; --heuristic names how the directions are merged"),
        (["a", "none"], "none: No such file"),
    ],
)
def test_wrong_requests_to_merge_links_give_one_error(
    arguments: list[str], cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("0-0\n")
    (tmp_path / "x").write_text("a\tb\n")
    with pytest.raises((BadInput, WrongUsage), match=cause):
        output_of("symmetrize", *arguments)


@pytest.mark.parametrize("heuristic", get_args(Vote))
def test_links_are_merged_alike_with_and_without_their_pairs(heuristic: str, tmp_path: Path) -> None:
    source = Random(heuristic)
    pairs = [(source.randrange(1, 9), source.randrange(1, 9)) for _ in range(60)]
    for name in ("one", "other", "third"):
        rows = [
            {(source.randrange(i), source.randrange(j)): source.random() for _ in range(source.randrange(9))}
            for i, j in pairs
        ]
        (tmp_path / name).write_text("".join(f"{write_scores(row)}\n" for row in rows))
    (tmp_path / "pairs").write_text("".join("a " * i + "\t" + "b " * j + "\n" for i, j in pairs))
    files = [tmp_path / name for name in ("one", "other", "third")][: 3 if heuristic == "mean" else 2]
    asked: list[str | Path] = ["symmetrize", *files, "--heuristic", heuristic]
    found = output_of(*asked)
    assert found == output_of(*asked, "--pairs", tmp_path / "pairs", "--tokenizer", "none")
    assert found.count(b"\n") == len(pairs) and found.strip()


def test_lines_of_links_without_pairs(tmp_path: Path, noted: Noted) -> None:
    """Numbered links leave out the last pairs; other files have as many lines as the first. Links far out take no
    memory."""
    (tmp_path / "numbered").write_text("1 1 1\n3 2 2\n")
    (tmp_path / "lines").write_text("0-0\n\n1-1\n5-5\n")
    assert output_of("symmetrize", tmp_path / "numbered", tmp_path / "lines").decode() == "0-0\n\n1-1\n5-5\n"
    (tmp_path / "short").write_text("0-0\n")
    with pytest.raises(BadInput, match=r"short: has links for only 1 pair, but .*lines for more$"):
        output_of("symmetrize", tmp_path / "lines", tmp_path / "short")
    (tmp_path / "lines").write_text("0-0\n0-999999999\n0-x\n")
    with pytest.raises(BadInput, match="lines:3: '0-x' is not a link"):
        output_of("symmetrize", tmp_path / "lines")
    (tmp_path / "lines").write_text("0-0\n0-999999999\n")
    noted()
    assert output_of("symmetrize", tmp_path / "lines") == b"0-0\n\n"
    assert noted() == "1 pair of more than 1000 words on a side left empty"


@pytest.mark.parametrize("method", ALIGNERS)
def test_a_folder_with_a_model_is_refused_before_reading(method: str, tmp_path: Path) -> None:
    """--resume is suggested only to those who may use it."""
    if method in MODULES:
        pytest.importorskip(MODULES[method])
    again = ("--method", method, "--out", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadInput, match="already has a model; ") as refused:
        align(*again, text="one column\n")
    if "--resume" in str(refused.value):
        with pytest.raises(BadInput, match="found 1 column"):
            align(*again, "--resume", text="one column\n")
    else:
        with pytest.raises(WrongUsage, match=f"{method} does not use --resume"):
            align(*again, "--resume")


@pytest.mark.parametrize("method", [each for each in ALIGNERS if "device" in used_by(each, {})])
def test_a_missing_device_is_refused_before_reading(method: str) -> None:
    with pytest.raises(BadInput, match=r"^device cuda:99: "):
        align("--method", method, "--device", "cuda:99", text="one column\n")


def test_trees_add_links_to_any_aligner(tmp_path: Path) -> None:
    tmp_path.joinpath("links").write_text("0-0\n\n\n")
    asked: list[str | Path] = [tmp_path / "links", "--tokenizer", "none"]
    german = '{"tokens": ["er", "kommt"], "heads": [2, 0], "upos": ["PRON", "VERB"]}'
    english = '{"tokens": ["he", "comes"], "heads": [2, 0], "upos": ["PRON", "VERB"]}'
    records = f"{german}\t{english}\n" * 2 + "{}\t{}\n"
    assert symmetrized(*asked, text=records) == "0-0\n\n\n"
    assert symmetrized(*asked, "--tree-links", text=records) == "0-0 1-1\n\n\n"
    with pytest.raises(BadInput, match=":1: record has no dependency heads"):
        symmetrized(*asked, "--tree-links", text='{"tokens": ["er"]}\t{"tokens": ["he"]}\n' * 3)


def test_errors_take_one_line() -> None:
    with pytest.raises(BadInput, match="no sentence pairs to learn from"):
        align(text="\n\tx\n")


def test_an_endless_stream_is_aligned_as_it_arrives(fitted: tuple[Path, str], tmp_path: Path) -> None:
    """When the reader closes the pipe, the command ends quietly."""
    command = f"yes $'s1\\tt1' | synmt link {fitted[0]} | head -n 1500 | sort -u | wc -l; echo ${{PIPESTATUS[1]}}"
    done = shell(command, tmp_path)
    assert (done.stdout.split(), done.stderr) == (["1", "0"], "")


RAW = "Er geht, oder?\tHe goes, doesn't he?\n"
A3 = (
    "# Sentence pair (1) source length 3 target length 3 alignment score : 1\nd e f\nNULL ({ }) a ({ 1 }) b ({ 2 3 })\n"
)


@pytest.mark.parametrize(
    ("links", "text", "options", "cause"),
    [
        ("0-0\n0-3\n", "a\tb\na b\tc d e\n", [], "links:2: link 0-3 for 2 source and 3 target words in pairs:2"),
        (
            "0-0\n4-4\n",
            RAW * 2,
            ["--tokenizer", "none"],
            "links:2: link 4-4 for 3 source and 4 target words in pairs:2",
        ),
        ("0-0\n", "a\tb\na\tb\n", [], "links: has links for only 1 of the sentence pairs"),
        ("0-0\n\n0-0\n", "a\tb\n\n", [], "links:3: links without a sentence pair: only 2 were given"),
        (A3, "a b c\td e f\n", [], "links:1: links of another source, with 2 words instead of 3 in pairs:1"),
        (
            '{}\n{"source":["I","ca","n\'t"],"target":["nein"],"links":[[1,0,0.9]]}\n',
            "\nI can't\tnein\n",
            ["--tokenizer", "none"],
            "links:2: links of another source, with 3 words instead of 2 in pairs:2",
        ),
    ],
)
def test_links_between_other_words_are_refused_before_any_output(
    links: str, text: str, options: list[str], cause: str, tmp_path: Path
) -> None:
    """If pairs and links are files, they are checked before any output, parsing or fitting; otherwise, line by line."""
    (tmp_path / "links").write_text(links)
    (tmp_path / "pairs").write_text(text)
    command = f"synmt symmetrize links {' '.join(options)} --pairs"
    done = shell(f"{command} pairs", tmp_path)
    assert is_one_line_of_error(done, f"synmt symmetrize: {cause}") and done.stdout == ""
    streamed = shell(f"{command} - < pairs", tmp_path)
    assert is_one_line_of_error(streamed, cause.replace("in pairs", "in stdin"))
    guided = "synmt align --method mask-align --guide links --source-syntax pascal --source-language de"
    if not options:
        assert is_one_line_of_error(shell(f"{guided} pairs", tmp_path), f"synmt align: {cause}")


def test_parser_words_are_counted_without_parsing(tmp_path: Path) -> None:
    """UDPipe finds `can not`, and Moses one word."""
    (tmp_path / "links").write_text("0-4\n")
    (tmp_path / "pairs").write_text("Er geht.\tHe cannot go.\n")
    done = shell("synmt symmetrize links --tree-links --source-language de --pairs pairs", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert is_one_line_of_error(shell("synmt symmetrize links --pairs pairs", tmp_path), "3 source and 4 target words")


def test_tokenized_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n")
    for text, said in (("Er geht , oder ?\tHe goes .\n", "source target"), (RAW, "")):
        (tmp_path / "pairs").write_text(text)
        done = shell("synmt symmetrize links --pairs pairs", tmp_path)
        assert (done.returncode, done.stdout) == (0, "0-0\n")
        assert [line.split()[2] for line in done.stderr.splitlines()] == said.split()
        assert shell("synmt symmetrize links --tokenizer none --pairs pairs", tmp_path).stderr == ""


def test_links_that_count_from_1_are_recognized_and_reported(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a b c\td e f\n" * 30)
    for links, base in (("1-1 2-2\n" * 30, 1), ("1-1\n" * 29 + "0-1\n", 0), ("1-1\n" * 5 + "\n" * 25, 1)):
        (tmp_path / "links").write_text(links)
        form = "talp" if base else "pharaoh"
        done = shell(f"synmt symmetrize links --format {form} --pairs pairs", tmp_path)
        assert (done.returncode, done.stdout) == (0, links)
        assert ("links has no link to a word 0, so its words count from 1" in done.stderr) == base


def test_without_an_aligner_one_is_fitted(tmp_path: Path) -> None:
    """A file of pairs, two parallel files and standard input give the same links. Suffixes name the languages."""
    pairs, sides = tmp_path / "pairs.tsv", (tmp_path / "train.de", tmp_path / "train.en")
    pairs.write_text(TEXT)
    for number, side in enumerate(sides):
        side.write_text("".join(f"{line.split(chr(9))[number]}\n" for line in LINES))

    def links_of(*arguments: str | Path) -> str:
        return output_of("align", *arguments).decode()

    def linked(*arguments: str | Path) -> str:
        return output_of("link", *arguments).decode()

    quick = ["--method", "hmm", "--hmm-rounds", "1"]
    expected = links_of(*quick, "--source-language", "de", str(pairs))
    assert expected.count("\n") == len(LINES) and expected.strip()
    assert links_of(*quick, pairs, "--source-language", "de") == expected
    assert links_of(*quick, *sides, "--out", tmp_path / "out") == expected
    assert synmt("align", *quick, "-", "--source-language", "de", text=TEXT).stdout == expected
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model"]["languages"] == ["de", "en"]
    assert linked(tmp_path / "out", *sides) == linked(tmp_path / "out", pairs) == expected
    assert shell("synmt link out train.de <(cat train.en)", tmp_path).stdout == expected
    assert synmt("link", tmp_path / "out", sides[0], "-", text=sides[1].read_text()).stdout == expected
    with pytest.raises(BadInput, match=r"modle.*: No such file"):
        linked(tmp_path / "modle", pairs)
    with pytest.raises(WrongUsage, match=r"out is a saved aligner: use `synmt link .*out`"):
        links_of(tmp_path / "out", pairs)
    with pytest.raises(WrongUsage, match="unknown option --fit; synmt align always trains an aligner"):
        links_of("--fit", pairs)
    (tmp_path / "short.en").write_text("one\n")
    with pytest.raises(BadInput, match=rf"train\.de: {len(LINES)} lines, .*short\.en: 1 line"):
        links_of(*quick, sides[0], tmp_path / "short.en")


@pytest.mark.parametrize(
    ("target", "cause"), [('{"tokens": ["x"]}\n{"tokens": ["y"\n', "not JSON: "), ("x\n\0\n", "NUL byte")]
)
def test_an_error_names_the_one_of_two_parallel_files(target: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("a\nb\tc\n")
    (tmp_path / "target").write_text(target)
    (tmp_path / "links").write_text("0-0\n0-0\n")
    command = "synmt symmetrize links --tokenizer none --pairs source --pairs target"
    assert is_one_line_of_error(shell(command, tmp_path), f"synmt symmetrize: target:2: {cause}")
    blanked = shell(f"{command} --on-error blank", tmp_path)
    assert (blanked.stdout, blanked.stderr) == ("0-0\n\n", "synmt symmetrize: 1 bad line left empty\n")


@pytest.mark.parametrize("letter", LETTERS)
def test_option_letters_of_other_aligners_suggest_ours(letter: str) -> None:
    command = commands()["align"]
    with pytest.raises(WrongUsage, match=f"^unknown option {letter}; ") as refused:
        align(letter, "x")
    named = set(re.findall(r"--[a-z-]+", str(refused.value)))
    assert named <= {flag for each in command.params for flag in each.opts}
    assert named or re.search("synmt align (FILE|SOURCE TARGET)", str(refused.value))
    assert all(name in ALIGNERS for name in re.findall(r"--method (\S+)", str(refused.value)))
