"""Byte pair encoding on subword-nmt: Sennrich, Haddow & Birch (ACL 2016).

Codes are subword-nmt's own text, so its files and ours are the same. Text is split at the ASCII space alone.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from synmt.streams import BadInput, read_lines
from synmt.text.known import Known

JOINER = "@@"
LEAST_FREQUENT = 2  # pairs of symbols that are merged
NO_MERGES = "#version: 0.2\n"
VERSIONS = {"0.1": (0, 1), "0.2": (0, 2)}
MOST_MERGES, LONGEST_CODES = 2**20, 2**25  # ten times those of any model


class CodesError(ValueError):
    """Text that is not a list of BPE merges."""


def learn_bpe(lines: Iterable[str], merges: int) -> str:
    """Return the text of the codes of lines of words, as `learn_bpe_of_words`."""
    return learn_bpe_of_words(count_words(lines), merges)


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return how often each word stands in lines."""
    return Counter(word for line in lines for word in line.split(" "))


def learn_bpe_of_words(counts: Mapping[str, int], merges: int) -> str:
    """Return the text of the codes: at most `merges` merges of pairs seen twice or more, most frequent first.

    Raises CodesError if no word has two characters to merge.
    """
    # A carriage return cannot stand in the codes, which subword-nmt strips of it.
    words = {word: count for word, count in counts.items() if word and "\r" not in word}
    if not any(len(word) > 1 for word in words):
        raise CodesError("no word to learn merges from")
    spelled = [((*word[:-1], f"{word[-1]}</w>"), count) for word, count in words.items()]
    spelled.sort(key=lambda each: -each[1])
    return NO_MERGES + "".join(f"{first} {second}\n" for first, second in _merges(spelled, merges))


def _merges(words: list[tuple[tuple[str, ...], int]], most: int) -> Iterator[tuple[str, str]]:
    """Yield merges, most frequent first; words: symbols and count of each, most frequent first.

    This is the loop of subword-nmt, which finds the most frequent pair ten times as slowly. Pairs below a threshold are
    set aside until no other is left above it.
    """
    from subword_nmt.learn_bpe import get_pair_statistics, prune_stats, replace_pair, update_pair_statistics

    counts, places = get_pair_statistics(words)
    every = counts.copy()
    threshold = max(counts.values()) / 10
    for number in range(most):
        top = max(counts.values(), default=0)
        if not counts or (number and top < threshold):
            prune_stats(counts, every, threshold)
            counts = every.copy()
            top = max(counts.values())
            threshold = top * number / (number + 10000.0)
            prune_stats(counts, every, threshold)
        if top < LEAST_FREQUENT:
            return
        pair = max(each for each, count in counts.items() if count == top)
        yield pair
        update_pair_statistics(pair, replace_pair(pair, words, places), counts, places)
        counts[pair] = 0
        if not number % 100:
            prune_stats(counts, every, threshold)


class Bpe:
    """Splits words into subwords by learned merges; every subword but a word's last ends in `@@`."""

    def __init__(self, codes: str) -> None:
        """Read the codes. Raises CodesError for text that is not a list of merges."""
        from subword_nmt.apply_bpe import encode

        self.codes = codes
        self._encode = encode
        self._version, self._ranks = _read_codes(codes)
        self._known = Known(self._split)

    @classmethod
    def load(cls, path: str) -> "Bpe":
        """Return the codes of a file. Raises BadInput."""
        lines: list[str] = []
        characters = 0
        for line in read_lines([path]):
            characters += len(line.text)
            if len(lines) > MOST_MERGES or characters > LONGEST_CODES:
                raise line.error(f"more than the {MOST_MERGES} merges or {LONGEST_CODES} characters that BPE may have")
            lines.append(f"{line.text}\n")
        try:
            return cls("".join(lines))
        except CodesError as error:
            raise BadInput(str(error), path) from None

    def segment(self, word: str) -> list[str]:
        """Return the subwords of one word, at least one."""
        return [*self._known[word]]

    @contextmanager
    def dropping(self, rate: float, seed: str) -> Iterator[Callable[[str], list[str]]]:
        """Yield a segmentation that leaves out each merge with probability `rate`, as drawn by the seed.

        A word has the same subwords wherever it stands. BPE-dropout: Provilkov, Emelianenko & Voita (2020), ACL.
        """
        known: dict[str, list[str]] = {}

        def segment(word: str) -> list[str]:
            if word not in known:
                known[word] = [*self._split(word, rate)]
            return [*known[word]]

        state = random.getstate()  # of the generator that subword-nmt draws from, which is not ours to change
        random.seed(seed)
        try:
            yield segment
        finally:
            random.setstate(state)

    def apply(self, tokens: list[str]) -> list[str]:
        """Return the subwords of all tokens, in order; empty tokens vanish."""
        known = self._known
        return [subword for token in tokens if token for subword in known[token]]

    def _split(self, word: str, dropout: float = 0.0) -> tuple[str, ...]:
        if not word:
            return ("",)
        *inner, last = self._encode(word, self._ranks, {}, None, JOINER, self._version, {}, dropout=dropout)
        return (*(subword + JOINER for subword in inner), last)


def _read_codes(codes: str) -> tuple[tuple[int, int], dict[tuple[str, str], int]]:
    """Return the version of the format, and the rank of each merge."""
    lines = codes.removesuffix("\n").split("\n")
    has_version = lines[0].startswith("#version:")
    name = lines[0].removeprefix("#version:").strip() if has_version else "0.1"
    if name not in VERSIONS:
        raise CodesError(f"unknown version {name!r} of BPE codes")
    ranks: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines[has_version:], 1 + has_version):
        symbols = line.strip("\r ").split(" ")
        if len(symbols) != 2:
            raise CodesError(f"line {number}: not a pair of BPE symbols: {line[:40]!r}")
        ranks.setdefault((symbols[0], symbols[1]), len(ranks))
    return VERSIONS[name], ranks


def join_subwords(subwords: list[str]) -> list[str]:
    """Return the words of a list of subwords: invert `Bpe.apply`, for words that do not end in `@@` themselves.

    A last subword that still waits for its next one, as in a translation cut short, loses its `@@` too.
    """
    words: list[str] = []
    started = ""
    for subword in subwords:
        if subword.endswith(JOINER):
            started += subword.removesuffix(JOINER)
        else:
            words.append(started + subword)
            started = ""
    return [*words, started] if started else words
