"""Parsed sentences and their links to a target: what trees are projected from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import orjson

from synmt.text.links import Link, LinkError, check_inside, read_links
from synmt.text.tokenization import is_punctuation
from synmt.trees.record import ParseRecord

SYMBOLS = frozenset("%&@#*/§‰")  # Unicode's punctuation, but no punctuation marks to Universal Dependencies
ROUNDING = 1e-3  # by which a mean of probabilities may exceed 1


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed sentence, and the links from its words to those of the target, each with its score, 0 to 1."""

    record: ParseRecord
    links: Mapping[Link, float]


def is_mark(word: str) -> bool:
    """Return whether a word is a punctuation mark."""
    return is_punctuation(word) and word not in SYMBOLS


def read_scored_links(text: str, source: Sequence[str], target: Sequence[str]) -> dict[Link, float]:
    """Return the links of one line between these words: Pharaoh's, all with the score 1, or a JSON line as
    `synmt align` writes it.

    Raises LinkError for what is no list of links, and for links of other words.
    """
    if text.startswith("{"):
        links = _read_json(text, source, target)
    else:
        links = dict.fromkeys(sorted(read_links(text).possible), 1.0)
    check_inside(links.keys(), len(source), len(target))
    return links


def _read_json(text: str, source: Sequence[str], target: Sequence[str]) -> dict[Link, float]:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise LinkError(f"links are not JSON: {error}") from None
    found = fields.get("links", []) if isinstance(fields, dict) else None
    if not isinstance(found, list):
        raise LinkError(f"{text!r:.40} is no list of links")
    for side, words in (("source", source), ("target", target)):
        if fields.get(side, words) != list(words):
            raise LinkError(f"the links are of other {side} words")
    links: dict[Link, float] = {}
    for each in found:
        match each:
            case [int(i), int(j), float() | int() as score] if min(i, j) >= 0 and 0 <= score <= 1 + ROUNDING:
                links[i, j] = min(1.0, score)
            case [int(i), int(j)] if min(i, j) >= 0:
                links[i, j] = 1.0
            case _:
                raise LinkError(f"{each!r:.40} is not a link such as [3, 4, 0.9]")
    return links


def whole(source: Source, target: ParseRecord) -> Source:
    """Return the source as it is projected: without links of punctuation marks, and with one root if the target is one
    sentence, on which the roots of further sentences hang as `parataxis`.
    """
    record = source.record
    roots = [word for word, head in enumerate(record.heads) if head == 0]
    if len(roots) > 1 and not target.sentences:
        first, *others = roots
        heads, deprels = list(record.heads), list(record.deprels)
        for word in others:
            heads[word] = first + 1
            deprels[word : word + 1] = ["parataxis"] * bool(deprels)
        record = replace(record, heads=heads, deprels=deprels, sentences=[])
    source_marks, target_marks = (list(map(is_mark, words)) for words in (record.tokens, target.tokens))
    links = {
        (i, j): score
        for (i, j), score in source.links.items()
        if score > 0 and not source_marks[i] and not target_marks[j]
    }
    return Source(record, links)


def sentences(record: ParseRecord) -> list[range]:
    """Return the words of each sentence of a record, from 1."""
    ends = list(accumulate(record.sentences or [len(record.tokens)]))
    return [range(start + 1, end + 1) for start, end in zip([0, *ends], ends, strict=False)]
