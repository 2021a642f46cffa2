"""Too few open files, and file names that do harm: one line with the cause."""

from pathlib import Path

import pytest

from tests.cli.commands import COLD, is_one_line_of_error, shell


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scarcity")
    (path / "in").write_text('{"tree": "(S a)"}\n')
    (path / "text").write_text("He is here.\n")
    return path


@pytest.mark.parametrize("files", [5, 8])
@pytest.mark.parametrize("options", ["--jobs 2", "--model elsewhere.udpipe"])
def test_too_few_open_files(files: int, options: str, folder: Path) -> None:
    model = Path(__file__).parents[2] / "synmt" / "parsers" / "models" / "en-dependency.udpipe"
    (folder / "elsewhere.udpipe").write_bytes(model.read_bytes())
    done = shell(f"ulimit -n {files}; {COLD} parse --parser udpipe {options} text", folder)
    assert is_one_line_of_error(done)
    assert done.stderr == "synmt parse: Too many open files\n"


NAMES = ["x" * 50_000, "a\nb\nc", "\x1b[31mred\x1b[0m", "\x9b31m", "a\rb", "\u202egnp.exe", "n" * 150 + "\n" * 2_000]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["linearize", "parse --parser udpipe --model", "bpe apply --codes"])
def test_file_names_in_messages_are_short_and_harmless(name: str, command: str, folder: Path) -> None:
    (folder / "name").write_text(name)
    name = "" if command == "linearize" else " in"
    done = shell(f'IFS= read -r -d "" name < name; {COLD} {command} "$name"{name}', folder)
    assert is_one_line_of_error(done, f"synmt {command.split()[0]}: ")
    assert len(done.stderr) < 1000 and done.stderr[:-1].isprintable()
