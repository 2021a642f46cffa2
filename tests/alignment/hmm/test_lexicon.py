"""Word probabilities, compared with their formula."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.hmm import lexicon as lexicons
from synmt.alignment.hmm.lexicon import UNSEEN, PrefixLexicon, Tally, distinct

WORDS = ["haus", "hauses", "hausbau", "hausbauer", "hau", "x"]
ALPHA = 1.5


def slow(v: str, u: str, links: dict[tuple[str, str], float], seen: Counter[str], backward: bool = False) -> float:
    """Return t(v | u), word by word. links: counts of (source, target)."""
    likely = 1.0
    shorter = sum(seen.values()) + UNSEEN
    for letters in (4, 6, 8, None):

        def same(one: str, other: str, letters: int | None = letters) -> bool:
            return one[:letters] == other[:letters]

        pairs = [((b, a) if backward else (a, b), count) for (a, b), count in links.items()]
        both = sum(count for (a, b), count in pairs if same(a, u) and same(b, v))
        given_u = sum(count for (a, _), count in pairs if same(a, u))
        of_v = sum(count for word, count in seen.items() if same(word, v)) or UNSEEN
        likely = (both + ALPHA * likely * of_v / shorter) / (given_u + ALPHA)
        shorter = of_v
    return likely


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.floats(0, 5, width=16)), max_size=8))
@settings(max_examples=50, deadline=None)
def test_rare_words_share_statistics_with_words_that_start_alike(drawn: list[tuple[str, str, float]]) -> None:
    links = {(a, b): count for a, b, count in drawn}
    seen = Counter({word: 1.0 + number for number, word in enumerate(WORDS)})
    lexicon = PrefixLexicon.new([seen, seen], ALPHA)
    sources, targets = (np.array([WORDS.index(pair[side]) for pair in links], np.int64) for side in (0, 1))
    located = lexicon.locate((WORDS, WORDS), sources, targets, new=True)
    lexicon.learn(located, np.array(list(links.values()), np.float32))
    asked = [*WORDS, "hausen", "unseen"]
    every = list(product(range(len(asked)), repeat=2))
    types = lexicon.locate((asked, asked), *np.array(every, np.int64).T)
    forward, backward = lexicon.probabilities(types)
    for place, (u, v) in enumerate(every):
        assert forward[place] == pytest.approx(slow(asked[v], asked[u], links, seen), rel=1e-4)
        assert backward[place] == pytest.approx(slow(asked[u], asked[v], links, seen, backward=True), rel=1e-4)
    for u in range(len(asked)):  # sum over all known words, given one
        share = sum(forward[place] for place, (a, b) in enumerate(every) if a == u and b < len(WORDS))
        assert 0.9 < share <= 1 + 1e-5


@given(st.lists(st.integers(-3, 5), max_size=30))
def test_keys_are_distinguished(drawn: list[int]) -> None:
    keys = np.array(drawn, np.int64)
    found, numbers = distinct(keys)
    assert found.tolist() == sorted(set(drawn))
    assert found[numbers].tolist() == drawn if drawn else not len(numbers)


def test_a_tally_drops_the_rarest_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicons, "MOST_TYPES", 3)
    tally = Tally()
    tally.add(np.array([1, 5, 9]), np.array([2, 0.01, 1], np.float32), least=0.1)
    assert dict(zip(tally.keys.tolist(), tally.counts.tolist(), strict=True)) == {1: 2, 9: 1}
    tally.add(np.array([0, 1, 7]), np.array([3, 4, 0.5], np.float32), least=0.1)
    assert dict(zip(tally.keys.tolist(), tally.counts.tolist(), strict=True)) == {0: 3, 1: 6, 9: 1}
