import os
import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
import torch

from synmt import __version__
from synmt.cli.manual import root, with_those_below
from tests.cli.commands import COLD, COMMANDS, existing_commands, is_wrong_usage, shell, synmt, write_program
from tests.inspection.models import write_model

HEAVY = ["benepar", "matplotlib", "nltk", "numpy", "sacrebleu", "sacremoses", "spacy", "subword_nmt", "torch"]
HEAVY += ["transformers"]
FILES = re.compile(r"\b(FILE|LINKS|REF|CODES|MODEL|FOLDER|HYPOTHESES|BASELINE|PATH)\b")
TREES = "1\tdas\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tHaus\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
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


def test_linearize_starts_in_three_times_the_time_of_python_with_click() -> None:
    """We measure processor time, in turns: 2.3 times on an idle machine, up to 2.6 on a busy one."""

    def seconds(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert subprocess.run([sys.executable, *command], capture_output=True).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [(seconds("-m", "synmt", "linearize", "--help"), seconds("-c", "import click")) for _ in range(10)]
    synmt_alone, click_alone = (min(times) for times in zip(*pairs, strict=True))
    assert synmt_alone < 3 * click_alone


@pytest.mark.parametrize("arguments", [["parse", "--input", "records", "--again", "trees"], ["translate", "model"]])
def test_a_model_loads_without_a_compiler(arguments: list[str], tmp_path: Path) -> None:
    """PyTorch's compiler takes seconds to import, and a loaded model does not need it."""
    write_model(tmp_path / "model", "mask")
    program = SHOW_HELP.format(heavy=["torch", "torch._dynamo", "sympy"])
    record = '{"tree": "(S (NP (PRP He)) (VP (VBZ is)))"}\n'
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=tmp_path, input=record, capture_output=True, text=True)
    assert done.stdout.endswith("loaded: torch exit: 0\n"), done.stderr


@pytest.mark.parametrize(
    "run",
    [
        'tests.t = ["en", "de", "gold"]\naligners = { auto = {}, shift-aet = {} }\n',
        'data.languages = ["en", "de"]\ntests.t = ["en", "trees"]\nprojections.votes = {}\n',
        'data.dev = ["en", "de"]\ntests.t = ["en", "de"]\nsystems = { mask = {}, tags = {} }\n',
    ],
)
def test_a_run_itself_loads_no_torch(run: str, tmp_path: Path) -> None:
    """Its commands do, in processes of their own. So a table, and each line of a list, starts two seconds earlier."""
    for name, text in {"en": "the house\n", "de": "das Haus\n", "gold": "0-0 1-1\n", "trees": TREES}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "run.toml").write_text(f'data.train = ["en", "de"]\n{run}')
    program = SHOW_HELP.format(heavy=["torch"])
    command = [sys.executable, "-c", program, "run", "run.toml", "--list"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "  # to do: " in done.stdout and done.stdout.endswith("loaded: exit: 0\n"), done.stderr


def test_synmt_lists_its_commands() -> None:
    done = synmt("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


def test_the_versions_that_matter() -> None:
    lines = synmt("--version").stdout.splitlines()
    assert lines[:2] == [f"synmt {__version__}", f"Python {platform.python_version()}"]
    assert f"numpy {np.__version__}" in lines
    number, _, build = torch.__version__.partition("+")  # PyPI's build for CUDA is installed without its name
    assert not {f"torch {number}", f"torch {number}+{build}"}.isdisjoint(lines)


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("synmt tr", {"transitions", "train", "translate"}),
        ("synmt translate --n-", {"--n-best"}),
        ("synmt train --preset me", {"medium"}),
        ("synmt train --model mask --mask-t", {"--mask-tree"}),
        ("synmt challenge reo", {"reordering"}),
    ],
)
def test_a_shell_completes_commands_options_and_values(line: str, answers: set[str], tmp_path: Path) -> None:
    """The test asks like bash, through the completion script."""
    script = 'eval "$(_SYNMT_COMPLETE=bash_source synmt)"; COMP_WORDS=($LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))'
    script += '; _synmt_completion synmt; printf "%s\\n" "${COMPREPLY[@]}"'
    write_program(tmp_path / "synmt", f'{COLD} "$@"')
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = shell(script, tmp_path, PATH=path, LINE=line)
    assert set(done.stdout.split()) == answers, done.stderr


def test_options_for_files_are_paths() -> None:
    for context in with_those_below(root()):
        for parameter in context.command.get_params(context):
            named = FILES.search(parameter.make_metavar(context))
            assert not named or isinstance(parameter.type, click.Path), (context.command_path, parameter.name)


@pytest.mark.parametrize("line", ["synmt parse x", "synmt train --source x", "synmt translate model x"])
def test_a_shell_completes_files(line: str) -> None:
    words = line.split()
    asked = {"_SYNMT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([sys.executable, "-m", "synmt"], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout == "file,x\n"


@pytest.mark.parametrize("arguments", [["nothing"], ["linearize", "--nothing"], ["bpe", "learn"], ["bpe", "x"]])
def test_wrong_usage_is_one_line(arguments: list[str]) -> None:
    done = synmt(*arguments)
    assert is_wrong_usage(done, "synmt", " -h)") and done.stdout == ""


@pytest.mark.parametrize("arguments", [[], ["bpe"]])
def test_groups_of_commands_show_their_help(arguments: list[str]) -> None:
    done = synmt(*arguments)
    assert (done.returncode, done.stdout) == (2, "") and "Usage: synmt" in done.stderr
