"""How the lines of a stream look: whether words are made of them as a model knows them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from synmt.text.tokenization import Words, WordsName

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
