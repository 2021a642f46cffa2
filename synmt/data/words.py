"""The words of a side. Raw text is split into words in the same way as in training."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from synmt.components.contract import lacking
from synmt.components.fields import GIVEN
from synmt.model.config import ModelConfig
from synmt.streams import BadInput, BadLines, Message, Notes, counted
from synmt.text.tokenization import SAMPLE, Separation, TokenizerName, Words, WordsName
from synmt.trees.record import ParseRecord

USUAL: tuple[WordsName, ...] = "words", "moses", "none", "spacy", "udpipe"  # what may have made records
FEW = 0.1  # a tokenized text has fewer raw-looking lines than this per tokenized-looking line
_TOKENIZED = re.compile(r"\s[,.](\s|$)|&(apos|quot|amp|lt|gt|#91|#93|#124);|\s@-@\s|\sn't(\s|$)")
_RAW = re.compile(r"\w,\s|\w[.?!][\"'»”)]*$")


@dataclass(slots=True)
class Looks:
    """Counts over the first SAMPLE lines: of text (lines with tabs, lines that look tokenized, lines that look raw) and
    of records (`others`: records whose words differ from the words of their text)."""

    lines: int = 0
    tabs: int = 0
    tokenized: int = 0
    raw: int = 0
    records: int = 0
    others: int = 0
    separation: Separation = field(default_factory=Separation)

    def see_text(self, text: str) -> None:
        if self.lines < SAMPLE:
            self.lines += bool(text.strip())
            self.tabs += "\t" in text.strip()
            raw = bool(_RAW.search(text))
            self.raw += raw
            self.tokenized += not raw and bool(_TOKENIZED.search(text))

    def warnings(self, side: str, learned: Words | None, made_by: WordsName) -> Iterator[str]:
        """Yield warnings about a side.

        learned: the words of a model's training data, None if there is no model yet; made_by: the tokenizer or parser
        that split the lines into words.
        """
        text = f"{side} text"
        if self.lines and learned and (made_by != learned.tokenizer or learned.share < 1):
            if made_by != learned.tokenizer:
                training = f"but the training data by {learned.tokenizer}"
            elif learned.share:
                training = f"but only {learned.share:.1%} of the training sentences"
            else:
                training = "but the tokenizer of the training data is unknown"
            yield f"{text} is tokenized by {made_by}, {training}; give parse records as in training"
        if made_by != "none" and self.tokenized and self.raw <= FEW * self.tokenized:
            yield Message(
                "{} looks tokenized in {} of its first {} lines, and was tokenized again;"
                " --tokenizer none keeps its words",
                text, self.tokenized, self.lines,
            )  # fmt: skip
        if 2 * self.tabs > self.lines:
            yield f"{text} has tabs in {self.tabs} of its first {self.lines} lines; give one column"
        separation = self.separation
        if warning := separation.warning():
            splits = separation.spaceless and made_by != "words"
            cure = "; --tokenizer words splits Chinese, Japanese and Thai" if splits else ""
            yield Message("{} {}{}", text, warning, Message(cure))
        elif made_by == "words" and separation.spaceless > FEW * separation.sentences:
            yield Message(
                "{} is in a script without spaces in {} of its first {}, so each character is a word;"
                " --tokenizer mecab (Japanese) or jieba (Chinese) finds longer ones",
                text, separation.spaceless, counted(separation.sentences, "sentence"),
            )  # fmt: skip
        if self.others:
            yield (
                f"{self.others} of the first {self.records} {side} records have words that {made_by}, the tokenizer of"
                " training, would not make; give raw text or records with its words"
            )


class SideWords:
    """The words of one side of a stream: the words of records, or raw text split by the tokenizer of training.

    looks: counts for warnings, to report when nothing can be refused any more.
    missing: how many of the `sentences` lack a field that is read, by name.
    """

    def __init__(self, side: str, language: str, words: Words, known: bool = True) -> None:
        """side: its name in messages; known: whether a model has already been trained on such words."""
        self.side, self.language, self.words, self.known = side, language, words, known
        self.looks = Looks()
        self.sentences, self.missing = 0, Counter[str]()
        self._made_by: WordsName = words.tokenizer
        self._split: Any = None

    def of_text(self, text: str) -> list[str]:
        """Return the words of a line of raw text. Raises BadInput if the tokenizer is missing."""
        self.looks.see_text(text)
        return self._tokenize(text)

    def parsed(self, needs: frozenset[str], text: str) -> str:
        """Return the line of text for the parser of these needs."""
        self.looks.see_text(text)
        self._made_by = self.without_trees(needs).words.tokenizer
        return text

    def parser(self, needs: frozenset[str]) -> Any:
        """Return the name of the parser that provides the needed fields, with words as in training."""
        name = parser_of(needs)
        return "benepar+udpipe" if name == "benepar" and self.words.tokenizer == "udpipe" else name

    def check(self, record: ParseRecord) -> ParseRecord:
        """Return the record, after checking whether its words are made as in training.

        spaCy takes seconds to open, so it does not check a record that looks like one with its words.
        """
        self.looks.separation.see(record.tokens)
        doubtful = self.words.tokenizer != "spacy" or bool(record.heads)
        if self.known and self.words.share == 1 and doubtful and record.text and self.looks.records < SAMPLE:
            self.looks.records += 1
            self.looks.others += self._tokenize(record.text) != record.tokens
        return record

    def count_missing(self, record: ParseRecord, needs: frozenset[str]) -> None:
        """Count a sentence, and the needed fields that it lacks."""
        self.sentences += bool(record.tokens)
        self.missing.update(lacking(record, needs))

    def without_trees(self, needs: frozenset[str]) -> "SideWords":
        """Return a side with the same words that needs no parser."""
        name: WordsName = self.words.tokenizer
        if needs - GIVEN and name != "none":  # with "none", a parser also takes the words between spaces
            name = "udpipe" if "udpipe" in self.parser(needs) else "spacy"
        return SideWords(self.side, self.language, Words(name), known=False)

    def warnings(self) -> Iterator[str]:
        """Yield warnings about the words."""
        for name, count in self.missing.items():
            yield f"{count} of {self.sentences} {self.side} sentences are read although they have no {name}"
        yield from self.looks.warnings(self.side, self.words if self.known else None, self._made_by)

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
    """Return the name of the parser that provides the needed fields, with its own words."""
    if "tree" not in needs:
        return "udpipe"
    return "benepar" if needs - GIVEN == {"tree"} else "benepar+udpipe"


Sides = tuple[SideWords, SideWords]


def note_warnings(notes: Notes, *sides: SideWords) -> None:
    """Note the warnings about the words of some sides."""
    for side in sides:
        for warning in side.warnings():
            notes.add(warning)


def say_warnings(bad: BadLines, notes: Notes, *sides: SideWords) -> None:
    """Warn of the lines left empty and note all warnings, at the end of a stream."""
    bad.report()
    note_warnings(notes, *sides)
    notes.say()


def sides_of(
    languages: tuple[str, str], tokenizer: TokenizerName, words: Sequence[Words | None] = (None, None)
) -> Sides:
    """Return source and target. words: how words were made in training, if known; this replaces the tokenizer."""
    source, target = (
        SideWords(side, language, known or Words(tokenizer), known is not None)
        for side, language, known in zip(("source", "target"), languages, words, strict=True)
    )
    return source, target


def sides_of_model(model: ModelConfig) -> Sides:
    """Return source and target, split into words as in the model's training."""
    return sides_of(model.languages, model.tokenizer, (model.words, None))


def words_of(records: Iterable[ParseRecord], language: str, tokenizer: TokenizerName) -> Words:
    """Return which tokenizer split the records' text into their words: this tokenizer, or a parser.

    If several give all words, return the one that such records usually come from; if none does, the best one.
    """
    sample = list(islice(records, SAMPLE))
    likely: list[WordsName] = ["spacy"] if any(record.tree for record in sample) else []
    if any(record.heads for record in sample):
        likely = ["udpipe", *likely]
    with_text = [record for record in sample if record.text]
    best = Words(([*likely, tokenizer])[0], 0.0)
    for name in dict.fromkeys([*likely, tokenizer, *USUAL]):
        share = _share(name, language, with_text)
        if share > best.share:
            best = Words(name, share)
        if share == 1:
            break
    return best


def _share(name: WordsName, language: str, records: Sequence[ParseRecord]) -> float:
    """Return the share of records whose words equal the tokenizer's words of their text, 0 without a tokenizer."""
    if not records:
        return 0.0
    from synmt.parsers import ModelError, open_words

    try:
        split = open_words(name, language)
    except ModelError:
        return 0.0
    return sum(split(record.text) == record.tokens for record in records) / len(records)
