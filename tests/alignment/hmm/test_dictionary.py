"""Entries of a dictionary are counts that links start from."""

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.alignment.aligner import load_aligner, method_config
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.hmm import bitext as bitexts
from synmt.alignment.hmm import model
from synmt.alignment.hmm.bitext import Compounds, IndexedSentences
from synmt.alignment.hmm.dictionary import prior_counts, read_dictionary
from synmt.alignment.hmm.encoded import cut
from synmt.alignment.hmm.lexicon import LETTERS, PrefixLexicon
from synmt.data.records import SentencePair
from synmt.streams import BadInput
from tests.alignment.bitexts import QUICK_NEURAL, WORDS, bitext, fitted
from tests.alignment.words import pair
from tests.cli.commands import synmt

SOURCES = [["volkspartei", "haus", "volk"], ["volk", "partei"], ["hausen"]] * 5
TARGETS = [["people", "party", "house"], ["people"], ["houses"]] * 5
SPLIT = {"volkspartei": ("volks", "partei")}
Words = tuple[str, ...]


def some(*words: str) -> st.SearchStrategy[Words]:
    return st.lists(st.sampled_from(words), min_size=1, max_size=3).map(tuple)


def cells(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    return list(product([part for word in source for part in SPLIT.get(word, (word,))], target))


@given(
    st.sets(st.tuples(some("volkspartei", "haus", "volk", "new"), some("people", "house", "houses", "new"))),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_links_start_from_the_entries_whose_words_occur(entries: set[tuple[Words, Words]], in_parts: bool) -> None:
    """The law holds for every length of prefixes, and for a bitext in one part or in many."""
    expected = defaultdict[tuple[str, str], float](float)
    whole = IndexedSentences(), IndexedSentences()
    for x, y in zip(SOURCES, TARGETS, strict=True):
        whole[0].add(x)
        whole[1].add(y)
        for cell in (found := cells(x, y)):
            expected[cell] += 1 / max(len(found) // len(y), len(y))
    for source, target in entries:
        for cell in (found := cells(source, target)):
            expected[cell] += 0 if "new" in (*source, *target) else 1 / len(found)

    compounds = Compounds.learn(whole[0].counts(), 0), Compounds.learn(whole[1].counts(), 0)
    compounds[0].parts.update(SPLIT)
    sides = cut(whole, compounds)
    lexicon = PrefixLexicon.new([side.counts() for side in sides], 2.0)
    with pytest.MonkeyPatch.context() as patch:
        if in_parts:
            patch.setattr(bitexts, "MOST_CELLS", 20)
            patch.setattr(bitexts, "CHUNK_CELLS", 20)
        parts = model.Chunks(sides, lexicon, prior=prior_counts(entries, compounds, sides))
    assert (len(parts.rows) > 1) == in_parts
    for _ in range(2):  # again from the same counts
        parts.learn((part, model._cooccurrences(part)) for part in parts)
    for letters, level in zip(LETTERS, lexicon.levels, strict=True):
        shortened = defaultdict[tuple[str, str], float](float)
        for (u, v), count in expected.items():
            shortened[u[:letters], v[:letters]] += count
        for (u, v), count in shortened.items():
            key = level.key(*(words.find([word]) for words, word in zip(level.words, (u, v), strict=True)))
            assert level.counts[level.find(key)[0]] == pytest.approx(count, abs=1e-5)
        assert level.counts.sum() == pytest.approx(sum(shortened.values()), abs=1e-4)


def write(path: Path, words: Sequence[str] = WORDS) -> str:
    path.write_text("".join(f"{word.title()}\t{word[::-1].upper()}\n" for word in words), encoding="utf-8")
    return str(path)


def links(aligner: Any, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
    return list(aligner.links(pairs))


def test_few_pairs_are_linked_better_and_a_saved_aligner_needs_no_dictionary(tmp_path: Path) -> None:
    pairs, gold = bitext(6)
    dictionary = write(tmp_path / "words.tsv")
    found, without = (
        fitted("hmm", pairs, tmp_path / name, {"hmm_encoder": "none", **given})
        for name, given in (("with", {"hmm_dictionary": dictionary}), ("without", {}))
    )

    def right(aligner: Any) -> float:
        both = zip(links(aligner, pairs), gold, strict=True)
        return sum(float(each.forward[link]) for each, known in both for link in known)

    assert right(found) > 1.2 * right(without)
    Path(dictionary).unlink()
    opened = load_aligner(tmp_path / "with", None, "cpu")
    apart = [pair([WORDS[0], WORDS[5]], [WORDS[5][::-1], WORDS[0][::-1]])]
    for one, two in zip(links(found, [*pairs, *apart]), links(opened, [*pairs, *apart]), strict=True):
        np.testing.assert_array_equal(one.forward, two.forward)
    fingerprint = json.loads((tmp_path / "with" / "config.json").read_text())["model"]["fingerprint"]
    assert fingerprint["--hmm-dictionary"].startswith("words.tsv ")


def test_words_that_occur_only_apart_are_linked_in_new_pairs(tmp_path: Path) -> None:
    pairs = [pair(["one", "two"], ["eins", "zwei"]), pair(["three", "four"], ["drei", "vier"])] * 3
    new = [pair(["one", "three"], ["vier", "drei"])]
    (tmp_path / "words").write_text("one\tvier\n")
    found = fitted("hmm", pairs, tmp_path / "found", {"hmm_encoder": "none", "hmm_dictionary": str(tmp_path / "words")})
    without = fitted("hmm", pairs, tmp_path / "without", {"hmm_encoder": "none"})
    assert links(found, new)[0].forward[0, 0] > links(without, new)[0].forward[0, 0] + 0.1


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("haus\thouse\nhaus\n", ":2: is not an entry: `word TAB word`"),
        ("haus\thouse\tnoun\n", ":1: is not an entry"),
        ("haus\thouse\n\n", ":2: is not an entry"),
        ("haus\t \n", ":1: is not an entry"),
        ("\thouse\n", ":1: is not an entry"),
        ("", ": has no entries"),
    ],
)
def test_bad_dictionaries_are_refused_before_the_pairs_are_read(text: str, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(text)
    for method in ("hmm", "auto"):
        settings_of_hmm = {"hmm_dictionary": str(path)}
        with pytest.raises(BadInput) as raised:
            method_config(method, settings_of_hmm).needs(settings_of_hmm)
        assert f"{path}{cause}" in str(raised.value)
    path.unlink()
    with pytest.raises(BadInput, match="is not a file"):
        read_dictionary(str(path))


def test_the_command_names_file_line_and_cause(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("ein\ta\nHaus\n", encoding="utf-8")
    (tmp_path / "pairs").write_text("ein Haus\ta house\n", encoding="utf-8")
    done = synmt("align", "--hmm-dictionary", str(tmp_path / "words"), str(tmp_path / "pairs"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"synmt align: {tmp_path / 'words'}:2: is not an entry: `word TAB word`\n"


def test_a_fit_resumes_only_with_the_same_dictionary(tmp_path: Path) -> None:
    pairs, _ = bitext(20)
    dictionary = write(tmp_path / "words.tsv")
    given = QUICK_NEURAL | {"hmm_dictionary": dictionary}
    run = tmp_path / "run"
    fitted("auto", pairs, run, given)
    (run / "config.json").unlink()
    fitted("auto", pairs, run, given, resume=True)
    (run / "config.json").unlink()
    write(tmp_path / "words.tsv", WORDS[1:])
    with pytest.raises(BadInput, match=r"was fitted with --hmm-dictionary words\.tsv"):
        fitted("auto", pairs, run, given, resume=True)
