"""A command that a signal ends leaves nothing in the folder for temporary files."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.commands import HANGS

PAIRS = "".join(f"a{n % 7} b{n % 5} c{n % 3} d\tA{n % 7} B{n % 5} C{n % 3} D\n" for n in range(1500))
LONG = "--hmm-rounds 100 --hmm-agreement 100"
# Each command that makes temporary folders, and what is written to them before the signal.
COMMANDS = {
    "hmm": f"align --fit --method hmm {LONG}",
    "hmms": f"align --fit {LONG}",
    "neural": "align --fit --method mask-align --epochs 100 --guide links",
    "eflomal": "align --fit --method eflomal",
    "train": "train --tsv /dev/stdin --out model --epochs 100",
}


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
        time.sleep(0.3)
        made = list(place.iterdir())
        process.send_signal(number)
        process.wait(timeout=HANGS)
        said = process.stderr.read().decode()
    assert process.returncode == 128 + number, said
    assert made and list(place.iterdir()) == []
    assert "Traceback" not in said and said.splitlines()[-1].startswith(f"synmt {COMMANDS[name].split()[0]}: ")
