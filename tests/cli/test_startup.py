import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import COMMANDS, existing_commands, synmt
from tests.inspection.models import write_model

HEAVY = ["benepar", "matplotlib", "nltk", "numpy", "sacrebleu", "sacremoses", "spacy", "subword_nmt", "torch"]
HEAVY += ["transformers"]
SHOW_HELP = """
import sys
from synmt.cli.main import main
try:
    main()
except SystemExit as stop:
    loaded = [name for name in {heavy} if name in sys.modules]
    print("loaded:", *loaded, "exit:", stop.code)
"""


@pytest.mark.parametrize("name", existing_commands())
def test_help_loads_no_heavy_package(name: str) -> None:
    program = SHOW_HELP.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program, name, "--help"], capture_output=True, text=True)
    assert done.stdout.startswith(f"Usage: synmt {name}")
    assert done.stdout.endswith("loaded: exit: 0\n")
    assert done.stderr == ""


def test_linearize_answers_in_a_fifth_of_a_second() -> None:
    def processor_seconds() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(5):
        before = processor_seconds()
        assert synmt("linearize", "--help").returncode == 0
        times.append(processor_seconds() - before)
    assert min(times) < 0.2


@pytest.mark.parametrize("arguments", [["parse"], ["translate", "model"]])
def test_a_model_loads_without_a_compiler(arguments: list[str], tmp_path: Path) -> None:
    """PyTorch's takes seconds to import, and is nothing that a loaded model runs on."""
    write_model(tmp_path / "model", "mask")
    program = SHOW_HELP.format(heavy=["torch", "torch._dynamo", "sympy"])
    record = '{"tree": "(S (NP (PRP He)) (VP (VBZ is)))"}\n'
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=tmp_path, input=record, capture_output=True, text=True)
    assert done.stdout.endswith("loaded: torch exit: 0\n"), done.stderr


def test_synmt_lists_its_commands() -> None:
    done = synmt("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)
    assert synmt("--version").stdout.startswith("synmt, version ")


@pytest.mark.parametrize("arguments", [["nothing"], ["linearize", "--nothing"], ["bpe", "learn"], []])
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    done = synmt(*arguments)
    assert done.returncode == 2
    assert "Usage: synmt" in done.stderr
    assert done.stdout == ""
