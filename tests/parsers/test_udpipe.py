import re
from pathlib import Path

import pytest
from ufal.udpipe import Model, Pipeline, ProcessingError

from synmt.parsers.parser import DEPENDENCY, ModelError, embedded_model
from synmt.parsers.stream import parse_again
from synmt.parsers.udpipe import HEADER, UDPipeParser
from synmt.trees.formats import conllu_of_record, read_conllu
from synmt.trees.record import UNATTACHED, ParseRecord, read_record, write_record
from tests.trees.strategies import UD


def test_he_is_my_father(udpipe: UDPipeParser) -> None:
    (record,) = udpipe.parse(["He is my father."])
    assert record.tokens == ["He", "is", "my", "father", "."]
    assert record.upos == ["PRON", "AUX", "PRON", "NOUN", "PUNCT"]
    assert record.heads == [4, 4, 4, 0, 4]
    assert record.deprels == ["nsubj", "cop", "nmod:poss", "root", "punct"]
    assert record.feats[3:] == ["Number=Sing", "_"]


def test_contractions_are_two_tokens_without_a_space(udpipe: UDPipeParser) -> None:
    (record,) = udpipe.parse(["I don't know."])
    assert record.tokens == ["I", "do", "n't", "know", "."]
    assert record.spaces == [True, False, True, False, False]


def test_each_sentence_of_a_line_keeps_its_root(udpipe: UDPipeParser) -> None:
    (record,) = udpipe.parse(["He left the house. She stayed at home."])
    assert record.heads.count(0) == 2
    assert record.tokens.count(".") == 2
    period = record.tokens.index(".") + 1
    assert all(head <= period for head in record.heads[:period])
    assert all(head == 0 or head > period for head in record.heads[period:])
    record.check()


def test_given_tokens_are_not_changed(udpipe: UDPipeParser) -> None:
    (record,) = udpipe.parse([["I", "don't", "know.", "#", "1-2", "_"]])
    assert record.tokens == ["I", "don't", "know.", "#", "1-2", "_"]
    assert record.text == "I don't know. # 1-2 _"
    record.check()


def test_a_token_of_two_words_is_parsed_as_in_text() -> None:
    german = UDPipeParser(str(embedded_model(DEPENDENCY, "de")))
    text = "Er geht zum Haus im Wald ."
    given, again = german.parse([text, text.split()])
    assert given.tokens == again.tokens == text.split()
    assert (again.upos[2], again.heads[2], again.deprels[2]) == ("ADP", 4, "case")
    assert (given.upos, given.heads, given.deprels) == (again.upos, again.heads, again.deprels)
    (odd,) = german.parse([["zum", "im.", "Zum", "z u m".replace(" ", "\u200b"), "#"]])
    assert odd.tokens[:3] == ["zum", "im.", "Zum"] and len(odd.heads) == 5
    odd.check()


ZUM = """\
# sentence_of_line = 1/2
# text = Er geht zum Haus.
1	Er	_	PRON	_	Case=Nom|Gender=Masc|Number=Sing|Person=3|PronType=Prs	2	nsubj	_	_
2	geht	_	VERB	_	Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin	0	root	_	_
3-4	zum	_	_	_	_	_	_	_	_
3	zu	_	ADP	_	_	5	case	_	_
4	dem	_	DET	_	Case=Dat|Definite=Def|Gender=Neut|Number=Sing|PronType=Art	5	det	_	_
5	Haus	_	NOUN	_	Case=Dat|Gender=Neut|Number=Sing	2	obl	_	SpaceAfter=No
6	.	_	PUNCT	_	_	2	punct	_	_

# sentence_of_line = 2/2
# text = Er kommt.
1	Er	_	PRON	_	Case=Nom|Gender=Masc|Number=Sing|Person=3|PronType=Prs	2	nsubj	_	_
2	kommt	_	VERB	_	Mood=Ind|Number=Sing|Person=3|Tense=Pres	0	root	_	SpaceAfter=No
3	.	_	PUNCT	_	_	2	punct	_	_
"""


@pytest.mark.parametrize("line", ["Er geht zum Haus. Er kommt.", "  Er geht\tzum Haus.   Er kommt. "])
def test_the_words_of_multiword_tokens_are_in_conllu(line: str) -> None:
    (record,) = UDPipeParser(str(embedded_model(DEPENDENCY, "de"))).parse([line])
    assert record.tokens == ["Er", "geht", "zum", "Haus", ".", "Er", "kommt", "."]
    again = read_record(write_record(record))
    assert conllu_of_record(record) == conllu_of_record(again) == ZUM
    assert read_conllu(record.conllu).tokens == record.tokens


def test_new_trees_bring_the_words_of_multiword_tokens() -> None:
    parser = UDPipeParser(str(embedded_model(DEPENDENCY, "de")))
    (parsed,) = parser.parse(["Er geht zum Haus."])
    bare = ParseRecord(parsed.text, parsed.tokens, parsed.spaces, sent_id="x")
    (again,) = parse_again([bare], "trees", parser)
    assert conllu_of_record(again) == f"# sent_id = x\n{conllu_of_record(parsed)}"


@pytest.mark.parametrize(("language", "file"), [("de", "de_gsd"), ("de", "de_pud"), ("en", "en_pud"), ("en", "en_ewt")])
def test_conllu_of_raw_text_is_that_of_udpipe(language: str, file: str) -> None:
    """Every 20th sentence, with the one that follows it in the same line."""
    if not (UD / file).exists():
        pytest.skip("needs the shared data")
    path = max((UD / file).glob("*test*.conllu"))
    texts = re.findall("^# text = (.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    lines = [f"{one} {other}" for one, other in zip(texts[::20], texts[1::20], strict=False)]
    model = str(embedded_model(DEPENDENCY, language))
    loaded = Model.load(model)  # the pipeline does not keep it
    program = Pipeline(loaded, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")

    def rows(block: str) -> list[list[str]]:
        """Return the columns of each row, without lemmas, XPOS, DEPS and MISC."""
        found = [row.split("\t") for row in block.split("\n") if row[:1].isdigit()]
        return [[*row[:2], row[3], *row[5:8]] for row in found]

    parser = UDPipeParser(model)
    for line in lines:
        (record,) = parser.parse([line])
        assert rows(conllu_of_record(record)) == rows(program.process(line, ProcessingError()))
        record.check()
        assert read_conllu(conllu_of_record(record)[:-1]).tokens == record.tokens


def test_a_sentence_over_the_limit_has_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synmt.parsers.udpipe.LONGEST_SENTENCE", 5)
    udpipe = UDPipeParser()
    five, six = udpipe.parse([["a"] * 5, ["a"] * 6])
    assert udpipe.unparsed == 1
    assert (six.heads, six.deprels, len(six.upos)) == ([], [], 6)
    assert len(five.heads) == 5
    (line,) = udpipe.parse(["He goes. " + "b " * 6 + "."])
    assert line.sentences == [3, 7] and UNATTACHED not in line.heads[:3]
    assert (line.heads[3:], line.deprels[3:]) == ([UNATTACHED] * 7, ["_"] * 7)
    line.check(partial=True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 100,
        b"\x80morphodita_parsito",
        b"\x00",
        HEADER,
        embedded_model(DEPENDENCY).read_bytes()[:100_000],
        b"plain text\n",
    ],
)
def test_files_that_are_not_models_raise_an_error_instead_of_aborting(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.udpipe"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a UDPipe 1 model, or damaged"):
        UDPipeParser(str(path))


def test_unreadable_models(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        UDPipeParser("benepar_en3")
    with pytest.raises(ModelError, match="Is a directory"):
        UDPipeParser(str(tmp_path))
