"""File names that are not UTF-8 either work or cause one line of error."""

import os
from contextlib import suppress
from pathlib import Path
from shlex import split

import click
import pytest

from synmt.cli.program import run
from synmt.streams import BadInput, WrongUsage, readable, shown
from tests.cli.commands import is_one_line_of_error, output_of, synmt
from tests.cli.test_parameters import COMMANDS, Reads, arguments, parameters

HERE, GONE = (os.fsdecode(name) for name in (b"\xff.txt", b"\xfe.txt"))
READ = {name: each for name, each in parameters(click.Path) if isinstance(each.type, Reads)}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("given", [HERE, GONE], ids=["here", "gone"])
def test_any_path_can_have_any_name(name: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (HERE, "other"):
        Path(file).write_text('{"tree": "(S a)", "heads": [0], "deprels": ["root"]}\n')
    command = next(each for each in sorted(COMMANDS, key=len, reverse=True) if name.startswith(f"{each} "))
    line = [*command.split(), *arguments(READ[name], given)]
    for each in COMMANDS[command].params:
        if each.required and each is not READ[name]:
            line += arguments(each, "other" if isinstance(each.type, click.Path) else "3")
    with suppress(BadInput, WrongUsage, OSError):  # each one line of error
        run(line)


SCORES = [
    f"{command} --format {form}"
    for form in ("text", "tsv", "csv", "json", "jsonl", "latex")
    for command in (
        "score TEXT TEXT -r TEXT", "inspect relations RECORD RECORD -r RECORD",
        "inspect reliability LINKS LINKS -r GOLD", "significance TEXT TEXT -r TEXT --resamples 99",
    )
]  # fmt: skip
SHOWN = [
    *(f"inspect alignment LINKS LINKS --format {form}" for form in ("tsv", "json", "jsonl", "html")),
    "inspect alignment LINKS LINKS --format svg",
    *(f"inspect curves LOGS LOGS --format {form}" for form in ("json", "jsonl", "svg")),
    "inspect links LINKS",
    "score TEXT -r TEXT --by-sentence --format jsonl",
]
FILES = {
    "TEXT": "a b c d\n",
    "RECORD": '{"tree": "(S a)", "heads": [0], "deprels": ["root"]}\n',
    "LINKS": '{"source": ["a"], "target": ["b"], "links": [[0, 0, 1.0]]}\n',
    "GOLD": "0-0\n",
    "PAIRS": "das Haus\tthe house\n" * 6,
}


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    names = {each: os.fsdecode(b"\xff." + each.encode()) for each in (*FILES, "LOGS")}
    for each, text in FILES.items():
        Path(names[each]).write_text(text)
    Path(names["LOGS"]).mkdir()
    (Path(names["LOGS"]) / "log.tsv").write_text("update\tloss\n1\t2\n2\t1\n")
    return names


@pytest.mark.parametrize("line", SCORES + SHOWN)
def test_names_are_printed_as_text(line: str, named: dict[str, str]) -> None:
    assert output_of(*(named.get(part, part) for part in split(line))).decode()


@pytest.mark.parametrize(
    "line", ["align --method hmm PAIRS", "train --tsv PAIRS --out OUT --preset small --updates 1 --width 16"]
)
def test_training_files_can_have_any_name(line: str, named: dict[str, str]) -> None:
    output_of(*(named.get(part, part) for part in split(line)))


def test_bad_names_of_model_folders_are_refused_at_the_start(named: dict[str, str]) -> None:
    """Otherwise, the parameters could not be saved at the end of training."""
    done = synmt("train", "--tsv", named["PAIRS"], "--out", Path(GONE).absolute())
    assert is_one_line_of_error(done, r"\xfe.txt: the name of a model folder must be UTF-8")


def test_names_are_readable() -> None:
    assert readable(os.fsdecode(b"a\xff\xe4b")) == r"a\xff\xe4b"
    assert readable("Ä\ud800") == "Ä\ud800"
    assert shown(HERE, 100) == r"\xff.txt"
