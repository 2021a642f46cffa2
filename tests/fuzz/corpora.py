"""Random tiny corpora, including lines that nobody should write but someone will."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

PLAIN = ["a", "b", "cab", "abba", "dada", "ab", "cd", "d", ".", "bad", "!"]
ODD = [
    "(", ")", "[", "-LRB-", "|||", "@@", "a@@", "LEFT-ARC:x", "\\LEFT-ARC:x", "RIGHT-ARC", "</s>", "<unk>",
    "<parse>", "&amp;", "&#160;", '"', "''", "0-0", "e\u0301", "\U0001d11e", "\u200b", "\ufeffa", "\u05d0", "{", "}",
    "#", "_", "x" * 60,
]  # fmt: skip
ODD_LINES = [
    "", " ", "   a", "a  b ", "a", "\u3000", "\u00a0", "a\u2028b", "a\u0085b", "\r", "a\rb", "\x1c", "{", "{}", "[1]",
    "a " * 200, "( ( (", ")", "|||", "a ||| b", "\ufeff", '{"tokens": ["a"]}', '{"tree": "(S a)"}', "(S a)",
    "LEFT-ARC:x",
]  # fmt: skip
BAD_LINES = [b"a\0b", b"\xff\xfe", b"a\tb", b'{"tokens": [}', b"a\tb\tc\td"]
RELATIONS = ["det", "obj", "nsubj", "x:y"]


def words(source: Random, odd: float = 0.1) -> list[str]:
    return [
        source.choice(ODD if source.random() < odd else PLAIN) for _ in range(source.choice([1, 1, 2, 3, 3, 4, 5, 7]))
    ]


def record(tokens: list[str], source: Random) -> dict[str, Any]:
    """Return a parse record of the words with every field that a component may need."""
    heads = projective(len(tokens), source)
    masks = {name: ["".join(source.choice("01") for _ in tokens) for _ in tokens] for name in ("near", "left")}
    return {
        "text": " ".join(tokens),
        "tokens": tokens,
        "tree": brackets(tokens, source),
        "upos": [source.choice(["NOUN", "VERB", "X"]) for _ in tokens],
        "heads": heads,
        "deprels": [source.choice(RELATIONS) if head else "root" for head in heads],
        "masks": masks,
    }


def projective(count: int, source: Random) -> list[int]:
    """Return the heads of a random projective tree: each span has a head, and the spans next to it depend on it."""
    heads = [0] * count

    def hang(start: int, end: int, above: int) -> None:
        while start < end:
            stop = source.randint(start + 1, end)
            head = source.randrange(start, stop)
            heads[head] = above
            hang(start, head, head + 1)
            hang(head + 1, stop, head + 1)
            start = stop

    root = source.randrange(count)
    hang(0, root, root + 1)
    hang(root + 1, count, root + 1)
    return heads


ESCAPED = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


def brackets(tokens: list[str], source: Random) -> str:
    """Return a random constituency tree over the words."""
    if len(tokens) == 1:
        word = "".join(ESCAPED.get(character, character) for character in tokens[0])
        return f"({source.choice('XYZ')} {word})"
    cut = source.randint(1, len(tokens) - 1)
    return f"({source.choice(['S', 'NP', 'VP'])} {brackets(tokens[:cut], source)} {brackets(tokens[cut:], source)})"


@dataclass(frozen=True)
class Corpus:
    """Two files of lines, and a table with both side by side.

    trees: whether each side consists of parse records; odd: probability that a line is one of ODD_LINES.
    """

    source: Path
    target: Path
    table: Path
    lines: int
    trees: tuple[bool, bool]


def write_corpus(folder: Path, name: str, source: Random, trees: tuple[bool, bool], odd: float = 0.05) -> Corpus:
    lines = source.randint(3, 30)
    sides: list[list[bytes]] = []
    for with_trees in trees:
        side = []
        for _ in range(lines):
            tokens = [word for word in words(source, odd) if not with_trees or word not in ("-LRB-", "\ufeffa")]
            text = json.dumps(record(tokens, source)) if with_trees and tokens else " ".join(tokens)
            if source.random() < odd:
                text = source.choice(["", " ", "{}"] if with_trees else ODD_LINES)
            bad = source.random() < odd / 30
            side.append(source.choice(BAD_LINES) if bad else text.encode())
        sides.append(side)
    files = [folder / f"{name}.{side}" for side in ("en", "de", "tsv")]
    files[0].write_bytes(b"".join(line + b"\n" for line in sides[0]))
    files[1].write_bytes(b"".join(line + b"\n" for line in sides[1]))
    files[2].write_bytes(b"".join(x + b"\t" + y + b"\n" for x, y in zip(*sides, strict=True)))
    return Corpus(files[0], files[1], files[2], lines, trees)


def write_links(path: Path, corpus: Corpus, source: Random) -> None:
    """Write links of random words; most of them lie inside their sentences, split at spaces."""
    rows = []
    for sizes in zip(*([len(words) for words in words_of(side)] for side in columns_of(corpus.table)), strict=True):
        some = source.randint(0, 6) if all(sizes) else 0
        links = [
            f"{source.randrange(sizes[0])}{source.choice('---p')}{source.randrange(sizes[1])}" for _ in range(some)
        ]
        if source.random() < 0.005:
            links.append(source.choice(["9-9", "0-", "x", "-1-0", "0-0-0", "99999999999-0"]))
        rows.append(" ".join(links))
    path.write_text("".join(f"{row}\n" for row in rows))


def words_of(lines: Sequence[str]) -> list[list[str]]:
    """Return the words of one side's lines. The first line that is not empty shows whether they are text or records."""
    first = next((line for line in lines if line.strip()), "")
    if not first.startswith("{"):
        return [line.split() for line in lines]
    return [words_of_record(line) for line in lines]


def words_of_record(line: str) -> list[str]:
    try:
        return list(json.loads(line or "{}").get("tokens", []))
    except (ValueError, AttributeError):
        return []


def columns_of(table: Path) -> tuple[list[str], list[str]]:
    """Return both sides of a table, with empty texts for a line that does not have two columns."""
    rows = [
        row.split("\t")
        for row in table.read_bytes().removeprefix(b"\xef\xbb\xbf").decode(errors="replace").split("\n")[:-1]
    ]
    return [row[0] if len(row) == 2 else "" for row in rows], [row[1] if len(row) == 2 else "" for row in rows]
