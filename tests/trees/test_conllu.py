"""CoNLL-U as people have it: lines of several sentences, damaged files, and what the official evaluator can read."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from udtools.udeval import load_conllu

from synmt.search.translation import Translation
from synmt.streams import BadInput, BadLines, Line, Note, read_lines
from synmt.trees.dependency import divided, joined
from synmt.trees.formats import (
    Block,
    conllu_blocks,
    conllu_of_record,
    read_conllu,
    read_whole_conllu,
    write_conllu,
    written,
)
from synmt.trees.record import ParseRecord, RecordError, read_record, write_record
from tests.cli.commands import shell, synmt
from tests.trees.strategies import UD, dependency_records


def check_valid(text: str) -> int:
    """Check CoNLL-U as the official evaluator reads it, one root per sentence and IDs without gaps. Returns the number
    of sentences."""
    read = load_conllu(io.StringIO(text), "text", {})
    blocks = [block for block in text.split("\n\n") if block.strip()]
    for block in blocks:
        rows = [row.split("\t") for row in block.strip("\n").split("\n") if not row.startswith("#")]
        assert [row[0] for row in rows if row[0].isdigit()] == [
            str(n + 1) for n in range(sum(r[0].isdigit() for r in rows))
        ]
        assert all(len(row) == 10 and all(row) for row in rows)
        assert [row[6] for row in rows].count("0") == 1
    assert len(read.sentences) == len(blocks)
    return len(blocks)


def lines(text: str, source: str = "f") -> list[Line]:
    return [Line(line, source, number) for number, line in enumerate(text.split("\n"), 1)]


@st.composite
def lines_of_sentences(draw: st.DrawFn) -> ParseRecord:
    """Draw a record of one to three sentences."""
    parts = draw(st.lists(dependency_records(), min_size=1, max_size=3))
    for part in parts:
        part.spaces[-1] = draw(st.booleans())
    whole = joined(parts)
    whole.spaces[-1] = False
    whole.text, whole.sent_id = written(whole), parts[0].sent_id
    whole.check()
    return whole


@given(records=st.lists(lines_of_sentences(), min_size=1, max_size=3))
def test_each_sentence_is_a_valid_block_and_each_line_comes_back(records: list[ParseRecord]) -> None:
    text = "".join(conllu_of_record(record) + "\n" for record in records)
    assert check_valid(text) == sum(len(record.sentences) or 1 for record in records)
    blocks = list(conllu_blocks(lines(text)))
    assert [read_conllu(block.text) for block in blocks] == records
    whole = [read_record(write_record(read_whole_conllu(block.text))) for block in blocks]
    assert "".join(conllu_of_record(record) + "\n" for record in whole) == text
    assert [joined(divided(record)).heads for record in records] == [record.heads for record in records]
    changed = [replace(record, deprels=["new"] * len(record.tokens)) for record in whole]
    text = "".join(conllu_of_record(record) + "\n" for record in changed)
    check_valid(text)
    assert [read_conllu(block.text).deprels for block in conllu_blocks(lines(text))] == [
        each.deprels for each in changed
    ]


def test_the_sentences_of_a_line_are_blocks(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("He came. She left.\n\nGo.\n")
    done = shell(
        "synmt parse --parser udpipe --format conllu en > one; synmt convert --input conllu one > records;"
        " synmt convert --input records --format conllu records | diff one -; cat one; wc -l < records",
        tmp_path,
    )
    assert done.stderr == "" and check_valid(done.stdout.removesuffix("2\n")) == 3
    places, texts = re.findall("# sent.* = (.*)", done.stdout), re.findall("# text = (.*)", done.stdout)
    assert (places, texts) == (["1/2", "2/2"], ["He came.", "She left.", "Go."])
    assert done.stdout.endswith("\n2\n")
    first = read_record((tmp_path / "records").read_text().split("\n")[0])
    assert (first.text, first.sentences) == ("He came. She left.", [3, 3])


def test_changed_trees_of_a_line_keep_the_rest_of_their_blocks() -> None:
    row = "1\ta\t_\tX\t_\t_\t0\troot\t0:root\tX=Y"
    text = "\n\n".join(
        f"# sent_id = {name}\n# sentence_of_line = {n}/2\n# text = a\n{row}" for n, name in ((1, "x"), (2, "y"))
    )
    record = read_whole_conllu(text)
    assert conllu_of_record(record) == f"{text}\n"
    changed = conllu_of_record(replace(record, upos=["X", "Z"]))
    assert changed.replace("x-2", "y") == f"{text}\n".replace("X\t_\t_\t0", "Z\t_\t_\t0").replace("Z", "X", 1)


@pytest.mark.parametrize("empty", ["", "\n", "  \n", "\t\n\n"])
def test_comments_before_an_empty_line_are_no_sentence(empty: str) -> None:
    row = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_"
    text = f"# global.columns = ID\n\n# x\n{row}\n{empty}\n# the end\n"
    with pytest.warns(Note, match="left out comments without a sentence in 2 places, the first in f:1"):
        blocks = list(conllu_blocks(lines(text)))
    assert [(block.text, block.number) for block in blocks] == [(f"# x\n{row}", 3)]
    done = synmt("convert", "--input", "conllu", "--format", "conllu", text=text)
    assert done.stdout == f"# x\n{row}\n\n"
    said = "synmt convert: left out comments without a sentence in 2 places, the first in stdin:1"
    assert done.stderr.startswith(said)


def test_a_record_without_words_is_no_block() -> None:
    assert conllu_of_record(ParseRecord(conllu="# a")) == conllu_of_record(ParseRecord()) == ""
    with pytest.raises(RecordError, match="no dependency tree"):
        conllu_of_record(ParseRecord(text="a"))


@pytest.mark.parametrize("column", ["upos", "xpos", "feats", "deprels"])
def test_an_empty_value_is_refused(column: str) -> None:
    with pytest.raises(RecordError, match=f"value 2 of {column} is empty; an unknown one is _"):
        read_record(f'{{"tokens":["a","b"],"{column}":["x",""]}}')


def test_a_translation_without_a_root_of_its_own_is_one_tree() -> None:
    found = Translation("a b c", ["a", "b", "c"], heads=[0, 0, 2], deprels=["root", "root", "obj"])
    assert check_valid(conllu_of_record(found.record()) + "\n") == 1
    assert found.record().heads == [0, 1, 2] and found.heads == [0, 0, 2]
    assert "# text = a b\n" in conllu_of_record(
        Translation("x", ["a", "b"], heads=[0, 1], deprels=["root", "y"]).record()
    )


GOOD = """# sent_id = d1
# text = I don't see it.
1	I	I	PRON	PRP	Case=Nom	4	nsubj	4:nsubj	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	4:aux	_
3	n't	not	PART	RB	_	4	advmod	4:advmod	_
4	see	see	VERB	VB	_	0	root	0:root	_
4.1	there	_	ADV	_	_	_	_	4:advmod	_
5	it	it	PRON	PRP	_	4	obj	4:obj	SpaceAfter=No
6	.	.	PUNCT	.	_	4	punct	4:punct	_"""

OURS = re.compile(
    r"expected 10 columns|ID '|word '|head |empty form|multiword token |empty node |a comment |a second comment "
    r"|some words have|both roots|its own ancestor|spell the text|white space|a lemma is|value |sentence \d+ of "
)


@pytest.mark.parametrize(
    ("row", "id", "cause"),
    [
        (3, "-foo", "ID '-foo' is not a number"),
        (3, "1-", "ID '1-' is not a number"),
        (3, "01", "ID '01' is not a number"),
        (3, "+1", "ID '\\+1' is not a number"),
        (3, "¹", "ID '¹' is not a number"),
        (3, "9" * 5000, "ID '9"),
        (3, "\ufeff1", "ID '\\\\ufeff1' is not"),
        (3, "0", "ID '0' is not a number"),
        (4, "3-2", "multiword token 3-2 ends before it begins"),
        (4, "1-3", "multiword token 1-3 before word 2"),
        (4, "2-9", "multiword token 2-9 of 6 words"),
        (5, "2-3", "multiword token 2-3 overlaps 2-3"),
        (8, "5.1", "empty node 5.1 where 4.1 should be"),
        (8, "4.2", "empty node 4.2 where 4.1 should be"),
        (8, "4.x", "ID '4.x' is not a number"),
        (9, "6", "word '6' where word 5 should be"),
    ],
)
def test_wrong_ids_are_named(row: int, id: str, cause: str) -> None:
    rows = GOOD.split("\n")
    rows[row - 1] = "\t".join([id, *rows[row - 1].split("\t")[1:]])
    with pytest.raises(ValueError, match=cause):
        read_conllu("\n".join(rows))
    done = synmt("convert", "--input", "conllu", text="\n" + "\n".join(rows) + "\n\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(rf"synmt convert: stdin:({row + 1}|2): .*\n\Z", done.stderr)


@given(
    place=st.integers(0, len(GOOD)),
    cut=st.integers(0, 2),
    put=st.sampled_from(
        ["", " ", "\t", "\n", "\n\n", "#", "-", ".", "_", "0", "1", "|", "\u00a0", "\ufeff", "\u0301", "\n# a"]
    ),
)
@example(place=GOOD.index("6\t."), cut=0, put="\n")
@example(place=GOOD.index("\t."), cut=0, put=" ")
def test_a_damaged_block_is_refused_in_our_words_or_read_and_written_as_it_is(place: int, cut: int, put: str) -> None:
    text = GOOD[:place] + put + GOOD[place + cut :]
    bad = BadLines()
    try:
        blocks = [block for block in conllu_blocks(lines(text)) if isinstance(block, Block)]
        records = [bad.read(block, read_whole_conllu, ParseRecord()) for block in blocks]
    except BadInput as error:
        assert OURS.search(error.cause) and re.fullmatch(r"f:\d+", error.place), error
        assert int(error.place[2:]) <= len(text.split("\n"))
        return
    for block, record in zip(blocks, records, strict=True):
        assert conllu_of_record(record) == f"{block.text}\n"
        assert read_conllu(write_conllu(record)).tokens == record.tokens


@pytest.mark.skipif(not UD.exists(), reason="needs the treebanks")
@pytest.mark.parametrize("name", ["en_pud", "de_pud", "fr_pud", "ru_pud", "tr_pud"])
def test_the_treebanks_are_read_and_written_validly(name: str) -> None:
    path = UD / name / f"{name}-ud-test.conllu"
    records = [read_conllu(block.text) for block in conllu_blocks(read_lines([str(path)]))]
    assert len(records) == check_valid("".join(f"{write_conllu(record)}\n\n" for record in records)) == 1000


def test_spaces_are_those_of_the_text_if_the_record_does_not_tell() -> None:
    for text, tokens, spaces in (
        ("Salut\u00a0Jean!", ["Salut", "Jean", "!"], [True, False, False]),
        ("我爱你", ["我", "爱", "你"], [False, False, False]),
        ("a  b\u2028c", ["a", "b", "c"], [True, True, False]),
    ):
        record = ParseRecord(text, tokens, heads=[0, 1, 1], deprels=["root", "dep", "dep"])
        block = write_conllu(record)
        assert read_conllu(block).spaces == spaces and f"# text = {' '.join(text.split())}\n" in block


def test_text_keeps_its_no_break_spaces_if_only_the_tree_changes() -> None:
    row = "\t_\tNUM\t_\t_\t{}\t{}\t_\t_"
    block = f"# text = 10\u00a0000 men\n1\t10\u00a0000{row.format(2, 'nummod')}\n2\tmen{row.format(0, 'root')}"
    record = read_whole_conllu(block)
    changed = replace(record, deprels=["dep", *record.deprels[1:]])
    assert conllu_of_record(changed).splitlines() == block.replace("nummod", "dep").splitlines()


def test_a_file_may_be_named_twice(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n")
    blocks = conllu_blocks(read_lines([str(tmp_path / "d")] * 3))
    assert [(block.number, block.text[:3]) for block in blocks] == [(1, "1\ta")] * 3


def test_the_highest_word_of_a_token_is_one_with_a_head() -> None:
    rows = [(1, "ich", 5, "nsubj"), ("2-3", "zum", "_", "_"), (2, "zu", 4, "case"), (3, "dem", "_", "_"),
            (4, "Haus", 5, "obl"), (5, "gehen", 0, "root")]  # fmt: skip
    block = "# text = ich zum Haus gehen\n" + "\n".join(
        f"{n}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_" for n, form, head, deprel in rows
    )
    record = read_whole_conllu(block, partial=True)
    assert (record.tokens, record.heads) == (["ich", "zum", "Haus", "gehen"], [4, 3, 4, 0])
    changed = replace(record, deprels=["dep", *record.deprels[1:]])
    assert conllu_of_record(changed).splitlines() == block.replace("nsubj", "dep").splitlines()
