"""Dependency trees of CoNLL-U files as parse records, and back.

One sentence block is one record. Its tokens are the parts of the text: a multiword token stays two or more
tokens where the text itself divides (`do|n't`), and becomes one where it does not (German `zum`: zu + dem).
What else a block holds (empty nodes, other comments, DEPS, other MISC) is in the block itself, which
`read_whole_conllu` keeps. A record of several sentences is one block with a comment such as `# sentences = 5 3`, the
words of each.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from synmt.streams import BadInput, Line
from synmt.trees.record import UNATTACHED, ParseRecord, RecordError, check_heads

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
DEPENDENCY = "dep"  # Universal Dependencies' relation that says nothing
UNKNOWN = "_"
SENTENCES = "sentences"  # the comment with the number of words of each sentence of a block


class DependencyError(ValueError):
    """A block that is not one CoNLL-U sentence; `row` counts its lines from 1."""

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
    """Words `first` to `last`, counted from 1, written as `form`."""

    first: int
    last: int
    form: str
    space_after: bool


@dataclass(slots=True, frozen=True)
class Block(Line):
    """The lines of one sentence, line feeds between them; `number` is that of the first."""

    def error(self, cause: object) -> BadInput:
        row = cause.row if isinstance(cause, DependencyError) else 1
        return BadInput(str(cause), self.source, self.number + row - 1)


def conllu_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the sentence blocks of CoNLL-U lines, which empty lines and ends of files divide."""
    block: list[Line] = []
    for line in lines:
        ends = not line.text.strip() and not line.fault
        if block and (ends or line.source != block[0].source):
            yield _block(block)
            block = []
        if not ends:
            block.append(line)
    if block:
        yield _block(block)


def _block(lines: Sequence[Line]) -> Block:
    text = "\n".join(line.text for line in lines)
    fault = next((line.fault for line in lines if line.fault), "")
    return Block(text, lines[0].source, lines[0].number, fault)


def read_conllu(block: str, partial: bool = False) -> ParseRecord:
    """Return the record of one sentence block; one of comments alone gives a record without tokens.

    partial: some words may be without a head, which is `_`.
    Raises DependencyError, and RecordError for heads that are no tree and a text that is not the words'.
    """
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
    heads = [word.head for word in words]
    has_heads = any(head != UNATTACHED for head in heads)
    if has_heads and UNATTACHED in heads and not partial:
        raise DependencyError("some words have a head and some have none")
    for token in multiword:
        if token.last > len(words):
            raise DependencyError(f"multiword token {token.first}-{token.last} of {len(words)} words")
    if has_heads:
        check_heads(heads, sentences, partial)
    record = _record(comments.get("text", ""), *_merged(words, multiword))
    record.sent_id = comments.get("sent_id", "") if words else ""
    record.sentences = sentences
    record.check(partial)
    return record


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
    """Return what is wrong with a row of more or fewer columns."""
    cause = f"expected {len(COLUMNS)} columns, found {len(columns)}"
    if len(columns) > len(COLUMNS):
        return f"{cause}: {' '.join(COLUMNS)}"
    if len(columns) == 1 and len(line.split()) > 1:
        return f"{cause}: tabs stand between columns, not spaces"
    return f"{cause}: no {', '.join(COLUMNS[len(columns) :])}; _ stands for what is not known"


def depths(heads: Sequence[int]) -> list[int]:
    """Return how many arcs each word is from the top, 1 for a root and for a word without a head, [n].

    The heads have passed `check_heads`.
    """
    found = [0] + [-1] * len(heads)
    for word in range(1, len(heads) + 1):
        path = []
        while found[word] < 0:
            path.append(word)
            word = max(0, heads[word - 1])
        for depth, visited in enumerate(reversed(path), found[word] + 1):
            found[visited] = depth
    return found[1:]


def dependents(heads: Sequence[int]) -> list[list[int]]:
    """Return the words whose head each word is, from 1, in the order of the sentence, [n+1]; at 0 the roots."""
    found: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        found[head].append(word)
    return found


def preorder(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where each word stands in the preorder of its tree, from 1, and where its subtree ends, [n] each.

    Dependents come in the order of the sentence; crossing arcs are fine. The heads must have passed `check_heads`.
    """
    below = dependents(heads)
    sequence: list[int] = []
    waiting = [0]
    while waiting:
        sequence.append(waiting.pop())
        waiting += reversed(below[sequence[-1]])
    sizes = [1] * len(sequence)
    for word in reversed(sequence[1:]):
        sizes[heads[word - 1]] += sizes[word]
    orders = [0] * len(sequence)
    for place, word in enumerate(sequence):
        orders[word] = place
    return orders[1:], [order + size for order, size in zip(orders[1:], sizes[1:], strict=True)]


def _merged(
    words: Sequence[SyntacticWord], multiword: Sequence[MultiwordToken]
) -> tuple[list[SyntacticWord], list[int]]:
    """Return the words with each multiword token either spread over them or in their place, and, for each old word,
    which new one it went into (from 1)."""
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
    """Return the record; a word with white space inside is several tokens, the later ones `goeswith` the first."""
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
    if all(word.lemma == UNKNOWN for word in words):
        record.lemmas = []
    if all(word.upos == UNKNOWN for word in words):
        record.upos = []
    if all(word.xpos == UNKNOWN for word in words):
        record.xpos = []
    if all(word.feats == UNKNOWN for word in words):
        record.feats = []
    if all(word.deprel == UNKNOWN for word in words):
        record.deprels = []
    record.text = text or written(record).rstrip()
    if record.spaces:
        record.spaces[-1] = False
    return record


def written(record: ParseRecord) -> str:
    """Return the record's tokens with their spaces."""
    return "".join(token + " " * space for token, space in zip(record.tokens, record.spaces, strict=True))


def write_conllu(record: ParseRecord) -> str:
    """Return the record as a sentence block without its closing blank line; unknown columns are `_`."""
    n = len(record.tokens)
    unknown = [UNKNOWN] * n
    lines = [f"# sent_id = {_one_line(record.sent_id)}"] if record.sent_id else []
    lines.append(f"# text = {_one_line(record.text)}")
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
    """The same as `read_conllu`; a record that does not hold all of the block keeps it."""
    record = read_conllu(block, partial)
    record.conllu = block if write_conllu(record) != block else ""
    return record


def conllu_of_record(record: ParseRecord) -> str:
    """Return the sentence block with the blank line that closes it, nothing for the empty record.

    It is the block that the record keeps, if that still says what the record does. Else its comments stay and, if its
    words are those of the record, its DEPS and MISC, multiword tokens and empty nodes.
    Raises RecordError for a sentence without heads, and as `read_conllu` for what the record keeps.
    """
    if record.conllu:
        written = write_conllu(record)
        if write_conllu(read_conllu(record.conllu, partial=True)) == written:
            return record.conllu + "\n"
        comments = [line for line in record.conllu.split("\n") if line.startswith("#")]
        known = [line.partition("=")[0].strip() for line in written.split("\n") if line.startswith("#")]
        others = [line for line in comments if line.partition("=")[0].strip() not in known]
        return "\n".join([*others, *_with_rest(written, record.conllu)]) + "\n"
    if not record.heads:
        if record.tokens or record.text.strip():
            raise RecordError("record has no dependency tree")
        return ""
    return write_conllu(record) + "\n"


def _with_rest(written: str, block: str) -> Iterator[str]:
    """Yield the lines of a sentence as written, with what another block of the same words has besides their columns; of
    other words, the lines as they are."""
    lines = written.split("\n")
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    others = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
    words = [other for other in others if other[0].isdigit()]
    if [row[1] for row in rows] != [word[1] for word in words]:
        yield from lines
        return
    yield from (line for line in lines if line.startswith("#"))
    rest = iter(rows)
    for other in others:
        yield "\t".join([*next(rest)[:8], *other[8:]] if other[0].isdigit() else other)


def joined(records: Sequence[ParseRecord]) -> ParseRecord:
    """Return the dependency columns of several sentences as one record, each keeping its own root; the words of one
    without a tree have no heads."""
    whole = ParseRecord(sentences=[len(record.tokens) for record in records] if len(records) > 1 else [])
    for record in records:
        offset = len(whole.tokens)
        whole.tokens += record.tokens
        whole.spaces += record.spaces
        whole.upos += record.upos
        whole.feats += record.feats or [UNKNOWN] * len(record.tokens)
        unknown = [UNKNOWN] * len(record.tokens)
        whole.heads += [head + offset if head > 0 else head for head in record.heads or [UNATTACHED] * len(unknown)]
        whole.deprels += record.deprels or unknown
    if not any(record.heads for record in records):
        whole.heads, whole.deprels = [], []
    if all(feats == UNKNOWN for feats in whole.feats):
        whole.feats = []
    return whole
