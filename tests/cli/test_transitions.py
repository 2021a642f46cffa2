"""`synmt transitions` in real pipes."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import CODES, RECORD, is_one_line_of_error, is_wrong_usage, shell, synmt

FATHER = "He is my father LEFT-ARC:nmod:poss LEFT-ARC:cop LEFT-ARC:nsubj . RIGHT-ARC:punct"


def record(tokens: str, heads: list[int], deprels: str, **others: list[int]) -> str:
    fields = {"tokens": tokens.split(), "heads": heads, "deprels": deprels.split(), **others}
    return json.dumps(fields) + "\n"


CROSSING = record("a b c d", [3, 4, 0, 3], "w x root y")
TWO_ROOTS = record("a b", [0, 0], "root root", sentences=[1, 1])


def test_styles(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(CODES)
    assert synmt("transitions", text=RECORD, cold=True).stdout == f"{FATHER}\n"
    done = synmt("transitions", "--bpe", tmp_path / "codes", "--split-arcs", "--root-arc", text=RECORD)
    assert done.stdout == (
        "He is my fa@@ ther LEFT-ARC ARC:nmod:poss LEFT-ARC ARC:cop LEFT-ARC ARC:nsubj . RIGHT-ARC ARC:punct"
        " RIGHT-ARC ARC:root\n"
    )
    back = synmt("read-transitions", "--split-arcs", "--root-arc", text=done.stdout)
    assert back.stdout == "He is my father .\n"


def test_moses_tokens_of_a_record_without_text_or_spaces() -> None:
    done = synmt("transitions", "--moses", "en", text=record("He knows , yes", [2, 0, 2, 2], "nsubj root punct dep"))
    string = "He knows LEFT-ARC:nsubj , RIGHT-ARC:punct yes RIGHT-ARC:dep\n"
    assert (done.stdout, done.stderr) == (string, "")


def test_trees_without_a_string_give_empty_lines_and_are_counted() -> None:
    done = synmt("transitions", text=f"{RECORD}\n{TWO_ROOTS}\n{TWO_ROOTS}{RECORD}")
    assert done.returncode == 0
    assert done.stdout == f"{FATHER}\n\n\n\n{FATHER}\n"
    assert done.stderr == "synmt transitions: 2 lines where the tree has several roots left empty\n"


def test_lifted_trees_survive_a_round_trip(tmp_path: Path) -> None:
    done = synmt("transitions", text=CROSSING)
    assert done.stdout == "a b c LEFT-ARC:x↑y LEFT-ARC:w d RIGHT-ARC:y\n"
    assert done.stderr == "synmt transitions: lifted the crossing arcs of 1 tree\n"
    back = json.loads(synmt("read-transitions", "--format", "records", text=done.stdout).stdout)
    assert back.items() >= json.loads(CROSSING).items()
    ambiguous = record("a b c d e", [3, 5, 0, 3, 3], "w x root y y")
    done = synmt("transitions", text=f"{CROSSING}{ambiguous}")
    assert done.stderr == "synmt transitions: lifted the crossing arcs of 2 trees, 1 irreversibly\n"


def test_bad_records_are_errors_and_not_counted_as_trees_without_a_string() -> None:
    text = f"{TWO_ROOTS}{record('a b', [2, 1], 'x y')}"
    done = synmt("transitions", text=text)
    assert is_one_line_of_error(done, "synmt transitions: stdin:2: word 1 is its own ancestor")
    assert done.stdout == "\n"
    blanked = synmt("transitions", "--on-error", "blank", text=text)
    assert blanked.stderr.splitlines() == [
        "synmt transitions: 1 line where the tree has several roots left empty",
        "synmt transitions: 1 bad line left empty",
    ]
    assert is_one_line_of_error(
        synmt("transitions", text='{"tree": "(A a)"}'), "stdin:1: record has no dependency tree"
    )


def test_words_that_look_like_arcs_survive_a_round_trip(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(record("\\ARC:x LEFT-ARC:det ARC: RIGHT-ARC", [2, 0, 2, 2], "det root a b"))
    done = shell("synmt transitions in | tee arcs | synmt read-transitions --format records", tmp_path)
    assert (tmp_path / "arcs").read_text() == (
        "\\\\ARC:x \\LEFT-ARC:det LEFT-ARC:det ARC: RIGHT-ARC:a \\RIGHT-ARC RIGHT-ARC:b\n"
    )
    found = json.loads(done.stdout)
    assert found["tokens"] == ["\\ARC:x", "LEFT-ARC:det", "ARC:", "RIGHT-ARC"]
    assert found["heads"] == [2, 0, 2, 2]
    assert found["deprels"] == ["det", "root", "a", "b"]


def test_parsed_text_survives_a_round_trip_through_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(CODES)
    text = "He didn't see the well-known \"gold\" dog.\n\nIt's gonna rain (cannot say).\n"
    (tmp_path / "in").write_text(text)
    pipe = (
        "set -o pipefail; synmt parse --parser udpipe in | synmt transitions --moses en --bpe codes | tee arcs |"
        " synmt read-transitions --moses en"
    )
    done = shell(pipe, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")
    conllu = shell("synmt read-transitions --moses en --format conllu arcs", tmp_path).stdout
    assert "# text = It's gonna rain (cannot say).\n" in conllu
    assert [row.split("\t")[1] for row in conllu.splitlines() if row.startswith("2\t")] == ["didn", "'s"]
    again = shell(
        "synmt read-transitions --moses en --format conllu arcs |"
        " synmt transitions --input conllu --moses en --bpe codes | diff - <(grep . arcs)",
        tmp_path,
    )
    assert (again.returncode, again.stdout) == (0, "")


def test_multiword_tokens_of_conllu_are_words(tmp_path: Path) -> None:
    rows = [
        "1-2 zum _ _ _ _ _ _ _ _",
        "1 zu _ _ _ _ 3 case _ _",
        "2 dem _ _ _ _ 3 det _ _",
        "3 Haus _ _ _ _ 0 root _ _",
        "",
    ]
    (tmp_path / "in.conllu").write_text("\n".join(row.replace(" ", "\t") for row in rows) + "\n")
    done = shell("synmt transitions --input conllu in.conllu", tmp_path)
    assert done.stdout == "zum Haus LEFT-ARC:case\n"
    assert done.stderr == ""
    (tmp_path / "bad.conllu").write_text("1\ta\n")
    assert is_one_line_of_error(
        shell("synmt transitions --input conllu bad.conllu", tmp_path), "bad.conllu:1: expected 10 columns, found 2"
    )


def test_a_broken_string_is_reported_with_line_and_token() -> None:
    broken = f"{FATHER}\n\na b RIGHT-ARC:x LEFT-ARC:y\n"
    done = synmt("read-transitions", text=broken)
    assert is_one_line_of_error(
        done,
        "synmt read-transitions: stdin:3: token 4: LEFT-ARC:y: an arc needs two words, but 1 word waits for a head",
    )
    assert done.stdout == "He is my father .\n\n"
    blanked = synmt("read-transitions", "--format", "records", "--on-error", "blank", text=broken)
    assert blanked.stdout.splitlines()[1:] == ["{}", "{}"]
    assert blanked.stderr == "synmt read-transitions: 1 bad line left empty\n"


@pytest.mark.parametrize("form", ["records", "conllu"])
@pytest.mark.parametrize(
    ("string", "cause"),
    [
        ("a\tb", "white space or NUL in 'a\\tb'"),
        ("a b\u00a0c LEFT-ARC:x", "white space or NUL in 'b\\xa0c'"),
        ("a b LEFT-ARC:x\u2028y", "white space or NUL in 'x\\u2028y'"),
        ("a @-@ RIGHT-ARC:x b RIGHT-ARC:y", "the tokens do not spell the text"),
    ],
)
def test_a_string_that_no_record_holds_is_a_bad_line(form: str, string: str, cause: str) -> None:
    """Such a tree could not be read again: a tab would be a column of CoNLL-U."""
    moses = ["--moses", "en"] if "@-@" in string else []
    done = synmt("read-transitions", *moses, "--format", form, text=f"a\n{string}\n")
    assert is_one_line_of_error(done, f"synmt read-transitions: stdin:2: {cause}")
    as_text = synmt("read-transitions", *moses, text=f"{string}\n")
    assert (as_text.returncode, as_text.stderr) == (0, "")


def test_strings_that_are_not_trees_can_be_repaired() -> None:
    broken = f"{FATHER}\n\na b RIGHT-ARC:x LEFT-ARC:y c d@@\nOTHER:x\n"
    done = synmt("read-transitions", "--repair", "--format", "records", text=broken)
    whole, empty, repaired, word = map(json.loads, done.stdout.splitlines())
    assert (empty, word["heads"]) == ({}, [0])
    assert [repaired[name] for name in ("tokens", "heads", "deprels")] == [
        ["a", "b", "c", "d"], [0, 1, 1, 1], ["root", "x", "dep", "dep"],
    ]  # fmt: skip
    assert whole == json.loads(synmt("read-transitions", "--format", "records", text=FATHER).stdout)
    cause = "token 4: LEFT-ARC:y: an arc needs two words, but 1 word waits for a head"
    assert done.stderr == f"synmt read-transitions: repaired 1 string; the first was not a tree: {cause}\n"


def test_wrong_usage() -> None:
    for line in (["transitions", "--moses", "English"], ["read-transitions", "--format", "ptb"]):
        done = synmt(*line)
        assert is_wrong_usage(done, f"synmt {line[0]}: ", f"(synmt {line[0]} -h)")
    old = synmt("transitions", "--invert")
    assert is_wrong_usage(old, "unknown option --invert; `synmt read-transitions` reads target strings")


def test_a_record_without_text_has_the_words_of_its_tokens(tmp_path: Path) -> None:
    record = '{"tokens":["only","5%"],"heads":[2,0],"deprels":["a","root"]}\n'
    for more in "", '"text":"only 5%",':
        for words in "--words en", "--moses en":
            (tmp_path / "record").write_text(record.replace("{", "{" + more))
            done = shell(f"synmt transitions {words} record | synmt read-transitions {words}", tmp_path)
            assert done.stdout == "only 5%\n"


def test_words_restore_the_spacing() -> None:
    line = '{"text": "It’s (so).", "tokens": ["It", "’s", "(", "so", ")", "."], "heads": [4, 4, 4, 0, 4, 4],'
    line += ' "deprels": ["nsubj", "cop", "punct", "root", "punct", "punct"]}'
    string = synmt("transitions", "--words", "en", text=line).stdout
    assert string.startswith("It ￭’s (￭ so LEFT-ARC:punct LEFT-ARC:cop LEFT-ARC:nsubj ￭)")
    assert synmt("read-transitions", "--words", "en", text=string).stdout == "It’s (so).\n"
