"""CoNLL-U scored by the rules of the CoNLL 2018 shared task, that is, by its own evaluator.

Zeman et al. (2018), "CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies". The
evaluator, which the package udtools contains, aligns the syntactic words of two files by the characters that they
cover, so the files may differ in sentences, tokens and multiword tokens, but not in their text.

The evaluator counts over whole files, but metrics here need the counts of small parts. We cut the files at the places
where all of them end a sentence. The counts of these segments add up to the counts of the files, with one exception:
around a sentence break, the evaluator may align words of both sentences if the first sentence ends in different tokens
and the second one begins with a multiword token. We do not cut there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import accumulate
from typing import Any

from udtools import __version__, udeval

from synmt.streams import BadInput, Line
from synmt.trees.dependency import UNKNOWN
from synmt.trees.formats import DependencyError, read_conllu

RULES = f"rules:CoNLL18|udtools:{__version__}"
SHOWN = 20  # characters of two texts that differ
Counts = tuple[int, int, int]  # correct, in the reference, in the hypothesis
_PLACE = re.compile(r"( in the sentence that ends)? at (line )?(\d+)")


@dataclass(frozen=True)
class Sentences:
    """Consecutive sentences of a file: their blocks, and the evaluator's representation of them."""

    blocks: Sequence[Line]
    loaded: Any

    @cached_property
    def text(self) -> str:
        """Return the characters of all tokens."""
        return "".join(self.loaded.characters)

    @property
    def last_token(self) -> int:
        """Return the length of the last token."""
        return int(self.loaded.tokens[-1].end - self.loaded.tokens[-1].start)

    @property
    def begins_multiword(self) -> bool:
        return bool(self.loaded.words[0].is_multiword)


@dataclass(frozen=True)
class Evaluation:
    """The comparison of the same text in a reference and a hypothesis."""

    gold: Sentences
    system: Sentences

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Return the evaluator's counts by the names of its metrics, such as `LAS`."""
        scores = udeval.evaluate(self.gold.loaded, self.system.loaded)
        return {name: (each.correct, each.gold_total, each.system_total) for name, each in scores.items()}

    def relations(self) -> tuple[list[str], list[str], list[tuple[str, str, bool]]]:
        """Return the relations of all reference words and of all hypothesis words, and for each aligned word both
        relations and whether its head is right."""
        aligned = self._alignment()
        pairs = [
            (_relation(gold), _relation(word), _head(word, aligned) is gold.parent) for word, gold in aligned.items()
        ]
        return [*map(_relation, self.gold.loaded.words)], [*map(_relation, self.system.loaded.words)], pairs

    def _alignment(self) -> dict[Any, Any]:
        """Return the reference word of each hypothesis word that has one, as the evaluator aligns them.

        The evaluator does not return its alignment, but compares the columns of aligned words. So we let it compare
        objects that remember with what they were compared.
        """
        alignment: dict[Any, Any] = {}
        words = [*self.gold.loaded.words, *self.system.loaded.words]
        saved = [word.columns[udeval.XPOS] for word in words]
        for number, word in enumerate(words):
            is_gold = number < len(self.gold.loaded.words)
            word.columns[udeval.XPOS] = _Remembering(word, alignment) if is_gold else word
        udeval.evaluate(self.gold.loaded, self.system.loaded)
        for word, xpos in zip(words, saved, strict=True):
            word.columns[udeval.XPOS] = xpos
        return alignment


def _head(word: Any, alignment: Mapping[Any, Any]) -> Any:
    """Return the reference word of a hypothesis word's head, None for a root; a head without one is itself."""
    return None if word.parent is None else alignment.get(word.parent, word.parent)


def _relation(word: Any) -> str:
    return str(word.columns[udeval.DEPREL])


class _Remembering:
    """A reference word, in place of its XPOS."""

    def __init__(self, word: Any, alignment: dict[Any, Any]) -> None:
        self.word, self.alignment = word, alignment

    def __eq__(self, other: object) -> bool:
        self.alignment[other] = self.word
        return False

    __hash__ = None  # type: ignore[assignment]


class _Side:
    """A file: the sentences since the last cut, their text, and the next sentence."""

    def __init__(self, blocks: Iterable[Line]) -> None:
        self._rest = (load([block]) for block in blocks if _has_words(block))
        self.ahead = next(self._rest, None)
        self.taken: list[Sentences] = []
        self.text = ""

    def take(self) -> None:
        assert self.ahead
        self.taken.append(self.ahead)
        self.text += self.ahead.text
        self.ahead = next(self._rest, None)

    def cut(self) -> Sentences:
        """Return the sentences since the last cut, and cut here."""
        taken, self.taken, self.text = self.taken, [], ""
        return taken[0] if len(taken) == 1 else load([block for each in taken for block in each.blocks])

    def line_at(self, position: int) -> BadInput:
        """Return an error without cause, with the place of the token at this position of the text."""
        ends = accumulate(len(each.text) for each in self.taken)
        each, end = next((each, end) for each, end in zip(self.taken, ends, strict=True) if end > position)
        within = position - end + len(each.text)
        row = next(token.line for token in each.loaded.tokens if token.end > within)
        return each.blocks[0].error(DependencyError("", row))


def place_without_head(blocks: Iterable[Line]) -> str:
    """Return the place of the first word without a head, which the evaluator needs; "" if each word has one."""
    for block in blocks:
        for number, line in enumerate(block.text.split("\n"), 1):
            columns = line.split("\t")
            if len(columns) > 6 and columns[0].isdigit() and columns[6] == UNKNOWN:
                return block.error(DependencyError("", number)).place
    return ""


def _has_words(block: Line) -> bool:
    return any(not line.startswith("#") for line in block.text.split("\n"))


def load(blocks: Sequence[Line]) -> Sentences:
    """Load sentences. Raises BadInput for CoNLL-U that the evaluator cannot read."""
    text = "".join(f"{block.text}\n\n" for block in blocks)
    try:
        return Sentences(blocks, udeval.load_conllu(StringIO(text), "", {}))
    except (udeval.UDError, ValueError, IndexError, RecursionError) as error:
        with blocks[0].naming():
            read_conllu(blocks[0].text)  # explains most faults better
            place = _PLACE.search(str(error))
            row = int(place[3]) if place and not place[1] else 1
            raise DependencyError(
                f"CoNLL-U that the evaluator cannot read: {_PLACE.sub('', str(error))}", row
            ) from None


def segments(files: Sequence[Iterable[Line]]) -> Iterator[list[Sentences]]:
    """Yield the sentences of all files between one place where all end a sentence and the next.

    files: the hypotheses, then the reference. Raises BadInput, also for files of different texts.
    """
    sides = [_Side(blocks) for blocks in files]
    while any(side.ahead for side in sides):
        shortest = min(sides, key=lambda side: len(side.text))
        if shortest.ahead is None:
            break
        start = len(shortest.text)
        shortest.take()
        for side in sides[:-1] if shortest is sides[-1] else [shortest]:
            _check_same(side, sides[-1], start)
        if _can_cut(sides):
            yield [side.cut() for side in sides]
    for side in sides[:-1]:
        if len(side.text) != len(sides[-1].text) or bool(side.ahead) != bool(sides[-1].ahead):
            raise _ends_early(side, sides[-1])


def _can_cut(sides: Sequence[_Side]) -> bool:
    """Return whether all files end a sentence here, so that counts before and after add up to those of the whole."""
    if len({len(side.text) for side in sides}) > 1:
        return False
    same_end = len({side.taken[-1].last_token for side in sides}) == 1
    return same_end or not any(side.ahead and side.ahead.begins_multiword for side in sides)


def _check_same(system: _Side, gold: _Side, start: int) -> None:
    """Raise BadInput if the texts differ from `start` on, as far as both go."""
    end = min(len(system.text), len(gold.text))
    ours, theirs = system.text[start:end], gold.text[start:end]
    if ours != theirs:
        place = start + next(n for n, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        found, expected = (side.text[place : place + SHOWN] for side in (system, gold))
        here, there = system.line_at(place), gold.line_at(place)
        raise BadInput(f"the text differs from the reference: {found!r}, not {expected!r} ({there.place})", here.place)


def _ends_early(system: _Side, gold: _Side) -> BadInput:
    shorter, longer = sorted((system, gold), key=lambda side: (len(side.text), bool(side.ahead)))
    names = {system: "the hypothesis", gold: "the reference"}
    rest = longer.ahead if len(longer.text) == len(shorter.text) else None
    place = rest.blocks[0].error("") if rest else longer.line_at(len(shorter.text))
    return BadInput(f"{names[shorter]} ends before this text", place.place)
