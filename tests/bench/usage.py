"""The cost of a command: processor time and peak memory."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """The usage of a command and the processes that it waited for. seconds: of CPU time; memory: MiB of the largest
    process."""

    seconds: float
    memory: float


def usage_of(
    arguments: Sequence[str], folder: Path, output: Path = Path(os.devnull), program: Sequence[str] = ("-m", "synmt")
) -> Usage:
    """Run `synmt`, or another Python program, with these arguments in a folder, and write its output to a file.

    A small process starts it, since Linux counts the parent's memory as the initial peak memory of a new process.
    Raises CalledProcessError.
    """
    command = [sys.executable, "-S", __file__, str(output), sys.executable, *program, *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
    return Usage(*json.loads(done.stdout))


def _run(output: str, command: list[str]) -> None:
    with Path(output).open("wb") as file:
        process = subprocess.Popen(command, stdout=file)
    _, status, used = os.wait4(process.pid, 0)
    print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2:])
