import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import (
    BadInput,
    BadLines,
    Line,
    Note,
    WrongUsage,
    convert_files,
    nth_line,
    read_lines,
    read_parallel,
    side_by_side,
    sniff,
    windows,
)


def write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def texts(path: str) -> list[str]:
    return [line.text for line in read_lines([path])]


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r\0\ufeff"))))
def test_only_a_line_feed_ends_a_line(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    assert texts(str(path)) == lines
    assert [line.number for line in read_lines([str(path)])] == list(range(1, len(lines) + 1))


def test_line_ends_and_the_byte_order_mark_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"\xef\xbb\xbfa\r\nb\rc\n\n\xef\xbb\xbfd\xe2\x80\xa8e")
    assert texts(path) == ["a", "b\rc", "", "\ufeffd\u2028e"]


def test_lines_have_a_length_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synmt.streams.LONGEST_LINE", 5)
    path = write(tmp_path / "text.gz", gzip.compress(b"abc\nabcd\nabcde\n"))
    lines = read_lines([path])
    assert [next(lines).text, next(lines).text] == ["abc", "abcd"]
    with pytest.raises(BadInput, match=r"text\.gz:3: the line is longer than 5 bytes"):
        next(lines)


def test_gzip_is_read(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "text.gz", gzip.compress("äöü\n".encode()))) == ["äöü"]


def test_files_are_concatenated_with_their_own_line_numbers(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", b"a\nb"), write(tmp_path / "2", b"c\n")
    assert list(read_lines([first, second])) == [Line("a", first, 1), Line("b", first, 2), Line("c", second, 1)]


def test_an_unreadable_file_is_bad_input(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(BadInput, match=f"^{missing}: No such file or directory$"):
        texts(missing)
    with pytest.raises(BadInput, match=f"^{tmp_path}: expected a file, found a folder$"):
        texts(str(tmp_path))


def test_broken_gzip_is_bad_input(tmp_path: Path) -> None:
    zipped = gzip.compress(os.urandom(100_000).hex().encode().replace(b"00", b"\n"))
    with pytest.raises(BadInput, match=r"cut.gz:\d+: Compressed file ended before"):
        texts(write(tmp_path / "cut.gz", zipped[:50_000]))
    with pytest.raises(BadInput, match=r"spoilt.gz:\d+: "):
        texts(write(tmp_path / "spoilt.gz", zipped[:50_000] + bytes(1000) + zipped[51_000:]))
    with pytest.raises(BadInput, match=r"plain.gz: Not a gzipped file"):
        texts(write(tmp_path / "plain.gz", b"a\n"))


@pytest.mark.parametrize(
    ("content", "cause"),
    [(b"a\nb\xff\n", r"2: not UTF-8 \(byte 2 of the line\)"), (b"a\n\nb\0\n", "3: NUL byte in a text line")],
)
def test_lines_that_are_not_text(tmp_path: Path, content: bytes, cause: str) -> None:
    path = write(tmp_path / "text", content)
    with pytest.raises(BadInput, match=f"^{path}:{cause}$"):
        texts(path)
    *good, faulty = read_lines([path], on_error="blank")
    assert not any(line.cause for line in good)
    assert (faulty.text, faulty.number) == ("", len(good) + 1)
    assert cause.replace("\\", "").endswith(faulty.cause)


def test_parallel_files_are_read_together(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", b"a\nb\n"), write(tmp_path / "2", b"c\n\n")
    assert list(read_parallel([first, second])) == [
        (Line("a", first, 1), Line("c", second, 1)),
        (Line("b", first, 2), Line("", second, 2)),
    ]


@pytest.mark.parametrize("contents", [(b"a\nb\nc\n", b"d\n"), (b"", b"d\n\n"), (b"a\n", b"a\nb\n")])
def test_parallel_files_of_different_lengths(tmp_path: Path, contents: tuple[bytes, bytes]) -> None:
    paths = [write(tmp_path / str(place), content) for place, content in enumerate(contents)]
    counts = [content.count(b"\n") for content in contents]
    cause = ", ".join(f"{path}: {n} line{'s' if n != 1 else ''}" for path, n in zip(paths, counts, strict=True))
    with pytest.raises(BadInput, match=f"^{cause}$"):
        list(read_parallel(paths))


def test_standard_input_is_read_once() -> None:
    with pytest.raises(WrongUsage, match="standard input can be read only once"):
        list(read_parallel(["-", "-"]))


@given(st.lists(st.integers()), st.integers(1, 5))
def test_windows_contain_the_items_in_order(items: list[int], size: int) -> None:
    found = list(windows(items, size))
    assert [item for window in found for item in window] == items
    assert all(len(window) == size for window in found[:-1])
    assert all(found)


def test_windows_can_grow() -> None:
    assert [len(window) for window in windows(range(30), 8, first=2)] == [2, 4, 8, 8, 8]


def shout(text: str) -> str:
    if text == "bad":
        raise ValueError("not\ngood")
    return text.upper()


LINES = b"a\n \nbad\n\xff\nb\n"


def test_conversion_keeps_empty_lines_and_blanks_bad_ones(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(LINES)
    with pytest.warns(Note, match="^2 bad lines left empty$"):
        convert_files([str(tmp_path / "in")], shout, BadLines("blank"), blank="{}")
    assert capfd.readouterr() == ("A\n{}\n{}\n{}\nB\n", "")


def test_conversion_stops_at_the_first_bad_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(LINES)
    with pytest.raises(BadInput, match=r"in:3: not good$"):
        convert_files([str(tmp_path / "in")], shout, BadLines())
    assert capfd.readouterr() == ("A\n\n", "")


def test_lines_left_empty_are_counted_by_kind() -> None:
    bad = BadLines()
    for kind in ("line of more than 9 tokens", "line where all is lost", "line of more than 9 tokens"):
        bad.leave_empty(kind)
    with pytest.warns(Note) as noted:
        bad.report()
    assert [str(each.message) for each in noted] == [
        "2 lines of more than 9 tokens left empty", "1 line where all is lost left empty",
    ]  # fmt: skip


@pytest.mark.parametrize(("texts", "first"), [(["", " ", "a", "b"], "a"), (["", ""], ""), ([], "")])
def test_sniffing_loses_no_lines(texts: list[str], first: str) -> None:
    lines = [Line(text, "in", number) for number, text in enumerate(texts, 1)]
    found, whole = sniff(lines)
    assert found == first
    assert list(whole) == lines


def test_lines_are_counted_from_1(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a\n\nb\n")
    assert [nth_line(str(path), number).text for number in (1, 2, 3)] == ["a", "", "b"]
    with pytest.raises(BadInput, match="in: has no line 4, only 3 lines"):
        nth_line(str(path), 4)


def test_parallel_streams_end_together_or_report_their_lengths() -> None:
    assert list(side_by_side(["a", "b"], [iter([1, 2]), iter([3, 4])])) == [(1, 3), (2, 4)]
    with pytest.raises(BadInput, match="a: 1 sentence, b: 3 sentences"):
        list(side_by_side(["a", "b"], [iter([1]), iter([2, 3, 4])], "sentence"))


def test_long_causes_are_truncated() -> None:
    error = BadInput("unknown name " + "x" * 50_000, "model/config.json")
    assert len(str(error)) < 600 and str(error).startswith("model/config.json: unknown name xxx")
