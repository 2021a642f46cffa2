"""Byte pair encoding on subword-nmt: Sennrich, Haddow & Birch (ACL 2016).

The codes are in subword-nmt's own format, so the files are interchangeable. Only the ASCII space divides words.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache

from synmt.streams import BadInput, read_lines

JOINER = "@@"
LEAST_FREQUENT = 2  # pairs of symbols that are merged
NO_MERGES = "#version: 0.2\n"
VERSIONS = {"0.1": (0, 1), "0.2": (0, 2)}
MOST_MERGES, LONGEST_CODES = 2**20, 2**25  # ten times as large as any model's
REMEMBERED = 200_000  # words; bounds the memory of a long stream
Segment = Callable[[str], Sequence[str]]  # returns the subwords of a word, at least one


class CodesError(ValueError):
    """Text that is not a list of BPE merges."""


def learn_bpe(lines: Iterable[str], merges: int) -> str:
    """Learn merges from lines of words and return the text of the codes; see `learn_bpe_of_words`."""
    return learn_bpe_of_words(Counter(word for line in lines for word in line.split(" ")), merges)


def learn_bpe_of_words(counts: Mapping[str, int], merges: int) -> str:
    """Return the text of the codes: up to `merges` pairs that occur at least twice, most frequent first.

    Raises CodesError if no word has two characters.
    """
    # subword-nmt strips carriage returns from codes.
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
    """Splits words into subwords by learned merges. All subwords of a word but the last end in `@@`.

    segment: returns the subwords of a word, and remembers them.
    """

    def __init__(self, codes: str) -> None:
        """Read the codes. Raises CodesError if the text is not a list of merges."""
        from subword_nmt.apply_bpe import encode

        self.codes = codes
        self._encode = encode
        self._version, self._ranks = _read_codes(codes)
        self.segment: Segment = lru_cache(REMEMBERED)(self._split)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return Bpe, (self.codes,)

    @classmethod
    def load(cls, path: str) -> "Bpe":
        """Load codes from a file. Raises BadInput."""
        lines: list[str] = []
        characters = 0
        for line in read_lines([path]):
            characters += len(line.text)
            if len(lines) > MOST_MERGES or characters > LONGEST_CODES:
                raise line.error(f"BPE codes may have {MOST_MERGES} merges and {LONGEST_CODES} characters at most")
            lines.append(f"{line.text}\n")
        try:
            return cls("".join(lines))
        except CodesError as error:
            raise BadInput(str(error), path) from None

    @contextmanager
    def dropping(self, rate: float, seed: str) -> Iterator[Segment]:
        """Yield a function that segments words and skips each merge with probability `rate`.

        Every occurrence of a word gets the same subwords. BPE-dropout: Provilkov, Emelianenko & Voita (2020), ACL.
        """
        state = random.getstate()  # subword-nmt draws from the global generator, which belongs to our caller
        random.seed(seed)
        try:
            yield cache(lambda word: self._split(word, rate))
        finally:
            random.setstate(state)

    def apply(self, tokens: list[str]) -> list[str]:
        """Return the subwords of all tokens in order, skipping empty tokens."""
        segment = self.segment
        return [subword for token in tokens if token for subword in segment(token)]

    def _split(self, word: str, dropout: float = 0.0) -> tuple[str, ...]:
        if not word:
            return ("",)
        *inner, last = self._encode(word, self._ranks, {}, None, JOINER, self._version, {}, dropout=dropout)
        return (*(subword + JOINER for subword in inner), last)


def _read_codes(codes: str) -> tuple[tuple[int, int], dict[tuple[str, str], int]]:
    """Return the version of the format and the rank of each merge."""
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


def join_subwords(subwords: Iterable[str]) -> list[str]:
    """Join subwords into words. This inverts `Bpe.apply` for words that do not end in `@@` themselves.

    If the last word is incomplete, as in a truncated translation, it loses its `@@` too.
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
