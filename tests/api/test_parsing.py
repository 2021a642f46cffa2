"""Parses from Python equal those of the command."""

from collections.abc import Callable

import pytest

import synmt
from synmt.parsers import ParserName
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


@pytest.mark.parametrize(
    ("wrong", "kind", "cause"),
    [
        (lambda: synmt.parse("He is."), TypeError, "not a single str"),
        (lambda: synmt.parse(["a", "b\nc"], "udpipe"), synmt.BadInput, "^sentences:2: an end of line in a sentence$"),
        (lambda: synmt.parse(["a\0"], "udpipe"), synmt.BadInput, "^sentences:1: NUL in a sentence$"),
        (lambda: synmt.parse([["New York"]], "udpipe"), synmt.BadInput, "'New York' is not a word"),
        (lambda: synmt.parse([], "udpipe", model="nothing"), synmt.BadInput, "nothing: No such file"),
        (lambda: synmt.parse([], "udpipe", language="fr"), synmt.BadInput, "'fr'"),
        (lambda: synmt.parse([], "udpip"), ValueError, "parser cannot be 'udpip'"),  # type: ignore[arg-type]
        (lambda: synmt.parse([], "udpipe", device="cpu"), ValueError, "^device needs parser benepar or "),
        (lambda: synmt.parse([], "udpipe", trust_pickle=True), ValueError, "^trust_pickle needs parser benepar or "),
        (lambda: synmt.parse([], "udpipe", model="x", language="de"), ValueError, "^language needs a parser without m"),
        (lambda: synmt.parse([], colour=3), TypeError, "unknown setting 'colour'"),  # type: ignore[call-arg]
    ],
)
def test_unparsable_input(wrong: Callable[[], object], kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        list(wrong())  # type: ignore[call-overload]
