"""One joint vocabulary in three files: target tokens, source-only tokens, and labels.

Ids: end of sentence 0, unknown 1, the other target tokens, the source-only tokens, padding, begin of sentence. Target
tokens have the first T ids, so a softmax over T rows cannot generate anything else.

A structural token (a node label or a bracket) begins with a space. Words cannot, so a label never shares an id with a
word that is spelled like it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synmt.streams import BadInput

END, UNKNOWN = 0, 1
END_TOKEN, UNKNOWN_TOKEN = " </s>", " <unk>"
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")  # white space and control characters
VOCABULARY_FILES = ("vocab.target.txt", "vocab.source.txt", "vocab.labels.txt")


def structural(token: str) -> str:
    """Return the token of a label or bracket, which no word has."""
    return f" {token}"


def is_structural(token: str) -> bool:
    return token.startswith(" ")


def error_in(token: str) -> str:
    """Return why a token would break lines or the terminal, or "" if a vocabulary may contain it."""
    if token.isprintable() and token.strip(" ") and " " not in token[1:]:
        return ""
    if not token.strip(" "):
        return "an empty token"
    if unfit := _UNFIT.search(token.removeprefix(" ")):
        kind = "white space" if unfit[0].isspace() else "a control character"
        return f"{kind} in the token {token[:40]!r}"
    return ""


@dataclass
class Vocabulary:
    """Tokens and labels, and their ids.

    target: tokens with the ids 0…T−1, END and UNKNOWN first. source: source-only tokens, with the next ids.
    labels: the label sets of tokens, by name. Labels are numbered from 1; 0 means none or unknown.
    """

    target: list[str]
    source: list[str]
    labels: dict[str, list[str]] = field(default_factory=dict)
    ids: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.target[:2] != [END_TOKEN, UNKNOWN_TOKEN]:
            raise ValueError("a target vocabulary must start with the end and unknown tokens")
        self.ids = {token: index for index, token in enumerate([*self.target, *self.source])}
        if len(self.ids) != len(self.target) + len(self.source):
            raise ValueError("a vocabulary has a duplicate token")
        self._label_numbers = {
            name: {label: number for number, label in enumerate(labels, 1)} for name, labels in self.labels.items()
        }

    @property
    def padding(self) -> int:
        return len(self.ids)

    @property
    def begin(self) -> int:
        return len(self.ids) + 1

    def __len__(self) -> int:
        return len(self.ids) + 2

    def knows(self, token: str) -> bool:
        """Return whether the target side has a token."""
        return self.ids.get(token, len(self.target)) < len(self.target)

    def knows_label(self, name: str, label: str) -> bool:
        """Return whether a label is among the labels of this name."""
        return label in self._label_numbers.get(name, {})

    def encode(self, tokens: Iterable[str]) -> list[int]:
        ids = self.ids
        return [ids.get(token, UNKNOWN) for token in tokens]

    def encode_labels(self, name: str, labels: Iterable[str]) -> list[int]:
        numbers = self._label_numbers.get(name, {})  # none if no training sentence has labels
        return [numbers.get(label, 0) for label in labels]

    def encode_target(self, tokens: Iterable[str]) -> list[int]:
        """Return ids and the end of sentence. Tokens that the target side does not have are unknown."""
        limit = len(self.target)
        return [index if index < limit else UNKNOWN for index in self.encode(tokens)] + [END]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of target ids, without the end of sentence and unknown tokens."""
        return [self.target[index] for index in ids if index > UNKNOWN]

    def files(self) -> dict[str, str]:
        """Return the contents of the vocabulary files by name."""
        labels = [f"{name} {label}" for name, column in self.labels.items() for label in column]
        lists = zip(VOCABULARY_FILES, (self.target, self.source, labels), strict=True)
        return {name: "".join(f"{token}\n" for token in tokens) for name, tokens in lists}

    @classmethod
    def load(cls, folder: Path, most: int) -> "Vocabulary":
        """Load the vocabulary files of a folder. most: largest number of tokens, and of labels.

        Raises OSError, ValueError if the files do not form a vocabulary, and BadInput with the line of a bad token.
        """
        of_target, of_source, of_labels = (folder / name for name in VOCABULARY_FILES)
        seen: set[str] = set()
        target, source = _read_tokens(of_target, seen, most), _read_tokens(of_source, seen, most)
        labels: dict[str, list[str]] = {}
        for line in _read_tokens(of_labels, set(), most, labelled=True):
            name, _, label = line.partition(" ")
            labels.setdefault(name, []).append(label)
        return cls(target, source, labels)

    @classmethod
    def build(
        cls, source: Counter[str], target: Counter[str], labels: Mapping[str, Counter[str]] | None = None
    ) -> "Vocabulary":
        """Return the tokens and labels of a training corpus, most frequent first; invalid ones are left out, hence
        unknown."""
        known = [END_TOKEN, UNKNOWN_TOKEN, *_by_frequency(target)]
        seen = set(known)
        own = [token for token in _by_frequency(source) if token not in seen]
        return cls(known, own, {name: _by_frequency(counts) for name, counts in (labels or {}).items()})


class Draft:
    """Provisional numbers for the tokens and labels of some sentences, in the order of their first occurrence.

    source, target, labels: the numbers of the tokens of each side and of the labels, by name. 0 is the end of a target.
    """

    def __init__(self, known: Vocabulary | None = None) -> None:
        """known: the vocabulary that will number the tokens, None if it will be made from them."""
        self.source, self.target = dict[str, int](), {END_TOKEN: 0}
        self.labels: dict[str, dict[str, int]] = {}
        self._known = known

    def knows(self, token: str) -> bool:
        """Return whether the target side of the vocabulary will have a token."""
        return self._known.knows(token) if self._known else not error_in(token)

    def knows_label(self, name: str, label: str) -> bool:
        """Return whether the vocabulary will have a label of this name."""
        return self._known.knows_label(name, label) if self._known else not error_in(label)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        return _numbered(tokens, self.source)

    def encode_labels(self, name: str, labels: Iterable[str]) -> list[int]:
        return _numbered(labels, self.labels.setdefault(name, {}))

    def encode_target(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of a target's tokens, then the number of the end of sentence."""
        return [*_numbered(tokens, self.target), END]


def _numbered(tokens: Iterable[str], numbers: dict[str, int]) -> list[int]:
    """Return the number of each token, the next one for a new token."""
    return [numbers.setdefault(token, len(numbers)) for token in tokens]


def _by_frequency(counts: Counter[str]) -> list[str]:
    """Return the valid tokens, most frequent first."""
    return sorted((token for token in counts if not error_in(token)), key=lambda token: (-counts[token], token))


def _read_tokens(path: Path, seen: set[str], most: int, labelled: bool = False) -> list[str]:
    """Return the lines of a file and add them to `seen`. labelled: lines start with a name. Raises BadInput."""
    tokens = []
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                token = line.removesuffix(b"\n").decode()
            except UnicodeDecodeError:
                raise BadInput("not UTF-8", str(path), number) from None
            cause = error_in(token.partition(" ")[2] if labelled else token)
            if token in seen:
                cause = f"the token {token[:40]!r} for the second time"
            elif len(seen) == most:
                cause = f"more tokens than the {most} that the model can have"
            if cause:
                raise BadInput(cause, str(path), number)
            seen.add(token)
            tokens.append(token)
    return tokens
