import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.comparisons import SignTest, compare_settings, read_settings, sign_test
from synmt.streams import BadInput, Line

COUNTS = st.integers(0, 40)


@pytest.mark.parametrize(
    ("wins", "losses", "one_sided", "two_sided"),
    [
        (10, 2, 0.019287, 0.038574),
        (12, 0, 0.000244, 0.000488),
        (18, 2, 0.000201, 0.000402),
        (26, 14, 0.040345, 0.080690),
        (0, 0, 1, 1),
        (1, 1, 0.75, 1),
    ],
)
def test_worked_numbers(wins: int, losses: int, one_sided: float, two_sided: float) -> None:
    assert sign_test(wins, losses) == pytest.approx((one_sided, two_sided), abs=5e-7)


@given(COUNTS, COUNTS)
def test_p_is_symmetric_and_falls_with_more_wins(wins: int, losses: int) -> None:
    assert sign_test(wins, losses) == sign_test(losses, wins)
    assert 0 < sign_test(wins, losses)[0] <= sign_test(wins, losses)[1] <= 1
    if wins > losses:
        assert sign_test(wins + 1, losses) < sign_test(wins, losses)


def lines(text: str) -> list[Line]:
    return [Line(line, "scores.tsv", number) for number, line in enumerate(text.splitlines(), 1)]


def test_consecutive_tables_match_systems_by_position() -> None:
    books = "system\tmetric\tscore\tsignature\nbooks.base\tBLEU\t6.38\tx\nbooks.mask\tBLEU\t7.59\ty\n"
    news = "metric\tscore\tsystem\nTER\t50\tb\nBLEU\t9.18\tb\nTER\t50.5\tm\n\nBLEU\t9.18\tm\n"
    systems, settings = read_settings(lines(books + news))
    assert systems == ["books.base", "books.mask"]
    assert settings == [[6.38, 7.59], [-50, -50.5], [9.18, 9.18]]
    assert compare_settings(systems, settings) == [SignTest("books.mask", 1, 1, 1, 0.75, 1)]


def test_custom_columns_distinguish_settings() -> None:
    table = "system\tset\tmetric\tscore\n" + "".join(
        f"{system}\t{name}\tchrF2\t{score}\n" for system, score in (("a", 1), ("b", 2), ("c", 0)) for name in "xyz"
    )
    systems, settings = read_settings(lines(table))
    assert settings == [[1, 2, 0]] * 3
    assert [(test.system, test.wins, test.losses) for test in compare_settings(systems, settings)] == [
        ("b", 3, 0), ("c", 0, 3),
    ]  # fmt: skip


def test_confidence_intervals_do_not_distinguish_settings() -> None:
    table = "system\tmetric\tscore\tlow\thigh\tsignature\na\tBLEU\t5\t4\t6\tx\nb\tBLEU\t6\t5\t7\tx\n"
    assert read_settings(lines(table)) == (["a", "b"], [[5, 6]])


def test_the_sum_of_all_lengths_is_no_setting() -> None:
    table = "system\tlength\tmetric\tscore\n" + "".join(
        f"{system}\t{length}\tTER\t{score}\n" for system, score in (("a", 1), ("b", 2)) for length in (1, "all")
    )
    assert read_settings(lines(table)) == (["a", "b"], [[-1, -2]])


def test_tables_of_the_same_systems_match_them_by_name() -> None:
    assert read_settings(lines(f"{HEADER}a\tBLEU\t1\nb\tBLEU\t2\n{HEADER}b\tBLEU\t1\na\tBLEU\t2\n")) == (
        ["a", "b"], [[1, 2], [2, 1]],
    )  # fmt: skip


HEADER = "system\tmetric\tscore\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "fewer than two systems"),
        (HEADER, "fewer than two systems"),
        (f"{HEADER}a\tBLEU\t1\n", "fewer than two systems"),
        ("a\tBLEU\t1\n", "scores.tsv:1: a table starts with the names of its columns"),
        (f"{HEADER}a\tBLEU\tnan\n", "scores.tsv:2: the score of a is not a finite number: nan"),
        (f"{HEADER}a\tBLEU\tinf\n", "scores.tsv:2: the score of a is not a finite number: inf"),
        (f"{HEADER}a\tBLEU\t\n", "scores.tsv:2: the score of a is not a finite number:"),
        (f"{HEADER}a\tBLEU\n", "scores.tsv:2: 2 columns, but the header has 3"),
        ("system\tmetric\tscore\tscore\n", "scores.tsv:1: has two columns score"),
        (f"{HEADER}a\tBLEU\t1\na\tBLEU\t2\n", "scores.tsv:3: a second score of a for BLEU"),
        (f"{HEADER}a\tBLEU\t1\nb\tBLEU\t1\nb\tTER\t1\n", "no score of a for TER"),
        (f"{HEADER}a\tBLEU\t1\nb\tBLEU\t1\n{HEADER}a\tBLEU\t1\n", "tables of 2 and 1 systems cannot be compared"),
    ],
)
def test_incomparable_tables(text: str, cause: str) -> None:
    with pytest.raises(BadInput, match=cause):
        read_settings(lines(text))


def test_a_thousand_settings() -> None:
    assert sign_test(600, 500)[1] == pytest.approx(0.0028195, abs=5e-8)
