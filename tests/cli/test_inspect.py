"""Tables, pictures and pages from the command line, and one-line errors."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from safetensors.numpy import load_file, save_file

from synmt.streams import BadInput, WrongUsage
from synmt.training.log import Log
from tests.cli.commands import is_one_line_of_error, output_of, synmt
from tests.inspection.models import SENTENCE, write_model

ALIGNED = '{"source": ["my", "father"], "target": ["mein", "Vater"], "links": [[0, 0, 0.75], [1, 1, 0.5]]}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a `mask` model, a `pascal` model, a file of sentences and a file of alignments."""
    path = tmp_path_factory.mktemp("inspect")
    for system in ("mask", "pascal"):
        write_model(path / system, system)
        log = Log(path / system / "log.tsv")
        for update in (1, 2, 3):
            log.write({"update": update, "loss": 1 / update})
    (path / "in.jsonl").write_text(f"{SENTENCE.text}\n\n{SENTENCE.text}\n")
    (path / "aligned.jsonl").write_text(ALIGNED + "{}\n" + ALIGNED)
    (path / "links").write_text("0-0 1-1\n\n0-1\n")
    return path


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def inspect(arguments: str) -> bytes:
    return output_of("inspect", *arguments.split())


def texts(svg: bytes) -> list[str | None]:
    return [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_strengths_as_a_table_and_as_a_picture() -> None:
    strengths = load_file("mask/model.safetensors")["source_parts.mask.strengths"]
    assert f"mask  {strengths.min():8.2f} {strengths.max():8.2f}" in inspect("strengths mask").decode()
    shown = texts(inspect("strengths --format svg mask mask"))
    assert shown.count("left-other") == 2
    assert shown.count(f"{strengths[0, 1, 3]:.2f}") >= 2
    assert inspect("strengths mask --format tsv").count(b"\n") == 1 + strengths.size


def test_attention_as_a_table_a_picture_and_a_page() -> None:
    title, *_, query, key, weight = inspect("attention pascal in.jsonl --head 2").decode().split("\n")[1].split("\t")
    assert (title, query, key) == ("layer 1, head 2 (pascal)", "He", "He") and 0 < float(weight) < 1
    assert inspect("attention pascal in.jsonl --sentence 3 --format png").startswith(b"\x89PNG")
    fields = json.loads(inspect("attention pascal in.jsonl --sentence 3 --layer 2 --head 1 --format jsonl"))
    assert fields["matrix"] == "layer 2, head 1" and fields["query"] == ["He", "is", "my", "father", "."]
    assert all(sum(row) == pytest.approx(1) for row in fields["values"])
    fields = json.loads(inspect("attention pascal in.jsonl --layer 2 --head 1 --subwords --format jsonl"))
    assert fields["key"] == ["He", "is", "my", "fa@@", "ther", "."]
    assert inspect("attention pascal in.jsonl --columns 1 --format png").startswith(b"\x89PNG")
    page = inspect("attention-page pascal in.jsonl --sentence 3 --links aligned.jsonl").decode()
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n") and '"Vater"' in page
    target = json.loads(inspect("attention pascal in.jsonl --side target --head 1 --format jsonl"))
    assert target["query"][0] == "<s>" and target["values"][0][0] == 1


def test_alignments_and_curves() -> None:
    table = synmt("inspect", "alignment", "aligned.jsonl", cold=True).stdout
    assert table.endswith("\naligned.jsonl\t1\t1\tVater\tfather\t0.5\n")
    shown = texts(inspect("alignment aligned.jsonl links --sentence 3 --format svg"))
    assert {"aligned.jsonl", "links", "Vater", "father", "0.75"} <= set(shown)
    assert inspect("alignment aligned.jsonl links --format html").startswith(b"<!doctype html>")
    assert inspect("curves mask pascal/log.tsv --format png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ("strengths missing", "missing/config.json: No such file"),
        ("strengths pascal", "pascal: has no masks: it is pascal"),
        ("attention pascal in.jsonl --show strengths", "the model has no masks"),
        ("attention pascal in.jsonl --sentence 4", "in.jsonl: has no line 4, only 3 lines"),
        ("attention pascal in.jsonl --sentence 2", "in.jsonl:2: no sentence"),
        ("attention pascal in.jsonl --head 3", "no head 3 in layer 1: the model has 2 layers of 2 heads"),
        ("attention pascal in.jsonl --layer 9", "no head 1 in layer 9: the model has 2 layers of 2 heads"),
        ("alignment links", "links:1: no file has words"),
        ("alignment aligned.jsonl --sentence 2", "aligned.jsonl:2: no file has words: at least one must have"),
        ("curves links", "links:2: not a row of the log of a training run"),
        ("curves .", "log.tsv: No such file"),
        ("trees links", "links:1: no trees: a file of trees has parse records, CoNLL-U or brackets"),
        ("trees in.jsonl --sentence 4", "in.jsonl: has no sentence 4, only 3 sentences"),
        ("trees in.jsonl --sentence 2 --format svg", "sentence 2 has no tree"),
        ("trees in.jsonl aligned.jsonl", "aligned.jsonl:1: no field of a parse record"),
    ],
)
def test_bad_input_gives_one_cause(arguments: str, cause: str) -> None:
    with pytest.raises(BadInput) as caught:
        inspect(arguments)
    assert cause in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ("attention pascal in.jsonl --links aligned.jsonl", "unknown option --links; `synmt inspect attention-page`"),
        ("attention mask in.jsonl --side target --show strengths", "--show strengths needs --side source"),
        ("attention pascal in.jsonl --columns 1 --format jsonl", "--columns has no effect on --format jsonl"),
        ("curves mask --by epoch --format jsonl", "--by has no effect on --format jsonl"),
        ("attention-page pascal - --links -", "standard input can be read only once"),
    ],
)
def test_wrong_usage(arguments: str, cause: str) -> None:
    with pytest.raises(WrongUsage, match=cause):
        inspect(arguments)


def test_strengths_that_are_not_finite_are_refused() -> None:
    write_model(Path("broken"), "mask")
    weights = load_file("broken/model.safetensors")
    weights["source_parts.mask.strengths"][0, 0, 1] = float("nan")
    save_file(weights, "broken/model.safetensors")
    for form in ("text", "png"):
        with pytest.raises(BadInput, match="strengths contains a number that is not finite"):
            inspect(f"strengths broken --format {form}")


def test_output_of_align_can_be_drawn() -> None:
    Path("pairs").write_text("my father\tmein Vater\n")
    Path("known").write_text("0-0 1-1\n")
    options = ["--tokenizer", "none", "--format", "jsonl"]
    for scores in ([], ["--scores"]):
        line = output_of("symmetrize", "known", *options, *scores, "--pairs", "pairs")
        assert json.loads(line).get("scores") == ([[1.0, 0.0], [0.0, 1.0]] if scores else None)
        Path("found").write_bytes(line)
        assert inspect("alignment found").decode().split("\n")[2:5] == [
            *("found\t0\t1\tmein\tfather\t0", "found\t1\t0\tVater\tmy\t0", "found\t1\t1\tVater\tfather\t1")
        ]


def test_a_page_of_links_of_a_bitext() -> None:
    page = inspect("links aligned.jsonl").decode()
    assert page.startswith("<!doctype html>") and "<title>Links of aligned.jsonl</title>" in page
    assert '"sides":[["my","father"],["mein","Vater"]]' in page and '"links":[[0,0,0.75],[1,1,0.5]]' in page
    assert page.count('"confidence":0.625') == 2
    with pytest.raises(BadInput, match="no file has words"):
        inspect("links links")


def test_trees_as_text_and_as_pictures() -> None:
    Path("gold.ptb").write_text("(S (NP (D the) (N dog)) (V barks))\n(S (V go))\n")
    Path("found.jsonl").write_text(
        """{"tokens": ["the", "dog", "barks"], "heads": [2, 3, 0]}\n{"tree": "(S (X go))"}\n"""
    )
    assert inspect("trees gold.ptb").decode().split("\n") == [
        *("# 1: the dog barks", "S─┬─NP─┬─D─── the", "  │    ╰─N─── dog", "  ╰─V─── barks", ""),
        *("# 2: go", "S───V─── go", "", ""),
    ]
    assert inspect("trees gold.ptb found.jsonl --sentence 2").decode().split("\n") == [
        *("# 2: go", "gold.ptb       found.jsonl", "S───V*─── go ≠ S───X*─── go", "", "")
    ]
    assert texts(inspect("trees gold.ptb found.jsonl --format svg")).count("barks") == 2
    assert inspect("trees found.jsonl --format html").startswith(b"<!doctype html>")
    cold = synmt("inspect", "trees", "found.jsonl", "--sentence", "1", cold=True)
    assert cold.stdout == "# 1: the dog barks\n  ╭─╼ the\n╭─┶ dog\n┶ barks\n\n"


def test_reliability_of_link_scores(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("1-1 2p2\n")
    (tmp_path / "found").write_text('{"links": [[0, 0, 0.9], [1, 1, 0.94], [0, 1, 0.2]]}\n')
    command = ["inspect", "reliability", "-r", tmp_path / "gold", "--reference-base", "1", tmp_path / "found"]
    table = synmt(*command).stdout.splitlines()
    assert [line.split() for line in table[:-1]] == [
        ["score", "links", "mean", "right"],
        ["0.2-0.3", "1", "20.00", "0.00"],
        ["0.9-1.0", "2", "92.00", "100.00"],
        ["all", "3", "68.00", "66.67"],
    ]
    assert re.fullmatch(r"ECE\|bins:10\|.*\|refbase:1 = 12.00 \(\d\.\d\d at temperature 0\.\d\d\)", table[-1])
    rows = [json.loads(line) for line in synmt(*command, "--format", "jsonl").stdout.splitlines()]
    assert [row["links"] for row in rows] == [1, 2, 3]
    assert [row["ece"] for row in rows] == [None, None, pytest.approx(12)]
    bad = synmt(*command[:-1], text='{"links": [[0, 0, 2]]}\n')
    assert is_one_line_of_error(bad, "synmt inspect: stdin:1: a score must be between 0 and 1")
    assert is_one_line_of_error(synmt(*command[:-1], text="{}\n"), "synmt inspect: no links with scores")
