"""The table of linked words and terms: a slow twin counts them."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.config import LexiconConfig
from synmt.alignment.derived import phrases
from synmt.alignment.lexicon import COLUMNS, Lexicon
from synmt.data.records import SentencePair
from synmt.streams import Line
from synmt.trees.record import ParseRecord
from tests.cli.commands import is_one_line_of_error, synmt

LINE = Line("", "", 0)
words = st.lists(st.sampled_from(["a", "A", "b", "c,", '"']), min_size=1, max_size=4)


@given(st.lists(st.tuples(words, words)), st.booleans(), st.booleans(), st.integers(1, 3))
def test_rows_count_what_a_slow_twin_counts(
    pairs: list[tuple[list[str], list[str]]], fold: bool, terms: bool, least: int
) -> None:
    lexicon = Lexicon(LexiconConfig(fold_case=fold, phrases=terms, min_count=least))
    linked: list[tuple[str, str, int]] = []
    for number, (source, target) in enumerate(pairs, 1):
        links = [(i, j) for i in range(len(source)) for j in range(len(target)) if (i + j) % 2]
        lexicon.add(SentencePair(ParseRecord(tokens=source), ParseRecord(tokens=target), (LINE, LINE)), links)
        for span in phrases(links) if terms else [(i, i, j, j) for i, j in links]:
            found = [" ".join(source[span[0] : span[1] + 1]), " ".join(target[span[2] : span[3] + 1])]
            if set("".join(found)) - {'"', " "}:
                linked.append((*(each.lower() if fold else each for each in found), number))  # type: ignore[arg-type]
    header, *rows = [row.split("\t") for row in lexicon.rows()]
    assert header == list(COLUMNS)
    counts = [(one, other) for one, other, _ in linked]
    kept = sorted(
        {each for each in counts if counts.count(each) >= least}, key=lambda each: (-counts.count(each), each)
    )
    assert [(row[0], row[1]) for row in rows] == kept
    for one_word, other_word, count, forward, backward, line, *example in rows:
        assert int(count) == counts.count((one_word, other_word))
        assert float(forward) == pytest.approx(int(count) / sum(one == one_word for one, _ in counts), abs=1e-6)
        assert float(backward) == pytest.approx(int(count) / sum(other == other_word for _, other in counts), abs=1e-6)
        texts = {
            number: [" ".join(side) for side in pairs[number - 1]]
            for *both, number in linked
            if both == [one_word, other_word]
        }
        shortest = min(texts, key=lambda number: (len("".join(texts[number])), number))
        assert (int(line), example) == (shortest, texts[shortest])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "pairs").write_text('Das Haus gibt nach\tthe "house" gives in\n\ndas Haus\tthe house\n')
    (tmp_path / "links").write_text("0-0 1-2 2-4 3-4 3-5\n\n0-0 1-1\n")
    return tmp_path


def test_options(files: Path) -> None:
    given = ["lexicon", files / "links", files / "pairs", "--source-language", "de"]
    rows = [row.split("\t")[:3] for row in synmt(*given, "--fold-case", "--min-count", 2).stdout.splitlines()]
    assert rows == [list(COLUMNS[:3]), ["das", "the", "2"], ["haus", "house", "2"]]
    rows = [row.split("\t")[:3] for row in synmt(*given, "--phrases").stdout.splitlines()]
    assert ["gibt nach", "gives in", "1"] in rows
    done = synmt(*given, "--format", "csv")
    assert done.stdout.startswith("\ufeffsource,") and '"the ""house"" gives in"' in done.stdout
    table = list(csv.DictReader(StringIO(done.stdout.removeprefix("\ufeff"))))
    assert [row["source_example"] for row in table if row["source"] == "gibt"] == ["Das Haus gibt nach"]
    for library, name in (("pandas", "read_csv"), ("polars", "read_csv")):
        (files / "table.csv").write_text(done.stdout)
        module = pytest.importorskip(library)
        assert list(getattr(module, name)(files / "table.csv").columns) == list(COLUMNS)


def test_lemmas(files: Path) -> None:
    record = '{"text": "trees", "tokens": ["trees"], "lemmas": ["tree"]}'
    (files / "records").write_text(f"{record}\t{record.replace('tree', 'baum')}\n")
    (files / "one").write_text("0-0\n")
    done = synmt("lexicon", files / "one", files / "records", "--lemmas")
    assert done.stdout.splitlines()[1] == "tree\tbaum\t1\t1.000000\t1.000000\t1\ttrees\tbaums"
    (files / "records").write_text('{"tokens": ["a"]}\t{"tokens": ["b"]}\n')
    done = synmt("lexicon", files / "one", files / "records", "--lemmas")
    assert is_one_line_of_error(done, "records:1: ") and "lemmas" in done.stderr
    done = synmt("lexicon", files / "links", files / "pairs", "--lemmas")
    assert is_one_line_of_error(done, "pairs:1: text has no lemmas: give records that have them")
    done = synmt("lexicon", files / "one", files / "pairs")
    assert is_one_line_of_error(done, "has links for only 1 of the sentence pairs")


def test_a_pair_with_an_empty_side_has_no_terms(files: Path) -> None:
    (files / "pairs").write_text("das\t\nHaus\thouse\n")
    (files / "links").write_text("0-0 0-1\n0-0\n")
    done = synmt("lexicon", files / "links", files / "pairs")
    assert [row.split("\t")[:2] for row in done.stdout.splitlines()[1:]] == [["Haus", "house"]]


def test_punctuation_is_no_term(files: Path) -> None:
    """But a sign is, if the other language has a word for it."""
    (files / "pairs").write_text("5 % .\t5 Prozent .\n")
    (files / "links").write_text("0-0 1-1 2-2\n")
    done = synmt("lexicon", files / "links", files / "pairs", "--tokenizer", "none")
    assert [row.split("\t")[:2] for row in done.stdout.splitlines()[1:]] == [["%", "Prozent"], ["5", "5"]]
