"""Runs the commands: `synmt` in a subprocess, `in_process` for tests over many inputs."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from multiprocessing import Pipe, get_context
from pathlib import Path
from shlex import join
from tempfile import NamedTemporaryFile, TemporaryDirectory, TemporaryFile
from time import sleep

from synmt.cli.program import COMMANDS, cli
from tests.cli import ask, warm

# Commands that import large libraries. Each is started cold somewhere, too: `parse` by README.md, `run` and
# `train` where they are killed or started by torchrun, and the others by `synmt(..., cold=True)`.
SLOW = (
    "align", "average", "filter", "inspect", "lexicon", "link", "logprob", "parse", "run", "score", "significance",
    "train", "transitions", "read-transitions", "translate",
)  # fmt: skip
COLD = f"{sys.executable} -m synmt"
AT_THE_END = ExitStack()  # closed after all tests
FORKS = get_context("forkserver")  # its processes have already imported synmt and its libraries
FORKS.set_forkserver_preload(warm.preloaded())
COMMAND_FILES = Path(__file__).parents[2] / "synmt" / "cli"
RECORD = (
    '{"tree": "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",'
    ' "heads": [4, 4, 4, 0, 4], "deprels": ["nsubj", "cop", "nmod:poss", "root", "punct"]}'
)
BRACKETS = "(S (NP (PRP He ) ) (VP (VBZ is ) (NP (PRP$ my ) (NN father ) ) ) (. . ) )"
HANGS = 1200  # seconds after which a command is not slow but stuck, even on a machine ten times slower
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
CODES = "#version: 0.2\nf a\nt h\nth e\nthe r</w>\nH e</w>\ni s</w>\nm y</w>\n"


def existing_commands() -> list[str]:
    """Return the names of the commands that have a file."""
    return [name for name in COMMANDS if (COMMAND_FILES / f"{name.replace('-', '_')}.py").exists()]


def warm_command(module: str = "synmt.cli.main") -> list[str]:
    """Return the command that starts the module's `main` in a fork of a warm process."""
    return [sys.executable, "-IS", ask.__file__, str(warm_process()), module]


@cache
def warm_process() -> Path:
    """Return the socket of a process that lives as long as the tests."""
    path = Path(AT_THE_END.enter_context(TemporaryDirectory())) / "socket"
    end, begin = Pipe(duplex=False)
    server = FORKS.Process(target=warm.serve, args=(str(path), end))
    server.start()
    end.close()
    AT_THE_END.callback(server.join)
    AT_THE_END.callback(begin.close)
    while not path.exists():
        assert server.is_alive(), "the warm process has ended"
        sleep(0.02)
    return path


def start_synmt() -> str:
    """Return the shell line that runs `synmt` with its arguments: in a warm process if the command is slow and opens no
    /dev/fd."""
    slow = "|".join(f"{name}*" for name in SLOW)
    return f'case "$*" in *" /dev/fd/"*) {COLD} "$@";; {slow}) {join(warm_command())} "$@";; *) {COLD} "$@";; esac'


def synmt(*arguments: object, text: str | bytes = b"", cold: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the real command with `text` on its standard input. In its output, invalid UTF-8 becomes U+FFFD."""
    given = text.encode() if isinstance(text, str) else text
    command = [*([sys.executable, "-m", "synmt"] if cold else warm_command()), *map(str, arguments)]
    done = subprocess.run(command, input=given, capture_output=True, timeout=HANGS, env=BUFFERED)
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return subprocess.CompletedProcess(command, done.returncode, stdout, stderr)


def shell(line: str, directory: Path, seconds: float = HANGS, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, where `synmt` is the command and `python` is the Python that runs the tests."""
    start = start_synmt() if any(name in line for name in SLOW) else f'{COLD} "$@"'
    program = f"python() {{ '{sys.executable}' \"$@\"; }}\nsynmt() {{ {start}; }}\n{line}"
    bash = ["bash", "-c", program]
    environment = {**BUFFERED, **environment}
    return subprocess.run(bash, cwd=directory, capture_output=True, text=True, timeout=seconds, env=environment)


def write_program(path: Path, line: str) -> None:
    """Write a program that runs this line of shell, for a folder on PATH."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def in_process(*arguments: str, text: bytes) -> bytes:
    """Return the command's standard output for a file with this text."""
    with NamedTemporaryFile() as given:
        given.write(text)
        given.flush()
        return output_of(*arguments, given.name)


def output_of(*arguments: str | Path) -> bytes:
    """Return the command's standard output. Raises its errors."""
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
    """Return whether the command wrote one line to stderr that contains all `parts`, and exited with 1."""
    return done.returncode == 1 and _said_once(done, parts)


def is_wrong_usage(done: subprocess.CompletedProcess[str], *parts: str) -> bool:
    """Return the same for arguments that are wrong for any input: exit code 2."""
    return done.returncode == 2 and _said_once(done, parts)


def _said_once(done: subprocess.CompletedProcess[str], parts: Sequence[str]) -> bool:
    lines = done.stderr.splitlines()
    return len(lines) == 1 and all(part in lines[0] for part in parts)
