"""Raw text as sentences of tokens that give the text back.

The law: the tokens, each followed by a space where `spaces` says so, are the text with its runs of white
space made single and its ends stripped. White space is Unicode's (`str.isspace`), so no token holds any.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from synmt.caller import random_numbers_kept
from synmt.text.tokenization import spaces_after
from synmt.trees.record import ParseRecord

SENTENCE_ENDS = frozenset({".", "!", "?", "…", "...", "?!", "!?", "!!", "??", "!!!", "???"})
CLOSERS = frozenset("\"'”’»)]}") | {"''"}
OPENERS = frozenset("\"'“‘«([{¿¡") | {"``"}
_WHITE_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class Tokenized:
    """One line of k sentences.

    text: the raw line.
    sentences: the tokens of each sentence, [k][n], no sentence and no token empty.
    spaces: whether white space follows each token of the line, [sum of n].
    """

    text: str
    sentences: list[list[str]]
    spaces: list[bool]

    def sentence_spaces(self) -> list[list[bool]]:
        """Return `spaces` sentence by sentence, [k][n]."""
        rest = iter(self.spaces)
        return [[next(rest) for _ in sentence] for sentence in self.sentences]

    def record(self) -> ParseRecord:
        """Return the line's parse record, without trees."""
        return ParseRecord(self.text, [token for tokens in self.sentences for token in tokens], self.spaces)

    @classmethod
    def of(cls, record: ParseRecord) -> "Tokenized":
        """Return the line of a parse record. What it does not say: there is a space between two tokens."""
        rest = iter(record.tokens)
        lengths = record.sentences or ([len(record.tokens)] if record.tokens else [])
        spaces = record.spaces or [True] * (len(record.tokens) - 1) + [False] * bool(record.tokens)
        text = record.text or " ".join(record.tokens)
        return cls(text, [list(islice(rest, length)) for length in lengths], spaces)


ParserInput = str | Sequence[str] | Tokenized  # raw text, the tokens of a sentence, or those of a line of sentences


def normalized(text: str) -> str:
    """Return the text stripped, with single spaces. Raises ValueError for NUL and lone surrogates."""
    if "\0" in text:
        raise ValueError("NUL character in a text")
    text.encode()
    return _WHITE_SPACE.sub(" ", text).strip(" ")


def tokenize(line: ParserInput, split: Callable[[str], Iterable[list[str]]]) -> Tokenized:
    """Return a line of text as sentences found by `split`, or tokens as one sentence.

    Where the tokens of `split` do not make up the text, the text's white space separates the tokens instead.
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
    """Return a line as one sentence of the words between its white space."""
    tokens = normalized(line).split()
    if not tokens:
        return Tokenized("", [], [])
    return Tokenized(line, [tokens], [True] * (len(tokens) - 1) + [False])


def split_sentences(tokens: Sequence[str], spaces: Sequence[bool]) -> list[list[str]]:
    """Cut after a closing mark that a space and then a token in upper case or an opening mark follow."""
    sentences: list[list[str]] = []
    start = 0
    ended = False
    for position, (token, space, following) in enumerate(zip(tokens, spaces, tokens[1:], strict=False), 1):
        ended = token in SENTENCE_ENDS or (ended and token in CLOSERS)
        if ended and space and _may_begin(following):
            sentences.append(list(tokens[start:position]))
            start = position
    return [*sentences, list(tokens[start:])]


def _may_begin(token: str) -> bool:
    return token[0].isupper() or token in OPENERS


class SpacyTokenizer:
    """spaCy's rule-based tokenizer of a language (`en`, …; `xx` for no language in particular)."""

    def __init__(self, language: str) -> None:
        with random_numbers_kept():  # which spaCy seeds
            import spacy

        self._language = spacy.blank(language)

    def split(self, text: str) -> list[list[str]]:
        """Return the tokens of a normalized text, sentence by sentence."""
        with self._language.memory_zone():
            tokens = [(token.text, bool(token.whitespace_)) for token in self._language.tokenizer(text)]
        if not tokens:
            return []
        return split_sentences([token for token, _ in tokens], [space for _, space in tokens])
