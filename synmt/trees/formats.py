"""The formats of parsed sentences: parse records and brackets, one per line, and blocks of CoNLL-U.

One block of CoNLL-U is one record, whose tokens make up the text. A multiword token stays several tokens if they spell
it (`do|n't`), and becomes one if they do not (German `zum`: zu + dem). A record has no place for empty nodes, other
comments, DEPS and other MISC; `read_whole_conllu` therefore saves the block with the record. A record of several
sentences is one block for each of them, with a comment such as `# sentence_of_line = 1/2`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import Literal, TypeVar

from synmt.streams import BadInput, BadLines, Line, counted, note, sniff
from synmt.streams.decoding import begins_object
from synmt.text.tokenization import gaps_after
from synmt.trees.dependency import STRINGS, UNKNOWN, divided, highest, joined
from synmt.trees.record import (
    UNATTACHED,
    ParseRecord,
    RecordError,
    brackets_of_record,
    check_heads,
    read_record,
    record_of_brackets,
    write_record,
)

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
PLACE = "sentence_of_line"  # the comment that counts the sentences of a line
_CONLLU = re.compile(r"# (sent_id|newdoc|global\.columns)\b|# text\s*=|1(-\d+)?\t([^\t]*\t){8}")
_PTB = re.compile(r"\(\s*[A-Z0-9]*\s*\([A-Z]+[^()\s]*[ (]|\((\s*\()+[\s)]*$")
_EMPTY_LINES = re.compile(r"\n\n+")
_NUMBER = "[1-9][0-9]{0,8}"
_ID = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?|(0|{_NUMBER})\.({_NUMBER})")
_HEAD = re.compile(f"0|{_NUMBER}")
_PLACE = re.compile(rf"#\s*{PLACE}\s*=\s*({_NUMBER})/({_NUMBER})\s*$", re.MULTILINE)
L = TypeVar("L", bound=Line)
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

    @property
    def strings(self) -> tuple[str, ...]:
        """Return the values of the columns STRINGS."""
        return self.lemma, self.upos, self.xpos, self.feats, self.deprel


@dataclass(slots=True)
class MultiwordToken:
    """Words `first` to `last`, counted from 1, which the text spells `form`."""

    first: int
    last: int
    form: str
    space_after: bool


@dataclass(slots=True)
class SentenceBlock:
    """The rows of a sentence block. comments: by name; empty_nodes: how many follow the last word so far."""

    comments: dict[str, str] = field(default_factory=dict)
    words: list[SyntacticWord] = field(default_factory=list)
    multiword: list[MultiwordToken] = field(default_factory=list)
    empty_nodes: int = 0


@dataclass(slots=True, frozen=True)
class Block(Line):
    """The lines of one record, joined by line feeds: of one sentence, or of all sentences of a line. number: of the
    first line."""

    def error(self, cause: object) -> BadInput:
        row = cause.row if isinstance(cause, DependencyError) else 1
        return BadInput(str(cause), self.source, self.number + row - 1)


def conllu_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the blocks of CoNLL-U lines, those of the sentences of one line as one. Leaves out comments without a
    sentence, and notes how many there are.

    A block ends at an empty line or the end of its file.
    """
    held: list[Line] = []  # the lines of a record whose last sentence may not have been read yet
    sentence, file_of_held, loose = 0, 0, list[Line]()
    for (file, is_empty), group in groupby(lines, _FileOf()):
        block = list(group)
        if is_empty:
            held += [replace(line, text="") for line in block if held and file_of_held == file]
            continue
        if all(line.text.startswith("#") for line in block):
            loose.append(block[0])
            continue
        place, number = _place("\n".join(line.text for line in block))
        if held and (file_of_held != file or place != sentence + 1):
            yield _one(held, Block)
            held = []
        held += block
        sentence, file_of_held = place, file
        if place == number:
            yield _one(held, Block)
            held = []
    if held:
        yield _one(held, Block)
    if loose:
        first = f"{loose[0].source}:{loose[0].number}"
        note(f"left out comments without a sentence in {counted(len(loose), 'place')}, the first in {first}")


class _FileOf:
    """Returns which file a line is in, since one file may be named twice, and whether the line is empty."""

    def __init__(self) -> None:
        self.file = self.number = 0

    def __call__(self, line: Line) -> tuple[int, bool]:
        self.file += line.number <= self.number
        self.number = line.number
        return self.file, _is_empty(line)


def _place(block: str) -> tuple[int, int]:
    """Return which sentence of a line a block is, from 1, and how many the line has."""
    found = _PLACE.search(block)
    return (int(found[1]), int(found[2])) if found else (1, 1)


def _is_empty(line: Line) -> bool:
    return not line.text.strip() and not line.cause


def read_conllu(block: str, partial: bool = False) -> ParseRecord:
    """Return the record of one sentence block, or of the blocks of one line, separated by empty lines.

    A block of comments alone gives a record without tokens. partial: words may be without a head, written `_`.
    Raises DependencyError, and RecordError if the heads are not a tree or the words do not spell the text.
    """
    records = _read_sentences(block, partial)
    record = records[0]
    if len(records) > 1:
        record = joined(records)
        record.text = "".join(each.text + " " * each.spaces[-1] for each in records)
        record.sent_id = records[0].sent_id
    if record.spaces:
        record.spaces[-1] = False
    record.text = record.text.rstrip()
    record.check(partial)
    return record


def sentence_blocks(block: str) -> list[str]:
    """Return the blocks of the sentences of a line."""
    return _EMPTY_LINES.split(block)


def _read_sentences(block: str, partial: bool) -> list[ParseRecord]:
    """Return the record of each sentence of a line, as `_read_sentence`. Raises DependencyError if one is missing."""
    blocks, records = sentence_blocks(block), []
    for number, text in enumerate(blocks, 1):
        try:
            place, of = _place(text)
            if (place, of) != (number, len(blocks)):
                missing = number if place != number else number + 1
                counts = f"{missing} of {max(of, len(blocks))}"
                raise DependencyError(f"sentence {counts} of this line, which # {PLACE} counts, is missing")
            records.append(_read_sentence(text, partial))
        except (DependencyError, RecordError) as error:
            if number == 1:
                raise
            before = block[: list(_EMPTY_LINES.finditer(block))[number - 2].end()].count("\n")
            raise DependencyError(str(error), before + getattr(error, "row", 1)) from None
    return records


def _read_sentence(block: str, partial: bool) -> ParseRecord:
    """Return the record of a sentence block, in which the last word may have a space after it."""
    sentence = read_sentence(block)
    heads = [word.head for word in sentence.words]
    has_heads = any(head != UNATTACHED for head in heads)
    if has_heads and UNATTACHED in heads and not partial:
        raise DependencyError("some words have a head and some do not")
    if has_heads:
        check_heads(heads, partial=partial)
    record = _record(sentence.comments.get("text", ""), *_merged(sentence.words, sentence.multiword))
    record.sent_id = sentence.comments.get("sent_id", "") if sentence.words else ""
    return record


def read_sentence(block: str) -> SentenceBlock:
    """Return the rows of a sentence block. Raises DependencyError, which names the row."""
    sentence = SentenceBlock()
    for row, line in enumerate(block.split("\n"), 1):
        try:
            if line.startswith("#"):
                _read_comment(line, sentence)
            else:
                _read_row(line, sentence)
        except ValueError as error:
            raise DependencyError(str(error), row) from None
    n = len(sentence.words)
    for token in sentence.multiword:
        if token.last > n:
            raise DependencyError(f"multiword token {token.first}-{token.last} of {counted(n, 'word')}")
    return sentence


def _read_comment(line: str, sentence: SentenceBlock) -> None:
    name, _, value = line[1:].partition("=")
    name, value = name.strip(), value.strip()
    if sentence.words or sentence.multiword or sentence.empty_nodes:
        raise ValueError("a comment after the first word; is the empty line before it missing?")
    if name in ("text", "sent_id", PLACE) and sentence.comments.get(name, value) != value:
        raise ValueError(f"a second comment # {name}; is the empty line between two sentences missing?")
    sentence.comments[name] = value


def _read_row(line: str, sentence: SentenceBlock) -> None:
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(_other_columns(line, columns))
    number, form, lemma, upos, xpos, feats, head, deprel, _, misc = columns
    n = len(sentence.words)
    space_after = "SpaceAfter=No" not in misc.strip().split("|")
    found = _ID.fullmatch(number)
    if not found:
        raise ValueError(f"ID {number!r} is not a number, a range such as 3-4 or an empty node such as 8.1")
    if not form.strip():
        raise ValueError("empty form")
    first, last, before, place = (int(group or 0) for group in found.groups())
    if last:
        sentence.multiword.append(_multiword(MultiwordToken(first, last, form, space_after), sentence))
    elif place:
        if (before, place) != (n, sentence.empty_nodes + 1):
            raise ValueError(f"empty node {number} where {n}.{sentence.empty_nodes + 1} should be")
        sentence.empty_nodes = place
    else:
        if first != n + 1:
            raise ValueError(f"word {number!r} where word {n + 1} should be")
        if head != UNKNOWN and not _HEAD.fullmatch(head):
            raise ValueError(f"head {head!r} is not a number")
        number_of_head = UNATTACHED if head == UNKNOWN else int(head)
        sentence.words.append(SyntacticWord(form, lemma, upos, xpos, feats, number_of_head, deprel, space_after))
        sentence.empty_nodes = 0


def _multiword(token: MultiwordToken, sentence: SentenceBlock) -> MultiwordToken:
    """Return the token if it fits its place. Raises ValueError."""
    name, word = f"multiword token {token.first}-{token.last}", len(sentence.words) + 1
    if token.last < token.first:
        raise ValueError(f"{name} ends before it begins")
    if token.first != word:
        raise ValueError(f"{name} before word {word}")
    if sentence.multiword and sentence.multiword[-1].last >= token.first:
        raise ValueError(f"{name} overlaps {sentence.multiword[-1].first}-{sentence.multiword[-1].last}")
    return token


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
    top_of = highest(_owners(len(words), multiword), [word.head for word in words])
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
            top = top_of[token.first]
            merged.append(replace(words[top], form=token.form, space_after=token.space_after))
            place += [len(merged)] * len(parts)
        number = token.last + 1
    return merged, place


def _owners(words: int, multiword: Sequence[MultiwordToken]) -> list[int]:
    """Return for each word its number, or the number of the first word of its multiword token."""
    owners = list(range(1, words + 1))
    for token in multiword:
        owners[token.first - 1 : token.last] = [token.first] * (token.last + 1 - token.first)
    return owners


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
    return record


def written(record: ParseRecord) -> str:
    """Return the tokens of a record with the spaces between them, one after each token if they are unknown."""
    if not record.spaces:
        return " ".join(record.tokens)
    return "".join(token + " " * space for token, space in zip(record.tokens, record.spaces, strict=True))


def write_conllu(record: ParseRecord) -> str:
    """Return the sentence blocks of a record, without the blank line at the end; unknown columns are `_`."""
    return "\n\n".join(_sentences(record))


def _sentences(record: ParseRecord) -> Iterator[str]:
    """Yield the block of each sentence of a record. The sent_id of the second sentence of `a` is `a-2`."""
    parts = divided(record)
    for number, part in enumerate(parts, 1):
        comments = []
        if record.sent_id:
            comments.append(f"# sent_id = {_one_line(record.sent_id)}" + f"-{number}" * (number > 1))
        if len(parts) > 1:
            comments.append(f"# {PLACE} = {number}/{len(parts)}")
        yield "\n".join([*comments, *_rows(part, is_last=number == len(parts))])


def _rows(record: ParseRecord, is_last: bool) -> Iterator[str]:
    """Yield the comment with the text of a sentence and its rows. is_last: whether it is the last of its line."""
    n = len(record.tokens)
    unknown = [UNKNOWN] * n
    spells = "".join(record.tokens) == "".join(record.text.split())
    yield f"# text = {_one_line(record.text if spells else written(record))}"
    spaces = record.spaces or (gaps_after(record.tokens, record.text) if spells else [True] * n)
    rows = zip(
        record.tokens,
        record.lemmas or unknown,
        record.upos or unknown,
        record.xpos or unknown,
        record.feats or unknown,
        [UNKNOWN if head == UNATTACHED else head for head in record.heads] or unknown,
        record.deprels or unknown,
        [*spaces[:-1], True] if is_last and n else spaces,
        strict=True,
    )
    for number, (form, lemma, upos, xpos, feats, head, deprel, space) in enumerate(rows, 1):
        misc = UNKNOWN if space else "SpaceAfter=No"
        yield f"{number}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{head}\t{deprel}\t_\t{misc}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_whole_conllu(block: str, partial: bool = False) -> ParseRecord:
    """Do as `read_conllu`, and save the block with the record if the record does not cover all of it."""
    record = read_conllu(block, partial)
    record.conllu = block if not record.heads or write_conllu(record) != block else ""
    return record


def conllu_of_record(record: ParseRecord) -> str:
    """Return the sentence blocks and a blank line, or nothing for the empty record.

    If the record's saved block still agrees with the record, return that. Otherwise keep its comments and, if the words
    are the same, its DEPS, MISC, multiword tokens and empty nodes.
    Raises RecordError for a sentence without heads, and as `read_conllu` for the saved block.
    """
    if not record.tokens:
        if record.text.strip():
            raise RecordError("record has no dependency tree")
        return ""
    if record.conllu:
        written = write_conllu(record)
        if write_conllu(read_conllu(record.conllu, partial=True)) == written:
            return record.conllu + "\n"
        new, old = sentence_blocks(written), sentence_blocks(record.conllu)
        old = old if len(old) == len(new) else old[:1]
        return "\n\n".join([*map(_with_rest, divided(record), new, old), *new[len(old) :]]) + "\n"
    if not record.heads:
        raise RecordError("record has no dependency tree")
    return write_conllu(record) + "\n"


def _with_rest(record: ParseRecord, written: str, saved: str) -> str:
    """Return the block of a sentence as written, with other comments and the rest of the rows of its saved block."""
    lines = written.split("\n")
    own = [line for line in lines if line.startswith("#")]
    comments = [line for line in saved.split("\n") if line.startswith("#")]
    as_saved = {tuple(line.split()): line for line in comments}  # which may have no-break spaces
    own = [as_saved.get(tuple(line.split()), line) for line in own]
    known = [line.partition("=")[0].strip() for line in own]
    others = [line for line in comments if line.partition("=")[0].strip() not in known]
    return "\n".join([*others, *own, *_rows_with_rest(record, lines[len(own) :], saved)])


def _rows_with_rest(record: ParseRecord, rows: Sequence[str], saved: str) -> Iterator[str]:
    """Yield the rows of a sentence as written, plus all that its saved block of the same words has beyond them.

    A token that merges several words of the block becomes these words again: the highest one gets the columns of the
    token, and the others keep their own. Words that attached inside the token still do; the others attach to the
    highest one if they precede it, else where the token does. Tokens that are parts of a word become that word again.
    If the block has other words, yield the rows unchanged.
    """
    words = read_sentence(saved).words
    merged, place = _merged(words, read_sentence(saved).multiword)
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

    for line in saved.split("\n"):
        number, *columns = line.split("\t")
        if number.isdigit():
            word = int(number) - 1
            unit, old = place[word], words[word].head
            if word_of[unit] == word:
                columns[1:7] = *of_token[owner.index(unit)][:4], head_of(word), of_token[token_of[unit]][5]
            elif old == UNATTACHED and words[word_of[unit]].head != UNATTACHED:
                pass  # only this word of the token has no head, as before
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


FORMATS = "records", "conllu", "ptb"  # of files of trees


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


def blank(form: str) -> str | None:
    """Return the empty line of a format in WRITERS; None for CoNLL-U, which has none."""
    return {"records": "{}", "conllu": None}.get(form, "")


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
            yield _one(tree, Line)
            tree, depth = [], 0
        if spread and _is_empty(line):
            continue
        tree.append(line)
        depth += _opened(line)
        if depth <= 0 or line.text.startswith("{"):
            yield _one(tree, Line)
            tree, depth = [], 0
    if tree:
        yield _one(tree, Line)


def _are_spread(lines: Iterable[Line]) -> tuple[bool, Iterator[Line]]:
    """Return whether one of the first lines continues a tree, and all lines."""
    rest, ahead, spread, depth = iter(lines), list[Line](), False, 0
    for line in islice(rest, AHEAD):
        ahead.append(line)
        depth = 0 if _begins(line) else depth
        spread = depth > 0 and not line.cause
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


def _one(lines: Sequence[Line], kind: type[L]) -> L:
    """Join several lines into one, with the place of the first."""
    cause = next((line.cause for line in lines if line.cause), "")
    text = "\n".join(line.text for line in lines)
    return kind(text, lines[0].source, lines[0].number, cause, lines[-1].pauses)


def as_parses(lines: Iterable[Line]) -> tuple[str, Iterable[Line]]:
    """Return the format, records or CoNLL-U, by the first line with text, and a line or block per sentence."""
    first, lines = sniff(lines)
    kind = "records" if first.startswith("{") else "conllu"
    return kind, sentences(lines, kind)


@dataclass(frozen=True, slots=True)
class Parse:
    """A sentence, or a line of several, over syntactic words.

    record: without text if the words do not spell it; tokens: as a parse record would have them; words_of: the words
    that each of these consists of, or is a part of, from 0.
    """

    record: ParseRecord
    tokens: list[str]
    words_of: list[list[int]]


def read_parses(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, Parse]]:
    """Yield the sentences of records or CoNLL-U, each with its line or block; a bad one gives an empty record."""
    kind, blocks = as_parses(lines)
    read = _parse_of_conllu if kind == "conllu" else _parse_of_record
    for line in blocks:
        yield line, bad.read(line, read, Parse(ParseRecord(), [], []))


def read_trees(lines: Iterable[Line]) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield the sentences of a file in a format of FORMATS, over syntactic words, each with its line or block.

    Words may be without a head. Raises BadInput.
    """
    first, lines = sniff(lines)
    kind = tree_form(first)
    if kind is None and first.strip():
        line = next(line for line in lines if line.text.strip())
        raise line.error("no trees: a file of trees has parse records, CoNLL-U or brackets")
    read = reader(kind or "records", partial=True)
    for line in sentences(lines, kind or "records"):
        with line.naming():
            record = read(line.text)
            if record.conllu:
                words = _over_words(record, conllu_of_record(record).rstrip("\n")).record
                if words.tokens != record.tokens:
                    record = replace(
                        words, tree=record.tree, text=record.text, heads=words.heads if record.heads else []
                    )
        yield line, record


def _parse_of_record(line: str) -> Parse:
    record = read_record(line)
    if record.conllu:
        return _over_words(record, conllu_of_record(record).rstrip("\n"))
    return Parse(record, record.tokens, [[word] for word in range(len(record.tokens))])


def _parse_of_conllu(block: str) -> Parse:
    return _over_words(read_conllu(block), block)


def _over_words(record: ParseRecord, block: str) -> Parse:
    """Return a record over the words of its block: `zu` and `dem` for `zum`, and one word for `10 000`."""
    parts, words_of = list[ParseRecord](), list[list[int]]()
    for text in sentence_blocks(block):
        start = sum(len(part.tokens) for part in parts)
        sentence = read_sentence(text)
        words = [replace(word) for word in sentence.words]
        merged, place = _merged(words, sentence.multiword)
        of_unit: list[list[int]] = [[] for _ in merged]
        for word, unit in enumerate(place, start):
            of_unit[unit - 1].append(word)
        words_of += [held for held, unit in zip(of_unit, merged, strict=True) for _ in unit.form.split()]
        part = ParseRecord(tokens=[word.form for word in words], heads=[word.head for word in words])
        part.spaces = [word.space_after for word in words]
        for name, column in zip(STRINGS, zip(*(word.strings for word in words), strict=True), strict=False):
            setattr(part, name, [*column])
        parts.append(part)
    whole = joined(parts)
    whole.sent_id = record.sent_id
    whole.text = record.text if "".join(whole.tokens) == "".join(record.tokens) else ""
    return Parse(whole, record.tokens, words_of)
