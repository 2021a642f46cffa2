"""Running the commands: `synmt` in a subprocess, `in_process` for laws over many inputs."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from synmt.cli.main import COMMANDS, cli

COMMAND_FILES = Path(__file__).parents[2] / "synmt" / "cli"
RECORD = (
    '{"tree": "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",'
    ' "heads": [4, 4, 4, 0, 4], "deprels": ["nsubj", "cop", "nmod:poss", "root", "punct"]}'
)
BRACKETS = "(S (NP (PRP He ) ) (VP (VBZ is ) (NP (PRP$ my ) (NN father ) ) ) (. . ) )"
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
CODES = "#version: 0.2\nf a\nt h\nth e\nthe r</w>\nH e</w>\ni s</w>\nm y</w>\n"


def existing_commands() -> list[str]:
    """The names of the commands whose files are there."""
    return [name for name in COMMANDS if (COMMAND_FILES / f"{name.replace('-', '_')}.py").exists()]


def synmt(*arguments: str | Path, text: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    """The real command, with `text` on its standard input; bytes that are not UTF-8 come back as U+FFFD."""
    given = text.encode() if isinstance(text, str) else text
    command = [sys.executable, "-m", "synmt", *map(str, arguments)]
    done = subprocess.run(command, input=given, capture_output=True, timeout=60, env=BUFFERED)
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return subprocess.CompletedProcess(command, done.returncode, stdout, stderr)


def shell(line: str, directory: Path, seconds: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line for bash, in which `synmt` is the command, and `python` the one that runs the tests."""
    program = f'python() {{ \'{sys.executable}\' "$@"; }}\nsynmt() {{ python -m synmt "$@"; }}\n{line}'
    bash = ["bash", "-c", program]
    environment = {**BUFFERED, **environment}
    return subprocess.run(bash, cwd=directory, capture_output=True, text=True, timeout=seconds, env=environment)


def in_process(*arguments: str, text: bytes) -> bytes:
    """What the command writes to standard output for a file of that text."""
    with NamedTemporaryFile() as given:
        given.write(text)
        given.flush()
        return output_of(*arguments, given.name)


def output_of(*arguments: str | Path) -> bytes:
    """What the command writes to standard output; its errors are raised."""
    with TemporaryFile() as output:
        stdout = os.dup(1)
        os.dup2(output.fileno(), 1)
        try:
            cli.main(list(map(str, arguments)), standalone_mode=False)
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
        output.seek(0)
        return output.read()


def is_one_line_of_error(done: subprocess.CompletedProcess[str], *parts: str) -> bool:
    """Whether the command said one thing on stderr that holds all `parts`, and exited with 1."""
    lines = done.stderr.splitlines()
    return done.returncode == 1 and len(lines) == 1 and all(part in lines[0] for part in parts)
