"""Usage errors are one line and name what was meant; `synmt help` shows help; long work shows its progress."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click
import pytest

from synmt.alignment import ALIGNERS
from synmt.cli.manual import root, with_those_below
from synmt.cli.program import COMMANDS, Messages, run
from synmt.cli.sections import OneOf
from synmt.components import ENCODER_COMPONENTS, sides_of, systems
from synmt.metrics import METRICS
from synmt.metrics.config import unknown
from synmt.registry import meant
from synmt.runs.file import SECTIONS, read_run
from synmt.streams import BadInput, WrongUsage, bar, write_lines
from tests.cli.commands import synmt


def misspelt(name: str) -> str:
    """Return the name with its last letter doubled or, if it is long, without a letter in the middle."""
    middle = len(name) // 2
    return f"{name}{name[-1]}" if middle < 3 else name[:middle] + name[middle + 1 :]


def message(act: Callable[[str], object], name: str) -> str:
    with pytest.raises((BadInput, WrongUsage, ValueError)) as error:
        act(name)
    return str(error.value)


def of_run_file(key: str) -> object:
    path = Path("run.toml")
    path.write_text(f"{key} = 1\n")
    return read_run(path, Path())


KINDS: dict[str, tuple[Iterable[str], Callable[[str], object]]] = {
    "commands": (COMMANDS, lambda name: run([name])),
    "methods": (ALIGNERS, lambda name: run(["align", "--method", name, "x"])),
    "systems": (systems(), lambda name: run(["train", "--model", name, "--out", "x"])),
    "systems in Python": (systems(), sides_of),
    "components": (ENCODER_COMPONENTS, ENCODER_COMPONENTS.named),
    "metrics": ([name for name in METRICS if len(name) > 3], lambda name: run(["score", "-m", name, "x", "-r", "y"])),
    "keys of run files": (SECTIONS, of_run_file),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_name_gets_the_right_one(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names, act = KINDS[kind]
    for name in names:
        wrong = misspelt(name)
        if wrong not in names:
            _, _, hint = message(act, wrong).rpartition("; did you mean ")
            assert repr(name) in hint, wrong


def test_a_name_unlike_all_others_gets_no_hint() -> None:
    assert meant("zzzz", COMMANDS) == "" and "did you mean" not in unknown("zzzz", "")
    assert message(lambda name: run([name]), "zzzz") == "'zzzz' is not a command"


def test_every_choice_of_an_option_gives_hints() -> None:
    for context in with_those_below(root()):
        kinds = [each.type for each in context.command.params if isinstance(each.type, click.Choice)]
        assert all(isinstance(each, OneOf) for each in kinds), context.command_path


def test_options_get_hints() -> None:
    for context in with_those_below(root()):
        flags = [flag for each in context.command.params for flag in each.opts if flag.startswith("--")]
        if flags and not isinstance(context.command, click.Group):
            flag = max(flags, key=len)
            line = [*context.command_path.split()[1:], misspelt(flag)]
            with pytest.raises(WrongUsage) as error:
                run(line)
            assert repr(flag) in str(error.value)


@pytest.mark.parametrize("words", ["", "align", "inspect", "inspect attention", "align --method hmm", "bpe learn"])
def test_help_of_a_command(words: str) -> None:
    with_option, by_command = synmt(*words.split(), "--help"), synmt("help", *words.split())
    assert (by_command.returncode, by_command.stderr) == (0, "")
    assert by_command.stdout == with_option.stdout != ""


def test_messages_are_wrapped_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "synmt align: " + "a-b word " * 10
    for is_terminal in (False, True):
        written = list[str]()

        class Stream:
            def isatty(self, shown: bool = is_terminal) -> bool:
                return shown

            def write(self, text: str, kept: list[str] = written) -> None:
                kept.append(text)

        messages = Messages(Stream())  # type: ignore[arg-type]
        print(long, file=messages)
        messages.write(f"\r{long}")  # a progress bar
        first, end, progress = written
        assert (end, progress) == ("\n", f"\r{long}")
        assert first.split() == long.split() and ("\n" in first) == is_terminal
        assert not is_terminal or max(map(len, first.splitlines())) <= 40


def test_lines_show_progress_if_they_can_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    bars = list[tuple[str, int | None]]()

    def watched(items: Iterable[str], unit: str, total: Callable[[], int | None]) -> Iterable[str]:
        bars.append((unit, total()))
        return items

    path = tmp_path / "lines"
    path.write_text("a\n" * 3)
    monkeypatch.setattr("synmt.streams.with_progress", watched)
    for is_terminal, files in ((False, [str(path)]), (True, ["-"]), (True, []), (True, [str(path)])):
        monkeypatch.setattr("os.isatty", lambda _, shown=is_terminal: shown)
        write_lines(["a"] * 3, files=files)
    assert bars == [("lines", 3)]
    assert capfd.readouterr().out == "a\n" * 12


def test_bars_are_shown_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar("pairs", total=3).disable
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with bar("pairs", total=3) as shown:
        assert not shown.disable
    assert bar("pairs", quiet=True, total=3).disable
