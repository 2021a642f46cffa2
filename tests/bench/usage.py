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
    """Of a command and the processes that it waited for; memory: MiB of the largest of them."""

    seconds: float
    memory: float


def usage_of(
    arguments: Sequence[str], folder: Path, output: Path = Path(os.devnull), program: Sequence[str] = ("-m", "synmt")
) -> Usage:
    """Runs `synmt`, or another Python program, with these arguments in a folder, and writes what it prints to a file.
    Raises CalledProcessError.

    Between it and this process stands a small one: Linux counts for a new process what its parent holds.
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
