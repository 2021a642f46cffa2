"""What all parsers share: their interface, their input, and the embedded models.

A parser reads raw text as sentences of tokens that spell the text: if each token is followed by a space where `spaces`
is true, the result is the text with single spaces and without white space at the ends. White space is Unicode's
(`str.isspace`), so no token contains any.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from synmt.streams.process import random_numbers_kept
from synmt.text.tokenization import spaces_after
from synmt.trees.record import ParseRecord

SENTENCE_ENDS = frozenset({".", "!", "?", "…", "...", "?!", "!?", "!!", "??", "!!!", "???"})
CLOSERS = frozenset("\"'”’»)]}") | {"''"}
OPENERS = frozenset("\"'“‘«([{¿¡") | {"``"}
LINES_IN_MEMORY = 256  # after so many lines, spaCy forgets their words, which would otherwise fill the memory
_WHITE_SPACE = re.compile(r"\s+")
CONSTITUENCY = "constituency.safetensors"
DEPENDENCY = "dependency.udpipe"
OTHERS = {  # alternatives to an embedded model
    CONSTITUENCY: "synmt parse --model NAME loads benepar's own models, such as benepar_fr",
    DEPENDENCY: "synmt parse --parser udpipe --model FILE loads models from https://hdl.handle.net/11234/1-3131",
}


@dataclass(slots=True)
class Tokenized:
    """A line of k sentences.

    text: the raw line.
    sentences: the tokens of each sentence, [k][n]; neither sentences nor tokens are empty.
    spaces: whether white space follows each token of the line, [sum of n].
    """

    text: str
    sentences: list[list[str]]
    spaces: list[bool]

    def sentence_spaces(self) -> list[list[bool]]:
        """Return `spaces` by sentence, [k][n]."""
        rest = iter(self.spaces)
        return [[next(rest) for _ in sentence] for sentence in self.sentences]

    def record(self) -> ParseRecord:
        """Return the parse record of the line, without trees."""
        return ParseRecord(self.text, [token for tokens in self.sentences for token in tokens], self.spaces)

    @classmethod
    def of(cls, record: ParseRecord) -> "Tokenized":
        """Return the line of a parse record. If the record has no `spaces`, there is one after each token."""
        rest = iter(record.tokens)
        lengths = record.sentences or ([len(record.tokens)] if record.tokens else [])
        spaces = record.spaces or [True] * (len(record.tokens) - 1) + [False] * bool(record.tokens)
        text = record.text or " ".join(record.tokens)
        return cls(text, [list(islice(rest, length)) for length in lengths], spaces)


ParserInput = str | Sequence[str] | Tokenized  # raw text, the tokens of one sentence, or several tokenized sentences


def normalized(text: str) -> str:
    """Return the text stripped, with single spaces. Raises ValueError for NUL and lone surrogates."""
    if "\0" in text:
        raise ValueError("NUL character in a text")
    text.encode()
    return _WHITE_SPACE.sub(" ", text).strip(" ")


def tokenize(line: ParserInput, split: Callable[[str], Iterable[list[str]]]) -> Tokenized:
    """Return the sentences that `split` finds in a text, or tokens as one sentence.

    If the tokens of `split` do not spell the text, split it at white space instead.
    """
    if isinstance(line, Tokenized):
        return line
    if not isinstance(line, str):
        return tokenize_at_spaces(normalized(" ".join(line)))
    text = normalized(line)
    if not text:
        return Tokenized("", [], [])
    sentences = [tokens for tokens in split(text) if tokens]
    spaces = spaces_after([token for tokens in sentences for token in tokens], text)
    return tokenize_at_spaces(line) if spaces is None else Tokenized(line, sentences, spaces)


def tokenize_at_spaces(line: str) -> Tokenized:
    """Return a line as one sentence, split at white space."""
    tokens = normalized(line).split()
    if not tokens:
        return Tokenized("", [], [])
    return Tokenized(line, [tokens], [True] * (len(tokens) - 1) + [False])


def split_sentences(tokens: Sequence[str], spaces: Sequence[bool]) -> list[list[str]]:
    """Cut after a closing mark that is followed by a space and an upper-case token or an opening mark."""
    sentences: list[list[str]] = []
    start = 0
    ended = False
    for position, (token, space, following) in enumerate(zip(tokens, spaces, tokens[1:], strict=False), 1):
        ended = token in SENTENCE_ENDS or (ended and token in CLOSERS)
        if ended and space and (following[0].isupper() or following in OPENERS):
            sentences.append(list(tokens[start:position]))
            start = position
    return [*sentences, list(tokens[start:])]


class SpacyTokenizer:
    """spaCy's rule-based tokenizer for a language (`en`, …; `xx` for no language in particular)."""

    def __init__(self, language: str) -> None:
        with random_numbers_kept():  # spaCy seeds them
            import spacy

        self._language = spacy.blank(language)
        self._zone, self._lines = ExitStack(), 0

    def split(self, text: str) -> list[list[str]]:
        """Return the tokens of a normalized text by sentence."""
        if self._lines % LINES_IN_MEMORY == 0:
            self._zone.close()
            self._zone.enter_context(self._language.memory_zone())
        self._lines += 1
        tokens = [(token.text, bool(token.whitespace_)) for token in self._language.tokenizer(text)]
        if not tokens:
            return []
        return split_sentences([token for token, _ in tokens], [space for _, space in tokens])


class ModelError(ValueError):
    """A parser model that is missing, broken or of the wrong kind."""


class Parser(Protocol):
    """Parses lines of raw text or tokens."""

    @property
    def unparsed(self) -> int:
        """Return how many sentences so far were too long to parse. The records of their lines have no tree."""

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        """Return one record per line, in order; the empty record for a line of white space."""


FOLDER = Path(__file__).parent / "models"


def embedded_model(kind: str, language: str = "en") -> Path:
    """Return the path of the embedded model of a kind (CONSTITUENCY or DEPENDENCY) for a language (ISO 639-1).

    Raises ModelError if there is none.
    """
    languages = sorted(path.name.split("-")[0] for path in FOLDER.glob(f"*-{kind}"))
    if language not in languages:
        name = kind.split(".")[0]
        known = ", ".join(languages)
        raise ModelError(f"no embedded {name} model for {language!r}, only for {known}; {OTHERS[kind]}")
    return FOLDER / f"{language}-{kind}"
