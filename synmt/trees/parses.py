"""Parsed sentences in their formats: parse records, one a line, brackets, and blocks of CoNLL-U."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from synmt.streams import BadLines, Line, sniff
from synmt.trees.dependency import conllu_blocks, conllu_of_record, read_conllu, read_whole_conllu
from synmt.trees.record import ParseRecord, brackets_of_record, read_record, record_of_brackets, write_record

AHEAD = 1000  # lines that tell whether trees go over several

READERS: dict[str, Callable[[str], ParseRecord]] = {
    "records": read_record,
    "conllu": read_conllu,
    "ptb": record_of_brackets,
    "stripped ptb": lambda text: record_of_brackets(text, strip=True),
}
WRITERS: dict[str, Callable[[ParseRecord], str]] = {
    "records": write_record,
    "conllu": conllu_of_record,
    "ptb": brackets_of_record,
    "text": lambda record: record.text,
}


def reader(kind: str, partial: bool = False) -> Callable[[str], ParseRecord]:
    """Return the reader of a format of READERS. partial: trees may be."""
    if kind == "conllu":
        return lambda block: read_whole_conllu(block, partial)
    return (lambda line: read_record(line, partial)) if kind == "records" else READERS[kind]


def blank(form: str) -> str:
    """Return what stands for no sentence in a format of WRITERS."""
    return "{}" if form == "records" else ""


def sentences(lines: Iterable[Line], kind: str) -> Iterable[Line]:
    """Return the lines of a format of READERS, those of a block of CoNLL-U or of a tree as one."""
    if kind == "conllu":
        return conllu_blocks(lines)
    return lines_of_trees(lines) if kind.endswith("ptb") else lines


def lines_of_trees(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines of bracketed trees, each tree that goes over several lines, as in .mrg files, as one.

    A line goes on with the tree before it that is still open, if no bracket opens at the very beginning of the line.
    An empty line stays one where each tree has a line; else it only parts trees. Records among them stay.
    """
    spread, lines = _are_spread(lines)
    tree: list[Line] = []
    depth = 0
    for line in lines:
        is_empty = not line.text.strip() and not line.fault
        begins = is_empty or line.text.startswith(("(", "{")) or (tree and line.source != tree[0].source)
        if tree and begins:
            yield _one(tree)
            tree, depth = [], 0
        if is_empty and spread:
            continue
        tree.append(line)
        depth += line.text.count("(") - line.text.count(")")
        if depth <= 0 or line.text.startswith("{"):
            yield _one(tree)
            tree, depth = [], 0
    if tree:
        yield _one(tree)


def _are_spread(lines: Iterable[Line]) -> tuple[bool, Iterator[Line]]:
    """Return whether one of the first lines is indented, as those within a tree are, and all lines."""
    rest, ahead, spread = iter(lines), list[Line](), False
    for line in islice(rest, AHEAD):
        ahead.append(line)
        spread = bool(line.text.strip()) and line.text[0].isspace()
        if spread or line.pauses:
            break
    return spread, chain(ahead, rest)


def _one(lines: Sequence[Line]) -> Line:
    """Return several lines as the first one."""
    if len(lines) == 1:
        return lines[0]
    fault = next((line.fault for line in lines if line.fault), "")
    return replace(lines[0], text="\n".join(line.text for line in lines), fault=fault, pauses=lines[-1].pauses)


def read_parses(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of records or CoNLL-U, each with its line or block; a bad one is an empty record.

    The first line with text tells which of the two it is.
    """
    first, lines = sniff(lines)
    kind = "records" if first.startswith("{") else "conllu"
    for line in sentences(lines, kind):
        yield line, bad.read(line, READERS[kind], ParseRecord())
