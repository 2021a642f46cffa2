"""The table of linked words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.derived import HEADER, Lexicon
from tests.cli.commands import is_wrong_usage, synmt

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


@given(st.lists(st.tuples(words, words)))
def test_probabilities_are_shares_of_links(pairs: list[tuple[list[str], list[str]]]) -> None:
    lexicon = Lexicon(Path("unwritten"))
    linked = []
    for source, target in pairs:
        links = [(i, j) for i in range(len(source)) for j in range(len(target)) if (i + j) % 2]
        lexicon.add(source, target, links)
        linked += [(source[i], target[j]) for i, j in links]
    header, *rows = lexicon.rows()
    assert header == HEADER
    cells = [row.split("\t") for row in rows]
    assert [(source, target) for source, target, *_ in cells] == sorted(
        set(linked), key=lambda each: (-linked.count(each), each)
    )
    for one_word, other_word, count, forward, backward in cells:
        assert int(count) == linked.count((one_word, other_word))
        assert float(forward) == pytest.approx(int(count) / sum(one == one_word for one, _ in linked), abs=1e-6)
        assert float(backward) == pytest.approx(int(count) / sum(other == other_word for _, other in linked), abs=1e-6)


def test_it_is_written_next_to_the_links(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0 1-1\n\n0-1 1-0\n")
    pairs = "das haus\tthe house\n\nhaus das\tthe house\n"
    asked = ["symmetrize", tmp_path / "links", "--pairs", "-", "--tokenizer", "none", "--lexicon"]
    done = synmt(*asked, tmp_path / "words.tsv", text=pairs)
    assert (done.returncode, done.stdout) == (0, "0-0 1-1\n\n0-1 1-0\n")
    assert (tmp_path / "words.tsv").read_text().splitlines()[1:] == [
        "das\tthe\t2\t1.000000\t1.000000",
        "haus\thouse\t2\t1.000000\t1.000000",
    ]
    assert is_wrong_usage(synmt(*asked, tmp_path / "missing" / "words.tsv", text=pairs), "missing is missing")
