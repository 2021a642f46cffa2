import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.text.links import (
    LinkError,
    Links,
    check_inside,
    detect_base,
    read_links,
    read_scores,
    write_links,
    write_scores,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 99), st.integers(0, 99)))


@given(LINKS, st.integers(0, 1))
def test_links_survive_writing_and_reading(links: frozenset[tuple[int, int]], base: int) -> None:
    assert read_links(write_links(links, base), base) == Links(links, links)


@given(st.dictionaries(st.tuples(st.integers(0, 99), st.integers(0, 99)), st.floats(0, 1)), st.integers(0, 1))
def test_scores_survive_writing_and_reading(links: dict[tuple[int, int], float], base: int) -> None:
    text = write_scores(links, base)
    assert read_links(text, base) == Links(frozenset(links), frozenset(links))
    assert text == write_scores({(i - base, j - base): score for (i, j), score in read_scores(text)[1].items()}, base)
    for (i, j), score in read_scores(text)[1].items():
        assert score == pytest.approx(links[i - base, j - base], abs=0.005 + 1e-9)


def test_sure_links_are_also_possible_but_not_the_reverse() -> None:
    assert read_links(" 1-1 2p3 3p3 3-3", base=1) == Links(
        frozenset({(0, 0), (2, 2)}), frozenset({(0, 0), (1, 2), (2, 2)})
    )


def test_links_in_json_are_sure_and_count_from_0() -> None:
    links = frozenset({(0, 2), (1, 0)})
    text = '{"source": ["a", "b"], "links": [[1, 0, 0.5], [0, 2]]}'
    assert read_links(text) == Links(links, links)
    assert read_scores(text)[0]["source"] == ["a", "b"]
    assert list(read_scores(text)[1].items()) == [((0, 2), 1), ((1, 0), 0.5)]
    assert read_links("{}") == Links() and read_scores("{}") == read_scores("") == ({}, {})
    with pytest.raises(LinkError, match="links in JSON count words from 0, not from 1"):
        read_links(text, base=1)
    with pytest.raises(LinkError, match='needs "links"'):
        read_links('{"text": "a", "tokens": ["a"]}')


def test_the_confidence_of_a_pair_is_not_a_link() -> None:
    assert read_links("1-1:0.50 2-3:1.00\t0.951230", base=1) == read_links("1-1 2-3", base=1)
    assert read_scores("0-0:0.50\t1.000000") == ({}, {(0, 0): 0.5})
    assert read_links("\t0.000000") == Links()
    for text in ("0-0\t0-0 0.951230", "0-0 0.951230", "0-0\t0.95"):
        with pytest.raises(LinkError, match="is not a link"):
            read_links(text)


def test_links_are_written_in_order() -> None:
    assert write_links({(10, 0), (2, 11), (2, 3)}) == "2-3 2-11 10-0"


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1-",
        "-1-2",
        "1-2-3",
        "1:2",
        "a-b",
        "1.0-2",
        "1-2:",
        "1-2:2",
        "1-2:0.5x",
        "1-2:0.5:1",
        "²-1",
        "1 - 2",
        f"1-{'9' * 5000}",
    ],
)
def test_invalid_links_are_errors(text: str) -> None:
    with pytest.raises(LinkError, match="is not a link"):
        read_links(f"0-0 {text}")


@pytest.mark.parametrize("text", ["1-2:1.9", "1p2:1.01"])
def test_scores_above_1_are_errors(text: str) -> None:
    with pytest.raises(LinkError, match="a score must be between 0 and 1"):
        read_links(f"0-0:1.0000001 {text}")


def test_links_to_missing_words() -> None:
    with pytest.raises(LinkError, match="link 0-3 is invalid: words count from 1"):
        read_links("1-1 0-3", base=1)
    check_inside(frozenset({(1, 2)}), 2, 3)
    with pytest.raises(LinkError, match="link 1-3 for 2 source and 3 target words"):
        check_inside(frozenset({(0, 0), (1, 3)}), 2, 3)


@pytest.mark.parametrize(
    ("lines", "base"),
    [
        (["1-1", "2p0 10-3"], 0),
        (["00-1"], 0),
        (["1-1 10-2", "", "20p30"], 1),
        (["", " "], 0),
        ([], 0),
        ([f"{'9' * 5000}-1"], 1),
        (["1-1:0.50 2p3:0 4-4:1"], 1),
        (["0-1:0.50"], 0),
        (["1-1:0.50\t0.900000"], 1),
        (["", "{}", '{"links": [[1, 1, 0.9]]}'], 0),
    ],
)
def test_a_word_0_shows_the_base(lines: list[str], base: int) -> None:
    assert detect_base(lines) == base
