"""Parses from Python equal those of the command."""

from collections.abc import Callable
from pathlib import Path

import pytest

import synmt
from synmt import ParserConfig
from synmt.parsers import ParserName
from synmt.streams import Note
from tests.cli.commands import in_process

TEXTS = ["He is my father.", "", "Stop it! She saw the old dogs.", "  two   spaces ", "\ufeffA mark"]


@pytest.mark.parametrize("parser", ["udpipe", "benepar+udpipe"])
def test_parses_equal_those_of_the_command(parser: ParserName) -> None:
    expected = in_process("parse", "--parser", parser, text="\n".join(TEXTS).encode()).decode()
    found = synmt.parse((f"{text}\n" for text in TEXTS), parser)
    assert [synmt.write_record(record) for record in found] == expected.splitlines()


def test_given_tokens_are_not_changed() -> None:
    expected = in_process("parse", "--parser", "udpipe", "--input", "tokens", text=b"The dog 's tail").decode()
    (record,) = synmt.parse([["The", "dog", "'s", "tail"]], "udpipe")
    assert synmt.write_record(record) == expected.strip()
    assert synmt.read_record(expected) == record


def test_translations_are_parsed_as_text() -> None:
    """Like the lines that `synmt translate` writes."""
    assert list(synmt.parse(map(synmt.Translation, TEXTS), "udpipe")) == list(synmt.parse(TEXTS, "udpipe"))


def test_a_file_of_trees_is_not_parsed_as_text(tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("\n(S (NP (DT The) (NN end)))\n")
    with pytest.raises(synmt.BadInput, match=r"trees:2: looks like ptb, not text$"):
        list(synmt.parse(tmp_path / "trees", "udpipe"))


def test_words_that_are_none_give_an_empty_record_if_asked() -> None:
    with pytest.warns(Note, match="^1 bad line left empty$"):
        bad, good = synmt.parse([["New York"], ["New", "York"]], "udpipe", on_error="blank")
    assert (bad, good.tokens) == (synmt.ParseRecord(), ["New", "York"])


@pytest.mark.parametrize(
    ("wrong", "kind", "cause"),
    [
        (lambda: synmt.parse("He is."), TypeError, "not a single str"),
        (lambda: synmt.parse(["a", "b\nc"], "udpipe"), synmt.BadInput, "^sentences:2: an end of line in a sentence$"),
        (lambda: synmt.parse(["a\0"], "udpipe"), synmt.BadInput, "^sentences:1: NUL in a sentence$"),
        (
            lambda: synmt.parse(["", '{"text": "Go."}'], "udpipe"),
            synmt.BadInput,
            "^sentences:2: looks like records, not",
        ),
        (
            lambda: synmt.parse([["a"], "# text = Go."], "udpipe"),
            synmt.BadInput,
            "^sentences:2: looks like conllu, not",
        ),
        (lambda: synmt.parse([synmt.ParseRecord("Go.")], "udpipe"), TypeError, "not ParseRecord$"),  # type: ignore[list-item]
        (lambda: synmt.parse([["New York"]], "udpipe"), synmt.BadInput, "'New York' is not a word"),
        (lambda: synmt.parse([], ParserConfig("udpipe", ("nothing",))), synmt.BadInput, "nothing: No such file"),
        (lambda: synmt.parse([], ParserConfig("udpipe", language="fr")), synmt.BadInput, "'fr'"),
        (lambda: synmt.parse([], "udpip"), ValueError, "parser cannot be 'udpip'"),  # type: ignore[arg-type]
        (lambda: synmt.parse([], ParserConfig("udpipe", device="auto")), ValueError, "^device needs parser benepar"),
        (lambda: synmt.parse([], ParserConfig("udpipe", trust_pickle=True)), ValueError, "^trust_pickle needs parser "),
        (
            lambda: synmt.parse([], ParserConfig("udpipe", ("x",), language="de")),
            ValueError,
            "^language needs a parser without m",
        ),
        (lambda: ParserConfig(colour=3), TypeError, "^ParserConfig has no 'colour', only parser, model, language, "),  # type: ignore[call-arg]
    ],
)
def test_unparsable_input(wrong: Callable[[], object], kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        list(wrong())  # type: ignore[call-overload]
