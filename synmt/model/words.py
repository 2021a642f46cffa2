"""The words of a side: how they are made of raw text, as in training."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args

from synmt.streams import BadInput, Notes
from synmt.systems.idea import lacking
from synmt.text.tokenization import TokenizerName, Words, WordsName
from synmt.trees.record import ParseRecord

SAMPLE = 1000  # sentences of a side that are looked at
FEW = 0.1  # lines that do not look tokenized, of those that do, in a text that is tokenized
_TOKENIZED = re.compile(r"\s[,.](\s|$)|&(apos|quot|amp|lt|gt|#91|#93|#124);|\s@-@\s|\sn't(\s|$)")
_RAW = re.compile(r"\w,\s|\w[.?!][\"'»”)]*$")


@dataclass(slots=True)
class Looks:
    """What was seen of the first SAMPLE lines of text (with tabs, as if tokenized, as if not), and of as many records
    (with other words than their text gives)."""

    lines: int = 0
    tabs: int = 0
    tokenized: int = 0
    raw: int = 0
    records: int = 0
    others: int = 0

    def see_text(self, text: str) -> None:
        if self.lines < SAMPLE:
            self.lines += bool(text.strip())
            self.tabs += "\t" in text.strip()
            raw = bool(_RAW.search(text))
            self.raw += raw
            self.tokenized += not raw and bool(_TOKENIZED.search(text))

    def see_record(self, has_other_words: bool) -> None:
        self.records += 1
        self.others += has_other_words

    def doubts(self, side: str, learnt: Words | None, made_by: WordsName) -> Iterator[str]:
        """Yield what is doubtful about a side. learnt: the words that a model knows, None if there is no model yet;
        made_by: what has made those of the lines."""
        text = f"{side} text"
        if self.lines and learnt and (made_by != learnt.tokenizer or learnt.share < 1):
            if made_by != learnt.tokenizer:
                training = f"the training data as {learnt.tokenizer} does"
            elif learnt.share:
                training = f"the training data only in {learnt.share:.1%} of its sentences"
            else:
                training = "and nothing in the training data tells whether that was, too"
            yield f"{text} is tokenized as {made_by} does it, {training}: give parse records like those"
        if made_by != "none" and self.tokenized and self.raw <= FEW * self.tokenized:
            yield (
                f"{text} looks tokenized already, in {self.tokenized} of its first {self.lines} lines, and was"
                " tokenized again: --tokenizer none keeps its words"
            )
        if 2 * self.tabs > self.lines:
            yield f"{text} has tabs in {self.tabs} of its first {self.lines} lines; give one column"
        if self.others:
            yield (
                f"{self.others} of the first {self.records} {side} records have other words than those of"
                f" training, which are {made_by}'s: give raw text or such records"
            )


class SideWords:
    """The words of one side of a stream: those of records, and of raw text those that the tokenizer of training makes.

    looks: how its lines look, to be said once nothing can be refused any more; missing: of how many of the `sentences`
    the trees lack something that is read, by its name.
    """

    def __init__(self, side: str, language: str, words: Words, known: bool = True) -> None:
        """side: its name in messages; known: whether a model was trained on such words, and not yet is to be."""
        self.side, self.language, self.words, self.known = side, language, words, known
        self.looks = Looks()
        self.sentences, self.missing = 0, Counter[str]()
        self._made_by: WordsName = words.tokenizer
        self._split: Any = None

    def of_text(self, text: str) -> list[str]:
        """Return the words of a line of raw text. Raises BadInput if the tokenizer is not there."""
        self.looks.see_text(text)
        return self._tokenize(text)

    def parsed(self, needs: frozenset[str], text: str) -> str:
        """Return the line of text as it goes to the parser of these needs."""
        self.looks.see_text(text)
        self._made_by = self.without_trees(needs).words.tokenizer
        return text

    def parser(self, needs: frozenset[str]) -> Any:
        """Return the name of the parser that gives records the fields that are needed, on words as in training."""
        name = parser_of(needs)
        return "benepar+udpipe" if name == "benepar" and self.words.tokenizer == "udpipe" else name

    def check(self, record: ParseRecord) -> ParseRecord:
        """Return the record; look at whether its words are those that a model has learnt.

        spaCy takes seconds to open, and is left alone where the record looks like one that has its words.
        """
        doubtful = self.words.tokenizer != "spacy" or bool(record.heads)
        if self.known and self.words.share == 1 and doubtful and record.text and self.looks.records < SAMPLE:
            self.looks.see_record(self._tokenize(record.text) != record.tokens)
        return record

    def count_missing(self, record: ParseRecord, needs: frozenset[str]) -> None:
        """Count a sentence, and what it lacks of the fields."""
        self.sentences += bool(record.tokens)
        self.missing.update(lacking(record, needs))

    def without_trees(self, needs: frozenset[str]) -> "SideWords":
        """Return a side of the same words that needs no parser."""
        name: WordsName = self.words.tokenizer
        if needs and name != "none":  # a parser, too, takes the words that stand between spaces
            name = "udpipe" if "udpipe" in self.parser(needs) else "spacy"
        return SideWords(self.side, self.language, Words(name), known=False)

    def doubts(self) -> Iterator[str]:
        """Yield what is doubtful about the words."""
        for name, count in self.missing.items():
            yield f"{count} of {self.sentences} {self.side} sentences have no {name}, and are read without"
        yield from self.looks.doubts(self.side, self.words if self.known else None, self._made_by)

    def _tokenize(self, text: str) -> list[str]:
        from synmt.parsers import ModelError, open_words

        if self._split is None:
            try:
                self._split = open_words(self.words.tokenizer, self.language)
            except ModelError as error:
                raise BadInput(str(error)) from None
        found: list[str] = self._split(text)
        return found


def parser_of(needs: frozenset[str]) -> Any:
    """Return the name of the parser that gives records the fields that are needed, on words of its own."""
    if "tree" not in needs:
        return "udpipe"
    return "benepar" if needs == {"tree"} else "benepar+udpipe"


Sides = tuple[SideWords, SideWords]


def note_doubts(notes: Notes, *sides: SideWords) -> None:
    """Note what is doubtful about the words of some sides."""
    for side in sides:
        for doubt in side.doubts():
            notes.add(doubt)


def sides_of(
    languages: tuple[str, str], tokenizer: TokenizerName, words: Sequence[Words | None] = (None, None)
) -> Sides:
    """Return source and target; words: what is known of either from a training, in place of the tokenizer."""
    source, target = (
        SideWords(side, language, known or Words(tokenizer), known is not None)
        for side, language, known in zip(("source", "target"), languages, words, strict=True)
    )
    return source, target


def words_of(records: Iterable[ParseRecord], language: str, tokenizer: TokenizerName) -> Words:
    """Return what makes the words of records, as far as their text tells: the tokenizer, or that of a parser.

    Of those that give all words it is the one that such records have gone through; else the one that gives most.
    """
    sample = list(islice(records, SAMPLE))
    likely: list[WordsName] = ["spacy"] if any(record.tree for record in sample) else []
    if any(record.heads for record in sample):
        likely = ["udpipe", *likely]
    with_text = [record for record in sample if record.text]
    best = Words(([*likely, tokenizer])[0], 0.0)
    for name in dict.fromkeys([*likely, tokenizer, *get_args(WordsName)]):
        share = _share(name, language, with_text)
        if share > best.share:
            best = Words(name, share)
        if share == 1:
            break
    return best


def _share(name: WordsName, language: str, records: Sequence[ParseRecord]) -> float:
    """Return how many of the records have the words that a tokenizer makes of their text, 0 without a tokenizer."""
    if not records:
        return 0.0
    from synmt.parsers import ModelError, open_words

    try:
        split = open_words(name, language)
    except ModelError:
        return 0.0
    return sum(split(record.text) == record.tokens for record in records) / len(records)


def read_words(fields: Mapping[str, Any] | None) -> Words | None:
    """Return the words of a config; None of one without. Raises ValueError or TypeError."""
    return None if fields is None else Words(**fields)
