"""Parser processes that die, and commands that die before their parser processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import BUFFERED, HANGS, shell

LINES = 4000


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("".join(f"The dog {number} barks.\n" for number in range(LINES)))
    return path


def start(text: Path, output: Path) -> tuple["subprocess.Popen[str]", list[psutil.Process]]:
    """Start the command, wait until it is in the middle of its work, and return it with its two workers."""
    command = [sys.executable, "-m", "synmt", "parse", "--parser", "udpipe", "--jobs", "2", str(text)]
    with output.open("w") as stream:
        parse = subprocess.Popen(command, stdout=stream, stderr=subprocess.PIPE, text=True, env=BUFFERED)
    while not output.stat().st_size:
        time.sleep(0.01)
    children = psutil.Process(parse.pid).children()
    return parse, [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def test_a_killed_worker_is_reported_and_no_line_is_lost_or_moved(text: Path, tmp_path: Path) -> None:
    parse, workers = start(text, tmp_path / "out")
    workers[0].kill()
    _, said = parse.communicate(timeout=HANGS)
    output = (tmp_path / "out").read_text()
    lines = output.splitlines()
    assert parse.returncode == 1
    assert said == "synmt parse: a process died, perhaps out of memory; all lines so far are complete\n"
    assert 0 < len(lines) < LINES and output.endswith("\n")
    rest = shell(f"tail -n +{len(lines) + 1} in | synmt parse --parser udpipe >> out; cat out", tmp_path)
    whole = rest.stdout.splitlines()
    assert len(whole) == LINES and all(f"The dog {number} barks." in line for number, line in enumerate(whole))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_command(text: Path, tmp_path: Path, number: int) -> None:
    parse, workers = start(text, tmp_path / "out")
    assert len(workers) == 2
    os.kill(parse.pid, number)
    parse.communicate(timeout=HANGS)
    gone, alive = psutil.wait_procs(workers, timeout=HANGS)
    assert (len(gone), alive) == (2, [])
