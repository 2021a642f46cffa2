"""The parse record: one line of JSON that carries a sentence and its trees from stage to stage.

`{"text": …, "tokens": […], "spaces": […], "tree": "(S …)", "lemmas": […], "upos": […], "xpos": […], "feats": […],
"heads": […], "deprels": […]}`; either tree may be missing. An empty input line is the empty record `{}`. A line of
several sentences is one record, with the number of words in each under `"sentences"`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from synmt.streams import counted, shown
from synmt.streams.decoding import begins_object, decoded
from synmt.trees.constituency import (
    Tree,
    TreeError,
    read_brackets,
    read_tree_if_any,
    unescape,
    with_leaves,
    without_function_tags,
    without_root,
    without_traces,
    write_brackets,
)

TEXTS = "text", "sent_id", "conllu"
WORD_COLUMNS = ("lemmas", "upos", "xpos", "feats", "heads", "deprels", "confidences")
UNATTACHED = -1  # the head of a word without one, in a partial tree
DIGITS = 4  # decimals of a confidence
_BREAKING = re.compile(r"[\s\0]")
_BREAKING_ROWS = re.compile(r"[\t\n\r\0]|^$")


@dataclass(frozen=True, slots=True)
class WordStates:
    """The states of n words in a layer of a pretrained encoder.

    encoder: its name; layer: counted from 1, 0 for the embeddings; vectors: n × d numbers of 16 bits, word by word,
    the low byte first, in JSON as base64.
    """

    encoder: str
    layer: int
    vectors: bytes


class RecordError(ValueError):
    """A line that is not a parse record, or whose fields contradict each other."""


@dataclass(slots=True)
class ParseRecord:
    """A sentence of n words and its trees.

    text: the raw line.
    tokens: the parser's words, raw, [n].
    spaces: whether white space follows each token in `text`, [n]; empty if unknown.
    tree: the constituency tree over `tokens`.
    lemmas: dictionary forms, which may contain spaces, [n]; empty if unknown.
    upos: universal parts of speech, [n]; empty if unknown.
    xpos: the treebank's own parts of speech, [n]; empty if unknown.
    feats: morphological features as in CoNLL-U, `Case=Acc|Reflex=Yes`, `_` for none, [n]; empty if no word has any.
    heads: 1-based index of each token's head, 0 for a root, as in CoNLL-U, [n]; empty if unknown. In a partial tree,
        some are UNATTACHED.
    deprels: dependency relations, [n]; empty if unknown.
    confidences: of each token's head, 0 to 1, [n]; empty if unknown.
    sentences: number of words in each sentence, if there are several; each has its own root.
    masks: by name, m strings of m characters 0 and 1, over the n words or over the nodes of the tree.
    states: of the words in a pretrained encoder.
    sent_id: the sentence's name in its treebank, as in CoNLL-U.
    conllu: the sentence block from which the record was read, if the block has more than the record.
    """

    text: str = ""
    tokens: list[str] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    tree: Tree | None = None
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deprels: list[str] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    masks: dict[str, list[str]] = field(default_factory=dict)
    states: WordStates | None = None
    sent_id: str = ""
    conllu: str = ""

    def __repr__(self) -> str:
        """Return the text, the number of words and the names of the other fields that are not empty."""
        given = [each.name for each in fields(self) if getattr(self, each.name)]
        others = [name for name in given if name not in ("text", "tokens", "spaces")]
        text = shown(self.text or " ".join(self.tokens), 40)
        return shown(f"<ParseRecord {text!r}: {', '.join([counted(len(self.tokens), 'word'), *others])}>", 110)

    def _repr_svg_(self) -> str | None:
        """Return a picture of the trees, which notebooks show; None if there is no tree."""
        from synmt.trees.drawing import picture

        return picture([self]) if self.tree or self.heads else None

    def without_trees(self) -> "ParseRecord":
        """Return the sentence as if it had not been parsed: its text and words."""
        return ParseRecord(self.text, self.tokens, self.spaces)

    @property
    def word_masks(self) -> dict[str, list[str]]:
        """Return the masks over words, which outlast the tree."""
        return {name: rows for name, rows in self.masks.items() if len(rows) == len(self.tokens)}

    @property
    def confidence(self) -> float:
        """Return the mean confidence over all words; words without a head count as 0."""
        attached = (each for each, head in zip(self.confidences, self.heads, strict=True) if head != UNATTACHED)
        return sum(attached) / max(1, len(self.heads))

    def check(self, partial: bool = False) -> None:
        """Raise RecordError if a column's length, the text or the tree's leaves do not fit the tokens, if the heads are
        not trees, or if a token is empty, or a token or label contains white space, which would break lines of tokens,
        brackets or CoNLL-U.

        partial: words may be without a head.
        """
        n = len(self.tokens)
        for name in ("spaces", *WORD_COLUMNS):
            column = getattr(self, name)
            if column and len(column) != n:
                raise RecordError(f"{len(column)} {name} for {counted(n, 'token')}")
        if "" in self.tokens:
            raise RecordError(f"token {self.tokens.index('') + 1} is empty")
        for name in ("upos", "xpos", "feats", "deprels"):
            if "" in getattr(self, name):
                raise RecordError(f"value {getattr(self, name).index('') + 1} of {name} is empty; an unknown one is _")
        strings = (*self.tokens, *self.upos, *self.xpos, *self.feats, *self.deprels)
        for string in (*strings, *(self.tree.nodes if self.tree else ())):
            if _BREAKING.search(string):
                raise RecordError(f"white space or NUL in {string!r}")
        if any(_BREAKING_ROWS.search(lemma) for lemma in self.lemmas):
            raise RecordError("a lemma is empty or contains a tab, an end of line or NUL")
        if self.sentences and (sum(self.sentences) != n or min(self.sentences) < 1):
            raise RecordError(f"sentences of {self.sentences} words for {counted(n, 'token')}")
        if self.heads:
            check_heads(self.heads, self.sentences, partial)
        if self.confidences and not self.heads:
            raise RecordError("confidences without heads")
        if not all(0 <= each <= 1 for each in self.confidences):
            raise RecordError("a confidence is outside 0 to 1")
        if self.text and n and "".join(self.tokens) != "".join(self.text.split()):
            raise RecordError("the tokens do not spell the text")
        for name, rows in self.masks.items():
            if len(rows) not in (n, len(self.tree.nodes) if self.tree else n):
                raise RecordError(f"mask {name!r} has {len(rows)} rows, which is the number of neither words nor nodes")
            if any(len(row) != len(rows) or row.strip("01") for row in rows):
                raise RecordError(f"mask {name!r} has a row that is not {len(rows)} characters 0 and 1")
        if self.states is not None and (not n or not self.states.vectors or len(self.states.vectors) % (2 * n)):
            raise RecordError(f"{counted(len(self.states.vectors), 'byte')} of states for {counted(n, 'token')}")
        if self.tree is not None and self.tree.leaves() != self.tokens:
            raise RecordError("the leaves of the tree are not the tokens")


def check_heads(heads: Sequence[int], sentences: Sequence[int] = (), partial: bool = False) -> None:
    """Raise RecordError unless the heads of n words form one tree per sentence, or with `partial` pieces of one.

    sentences: number of words in each; empty for a single sentence of n words.
    """
    if UNATTACHED in heads and not partial:
        raise RecordError(f"word {heads.index(UNATTACHED) + 1} has no head, but complete trees are needed")
    if sentences and (sum(sentences) != len(heads) or min(sentences) < 1):
        raise RecordError(f"sentences of {list(sentences)} words for {counted(len(heads), 'word')}")
    first = 1
    for length in sentences or [len(heads)]:
        _check_tree(heads, range(first, first + length))
        first += length


def _check_tree(heads: Sequence[int], words: range) -> None:
    roots = [word for word in words if heads[word - 1] == 0]
    if len(roots) > 1:
        raise RecordError(f"words {roots[0]} and {roots[1]} are both roots of one sentence")
    rooted = {0, UNATTACHED}
    for word in words:
        path: dict[int, None] = {}
        while word not in rooted:
            if word in path:
                raise RecordError(f"word {word} is its own ancestor")
            path[word] = None
            head = heads[word - 1]
            if head not in (0, UNATTACHED) and head not in words:
                raise RecordError(f"head {head} of word {word} is outside its sentence")
            word = head
        rooted.update(path)


def record_of_brackets(text: str, strip: bool = False) -> ParseRecord:
    """Return the record of one bracket string, the empty record for no tree or the empty one, `(())`.

    strip: remove traces, function tags and a root that only wraps.
    Raises TreeError, and RecordError for white space in a word or label, such as a no-break space.
    """
    tree = read_tree_if_any(text)
    if tree is None:
        return ParseRecord()
    if strip:
        overt = without_traces(without_function_tags(tree))
        if overt is None:
            raise TreeError("the tree contains only traces")
        tree = without_root(overt)
    record = ParseRecord(tokens=tree.leaves(), tree=tree)
    record.check()
    return record


def is_record(line: str) -> bool:
    """Return whether a line is the JSON of a parse or mask record, valid or not."""
    try:
        fields = decoded(line)
    except ValueError:
        return False
    return isinstance(fields, dict) and bool(fields.keys() & {"tokens", "tree"})


FIELDS = frozenset({"parents", *ParseRecord.__slots__})  # of a record in JSON


class _MaskRecord(msgspec.Struct):
    """The fields of a mask record that give its tree: the nodes in preorder and their parents."""

    tokens: list[str]
    parents: list[int]


def read_record(line: str, partial: bool = False) -> ParseRecord:
    """Return the record of one JSON line. An empty line is the empty record; a mask record gives a record of its tree.
    A column may be null, which is the same as none.

    partial: words may be without a head, written null.
    Raises RecordError for broken JSON, fields of the wrong type, and fields that contradict each other.
    """
    if not line.strip():
        return ParseRecord()
    fields = _fields(line)
    try:
        tree = _tree(fields)
        fields = {name: value for name, value in fields.items() if value is not None or name in TEXTS}
        known = {**fields, "tree": tree, "heads": _heads(fields), "masks": _masks(fields)}
        record = msgspec.convert(known, ParseRecord)
    except TreeError as error:
        raise RecordError(f"tree: {error}") from None
    except msgspec.ValidationError as error:
        raise RecordError(str(error)) from None
    if tree is not None:
        has_own_tokens = "tokens" in fields and "parents" not in fields
        record.tokens = record.tokens if has_own_tokens else tree.leaves()
        record.tree = _with_tokens(tree, record.tokens)
    record.check(partial)
    return record


def _fields(line: str) -> dict[str, Any]:
    """Return the fields of a line. Raises RecordError if there is none of a record, unless the line is `{}`."""
    try:
        fields = decoded(line)
    except ValueError as error:
        is_text = not line.lstrip().startswith("{")
        advice = "not JSON: synmt parse makes records of text, and synmt convert of trees"
        raise RecordError(advice if is_text else str(error)) from None
    if not isinstance(fields, dict):
        raise RecordError("not a JSON object")
    if fields and fields.keys().isdisjoint(FIELDS):
        raise RecordError(f"no field of a parse record, only {', '.join(fields):.60}")
    return fields


def _tree(fields: Mapping[str, Any]) -> Tree | None:
    """Read the tree from brackets, or from the nodes of a mask record."""
    if "parents" in fields:
        found = msgspec.convert(fields, _MaskRecord)
        tree = Tree(found.tokens, found.parents)
        tree.check()
        return tree
    brackets = fields.get("tree")
    if brackets is not None and not isinstance(brackets, str):
        raise TreeError("not a string")
    return read_brackets(brackets) if brackets else None


def _heads(fields: Mapping[str, Any]) -> Any:
    """Return the heads with UNATTACHED for null; not yet of the right type."""
    heads = fields.get("heads", [])
    if not isinstance(heads, list):
        return heads
    if UNATTACHED in heads:
        raise RecordError(f"head {UNATTACHED} of word {heads.index(UNATTACHED) + 1}; write null for no head")
    return [UNATTACHED if head is None else head for head in heads]


def _masks(fields: Mapping[str, Any]) -> Any:
    """Return the masks, with rows of the right type. Raises RecordError with the name of a mask, which the decoder does
    not know."""
    masks = fields.get("masks", {})
    for name, rows in masks.items() if isinstance(masks, dict) else ():
        try:
            msgspec.convert(rows, list[str])
        except msgspec.ValidationError as error:
            raise RecordError(f"mask {name!r}: {error}") from None
    return masks


def _with_tokens(tree: Tree, tokens: list[str]) -> Tree:
    """Return the tree with the tokens themselves as leaves, since brackets cannot spell all: -LRB- is read as (."""
    if tree.leaves() == tokens or tree.leaves() != [unescape(token) for token in tokens]:
        return tree
    return with_leaves(tree, tokens)


def write_record(record: ParseRecord) -> str:
    """Return the record as one JSON line, without empty fields."""
    names = ("sent_id", "text", "tokens", "spaces", "tree", *WORD_COLUMNS, "sentences", "masks", "states", "conllu")
    fields: dict[str, object] = {name: value for name in names if (value := getattr(record, name))}
    if record.tree:
        fields["tree"] = write_brackets(record.tree)
    if UNATTACHED in record.heads:
        fields["heads"] = [None if head == UNATTACHED else head for head in record.heads]
    if record.confidences:
        fields["confidences"] = [round(each, DIGITS) for each in record.confidences]
        fields["confidence"] = round(record.confidence, DIGITS)
    return msgspec.json.encode(fields).decode()


def brackets_of_record(record: ParseRecord) -> str:
    """Return the constituency tree on one line, "" for the empty record.

    Raises RecordError for a sentence without a constituency tree.
    """
    tree = tree_of_record(record)
    return write_brackets(tree) if tree else ""


def read_words(line: str) -> list[str]:
    """Return the tokens of a parse record, or the space-separated words of a text or of a record that has only text.
    Raises RecordError."""
    if not begins_object(line):
        return line.split()
    record = read_record(line, partial=True)
    return record.tokens or record.text.split()


def tree_of_record(record: ParseRecord) -> Tree | None:
    """Return the constituency tree, None for the empty record. Raises RecordError for a sentence without one."""
    if record.tree is None and (record.tokens or record.text.strip()):
        raise RecordError("record has no constituency tree")
    return record.tree


def read_tree(line: str) -> Tree | None:
    """Return the constituency tree of one JSON line, None for the empty record.

    Raises RecordError as `read_record` does, and for a sentence without a constituency tree.
    """
    return tree_of_record(read_record(line, partial=True))
