"""The formats of parsed sentences: parse records and brackets, one per line, and blocks of CoNLL-U.

One block of CoNLL-U is one record, whose tokens make up the text. A multiword token stays several tokens if they spell
it (`do|n't`), and becomes one if they do not (German `zum`: zu + dem). A record has no place for empty nodes, other
comments, DEPS and other MISC; `read_whole_conllu` therefore saves the block with the record. A record of several
sentences is one block with a comment such as `# sentences = 5 3`, the number of words in each.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import Literal

from synmt.streams import BadInput, BadLines, Line, counted, sniff
from synmt.trees.dependency import UNKNOWN, depths, highest
from synmt.trees.record import (
    UNATTACHED,
    ParseRecord,
    RecordError,
    begins_object,
    brackets_of_record,
    check_heads,
    read_record,
    record_of_brackets,
    write_record,
)

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
SENTENCES = "sentences"  # the comment with the number of words in each sentence of a block
_CONLLU = re.compile(r"# (sent_id|newdoc|global\.columns)\b|# text\s*=|1\t([^\t]*\t){8}")
_PTB = re.compile(r"\(\s*[A-Z0-9]*\s*\([A-Z]+[^()\s]*[ (]")
AHEAD = 1000  # lines to examine for trees that span several lines


class DependencyError(ValueError):
    """A block that is not one CoNLL-U sentence. row: the line of the block, from 1."""

    def __init__(self, cause: str, row: int = 1) -> None:
        super().__init__(cause)
        self.row = row


@dataclass(slots=True)
class SyntacticWord:
    """A syntactic word: `head` counts from 1, 0 for the root, UNATTACHED if unknown."""

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    space_after: bool


@dataclass(slots=True)
class MultiwordToken:
    """Words `first` to `last`, counted from 1, which the text spells `form`."""

    first: int
    last: int
    form: str
    space_after: bool


@dataclass(slots=True, frozen=True)
class Block(Line):
    """The lines of one sentence, joined by line feeds. number: of the first line."""

    def error(self, cause: object) -> BadInput:
        row = cause.row if isinstance(cause, DependencyError) else 1
        return BadInput(str(cause), self.source, self.number + row - 1)


def conllu_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the sentence blocks of CoNLL-U lines. A block ends at an empty line or the end of its file."""
    for (source, is_empty), group in groupby(lines, lambda line: (line.source, _is_empty(line))):
        if not is_empty:
            block = list(group)
            fault = next((line.fault for line in block if line.fault), "")
            yield Block("\n".join(line.text for line in block), source, block[0].number, fault)


def _is_empty(line: Line) -> bool:
    return not line.text.strip() and not line.fault


def read_conllu(block: str, partial: bool = False) -> ParseRecord:
    """Return the record of one sentence block. A block of comments alone gives a record without tokens.

    partial: words may be without a head, written `_`.
    Raises DependencyError, and RecordError if the heads are not a tree or the words do not spell the text.
    """
    comments, sentences, words, multiword = _parts(block)
    heads = [word.head for word in words]
    has_heads = any(head != UNATTACHED for head in heads)
    if has_heads and UNATTACHED in heads and not partial:
        raise DependencyError("some words have a head and some do not")
    if has_heads:
        check_heads(heads, sentences, partial)
    record = _record(comments.get("text", ""), *_merged(words, multiword))
    record.sent_id = comments.get("sent_id", "") if words else ""
    record.sentences = sentences
    record.check(partial)
    return record


def _parts(block: str) -> tuple[dict[str, str], list[int], list[SyntacticWord], list[MultiwordToken]]:
    """Return the comments, lengths of sentences, words and multiword tokens of a block. Raises DependencyError."""
    comments: dict[str, str] = {}
    sentences: list[int] = []
    words: list[SyntacticWord] = []
    multiword: list[MultiwordToken] = []
    for row, line in enumerate(block.split("\n"), 1):
        try:
            if line.startswith("#"):
                name, _, value = line[1:].partition("=")
                comments[name.strip()] = value.strip()
                sentences = [int(length) for length in comments.get(SENTENCES, "").split()]
            else:
                _read_row(line, words, multiword)
        except ValueError as error:
            raise DependencyError(str(error), row) from None
    for token in multiword:
        if token.last > len(words):
            raise DependencyError(f"multiword token {token.first}-{token.last} of {counted(len(words), 'word')}")
    return comments, sentences, words, multiword


def _read_row(line: str, words: list[SyntacticWord], multiword: list[MultiwordToken]) -> None:
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(_other_columns(line, columns))
    number, form, lemma, upos, xpos, feats, head, deprel, _, misc = columns
    space_after = "SpaceAfter=No" not in misc.split("|")
    if not form.strip():
        raise ValueError("empty form")
    if "-" in number:
        first, _, last = number.partition("-")
        multiword.append(MultiwordToken(int(first), int(last), form, space_after))
        if multiword[-1].first != len(words) + 1 or multiword[-1].last <= len(words):
            raise ValueError(f"multiword token {number} before word {len(words) + 1}")
    elif "." not in number:
        if number != str(len(words) + 1):
            raise ValueError(f"word {number!r} where word {len(words) + 1} should be")
        if head != UNKNOWN and not (head.isascii() and head.isdigit()):
            raise ValueError(f"head {head!r} is not a number")
        number_of_head = UNATTACHED if head == UNKNOWN else int(head)
        words.append(SyntacticWord(form, lemma, upos, xpos, feats, number_of_head, deprel, space_after))


def _other_columns(line: str, columns: Sequence[str]) -> str:
    """Return the error for a row with the wrong number of columns."""
    cause = f"expected {len(COLUMNS)} columns, found {len(columns)}"
    if len(columns) > len(COLUMNS):
        return f"{cause}: {' '.join(COLUMNS)}"
    if len(columns) == 1 and len(line.split()) > 1:
        return f"{cause}: separate columns by tabs, not spaces"
    return f"{cause}: no {', '.join(COLUMNS[len(columns) :])}; write _ for an unknown value"


def _merged(
    words: Sequence[SyntacticWord], multiword: Sequence[MultiwordToken]
) -> tuple[list[SyntacticWord], list[int]]:
    """Resolve multiword tokens: leave their words alone if these spell the token, else merge them into one.

    Returns the new words, and for each old word the number of its new one, from 1.
    """
    depth = depths([word.head for word in words])
    beginning = {token.first: token for token in multiword}
    merged: list[SyntacticWord] = []
    place: list[int] = []
    number = 1
    while number <= len(words):
        token = beginning.get(number)
        if token is None:
            merged.append(words[number - 1])
            place.append(len(merged))
            number += 1
            continue
        parts = words[token.first - 1 : token.last]
        if "".join(part.form for part in parts) == token.form:
            for part in parts:
                part.space_after = False
                merged.append(part)
                place.append(len(merged))
            parts[-1].space_after = token.space_after
        else:
            top = min(range(token.first, token.last + 1), key=lambda word: depth[word - 1])
            merged.append(replace(words[top - 1], form=token.form, space_after=token.space_after))
            place += [len(merged)] * len(parts)
        number = token.last + 1
    return merged, place


def _record(text: str, words: Sequence[SyntacticWord], place: Sequence[int]) -> ParseRecord:
    """Return the record. A word with white space in it becomes several tokens; all but the first are `goeswith`."""
    forms = [word.form.split() for word in words]
    first = [1]
    for parts in forms:
        first.append(first[-1] + len(parts))
    record = ParseRecord(text)
    for number, (word, parts) in enumerate(zip(words, forms, strict=True)):
        extra = len(parts) - 1
        head = first[place[word.head - 1] - 1] if word.head > 0 else word.head
        record.tokens += parts
        record.spaces += [True] * extra + [word.space_after]
        record.lemmas += [word.lemma] + [UNKNOWN] * extra
        record.upos += [word.upos] + ["X"] * extra
        record.xpos += [word.xpos] + [UNKNOWN] * extra
        record.feats += [word.feats] + [UNKNOWN] * extra
        record.heads += [head] + [first[number]] * extra
        record.deprels += [word.deprel] + ["goeswith"] * extra
    if all(word.head == UNATTACHED for word in words):
        record.heads = []
    for name in ("lemma", "upos", "xpos", "feats", "deprel"):
        if all(getattr(word, name) == UNKNOWN for word in words):
            setattr(record, name if name.endswith("s") else f"{name}s", [])
    record.text = text or written(record).rstrip()
    if record.spaces:
        record.spaces[-1] = False
    return record


def written(record: ParseRecord) -> str:
    """Return the tokens of a record with the spaces between them, one after each token if they are unknown."""
    if not record.spaces:
        return " ".join(record.tokens)
    return "".join(token + " " * space for token, space in zip(record.tokens, record.spaces, strict=True))


def write_conllu(record: ParseRecord) -> str:
    """Return the record as a sentence block, without the blank line at the end; unknown columns are `_`."""
    n = len(record.tokens)
    unknown = [UNKNOWN] * n
    lines = [f"# sent_id = {_one_line(record.sent_id)}"] if record.sent_id else []
    lines.append(f"# text = {_one_line(record.text or written(record))}")
    if record.sentences:
        lines.append(f"# {SENTENCES} = {' '.join(map(str, record.sentences))}")
    rows = zip(
        record.tokens,
        record.lemmas or unknown,
        record.upos or unknown,
        record.xpos or unknown,
        record.feats or unknown,
        [UNKNOWN if head == UNATTACHED else head for head in record.heads] or unknown,
        record.deprels or unknown,
        [*record.spaces[:-1], True] if record.spaces else [True] * n,
        strict=True,
    )
    for number, (form, lemma, upos, xpos, feats, head, deprel, space) in enumerate(rows, 1):
        misc = UNKNOWN if space else "SpaceAfter=No"
        lines.append(f"{number}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{head}\t{deprel}\t_\t{misc}")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_whole_conllu(block: str, partial: bool = False) -> ParseRecord:
    """Do as `read_conllu`, and save the block with the record if the record does not cover all of it."""
    record = read_conllu(block, partial)
    record.conllu = block if not record.heads or write_conllu(record) != block else ""
    return record


def conllu_of_record(record: ParseRecord) -> str:
    """Return the sentence block and a blank line, or nothing for the empty record.

    If the record's saved block still agrees with the record, return that. Otherwise keep its comments and, if the words
    are the same, its DEPS, MISC, multiword tokens and empty nodes.
    Raises RecordError for a sentence without heads, and as `read_conllu` for the saved block.
    """
    if record.conllu:
        written = write_conllu(record)
        if write_conllu(read_conllu(record.conllu, partial=True)) == written:
            return record.conllu + "\n"
        lines = written.split("\n")
        own = [line for line in lines if line.startswith("#")]
        comments = [line for line in record.conllu.split("\n") if line.startswith("#")]
        known = [line.partition("=")[0].strip() for line in own]
        others = [line for line in comments if line.partition("=")[0].strip() not in known]
        return "\n".join([*others, *own, *_rows_with_rest(record, lines[len(own) :])]) + "\n"
    if not record.heads:
        if record.tokens or record.text.strip():
            raise RecordError("record has no dependency tree")
        return ""
    return write_conllu(record) + "\n"


def _rows_with_rest(record: ParseRecord, rows: Sequence[str]) -> Iterator[str]:
    """Yield the rows of a record as written, plus all that its saved block of the same words has beyond them.

    A token that merges several words of the block becomes these words again: the highest one gets the columns of the
    token, and the others keep their own. Words that attached inside the token still do; the others attach to the
    highest one if they precede it, else where the token does. Tokens that are parts of a word become that word again.
    If the block has other words, yield the rows unchanged.
    """
    _, _, words, multiword = _parts(record.conllu)
    merged, place = _merged(words, multiword)
    owner = [number for number, word in enumerate(merged, 1) for _ in word.form.split()]
    if record.tokens != [part for word in merged for part in word.form.split()]:
        yield from rows
        return
    heads = record.heads or [UNATTACHED] * len(rows)
    token_of, word_of = highest(owner, heads), highest(place, [word.head for word in words])
    of_token = [row.split("\t")[2:8] for row in rows]

    def head_of(word: int) -> str:
        top, above = word_of[place[word]], heads[token_of[place[word]]]
        if above == UNATTACHED:
            return UNKNOWN
        if word < top or (word > top and not above):  # of two words at one depth, the first would be the highest
            return str(top + 1)
        return str(word_of[owner[above - 1]] + 1) if above else "0"

    for line in record.conllu.split("\n"):
        number, *columns = line.split("\t")
        if number.isdigit():
            word = int(number) - 1
            unit, old = place[word], words[word].head
            if word_of[unit] == word:
                columns[1:7] = *of_token[owner.index(unit)][:4], head_of(word), of_token[token_of[unit]][5]
            elif old < 1 or place[old - 1] != unit:
                columns[5:7] = head_of(word), columns[6] if head_of(word) != UNKNOWN else UNKNOWN
        if not line.startswith("#"):
            yield "\t".join([number, *columns])


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


def tree_form(text: str) -> Literal["records", "conllu", "ptb"] | None:
    """Return the form of a file of trees, as in READERS, by its first line that is not empty; None for other text."""
    if begins_object(text):
        return "records"
    return "conllu" if _CONLLU.match(text) else "ptb" if _PTB.match(text) else None


def reader(kind: str, partial: bool = False) -> Callable[[str], ParseRecord]:
    """Return the reader of a format in READERS. partial: words may be without a head."""
    if kind == "conllu":
        return lambda block: read_whole_conllu(block, partial)
    return (lambda line: read_record(line, partial)) if kind == "records" else READERS[kind]


def blank(form: str) -> str:
    """Return the empty line of a format in WRITERS."""
    return "{}" if form == "records" else ""


def sentences(lines: Iterable[Line], kind: str) -> Iterable[Line]:
    """Group the lines of a format in READERS: the result has one Line per sentence."""
    if kind == "conllu":
        return conllu_blocks(lines)
    return lines_of_trees(lines) if kind.endswith("ptb") else lines


def lines_of_trees(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield bracketed trees, one per Line, also if they span several lines as in .mrg files.

    A line continues an open tree unless it starts with a bracket. If trees span lines, empty lines only separate them;
    otherwise they are empty sentences. Records among the trees pass through.
    """
    spread, lines = _are_spread(lines)
    tree: list[Line] = []
    depth = 0
    for line in lines:
        if tree and (_begins(line) or line.source != tree[0].source):
            yield _one(tree)
            tree, depth = [], 0
        if spread and _is_empty(line):
            continue
        tree.append(line)
        depth += _opened(line)
        if depth <= 0 or line.text.startswith("{"):
            yield _one(tree)
            tree, depth = [], 0
    if tree:
        yield _one(tree)


def _are_spread(lines: Iterable[Line]) -> tuple[bool, Iterator[Line]]:
    """Return whether one of the first lines continues a tree, and all lines."""
    rest, ahead, spread, depth = iter(lines), list[Line](), False, 0
    for line in islice(rest, AHEAD):
        ahead.append(line)
        depth = 0 if _begins(line) else depth
        spread = depth > 0 and not line.fault
        depth += _opened(line)
        if spread or (line.pauses and depth <= 0):
            break
    return spread, chain(ahead, rest)


def _begins(line: Line) -> bool:
    """Return whether a line does not continue a tree: it is empty, or begins another tree or a record."""
    return _is_empty(line) or line.text.startswith(("(", "{"))


def _opened(line: Line) -> int:
    """Return the number of opening brackets in a line, minus the number of closing brackets."""
    return line.text.count("(") - line.text.count(")")


def _one(lines: Sequence[Line]) -> Line:
    """Join several lines into one, with the place of the first."""
    if len(lines) == 1:
        return lines[0]
    fault = next((line.fault for line in lines if line.fault), "")
    return replace(lines[0], text="\n".join(line.text for line in lines), fault=fault, pauses=lines[-1].pauses)


def as_parses(lines: Iterable[Line]) -> tuple[str, Iterable[Line]]:
    """Return the format, records or CoNLL-U, by the first line with text, and a line or block per sentence."""
    first, lines = sniff(lines)
    kind = "records" if first.startswith("{") else "conllu"
    return kind, sentences(lines, kind)


def read_parses(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of records or CoNLL-U, each with its line or block; a bad one gives an empty record."""
    kind, blocks = as_parses(lines)
    for line in blocks:
        yield line, bad.read(line, READERS[kind], ParseRecord())
