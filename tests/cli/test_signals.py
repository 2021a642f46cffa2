"""A signal at any moment ends a command with its status and at most one line, and leaves no temporary files."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from synmt.streams.process import ENDING
from tests.cli.commands import HANGS, RECORD

PAIRS = "".join(f"a{n % 7} b{n % 5} c{n % 3} d\tA{n % 7} B{n % 5} C{n % 3} D\n" for n in range(1500))
LONG = "--hmm-rounds 100 --hmm-agreement 100"
# Each command that makes temporary folders, and what is written to them before the signal.
COMMANDS = {
    "hmm": f"align --method hmm {LONG}",
    "auto": f"align {LONG}",
    "neural": "align --method mask-align --epochs 100 --guide links",
    "eflomal": "align --method eflomal",
    "train": "train --tsv /dev/stdin --out model --epochs 100",
}


# Work that gets a signal, and loses what it raises.
LOSSES = {
    "a bare except": "try: get()\nexcept: pass",
    "a destructor": "type('Owner', (), {'__del__': get})()",
    "a callback": "owner = Path\nclass Owner: pass\nowner = Owner()\nseen = weakref.ref(owner, get)\ndel owner",
    "another exception": "try: get()\nexcept BaseException: raise ImportError('no module')",
    "an exit": "try: get()\nfinally: sys.exit(0)",
    "nothing": "get()",
    "two signals": "get(); get(SIGHUP)",
    "a folder that is made": (
        "class Folder(TemporaryDirectory):\n"
        "    def __init__(self, **others): super().__init__(**others); get()\n"
        "tempfile.TemporaryDirectory = Folder\n"
        "with temporary_folder(): pass"
    ),
    "a folder that is removed": (
        "class Folder(TemporaryDirectory):\n"
        "    def cleanup(self): get(); super().cleanup()\n"
        "tempfile.TemporaryDirectory = Folder\n"
        "with temporary_folder(): pass"
    ),
    "work that can stop later": "with Interruption(): get()",
    "a folder at a second signal": (
        "class Folder(TemporaryDirectory):\n"
        "    def cleanup(self): get(SIGTERM); get(SIGINT); super().cleanup()\n"
        "tempfile.TemporaryDirectory = Folder\n"
        "with temporary_folder(): get()"
    ),
}
PROGRAM = """
import sys, tempfile, time, weakref
from pathlib import Path
from signal import *
from tempfile import TemporaryDirectory
from synmt.cli.program import reported
from synmt.streams import process
from synmt.streams.process import Interruption, temporary_folder

def get(number=SIGTERM):
    raise_signal(number if isinstance(number, Signals) else SIGTERM)

def work():
    with temporary_folder():
        exec(sys.argv[1], globals())
        time.sleep(HANGS)

sys.exit(reported("name", work))
"""


@pytest.mark.parametrize("loss", LOSSES)
def test_a_signal_ends_work_that_loses_exceptions(loss: str, tmp_path: Path) -> None:
    program = PROGRAM.replace("HANGS", str(HANGS))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program, LOSSES[loss]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANGS)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "name: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", ["linearize", "score a --references a", "project --on-error blank"])
def test_a_signal_at_any_moment_leaves_no_traceback(arguments: str, tmp_path: Path) -> None:
    """Before a command runs, and when it is done, the signal itself ends the process. Only Python's own start, before
    it runs our code, can show a traceback."""
    (tmp_path / "a").write_text("a b c d\n" * 100)
    (tmp_path / "records").write_text(f"{RECORD}\n" * 100)
    command = [sys.executable, "-m", "synmt", *arguments.split()]

    def run(number: signal.Signals | None, seconds: float) -> tuple[int, str]:
        with (tmp_path / "records").open() as records:
            process = subprocess.Popen(
                command, stdin=records, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path, text=True
            )
        with process:
            if number:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                process.send_signal(number)
            said = process.communicate(timeout=HANGS)[1]
        return process.returncode, said

    began = time.monotonic()
    run(None, 0)
    length = time.monotonic() - began
    for place, number in enumerate(ENDING * 3, 1):
        code, said = run(number, length * (place + 3) / 12)
        assert code in (0, 1, -number, 128 + number), (code, said)
        assert "Traceback" not in said or "program.py" not in said, said
        assert said.count("interrupted") == (code == 128 + number), said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_leaves_no_temporary_files(name: str, number: signal.Signals, tmp_path: Path) -> None:
    if name == "eflomal" and find_spec("eflomal") is None:
        pytest.skip("needs eflomal")
    if name not in ("hmm", "train") and number != signal.SIGTERM:
        pytest.skip("as for hmm")
    place = tmp_path / "temporary"
    place.mkdir()
    (tmp_path / "links").write_text("0-0 1-1\n" * 1500)
    command = [sys.executable, "-m", "synmt", *COMMANDS[name].split()]
    environment = {**os.environ, "TMPDIR": str(place), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdin and process.stderr
        process.stdin.write(PAIRS.encode())
        process.stdin.close()
        deadline = time.monotonic() + HANGS
        # tempfile tries out the folder with a file of its own
        while not any(map(Path.is_dir, place.iterdir())) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        made = list(place.iterdir())
        process.send_signal(number)
        process.wait(timeout=HANGS)
        said = process.stderr.read().decode()
    assert process.returncode == 128 + number, said
    assert made and list(place.iterdir()) == []
    assert "Traceback" not in said and said.splitlines()[-1].startswith(f"synmt {COMMANDS[name].split()[0]}: ")
