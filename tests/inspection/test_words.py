"""Words of references in translations: by hand, and by a slow twin."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.inspection.words import FREQUENCIES, RecallCounts
from synmt.metrics.significance import wilson
from synmt.trees.record import ParseRecord, write_record
from tests.cli.commands import is_one_line_of_error, synmt

WORDS = st.lists(st.sampled_from("abcd"), max_size=6)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4), st.dictionaries(st.sampled_from("abcd"), st.integers(1, 2000))
)
def test_counts_are_those_of_a_slow_twin(
    sentences: list[tuple[list[str], list[str], list[str]]], seen: dict[str, int]
) -> None:
    """Summed over all occurrences of a word in a sentence, the credit is the number of matches."""
    counts = RecallCounts(2, Counter(seen))
    for reference, *translations in sentences:
        record = ParseRecord(tokens=reference, upos=["X" if word == "a" else "Y" for word in reference])
        counts.add(record, translations)
    for system in (0, 1):
        for attribute, value, group in counts.rows():
            words = matches = 0
            for reference, *translations in sentences:
                for word in set(reference):
                    count = seen.get(word, 0)
                    limits = {"0": (0, 0), "1": (1, 1), "2-4": (2, 4), "5-9": (5, 9), "10-99": (10, 99)}
                    limits |= {"100-999": (100, 999), "1000-": (1000, 10**9)}
                    least, most = limits.get(value, (0, 0))
                    of_upos = value == ("X" if word == "a" else "Y")
                    if {"all": True, "upos": of_upos, "frequency": least <= count <= most}[attribute]:
                        words += reference.count(word)
                        matches += min(reference.count(word), translations[system].count(word))
            assert group.words == words and group.right[system] == pytest.approx(matches)
    found = [value for attribute, value, _ in counts.rows() if attribute == "frequency"]
    assert found == sorted(found, key=FREQUENCIES.index)


def test_the_command(tmp_path: Path) -> None:
    """Both sides are tokenized in the same way: the full stop is a word, although the parser did not split it off."""
    record = ParseRecord(
        text="I don't know.", tokens=["I", "do", "n't", "know."], upos=["PRON", "AUX", "PART", "VERB"],
        heads=[4, 4, 4, 0], deprels=["nsubj", "aux", "advmod:neg", "root"],
    )  # fmt: skip
    (tmp_path / "ref.en.jsonl").write_text(write_record(record) + "\n")
    (tmp_path / "one").write_text("I don't see.\n")
    (tmp_path / "two").write_text("You know!\n")
    (tmp_path / "train").write_text("I know.\nI see.\n")
    asked = ["inspect", "words", tmp_path / "one", tmp_path / "two", "-r", tmp_path / "ref.en.jsonl"]
    rows = [
        json.loads(line)
        for line in synmt(*asked, "--train", tmp_path / "train", "--format", "jsonl").stdout.splitlines()
    ]
    found = {(row["attribute"], row["value"], Path(row["system"]).name): (row["words"], row["right"]) for row in rows}
    assert found["relation", "nsubj", "one"] == (1, 1.0) and found["relation", "nsubj", "two"] == (1, 0.0)
    assert found["relation", "advmod", "one"] == (1, 1.0) and found["relation", "root", "one"] == (1, 0.0)
    assert found["relation", "goeswith", "one"] == found["upos", "X", "one"] == (1, 1.0)
    assert found["upos", "VERB", "two"] == (1, 1.0)
    assert found["frequency", "0", "one"] == (2, 2.0) and found["frequency", "2-4", "one"] == (2, 2.0)
    assert found["all", "all", "one"] == (5, 4.0)
    assert next(row["low"] for row in rows if row["value"] == "all") == wilson(4, 5)[0]
    lines = synmt(*asked).stdout.splitlines()
    assert lines[0].split()[:3] == ["upos", "words", str(tmp_path / "one")] and "Wilson" in lines[-1]
    (tmp_path / "two").write_text("a\nb\n")
    done = synmt(*asked)
    assert is_one_line_of_error(done, "1 sentence") and "2 sentences" in done.stderr
