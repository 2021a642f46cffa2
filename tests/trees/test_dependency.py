from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import Line, read_lines
from synmt.trees.dependency import depths, joined
from synmt.trees.formats import (
    DependencyError,
    conllu_blocks,
    conllu_of_record,
    read_conllu,
    read_whole_conllu,
    write_conllu,
    written,
)
from synmt.trees.record import UNATTACHED, ParseRecord, RecordError, check_heads, read_record, write_record
from tests.trees.strategies import UD, dependency_records


def block(*rows: str, text: str = "") -> str:
    """Return a sentence block from rows `id form upos head deprel misc` with columns separated by spaces. In a form,
    `~` stands for a space; `upos` may be `upos/feats`."""
    lines = [f"# text = {text}"] if text else []
    for row in rows:
        number, form, upos, head, deprel, misc = row.split(" ")
        form = form.replace("~", " ")
        upos, _, feats = upos.partition("/")
        lines.append("\t".join([number, form, "_", upos, "_", feats or "_", head, deprel, "_", misc]))
    return "\n".join(lines)


FATHER = block(
    "1 He PRON 4 nsubj _",
    "2 is AUX 4 cop _",
    "3 my PRON 4 nmod:poss _",
    "4 father NOUN 0 root SpaceAfter=No",
    "5 . PUNCT 4 punct _",
)


FIRST, SECOND = f"# sentence_of_line = 1/2\n{FATHER}", f"# sentence_of_line = 2/2\n{FATHER}"


def test_a_sentence() -> None:
    assert read_conllu(FATHER) == ParseRecord(
        text="He is my father.",
        tokens=["He", "is", "my", "father", "."],
        spaces=[True, True, True, False, False],
        upos=["PRON", "AUX", "PRON", "NOUN", "PUNCT"],
        heads=[4, 4, 4, 0, 4],
        deprels=["nsubj", "cop", "nmod:poss", "root", "punct"],
    )


def test_a_multiword_token_spelled_by_its_words_stays_split() -> None:
    record = read_conllu(
        block(
            "1 I PRON 4 nsubj _",
            "2-3 don't _ _ _ SpaceAfter=No",
            "2 do AUX 4 aux _",
            "3 n't PART 4 advmod _",
            "4 know VERB 0 root _",
        )
    )
    assert record.tokens == ["I", "do", "n't", "know"]
    assert record.spaces == [True, False, False, False]
    assert record.heads == [4, 4, 4, 0]


def test_other_multiword_tokens_become_one_token() -> None:
    record = read_conllu(
        block(
            "1 Er PRON 2 nsubj _",
            "2 geht VERB 0 root _",
            "3-4 zum _ _ _ _",
            "3 zu ADP 5 case _",
            "4 dem DET 5 det _",
            "5 Haus NOUN 2 obl SpaceAfter=No",
            "6 . PUNCT 2 punct _",
            text="Er geht zum Haus.",
        )
    )
    assert record.tokens == ["Er", "geht", "zum", "Haus", "."]
    assert record.heads == [2, 0, 4, 2, 2]
    assert record.deprels == ["nsubj", "root", "case", "obl", "punct"]
    assert written(record) == record.text == "Er geht zum Haus."


def test_a_merged_token_attaches_where_its_highest_word_does() -> None:
    record = read_conllu(block("1-2 am _ _ _ _", "1 an ADP 3 case _", "2 dem NOUN 0 root _", "3 Tor NOUN 2 nmod _"))
    assert record.tokens == ["am", "Tor"]
    assert record.heads == [0, 1]
    assert record.deprels == ["root", "nmod"]


def test_features_and_sentence_names_are_preserved() -> None:
    rows = block("1 sich PRON/Case=Acc|Reflex=Yes 2 obj _", "2 an~dem ADP 0 root _", text="sich an dem")
    record = read_conllu(f"# sent_id = dev-s 1\n{rows}")
    assert record.sent_id == "dev-s 1"
    assert record.feats == ["Case=Acc|Reflex=Yes", "_", "_"]
    assert write_conllu(record).startswith(f"# sent_id = dev-s 1\n{rows[: rows.index('2	an')]}")
    assert read_record(write_record(record)) == record
    merged = read_conllu(block("1-2 zur _ _ _ _", "1 zu ADP 2 case _", "2 der DET/Case=Dat 0 root _"))
    assert merged.feats == ["Case=Dat"]


def test_empty_nodes_and_comments_are_left_out() -> None:
    rows = ["# newdoc", block("0.1 e X _ _ _", "1 a X 0 root _", "1.1 e X _ _ _", "2 b X 1 dep _")]
    assert read_conllu("\n".join(rows)).tokens == ["a", "b"]
    assert read_conllu("# sent_id = 1") == ParseRecord()


def test_white_space_in_a_form_splits_it() -> None:
    record = read_conllu(block("1 etwa ADV 2 advmod _", "2 10~000 NUM 3 nummod _", "3 Mark NOUN 0 root _"))
    assert record.tokens == ["etwa", "10", "000", "Mark"]
    assert record.heads == [2, 4, 2, 0]
    assert record.deprels == ["advmod", "nummod", "goeswith", "root"]
    assert record.upos == ["ADV", "NUM", "X", "NOUN"]


def test_unknown_columns_stay_unknown() -> None:
    record = read_conllu(block("1 a _ _ _ _", "2 _ _ _ _ _"))
    assert record == ParseRecord(text="a _", tokens=["a", "_"], spaces=[True, False])


@pytest.mark.parametrize(
    ("text", "row", "cause"),
    [
        ("1\ta", 1, "expected 10 columns, found 2"),
        (FATHER + "\n\t", 6, "expected 10 columns, found 2"),
        (FATHER.replace("3\tmy", "4\tmy"), 3, "word '4' where word 3 should be"),
        (FATHER.replace("\t0\troot", "\t9\troot"), 1, "head 9 of word 4 is outside"),
        (FATHER.replace("\t0\troot", "\tx\troot"), 4, "head 'x' is not a number"),
        (FATHER.replace("\t0\troot", "\t-1\troot"), 4, "head '-1' is not a number"),
        (FATHER.replace("\t0\troot", "\t4\troot"), 1, "is its own ancestor"),
        (FATHER.replace("\t0\troot", "\t1\troot"), 1, "is its own ancestor"),
        (FATHER.replace("\t0\troot", "\t_\troot"), 1, "some words have a head and some do not"),
        (FATHER.replace("\t4\tcop", "\t0\tcop"), 1, "both roots"),
        ("# text = He is.\n" + FATHER, 1, "do not spell the text"),
        (FATHER.replace("father", ""), 4, "empty form"),
        (block("1-3 ab _ _ _ _", "1 a X 0 root _"), 1, "multiword token 1-3 of 1 word"),
        (block("2-3 ab _ _ _ _", "1 a X 0 root _"), 1, "multiword token 2-3 before word 1"),
        (block("1-b ab _ _ _ _", "1 a X 0 root _"), 1, "ID '1-b' is not a number, a range"),
        ("# sentence_of_line = 1/2\n" + FATHER, 1, "sentence 2 of 2 of this line"),
        ("# sentence_of_line = 2/2\n" + FATHER, 1, "sentence 1 of 2 of this line"),
        (f"{FIRST}\n\n{FATHER}", 8, "sentence 2 of 2 of this line"),
        (f"{FIRST}\n\n{SECOND}".replace("\t0\t", "\t9\t"), 1, "head 9 of word 4 is outside"),
        (f"{FIRST}\n\n\n{SECOND}".replace("2/2", "2/2\n1\ta"), 10, "expected 10 columns"),
        (f"{FIRST}\n\n\n" + SECOND.replace("4\tcop", "0\tcop"), 9, "both roots"),
    ],
)
def test_errors_name_the_row_of_a_bad_block(text: str, row: int, cause: str) -> None:
    with pytest.raises((DependencyError, RecordError), match=cause) as caught:
        read_conllu(text)
    assert getattr(caught.value, "row", 1) == row


def test_blocks_end_at_empty_lines_and_files() -> None:
    texts = ["", "# a", "1", "", " ", "2", "3"]
    lines = [Line(text, "f", number) for number, text in enumerate(texts, 1)] + [Line("4", "g", 1)]
    blocks = list(conllu_blocks(lines))
    assert [(each.text, each.source, each.number) for each in blocks] == [
        ("# a\n1", "f", 2),
        ("2\n3", "f", 6),
        ("4", "g", 1),
    ]
    assert str(blocks[1].error(DependencyError("bad", row=2))) == "f:7: bad"
    assert str(blocks[1].error(RecordError("bad"))) == "f:6: bad"


@given(record=dependency_records())
def test_records_survive_writing_and_reading(record: ParseRecord) -> None:
    assert read_conllu(write_conllu(record)) == record


WORDS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b-c", "."]),
        st.sampled_from(["_", "a", "of course"]),
        st.sampled_from(["_", "NOUN"]),
        st.sampled_from(["_", "NN", "$,"]),
        st.sampled_from(["_", "A=B|C=D"]),
        st.sampled_from(["_", "0:root", "1:dep|2.1:dep"]),
        st.sampled_from(["_", "SpaceAfter=No", "X=Y", "SpaceAfter=No|X=Y"]),
    ),
    min_size=1,
    max_size=6,
)


@given(
    words=WORDS,
    comments=st.lists(st.sampled_from(["# newdoc id = 1", "# x", "# text_en = a"]), max_size=3),
    data=st.data(),
)
def test_a_block_survives_unchanged(words: list[tuple[str, ...]], comments: list[str], data: st.DataObject) -> None:
    """It also survives JSON. Without the block, all columns of words except two come back."""
    given, expected = [*comments], []
    for number, (form, lemma, upos, xpos, feats, deps, misc) in enumerate(words, 1):
        head, deprel = (0, "root") if number == 1 else (1, "dep")
        row = [str(number), form, lemma, upos, xpos, feats, str(head), deprel, deps, misc]
        if data.draw(st.booleans()):
            given.append("\t".join([f"{number}-{number}", data.draw(st.sampled_from([form, "other"])), *"________"]))
        given.append("\t".join(row))
        spaced = number == len(words) or "SpaceAfter=No" not in misc
        expected.append("\t".join([*row[:8], "_", "_" if spaced else "SpaceAfter=No"]))
        if data.draw(st.booleans()):
            given.append("\t".join([f"{number}.1", "e", *"______", "0:root", "_"]))
    text = "\n".join(given)
    if not any("-" in row.split("\t")[0] for row in given):
        assert write_conllu(read_conllu(text)).split("\n")[1:] == expected
    record = read_record(write_record(read_whole_conllu(text)))
    assert conllu_of_record(record) == f"{text}\n"


def test_a_changed_record_is_written_with_its_changes() -> None:
    comments = "# newpar\n# sent_id = 1\n# text = a b\n"
    text = f"{comments}1\ta\t_\t_\t_\t_\t0\troot\t_\tX=Y\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_"
    record = read_whole_conllu(text)
    record.deprels = ["root", "obj"]
    assert conllu_of_record(record) == f"{text}\n".replace("dep", "obj")
    record.conllu = "1\ta"
    with pytest.raises(DependencyError, match="expected 10 columns, found 2: no LEMMA"):
        conllu_of_record(record)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ("1\ta\tb\tN\tN\t_\t0\troot", "expected 10 columns, found 8: no DEPS, MISC; write _ for an unknown value"),
        ("1 a b N N _ 0 root _ _", "expected 10 columns, found 1: separate columns by tabs, not spaces"),
        ("1" + "\t_" * 13, "expected 10 columns, found 14: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"),
    ],
)
def test_missing_columns_of_other_formats_are_named(row: str, cause: str) -> None:
    with pytest.raises(DependencyError, match=f"^{cause}$"):
        read_conllu(row)


def test_a_sentence_without_heads_survives_the_round_trip() -> None:
    text = "# text = a\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_"
    assert conllu_of_record(read_whole_conllu(text)) == f"{text}\n"


def test_a_multiword_token_has_the_columns_of_its_highest_word() -> None:
    rows = ["# sent_id = 1", "# text = zum Haus", "1-2 zum _ _ _ _ _ _ _ _", "1 zu zu ADP APPR _ 3 case _ _"]
    rows += ["2 dem der DET ART _ 1 det _ _", "3 Haus Haus NOUN NN _ 0 root _ _"]
    text = "\n".join(row if row.startswith("#") else row.replace(" ", "\t") for row in rows)
    record = read_conllu(text)
    assert (record.tokens, record.lemmas, record.xpos) == (["zum", "Haus"], ["zu", "Haus"], ["APPR", "NN"])
    assert conllu_of_record(read_whole_conllu(text)) == f"{text}\n"


@given(record=dependency_records())
def test_depths_count_the_arcs_above(record: ParseRecord) -> None:
    check_heads(record.heads)
    for word, depth in enumerate(depths(record.heads), 1):
        arcs = 0
        while word:
            word = record.heads[word - 1]
            arcs += 1
        assert depth == arcs


@given(heads=st.lists(st.integers(-1, 6), min_size=1, max_size=6))
def test_heads_are_checked_like_following_them_to_the_root(heads: list[int]) -> None:
    def reaches_the_root(word: int) -> bool:
        for _ in range(len(heads) + 1):
            if word == 0:
                return True
            if not 0 < word <= len(heads):
                return False
            word = heads[word - 1]
        return False

    if heads.count(0) == 1 and all(reaches_the_root(word) for word in range(1, len(heads) + 1)):
        check_heads(heads)
    else:
        with pytest.raises(RecordError):
            check_heads(heads)


def test_each_sentence_has_its_own_tree() -> None:
    check_heads([2, 0, 0], [2, 1])
    with pytest.raises(RecordError, match="head 3 of word 1 is outside"):
        check_heads([3, 0, 0], [2, 1])


@given(records=st.lists(dependency_records(), max_size=4))
def test_joined_sentences_keep_their_roots(records: list[ParseRecord]) -> None:
    whole = joined(records)
    whole.text = written(whole)
    whole.check()
    assert whole.heads.count(0) == len(records)
    if records:
        whole.spaces[-1] = False
        whole.text = whole.text.strip()
        assert read_conllu(write_conllu(whole)) == whole
    assert whole.tokens == [token for record in records for token in record.tokens]
    assert not whole.feats or len(whole.feats) == len(whole.tokens)
    assert bool(whole.feats) == any(record.feats for record in records)


@pytest.mark.skipif(not UD.exists(), reason="needs the treebanks")
@pytest.mark.parametrize("name", ["en_ewt/en_ewt-ud-dev", "de_gsd/de_gsd-ud-dev"])
def test_the_tokens_of_a_treebank_spell_its_text(name: str) -> None:
    for each in conllu_blocks(read_lines([str(UD / f"{name}.conllu")])):
        record = read_conllu(each.text)
        assert written(record) == " ".join(record.text.split())
        again = read_conllu(write_conllu(record))
        assert (again.sent_id, again.feats, again.heads) == (record.sent_id, record.feats, record.heads)
        assert conllu_of_record(read_record(write_record(read_whole_conllu(each.text)))) == f"{each.text}\n"


RICH = """# newdoc id = d1
# sent_id = d1-1
# text = I don't see it.
1	I	I	PRON	PRP	Case=Nom	4	nsubj	4:nsubj	Gloss=ich
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	4:aux	_
3	n't	not	PART	RB	Polarity=Neg	4	advmod	4:advmod	_
4	see	see	VERB	VB	VerbForm=Inf	0	root	0:root	Gloss=sehen
4.1	there	there	ADV	RB	_	_	_	4:advmod	_
5	it	it	PRON	PRP	Case=Acc	4	obj	4:obj	SpaceAfter=No|Gloss=es
6	.	.	PUNCT	.	_	4	punct	4:punct	_"""


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("lemmas", 2, list("abcdef")),
        ("upos", 3, ["X"] * 6),
        ("xpos", 4, ["X"] * 6),
        ("feats", 5, ["A=B"] * 6),
        ("heads", 6, [0, 1, 2, 3, 4, 5]),
        ("deprels", 7, ["dep"] * 6),
    ],
)
def test_changing_a_column_leaves_the_rest_of_a_block_unchanged(name: str, column: int, values: list[object]) -> None:
    """Comments, multiword tokens, empty nodes, DEPS and MISC also stay unchanged."""
    record = read_whole_conllu(RICH)
    assert conllu_of_record(record) == f"{RICH}\n"
    rows = [line.split("\t") for line in RICH.split("\n")]
    for row, value in zip([row for row in rows if row[0].isdigit()], values, strict=True):
        row[column] = str(value)
    expected = "\n".join("\t".join(row) for row in rows) + "\n"
    setattr(record, name, values)
    assert conllu_of_record(record) == expected


ZUM = """# sent_id = zum-1
# text = Er geht zum Arzt im 16 500 Haus.
1	Er	er	PRON	PPER	Case=Nom	2	nsubj	_	Gloss=he
2	geht	gehen	VERB	VVFIN	_	0	root	_	_
3-4	zum	_	_	_	_	_	_	_	Gloss=to-the
3	zu	zu	ADP	APPR	_	5	case	_	_
4	dem	der	DET	ART	Case=Dat	5	det	_	_
5	Arzt	Arzt	NOUN	NN	_	2	obl	_	_
6-7	im	_	_	_	_	_	_	_	_
6	in	in	ADP	APPR	_	9	case	_	_
7	dem	der	DET	ART	_	6	fixed	6:fixed	_
8	16 500	16500	NUM	CARD	_	9	nummod	_	Gloss=number
9	Haus	Haus	NOUN	NN	_	5	nmod	_	SpaceAfter=No
10	.	.	PUNCT	$.	_	2	punct	_	_"""


@given(data=st.data())
def test_new_trees_over_merged_and_split_words_fit_the_words_of_the_block(data: st.DataObject) -> None:
    """The units er geht zum Arzt im 16_500 Haus . keep their arcs, and words keep all columns except those of the
    tree."""
    record = read_whole_conllu(ZUM)
    # the unit of each token, and the word of the block for each unit
    unit_of, top = [1, 2, 3, 4, 5, 6, 6, 7, 8], [1, 2, 3, 5, 6, 8, 9, 10]
    first, *others = data.draw(st.permutations(range(1, len(unit_of) + 1)))
    heads = [0] * len(unit_of)
    for place, token in enumerate(others):
        heads[token - 1] = data.draw(st.sampled_from([first, *others[:place]]))
    found = conllu_of_record(replace(record, heads=heads, deprels=[f"d{head}" for head in heads]))
    rows = [line.split("\t") for line in found.split("\n") if line and line[0] != "#"]
    old = [line.split("\t") for line in ZUM.split("\n") if line[0] != "#"]
    assert [row[:6] + row[8:] for row in rows] == [row[:6] + row[8:] for row in old]
    new = {int(row[0]): (int(row[6]), row[7]) for row in rows if row[0].isdigit()}
    check_heads([head for _, (head, _) in sorted(new.items())])
    for unit in range(1, 9):
        outside = [h for token, h in enumerate(heads) if unit_of[token] == unit and (not h or unit_of[h - 1] != unit)]
        assert new[top[unit - 1]] in [(top[unit_of[head - 1] - 1] if head else 0, f"d{head}") for head in outside]
    assert new[4] == (new[3][0] or 3, "det") and new[7] == (6, "fixed")


def test_new_columns_of_a_merged_token_are_read_back_if_its_highest_word_is_not_the_first() -> None:
    """In the new tree, both words of `am` could be equally high, and the first of equals counts."""
    parsed = read_whole_conllu(
        block("1-2 am _ _ _ _", "1 an ADP 3 case _", "2 dem DET 4 det _", "3 x X 4 x _", "4 y X 0 root _")
    )
    changed = replace(parsed, upos=["NOUN", "X", "X"], heads=[3, 3, 0], deprels=["new", "x", "root"])
    read = read_conllu(conllu_of_record(changed).rstrip())
    assert (read.upos, read.heads, read.deprels) == (changed.upos, changed.heads, changed.deprels)


def test_parts_of_a_merged_token_without_a_head_have_no_heads() -> None:
    record = replace(read_whole_conllu(ZUM), heads=[UNATTACHED] * 9, deprels=["_"] * 9)
    rows = [line.split("\t") for line in conllu_of_record(record).split("\n") if line[:1].isdigit()]
    assert {tuple(row[6:8]) for row in rows if row[0] != "7"} == {("_", "_")} and rows[8][6:8] == ["6", "fixed"]


def test_a_block_with_other_words_keeps_only_its_comments() -> None:
    record = replace(read_whole_conllu(RICH), tokens=["You", "do", "n't", "see", "it", "."], text="You don't see it.")
    assert conllu_of_record(record).startswith("# newdoc id = d1\n# sent_id = d1-1\n# text = You don't see it.\n1\tYou")
    assert "2-3" not in conllu_of_record(record)
