"""Numbers in text input are ASCII digits in decimal notation, wherever a command reads them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.runs.table import read_set
from synmt.streams import BadInput
from synmt.streams.numbers import number, whole_number
from tests.cli.commands import is_one_line_of_error, synmt

NO_NUMBERS = [
    "1_000", "inf", "-inf", "Infinity", "nan", "NaN", "１２", "٣", "1٣", "0x10", "1e999", "1e", "e1", ".", "", " ",
    "1,5", "1 0", "--1", "+-1", "1.5.2", "\u00a01", "½", "²", "1d", "1_0e1", "true",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text: str) -> None:
    for read in (number, whole_number):
        with pytest.raises(ValueError, match="number in decimal digits"):
            read(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_as_programs_write_them(value: float) -> None:
    for text in (repr(value), f"{value:.4f}", f"{value:e}", f" {value!r} ", f"{value:+g}"):
        assert number(text) == float(text)


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_whole_numbers(value: int) -> None:
    assert whole_number(str(value)) == value == whole_number(f"{value:+d}")


@given(st.text(max_size=8))
def test_other_text_is_refused_or_ascii(text: str) -> None:
    try:
        value = number(text)
    except ValueError:
        return
    assert text.isascii() and math.isfinite(value) and value == float(text)


@pytest.mark.parametrize("text", [each for each in NO_NUMBERS if each.strip()])
def test_commands_refuse_them(text: str, tmp_path: Path) -> None:
    done = synmt("segment-test", text=f"a\tb\n1\t2\n3\t{text}\n")
    assert is_one_line_of_error(done, "stdin:3: ", "is not a finite number")
    table = f"system\tmetric\tscore\na\tBLEU\t1\nb\tBLEU\t{text}\n"
    done = synmt("sign-test", text=table)
    assert is_one_line_of_error(done, "stdin:3: the score of b is not a finite number")
    (tmp_path / "ref").write_text("a\n")
    done = synmt("score", "-r", tmp_path / "ref", "--by-length", text, text="a\n")
    assert text == "1,5" or (done.returncode == 2 and "--by-length" in done.stderr)
    (tmp_path / "log.tsv").write_text(f"update\tloss\n1\t2\n{text}\t3\n")
    done = synmt("inspect", "curves", tmp_path / "log.tsv", "--format", "jsonl")
    assert is_one_line_of_error(done, "log.tsv:3: not a row of the log of a training run")


@pytest.mark.parametrize("header", ["0.7\t0.8", "1\t2", "1e-3\t-4", "nan\tinf", "1_000\t2", "１\t２"])
def test_a_table_of_scores_without_names_is_refused(header: str) -> None:
    done = synmt("segment-test", text=f"{header}\n1\t2\n3\t4\n")
    assert is_one_line_of_error(done, "stdin:1: only numbers, ", "where the names of the systems should be")
    named = synmt("segment-test", "--resamples", "20", text="1\tbase\n1\t2\n3\t4\n")
    assert named.returncode == 0


@pytest.mark.parametrize("text", ["１", "١", "1_0", "²", "+1", "1.0", "inf", "nan"])
def test_files_of_a_run_refuse_them(text: str, tmp_path: Path) -> None:
    (tmp_path / "set").write_text(f"1\n{text}\n")
    with pytest.raises(BadInput, match=r"set:2: .* is not the number of a line of the test"):
        read_set(tmp_path / "set", 20)
