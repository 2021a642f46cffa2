import fcntl
import json
import os
import struct
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest

import synmt as api
from tests.cli.commands import COLD, is_one_line_of_error, is_wrong_usage, shell, synmt
from tests.trees.test_dependency import RICH

FATHER = "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))"
CONLLU = "# text = Go.\n1\tGo\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n"


def test_text_to_trees() -> None:
    done = synmt("parse", text="He is my father.\n\nShe is here. He is not.\n")
    assert (done.returncode, done.stderr) == (0, "")
    first, empty, two = map(json.loads, done.stdout.splitlines())
    assert first["tree"].startswith("(S (NP (PRP He)) (VP (VBZ is) (")
    assert first["spaces"] == [True, True, True, False, False]
    assert empty == {}
    assert two["tree"].startswith("(TOP (S ")


def test_text_to_dependencies() -> None:
    done = synmt("parse", "--parser", "udpipe", text="He is my father.")
    assert json.loads(done.stdout)["heads"] == [4, 4, 4, 0, 4]


def test_both_trees_share_a_tokenization() -> None:
    done = synmt("parse", "--parser", "benepar+udpipe", text="She can't go. He can.\n\n")
    both, empty = map(json.loads, done.stdout.splitlines())
    alone = json.loads(synmt("parse", "--parser", "udpipe", text="She can't go. He can.").stdout)
    assert both.items() > alone.items()
    assert both["tree"].startswith("(TOP (S (NP (PRP She))")
    assert both["tree"].count("(") == both["tree"].count(")")
    assert empty == {}


def test_trees_survive_a_round_trip(tmp_path: Path) -> None:
    (tmp_path / "trees.ptb").write_text(f"{FATHER}\n\n{FATHER}\n")
    (tmp_path / "trees.conllu").write_text(f"{CONLLU}\n{CONLLU}\n")
    for name in ("ptb", "conllu"):
        pipe = f"synmt convert --input {name} trees.{name} | synmt convert --input records --format {name}"
        done = shell(f"set -o pipefail; {pipe} | cmp - trees.{name}", tmp_path)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_conllu_survives_a_round_trip() -> None:
    rows = "1\tGo\tgo\tVERB\tVB\tA=B\t0\troot\t0:root\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\tX=Y\n"
    text = 2 * f"# newdoc\n# sent_id = 1\n# text = Go.\n{rows}2.1\te{8 * (chr(9) + '_')}\n\n"
    done = synmt("convert", "--input", "conllu", "--format", "conllu", text=text)
    assert (done.stdout, done.stderr) == (text, "")
    records = synmt("convert", "--input", "conllu", text=text).stdout
    assert synmt("convert", "--input", "records", "--format", "conllu", text=records).stdout == text


def test_trees_that_span_lines(tmp_path: Path) -> None:
    """In .mrg files, the first line is empty, and trees may or may not be separated by empty lines."""
    (tmp_path / "trees.mrg").write_text(
        "\n( (S \n    (NP (PRP He))\n    (VP (VBZ is))\n    (. .) ))\n( (NP (NN x)))\n\n(A\n  (B b)\n)\n"
    )
    done = shell("synmt convert --input ptb --format ptb trees.mrg", tmp_path)
    assert done.stdout == "(S (NP (PRP He)) (VP (VBZ is)) (. .))\n(NP (NN x))\n(A (B b))\n"
    one_a_line = shell(
        "synmt convert --input ptb --format ptb trees.mrg > one; synmt score -m evalb -r trees.mrg one", tmp_path
    )
    assert one_a_line.stdout.startswith("F1|rules:COLLINS|sentences:3|errors:0|") and " = 100.00 " in one_a_line.stdout
    (tmp_path / "bad.mrg").write_text("(A\n  (B b))\n(A\n  (B b)\n\n(C c)\n")
    done = shell("synmt convert --input ptb bad.mrg", tmp_path)
    assert is_one_line_of_error(done, "synmt convert: bad.mrg:3: a bracket is not closed")
    done = shell("synmt convert --input ptb --on-error blank --format ptb bad.mrg", tmp_path)
    assert done.stdout == "(A (B b))\n\n(C c)\n"


def test_stripping_applies_only_to_brackets() -> None:
    done = synmt("convert", "--input", "conllu", "--strip", text=CONLLU)
    assert is_wrong_usage(done, "--strip needs --input ptb")


def test_trees_are_parsed_only_again() -> None:
    done = synmt("parse", "--input", "conllu", text=CONLLU)
    assert is_wrong_usage(done, "--input conllu needs --again; `synmt convert --input conllu` only converts trees")


def test_parses_as_brackets_and_conllu() -> None:
    done = synmt("parse", "--format", "ptb", text="He is my father.\n\n")
    assert done.stdout.startswith("(S (NP (PRP He)) (VP (VBZ is) (") and done.stdout.endswith("\n\n")
    done = synmt("parse", "--parser", "udpipe", "--format", "conllu", text="Go home.\n\nGo.\n")
    assert done.stdout.startswith("# text = Go home.\n1\tGo\t")
    assert done.stdout.count("\n\n") == 2


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ("--format conllu", "--format conllu needs --parser udpipe"),
        ("--parser udpipe --format ptb", "--format ptb needs --parser benepar"),
    ],
)
def test_formats_without_their_parser_are_wrong_usage(options: str, cause: str) -> None:
    done = synmt("parse", *options.split(), text="Go.\n")
    assert done.returncode == 2
    assert cause in done.stderr


def test_more_models_than_parsers() -> None:
    done = synmt("parse", "--model", "a", "--model", "b", text="Go.\n")
    assert is_wrong_usage(done, "synmt parse: --parser benepar takes one model per parser, not a, b")


def test_missing_devices() -> None:
    assert is_one_line_of_error(synmt("parse", "--device", "cuda:99", text="Go.\n"), "synmt parse: device cuda:99: ")


def test_given_tokens_are_not_changed() -> None:
    done = synmt("parse", "--parser", "udpipe", "--input", "tokens", text="can't  stop -LRB- !\n\n")
    assert json.loads(done.stdout.splitlines()[0])["tokens"] == ["can't", "stop", "-LRB-", "!"]
    assert done.stdout.splitlines()[1] == "{}"


def test_finished_trees() -> None:
    tree = "(ROOT (S (NP-SBJ (PRP He)) (VP (VBZ is) (NP (-NONE- *)))))"
    done = synmt("convert", "--input", "ptb", text=f"{tree}\n\n")
    assert done.stdout == json.dumps({"tokens": ["He", "is", "*"], "tree": tree}, separators=(",", ":")) + "\n{}\n"
    done = synmt("convert", "--input", "ptb", "--strip", text=tree)
    assert json.loads(done.stdout) == {"tokens": ["He", "is"], "tree": "(S (NP (PRP He)) (VP (VBZ is)))"}


def test_finished_dependencies() -> None:
    done = synmt("convert", "--input", "conllu", text=f"{CONLLU}\n\n{CONLLU}")
    assert done.stdout.count("\n") == 2
    assert json.loads(done.stdout.splitlines()[1]) == {
        "text": "Go.",
        "tokens": ["Go", "."],
        "spaces": [False, False],
        "upos": ["VERB", "PUNCT"],
        "heads": [0, 1],
        "deprels": ["root", "punct"],
    }


def test_tokens_of_finished_trees_are_parsed_again(tmp_path: Path) -> None:
    text = "She can't go. He can.\n\nHe is my father.\n"
    parsed = synmt("parse", "--parser", "benepar+udpipe", text=text).stdout
    (tmp_path / "parsed").write_text(parsed)
    again = ["parse", "--input", "records", "--parser", "benepar+udpipe", "--again"]
    wrong = parsed.replace('"nsubj"', '"obj"').replace('"PRON"', '"X"').replace("(PRP ", "(NN ")
    assert wrong != parsed
    for jobs in ("1", "2"):
        assert synmt(*again, "trees", "--jobs", jobs, text=wrong).stdout == parsed
    assert synmt(*again, "tags", text=wrong).stdout == wrong.replace('"X"', '"PRON"')
    self_consistency = (
        "synmt parse --input records --again trees --parser udpipe parsed | synmt score parsed -m las -r -"
    )
    assert "= 100.00" in shell(self_consistency, tmp_path).stdout


def test_new_trees_leave_the_rest_of_a_treebank_unchanged() -> None:
    wrong = RICH.replace("\tnsubj\t", "\tdep\t").replace("\tPRON\t", "\tX\t")
    again = ["parse", "--input", "conllu", "--format", "conllu", "--parser", "udpipe", "--again", "trees"]
    found = synmt(*again, text=f"{wrong}\n\n").stdout.split("\n")
    assert found[-2:] == ["", ""] and "\tPRON\t" in found[3]
    given = wrong.split("\n")
    assert len(found) == len(given) + 2
    for before, after in zip(given, found, strict=False):
        if before.startswith("#"):
            assert before in found
        else:
            old, new = before.split("\t"), after.split("\t")
            assert old[:3] + old[4:6] + old[8:] == new[:3] + new[4:6] + new[8:]


AGAIN = "parse", "--input", "records", "--parser", "udpipe", "--again"


@pytest.mark.parametrize("again", ["trees", "tags"])
def test_parsing_again_reads_text_and_keeps_masks(again: str) -> None:
    text = '{"text":"Go home."}\n{"tokens":["Go"],"upos":["X"],"masks":{"own":["1"]}}\n'
    first, second = map(json.loads, synmt(*AGAIN, again, text=text).stdout.splitlines())
    assert (first["tokens"], first["upos"][2]) == (["Go", "home", "."], "PUNCT")
    assert second["masks"] == {"own": ["1"]}


def test_new_trees_drop_masks_over_the_nodes_of_old_trees() -> None:
    masks = {"words": ["01", "10"], "nodes": ["00000"] * 5}
    text = json.dumps({"tree": "(S (A Go) (B home))", "masks": masks})
    for again, kept in (("trees", {"words": masks["words"]}), ("tags", masks)):
        found = synmt(*AGAIN, again, text=f"{text}\n").stdout
        assert json.loads(found)["masks"] == kept
        assert synmt("convert", "--input", "records", text=found).stdout == found


def test_a_bad_saved_block_is_a_bad_line() -> None:
    again = [*AGAIN, "trees", "--format", "conllu"]
    text = '{"tokens":["Go"]}\n{"tokens":["a"],"conllu":"junk"}\n'
    assert is_one_line_of_error(synmt(*again, text=text), "synmt parse: stdin:2: expected 10 columns")
    done = synmt(*again, "--on-error", "blank", text=text)
    assert done.returncode == 0 and done.stderr == "synmt parse: 1 bad line left empty\n"
    assert done.stdout.startswith("# text = Go\n1\tGo\t") and done.stdout.endswith("\t0\troot\t_\t_\n\n")


def test_parsing_again_needs_trees_and_tags_need_udpipe() -> None:
    assert "--again needs --input records or" in synmt("parse", "--again", "trees", text="Go.\n").stderr
    options = ["parse", "--input", "records", "--again", "tags"]
    assert "--again tags needs --parser udpipe" in synmt(*options, text="{}\n").stderr
    bad = synmt(*options, "--parser", "udpipe", text='{"tokens": 1}\n')
    assert is_one_line_of_error(bad, "synmt parse: stdin:1: ")


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("ptb", f"{FATHER}\n(S (A a)\n", ":2: a bracket is not closed"),
        ("ptb", "(S (A a\u00a0b))\n", ":1: white space or NUL in 'a\\xa0b'"),
        ("conllu", f"{CONLLU}\n{CONLLU}3\tx\n", ":8: expected 10 columns, found 2"),
        ("conllu", f"{CONLLU}\n\n# text = Go\n1\tGo\n", ":7: expected 10 columns, found 2"),
    ],
)
def test_errors_name_the_file_and_line_of_bad_trees(tmp_path: Path, kind: str, text: str, place: str) -> None:
    path = tmp_path / "in"
    path.write_text(text)
    assert is_one_line_of_error(synmt("convert", "--input", kind, path), f"synmt convert: {path}{place}")


def test_bad_trees_become_empty_records() -> None:
    done = synmt("convert", "--input", "ptb", "--on-error", "blank", text=f"{FATHER}\n(S\n{FATHER}\n")
    lines = done.stdout.splitlines()
    assert lines[1] == "{}" and lines[0] == lines[2] != "{}"
    assert done.stderr == "synmt convert: 1 bad line left empty\n"
    done = synmt("convert", "--input", "conllu", "--on-error", "blank", text=f"1\n\n{CONLLU}")
    assert done.stdout.splitlines()[0] == "{}" and done.stdout.count("\n") == 2


@pytest.mark.parametrize("bad", [b"a\0b", b"\xff"])
def test_lines_that_are_not_text(bad: bytes) -> None:
    text = b"Go.\n" + bad + b"\nStop.\n"
    done = synmt("parse", "--parser", "udpipe", text=text)
    assert is_one_line_of_error(done, "synmt parse: stdin:2: ")
    assert done.stdout.count("\n") == 1
    done = synmt("parse", "--parser", "udpipe", "--on-error", "blank", text=text)
    assert [len(json.loads(line)) > 0 for line in done.stdout.splitlines()] == [True, False, True]
    assert done.stderr == "synmt parse: 1 bad line left empty\n"


def test_two_jobs_write_the_same_as_one(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("".join(f"Dog number {n} sleeps. It snores.\n\n" for n in range(150)))
    one = synmt("parse", "--parser", "udpipe", path)
    two = synmt("parse", "--parser", "udpipe", "--jobs", "2", path)
    assert (two.returncode, two.stderr) == (0, "")
    assert one.stdout == two.stdout
    assert one.stdout.count("\n") == 300


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_broken_models_give_one_line_of_error(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "bad.udpipe").write_bytes(b"\xff" * 50)
    bad = ["--parser", "udpipe", "--model", str(tmp_path / "bad.udpipe"), "--jobs", jobs]
    assert is_one_line_of_error(synmt("parse", *bad, text="Go.\n"), "synmt parse: UDPipe model", "not a UDPipe 1 model")


def test_released_models_that_are_not_installed() -> None:
    done = synmt("parse", "--model", "benepar_none9", text="Go.\n")
    assert is_one_line_of_error(done, "synmt parse: benepar model benepar_none9: not installed")


def test_sentences_too_long_are_counted() -> None:
    text = "a " * 1001 + "\nGo."
    parse = ("parse", "--parser", "udpipe", "--input", "tokens")
    done = synmt(*parse, text=text)
    long, short = map(json.loads, done.stdout.splitlines())
    assert (len(long["tokens"]), len(short["heads"])) == (1001, 1) and "heads" not in long
    assert done.stderr == "synmt parse: 1 sentence too long to parse, written without a tree\n"
    blocks = synmt(*parse, "--format", "conllu", text=text)
    again = synmt("convert", "--input", "conllu", text=blocks.stdout)
    assert ["heads" in json.loads(line) for line in again.stdout.splitlines()] == [False, True]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_closed_pipe_ends_quietly(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "in").write_text("Go home.\n" * 3000)
    command = f"synmt parse --parser udpipe --jobs {jobs} in | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = shell(command, tmp_path)
    assert done.stderr == ""
    assert done.stdout.endswith("}\n0\n")


def test_the_first_mask_comes_before_the_last_sentence_is_read(tmp_path: Path) -> None:
    """The test writes more sentences than the commands hold at once, so it is still writing when the first mask
    arrives."""
    sentences = "(yes 'He is my father.' | head -n 20000; touch written)"
    done = shell(f"{sentences} | synmt parse | synmt make-masks | (head -n 1; ls written 2> /dev/null)", tmp_path)
    (mask,) = done.stdout.splitlines()
    assert json.loads(mask)["parents"][0] == -1


def test_the_examples_of_help_run(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("He is my father.\n" * 3)
    examples = synmt("parse", "--help").stdout.split("Examples:\n")[1].splitlines()
    assert len(examples) == 3
    for example in examples:
        done = shell(f"set -o pipefail; {example}", tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), example


def test_german_has_its_own_model() -> None:
    german = json.loads(
        synmt("parse", "--parser", "udpipe", "--language", "de", text="Er ist zum Haus gegangen.\n").stdout
    )
    assert german["tokens"] == ["Er", "ist", "zum", "Haus", "gegangen", "."]
    assert german["upos"][:2] == ["PRON", "AUX"]
    for language, parser in (("de", "benepar"), ("de", "benepar+udpipe"), ("fi", "udpipe")):
        done = synmt("parse", "--parser", parser, "--language", language, text="Er ist.\n")
        kind = "constituency" if language == "de" else "dependency"
        assert is_one_line_of_error(done, f"synmt parse: no embedded {kind} model for '{language}'", "--model")


@pytest.mark.parametrize(("files", "shown"), [("in", "3/3"), ("- < in", "3 sentences")])
def test_progress_is_shown_unless_records_go_to_the_terminal(files: str, shown: str, tmp_path: Path) -> None:
    """For a file, it also shows how much remains."""
    (tmp_path / "in").write_text("Go.\n" * 3)
    (tmp_path / "synmt").write_text(f'exec {COLD} "$@"\n')
    line = f"sh ./synmt parse --parser udpipe --format conllu {files}"
    seen = on_terminal(f"{line} > out", tmp_path)
    records = (tmp_path / "out").read_text()
    assert shown in seen and records.count("# text = Go.") == 3
    assert on_terminal(line, tmp_path).replace("\r\n", "\n") == records


def on_terminal(line: str, folder: Path) -> str:
    """Return the output of a line of shell on a terminal of 80 columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(["sh", "-c", line], cwd=folder, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:  # reading a terminal ends with an error
        while part := terminal.read(4096):
            seen += part
    assert process.wait() == 0
    return seen.decode()


def test_the_suffix_of_a_file_names_its_language(tmp_path: Path) -> None:
    text = "Mein Vater ist da.\n"
    for name in ("a.de", "a.en", "a.fr", "a"):
        (tmp_path / name).write_text(text)
    parse = "parse", "--parser", "udpipe"
    german = synmt(*parse, "--language", "de", text=text).stdout
    assert synmt(*parse, tmp_path / "a.de").stdout == german != synmt(*parse, tmp_path / "a").stdout
    (record,) = api.parse(tmp_path / "a.de", "udpipe")
    assert api.write_record(record) == german.strip()
    assert synmt(*parse, "--language", "de", tmp_path / "a.en").stdout == german
    assert is_one_line_of_error(synmt(*parse, tmp_path / "a.fr"), "'fr'")
    both = synmt(*parse, tmp_path / "a.de", tmp_path / "a.en")
    assert both.returncode == 2 and "the files are in de and en; parse them separately" in both.stderr
    for name in ("b.de", "b.en"):
        (tmp_path / name).write_text('{"tokens": ["a"]}\n')
    assert synmt("convert", "--input", "records", tmp_path / "b.de", tmp_path / "b.en").returncode == 0


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("conllu", "# sent_id = 1\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"),
        ("conllu", "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"),
        ("ptb", "\n( (S (NP (DT The) (NN end))))\n"),
        ("ptb", "(ROOT (S (NP (DT The) (NN end))))\n"),
        ("ptb", "(S (NP-SBJ (DT The) (NN end)))\n"),
        ("records", '{"tokens": ["a"]}\n'),
    ],
)
def test_trees_are_not_parsed_as_text(form: str, text: str) -> None:
    for kind in ("text", "tokens"):
        done = synmt("parse", "--input", kind, "--parser", "udpipe", text=text)
        place, advice = f"stdin:{1 + text.startswith(chr(10))}", f"try synmt convert --input {form}"
        assert is_one_line_of_error(done, f"synmt parse: {place}: looks like {form}, not text: {advice}")


@pytest.mark.parametrize("text", ["(A note.)", "((A) and (B))", "1 2 3", "# text", "( S )", "(I (you) we)"])
def test_text_with_brackets_is_text(text: str) -> None:
    assert synmt("parse", "--parser", "udpipe", text=f"{text}\n").returncode == 0
