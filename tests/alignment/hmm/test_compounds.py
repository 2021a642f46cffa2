"""Compound splitting, compared with all possible splits."""

from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.hmm.bitext import Compounds, IndexedSentences

# Koehn & Knight (2003), section 3.1: Aktionsplan 852, aktions-plan 825.6, aktion-plan 708.3; Aktion 960, Plan 710
PAPER = {"aktionsplan": 852.0, "aktion": 960.0, "aktions": 5.0, "plan": 710.0, "akt": 224.0, "ions": 1.0}


def test_the_example_of_the_paper() -> None:
    assert Compounds(PAPER, 3).cut("aktionsplan") == ("aktionsplan",)
    rarer = PAPER | {"aktionsplan": 10.0}
    del rarer["aktions"]
    assert Compounds(rarer, 3).cut("aktionsplan") == ("aktions", "plan")
    assert Compounds(rarer, 5).cut("aktionsplan") == Compounds(rarer, 0).cut("aktionsplan") == ("aktionsplan",)


def cuts(word: str) -> Iterator[tuple[str, ...]]:
    yield (word,)
    for place in range(1, len(word)):
        for rest in cuts(word[place:]):
            yield (word[:place], *rest)


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=4), st.integers(1, 50), max_size=12),
    st.text("ab", min_size=1, max_size=9),
    st.integers(1, 3),
)
@settings(max_examples=200, deadline=None)
def test_the_best_split_is_chosen(counts: dict[str, int], word: str, letters: int) -> None:
    """There are no joining letters here."""

    def mean(parts: tuple[str, ...]) -> float:
        seen = [counts.get(part, 0) for part in parts]
        if len(parts) == 1:
            return seen[0] or 0.5
        known = len(parts) <= 3 and min(seen) >= 3 and min(map(len, parts)) >= letters
        return prod(seen) ** (1 / len(parts)) if known else 0

    found = Compounds(dict(counts), letters).cut(word)
    assert "".join(found) == word
    assert mean(found) == pytest.approx(max(map(mean, cuts(word))))


def test_linking_letters_stay_with_the_first_part() -> None:
    compounds = Compounds.learn({"volk": 9, "partei": 9, "frau": 5, "haus": 7, "volkspartei": 2, "frauenhaus": 1}, 4)
    assert compounds.of("volkspartei") == ("volks", "partei")
    assert compounds.of("frauenhaus") == ("frauen", "haus")
    assert compounds.of("volkshaus") == ("volks", "haus")  # an unseen word
    assert compounds.of("haus-haus-haus") == ("haus-", "haus-", "haus")
    assert compounds.counts_of_parts() == {
        "volk": 9, "partei": 11, "frau": 5, "haus": 8, "volks": 2, "frauen": 1
    }  # fmt: skip


def test_the_last_part_replaces_its_word_in_trees() -> None:
    side = IndexedSentences()
    side.add(["der", "hausbau", "ruht"], [2, 3, 0])
    side.add(["bau"], [0])
    parts = side.cut(lambda word: ("haus", "bau") if word == "hausbau" else (word,))
    assert list(parts.words) == ["der", "haus", "bau", "ruht"]
    assert [parts[row].tolist() for row in (0, 1)] == [[0, 1, 2, 3], [2]]
    heads = parts.heads_of([0, 1])
    assert heads is not None and heads.tolist() == [[2, 2, 3, -1], [-1, -1, -1, -1]]
    whole = IndexedSentences()
    whole.add(["der", "hausbau"])
    plain = whole.cut(lambda word: (word[:3], word[3:]) if len(word) > 3 else (word,))
    assert plain[0].tolist() == [0, 1, 2] and plain.heads_of([0]) is None
