"""Laws of the options and arguments of all commands."""

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from synmt.cli.paths import Reads, Writes
from synmt.cli.program import cli, run
from synmt.cli.sections import Finite
from synmt.options import LARGEST
from synmt.streams import WrongUsage
from synmt.streams.paths import check_apart
from tests.cli.commands import is_wrong_usage, shell, synmt


def commands(group: click.Group = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command that runs something, with its name."""
    for each in group.list_commands(context := click.Context(group)):
        command = group.get_command(context, each)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name}{each} ")
        else:
            yield f"{name}{each}", command


COMMANDS = dict(commands())


def parameters(*kinds: type) -> Iterator[tuple[str, click.Parameter]]:
    """Yield the options and arguments of these types, each with its command and name."""
    for name, command in COMMANDS.items():
        for each in command.params:
            if isinstance(each.type, kinds):
                yield f"{name} {each.opts[0]}", each


def test_commands_are_found() -> None:
    assert {"train", "bpe learn", "challenge query", "inspect attention"} < COMMANDS.keys()


def test_every_number_has_both_bounds() -> None:
    """Without bounds, a number could be nan or larger than any possible size."""
    found = dict(parameters(click.types.IntParamType, click.types.FloatParamType))
    assert len(found) > 100
    for name, each in found.items():
        assert isinstance(each.type, click.IntRange | Finite), name
        assert each.type.min is not None and each.type.max is not None, name
        assert -LARGEST <= each.type.min < each.type.max <= LARGEST, name


NUMBERS = dict(parameters(Finite))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "-nan", "infinity", "NaN", "1e30"])
def test_no_option_accepts_infinity_or_nan(value: str) -> None:
    for name, each in NUMBERS.items():
        try:
            taken = each.type.convert(value, None, None)
        except click.BadParameter as error:
            assert "is not in the range" in str(error), name
        else:
            pytest.fail(f"{name} takes {value} as {taken}")


def test_every_option_accepts_its_default_and_its_bounds() -> None:
    for name, each in NUMBERS.items():
        assert isinstance(each.type, Finite) and each.type.min is not None and each.type.max is not None
        most = math.nextafter(1, 0) if each.type.max_open else each.type.max
        for value in (each.type.min, most, each.default or each.type.min):
            assert each.type.convert(str(value), None, None) == value, name


@pytest.mark.parametrize(
    "command",
    [
        "translate model --alpha inf",
        "translate model --max-length-ratio inf",
        "score -r x --ribes-alpha nan",
        "significance -r x a b --level nan",
        "project --min-confidence nan",
    ],
)
def test_infinite_numbers_are_wrong_usage(command: str) -> None:
    done = synmt(*command.split())
    assert done.returncode == 2
    assert "is not in the range" in done.stderr.splitlines()[-1]


def test_every_path_declares_whether_it_is_read_or_written() -> None:
    """The data folder of a run is neither; the run file names the files in it that are read."""
    neither = {name for name, each in parameters(click.Path) if not isinstance(each.type, Reads)}
    assert neither == {"run --data", "inspect run --data"}
    assert {name for name, _ in parameters(Writes)} == {
        "align --out", "average --out", "export --out", "run --out",
        "run --report", "train --out", "train --prepared",
    }  # fmt: skip


def make_files(folder: Path) -> None:
    (folder / "d" / "sub").mkdir(parents=True)
    (folder / "d" / "file").write_text("of d")
    (folder / "d" / "sub" / "file").write_text("of sub")
    (folder / "in").write_text("in")
    (folder / "to-in").symlink_to("in")
    (folder / "hard-in").hardlink_to(folder / "in")
    (folder / "to-d").symlink_to("d")
    for name in ("with-link", "with-hard-link"):
        (folder / name).mkdir()
    (folder / "with-link" / "log.tsv").symlink_to("../in")
    (folder / "with-hard-link" / "log.tsv").hardlink_to(folder / "in")


CASES = [
    "in > in", "in > ./in", "in > HERE/in", "in > d/../in", "in > to-in", "to-in > in", "in > hard-in", "hard-in > in",
    "d > d", "d > d/", "d > to-d", "to-d > d", "d > d/file", "d > d/new", "d > to-d/new", "d/sub > to-d",
    "d/file > d", "d/file > d/sub/..", "d/sub/file > d", "to-d/file > d", "in > .", "in > with-link",
    "in > with-hard-link", "in > in/new",
]  # fmt: skip


def arguments(each: click.Parameter, value: str) -> list[str]:
    return [value] if isinstance(each, click.Argument) else [each.opts[-1], value]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


PAIRS = {
    f"{output}, {source.opts[0]}": (output.split(" --")[0], source, written)
    for output, written in parameters(Writes)
    for source in COMMANDS[output.split(" --")[0]].params
    if isinstance(source.type, Reads) and not isinstance(source.type, Writes)
}


@pytest.mark.parametrize("pair", PAIRS)
def test_no_command_overwrites_its_input(pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, source, written = PAIRS[pair]
    for each in COMMANDS[command].params:
        monkeypatch.setattr(each, "callback", None)  # some callbacks open files, which this test does not need
    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    for case in CASES:
        given, out = case.replace("HERE", str(tmp_path)).split(" > ")
        line = [*command.split(), *arguments(written, out), *arguments(source, given)]
        for each in COMMANDS[command].params:
            if each.required and each not in (source, written):
                line += arguments(each, "elsewhere")
        with pytest.raises(WrongUsage, match=f"{written.opts[-1]} .* would write over the input"):
            run(line)
        assert contents(tmp_path) == before, case


@pytest.mark.parametrize("case", ["in > new", "d/file > d/sub", "d > e", "in > /dev/null", "/dev/null > /dev/null"])
def test_distinct_paths_are_not_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    given, out = case.split(" > ")
    check_apart([("--out", out)], [given])


def test_two_outputs_of_a_command_must_differ(tmp_path: Path) -> None:
    done = synmt("train", "--out", tmp_path / "new", "--prepared", f"{tmp_path}/./new", "--tsv", "x")
    assert is_wrong_usage(done, "--out and --prepared would both write")


def test_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a\tb\n")
    for line in ("synmt align --out pairs < pairs", "synmt align --out pairs pairs"):
        assert is_wrong_usage(shell(line, tmp_path), "--out pairs would write over the input")
    assert (tmp_path / "pairs").read_text() == "a\tb\n"


@pytest.mark.parametrize("out", ["--out=.", "--out=data", "--out=run.toml", "--out=data/dev.de"])
def test_a_run_does_not_overwrite_its_data(out: str, tmp_path: Path) -> None:
    files = {part: [f"{part}.en", f"{part}.de"] for part in ("train", "dev", "test")}
    (tmp_path / "data").mkdir()
    for name in chain(*files.values()):
        (tmp_path / "data" / name).write_text("a\n")
    data = f"[data]\ntrain = {files['train']}\ndev = {files['dev']}\n"
    text = f"{data}[tests]\nt = {files['test']}\n[systems]\nsequence = {{}}\n"
    (tmp_path / "run.toml").write_text(text)
    before = contents(tmp_path)
    done = shell(f"synmt run run.toml --data data {out}", tmp_path)
    assert is_wrong_usage(done, f"{out.replace('=', ' ')} ", "would write over the input") or (
        is_wrong_usage(done, f"{out.replace('=', ' ')}: ", "is not a folder")
    )
    assert contents(tmp_path) == before
