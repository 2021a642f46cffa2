from pathlib import Path

import pytest

from synmt.parsers.parser import DEPENDENCY, ModelError, embedded_model
from synmt.parsers.udpipe import HEADER, UDPipeParser
from synmt.trees.record import UNATTACHED


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
