"""Random lines of markup."""

import random
import re
from collections.abc import Iterator
from itertools import count

PLAIN = ["der", "Haus", "x1", "R&amp;D", "3,5", "l’eau", "日本", "é"]  # words that begin and end with letters or digits
WORDS = [*PLAIN, "&amp;", "&lt;b&gt;", "&#233;", "…", "(", "?"]
TAGS = ["b", "i", "em", "a", "g", "mrk", "span", "pc", "u"]
UNITS = ["br", "x", "img", "ph", "bx", "hr"]
ATTRIBUTES = ["", ' href="x?a=1&amp;b"', " id='1'", ' class = "p  q"', ' title=">"', " xml:lang='d\"e'"]


def marked_line(source: random.Random, tidy: bool = False, most: int = 6) -> str:
    """Return words in random elements, each with its number in the attribute `n`. tidy: each tag touches a word, or is
    alone in an element."""
    return _inside(source, count(1), source.randint(0, most), tidy, depth=0).strip()


def _inside(source: random.Random, numbers: Iterator[int], length: int, tidy: bool, depth: int) -> str:
    parts: list[str] = []
    for _ in range(length):
        kind = source.random()
        number = next(numbers)
        attributes = f' n="{number}"{source.choice(ATTRIBUTES)}'
        if kind < 0.2:
            parts.append(_unit(source, attributes))
        elif kind < 0.5 and depth < 4:
            tag = source.choice(TAGS)
            inside = _inside(source, numbers, source.randint(1 if tidy else 0, 3), tidy, depth + 1)
            inside = inside.strip() if tidy else inside
            if tidy and not re.sub("<[^>]*>", "", inside).strip():
                inside += source.choice(PLAIN)
            parts.append(f"<{tag}{attributes}>{inside}</{tag}>")
        else:
            parts.append(source.choice(PLAIN if tidy else WORDS))
    return "".join(f"{part}{source.choice([' ', ' ', '' if not tidy else ' '])}" for part in parts)


def _unit(source: random.Random, attributes: str) -> str:
    tag = source.choice(UNITS)
    if tag == "ph":
        return f"<ph{attributes}>{{0}} &lt;<sub>x</sub></ph>"
    return f"<{tag}{attributes}{source.choice(['', ' '])}/>"


def html_line(source: random.Random, content: str = "flow", depth: int = 0) -> tuple[str, str]:
    """Return random valid HTML, without some of the end tags that may be left out, and with all of them."""
    if depth > 3 or content == "text":
        word = source.choice(PLAIN)
        return (word, word) if source.random() < 0.7 else (f"<b>{word}</b>", f"<b>{word}</b>")
    lists = {
        "flow": [("ul", ["li"], "flow"), ("table", ["tr"], "cells"), ("dl", ["dt", "dd"], "flow"),
                 ("div", ["p"], "text"),
                 ("table", ["tbody"], "rows"), ("select", ["option"], "text"), ("ruby", ["rt", "rp"], "text"),
                 ("select", ["optgroup"], "options"), ("blockquote", ["p"], "text")],
        "cells": [("", ["td", "th"], "flow")],
        "rows": [("", ["tr"], "cells")],
        "options": [("", ["option"], "text")],
    }  # fmt: skip
    around, names, inside = source.choice(lists[content])
    short = long = ""
    for _ in range(source.randint(1, 3)):
        name = source.choice(names)
        parts = html_line(source, source.choice(["text", inside]) if inside == "flow" else inside, depth + 1)
        short += f"<{name}>{parts[0]}{source.choice(['', f'</{name}>'])}"
        long += f"<{name}>{parts[1]}</{name}>"
        if name == "p" and source.random() < 0.3:
            parts = html_line(source, "flow", depth + 1)
            if parts[0].startswith(("<ul", "<table", "<dl", "<div", "<blockquote")):
                short, long = short + parts[0], long + parts[1]
    return (f"<{around}>{short}</{around}>", f"<{around}>{long}</{around}>") if around else (short, long)


def words_of(text: str) -> str:
    """Return the text without white space."""
    return re.sub(r"\s+", "", text)
