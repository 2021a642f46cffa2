"""Commands in separate processes, forked from a process that has finished its imports, and checks that every command
must pass."""

import os
import re
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from synmt.cli import main
from tests.cli.commands import FORKS

LONGEST = 20  # seconds of processor time
MEMORY = 4 * 2**30  # bytes of address space, in addition to those of this process
UNDER_WAY = re.compile(
    r" at update |no target tokens to learn from$|another process of this training|stopped "
    r"|No space left on device(?: \(os error 28\))?$"
)
TRACEBACK = 99  # an exit code that no command uses


class TooLong(Exception):
    """A command took too long: random settings may ask for hours of work."""


class Wrong(AssertionError):
    """A command has misbehaved."""


@dataclass(frozen=True)
class Done:
    """A command that has ended. code: its exit code, negative after a signal."""

    arguments: list[str]
    code: int
    output: bytes
    said: str

    @property
    def lines(self) -> list[str]:
        """Return the lines of output, without line ends."""
        return self.output.decode().split("\n")[:-1]

    def check(self, stopped_by: int = 0) -> None:
        """Raise Wrong for a crash, for an error message that is not one line, and for half a line of output.

        stopped_by: a signal that may have ended the command.
        """
        try:
            self._check((1, 128 + stopped_by) if stopped_by else (1,))
        except Wrong as wrong:
            raise Wrong(f"{' '.join(self.arguments)}: {wrong}") from None

    def _check(self, errors: tuple[int, ...]) -> None:
        if self.code == -signal.SIGXCPU:
            raise TooLong
        if self.code not in (0, 2, *errors):
            raise Wrong(f"ended with {self.code}: {self.said[-1500:]}")
        if "Traceback" in self.said:
            raise Wrong(f"a traceback: {self.said[-1500:]}")
        if self.output and not self.output.endswith(b"\n"):
            raise Wrong(f"half a line: {self.output[-200:]!r}")
        lines = self.said.splitlines()
        name = f"synmt {self.arguments[0]}: "
        if self.code == 2:
            if len(lines) != 1 or not lines[0].startswith(name):
                raise Wrong(f"exit 2 and not one line: {self.said!r}")
        elif self.code:
            # a training run that has begun may have printed messages before the error
            notes = lines[:-1] if lines and UNDER_WAY.search(lines[-1]) else []
            if len(lines) - len(notes) != 1 or not lines[-1].startswith(name) or len(lines[-1]) > 1000:
                raise Wrong(f"exit 1 and not one line: {self.said!r}")


def run(arguments: list[str], folder: Path, seconds: int = LONGEST) -> Done:
    """Run the command in the folder, and return its outcome."""
    return ended(start(arguments, folder, seconds), arguments, folder)


def start(arguments: list[str], folder: Path, seconds: int = LONGEST, **environment: str) -> BaseProcess:
    """Start the command in the folder. Its output goes to the files `stdout` and `stderr` there."""
    process: BaseProcess = FORKS.Process(target=_be, args=(arguments, folder, seconds, environment))
    process.start()
    return process


def ended(process: BaseProcess, arguments: list[str], folder: Path) -> Done:
    process.join()
    assert process.exitcode is not None
    output, said = (folder / "stdout").read_bytes(), (folder / "stderr").read_text(errors="replace")
    return Done(arguments, process.exitcode, output, said)


def _be(arguments: list[str], folder: Path, seconds: int, environment: dict[str, str]) -> None:
    code: object = TRACEBACK
    try:
        os.chdir(folder)
        os.environ.update(environment)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
        signal.alarm(10 * seconds)  # for a command that waits and uses no processor time
        for number, (path, mode) in enumerate(((os.devnull, "r"), ("stdout", "w"), ("stderr", "w"))):
            with Path(path).open(mode) as stream:
                os.dup2(stream.fileno(), number)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.argv = ["synmt", *arguments]
        main.main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
