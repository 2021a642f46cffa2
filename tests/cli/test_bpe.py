from pathlib import Path

from synmt.text.bpe import learn_bpe
from tests.cli.commands import is_one_line_of_error, shell, synmt

LINES = ["low low lower lowest", "", "newer lower wider"]


def test_learn_writes_one_list_of_codes_for_all_files(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(len(LINES))]
    for path, line in zip(paths, LINES, strict=True):
        path.write_text(f"{line}\n")
    done = synmt("bpe", "learn", "--merges", "5", *paths)
    assert done.returncode == 0
    assert done.stdout == learn_bpe(LINES, 5)
    assert done.stderr == ""


def test_apply_changes_only_spaces(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(learn_bpe(LINES, 5))
    done = synmt("bpe", "apply", "--codes", tmp_path / "codes", text="  lower   newest \n\nlow\u00a0low\n")
    assert done.stdout.replace("@@ ", "") == "lower newest\n\nlow\u00a0low\n"
    assert "@@ " in done.stdout


def test_undo_reverses_apply(tmp_path: Path) -> None:
    """This also holds for words of non-ASCII white space, and for a truncated last word."""
    (tmp_path / "codes").write_text(learn_bpe(LINES, 5))
    text = "lower newest\n\n\u3000\nlow\u00a0low \u3000 low@\n"
    (tmp_path / "words").write_text(text)
    done = shell("synmt bpe apply --codes codes words | tee applied | synmt bpe undo", tmp_path)
    assert done.stdout == text
    assert "@@ " in (tmp_path / "applied").read_text()
    assert synmt("bpe", "undo", text="lo@@ w new@@\n").stdout == "low new\n"


def test_nothing_to_learn_from_gives_one_line_of_error() -> None:
    assert is_one_line_of_error(synmt("bpe", "learn", "--merges", "5"), "synmt bpe: no word to learn merges from")
    assert is_one_line_of_error(synmt("bpe", "learn", "--merges", "5", text=b"ab\xff\n"), "stdin:1: not UTF-8")


def test_codes_must_be_readable(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("#version: 0.2\na b c\n")
    done = synmt("bpe", "apply", "--codes", tmp_path / "codes", text="a\n")
    assert is_one_line_of_error(done, f"synmt bpe: {tmp_path / 'codes'}: line 2: not a pair of BPE symbols")
