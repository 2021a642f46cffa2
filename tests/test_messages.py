"""All messages of synmt: one short line in plain English."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from synmt.streams import counted

PACKAGE = Path(__file__).parents[1] / "synmt"
ERRORS = {"BadInput", "WrongUsage", "BadParameter", "ValueError", "TypeError", "MemoryError", "error"}
SAID = {"print", "echo", "add", "complain"}  # of their arguments, only those that are one sentence
LONGEST = 110  # characters besides filled-in values, so a file, a line number and the message fit a wide terminal
VALUE = "…"  # stands for a filled-in value
CALQUES = {
    "beside": "next to, and, or as well as",
    "(holds|is|are) no (?!longer)": "has no, is not a",
    "is (another|none of)|are another": "differs, does not match, is not one of",
    "(that|those) of|(is|are) of|what (is|are|they|it)|holds? what": "name the thing",
    "twice|up to the run": "a duplicate, set by",
    "anew|goes on|begins? with what": "again, continues, starts with",
    "which there (is|are)|that there (is|are) not|there is not": "does not exist",
    "for want of|hardly|passed over|learnt": "without, barely, skipped, learned",
    "a training(?! run)|serves?": "a training run, is for",
    "hangs? on|stands? (in|on|there|for what)|comes? from none": "the usual verb",
}
NUMBER_WITHOUT_FORMS = re.compile(rf"{VALUE} (lines?|pairs?|columns?|subwords?|sentences?|strings?|trees?)\b")


def text_of(node: ast.expr) -> str | None:
    """Return a message from the code, with … for each filled-in value, or None if it is not a literal."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else VALUE for each in node.values)
    return None


def messages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            parts = [node.args[0].body, node.args[0].orelse] if isinstance(node.args[0], ast.IfExp) else node.args[:1]
            for text in map(text_of, parts):
                if text and (name in ERRORS or (name in SAID and " " in text)):
                    yield text


@cache
def all_messages() -> dict[str, str]:
    """Return all messages by their files."""
    return {
        f"{path.relative_to(PACKAGE)}: {text}": text
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in messages(ast.parse(path.read_text()))
    }


def test_messages_are_found() -> None:
    assert len(all_messages()) > 120


@pytest.mark.parametrize("pattern", CALQUES)
def test_messages_are_in_plain_english(pattern: str) -> None:
    calques = re.compile(rf"\b({pattern})\b")
    assert [name for name, text in all_messages().items() if calques.search(text)] == []


def test_a_message_is_one_line() -> None:
    assert [name for name, text in all_messages().items() if len(text) > LONGEST or "\n" in text] == []


def test_a_number_and_its_noun_agree() -> None:
    assert [counted(number, "line") for number in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    found = {name for name, text in all_messages().items() if NUMBER_WITHOUT_FORMS.search(text)}
    assert found == set()


def test_options_are_named_in_messages_that_python_can_turn_into_keywords() -> None:
    """Otherwise, functions would name `--max-words`. Only what `cli` raises is for the command line alone."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())) if path.parent.name != "cli" else ():
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                text = text_of(node.args[0]) if name in ERRORS | {"add", "note"} else None
                if text and re.search("--[a-z]", re.sub("synmt [a-z-]+ .*", "", text)):
                    found.append(f"{path.name}: {text}")
    assert found == []
