"""Short forms of `python -m tests.hostile` and of `python -m tests.fuzz` readers, commands and runs."""

import random
from collections import Counter
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
import torch

from tests.fuzz.readers import fuzz, readers
from tests.fuzz.runs import interruptions
from tests.fuzz.sessions import SESSIONS
from tests.hostile import Case, cases, run
from tests.hostile_configs import KINDS, PARSED, some_failures


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def test_each_hostile_input_is_refused_in_one_line(folder: Path) -> None:
    found = list(cases(folder))
    assert len(found) > 150
    some = random.Random(1).sample(found, 60)
    failures = [(case, outcome) for case in some if not (outcome := run(case, folder)).right(case)]
    assert failures == []
    assert not list(folder.rglob("pwned"))


def test_good_input_is_not_refused(folder: Path) -> None:
    """Otherwise, the law above could hold because nothing works."""
    good = str(folder / "good")
    assert run(Case("", ["translate", good], b'{"tree": "(S a)"}\n'), folder).code == 0
    if find_spec("ctranslate2"):
        assert run(Case("", ["translate", str(folder / "exports/good")], b"He is\n"), folder).code == 0
    assert run(Case("", ["parse", "text"]), folder).code == 0


@pytest.mark.parametrize("name", ["auto", "mask-align", "pascal > sequence", "sequence > compose", "parser"])
def test_no_number_in_a_config_costs_memory_or_time(name: str, tmp_path: Path) -> None:
    """A config from a stranger cannot request more than the tensors in its folder justify."""
    assert some_failures({**KINDS, "parser": PARSED}[name], tmp_path, 20) == []


@pytest.mark.parametrize("name", readers())
def test_mutated_files_are_read_or_refused(name: str) -> None:
    slow = "UDPipe" in name or "benepar" in name or "folder" in name
    outcomes = islice(fuzz(readers()[name], random.Random(3)), 5 if slow else 100)
    assert {outcome for outcome, _ in outcomes} <= {"read", "refused"}


@pytest.mark.parametrize("kind", SESSIONS)
def test_random_commands_give_right_answers_or_one_line(kind: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    assert list(islice(SESSIONS[kind](tmp_path, random.Random(1)), 8))


def test_interrupted_and_edited_runs_give_the_same_table_or_stop() -> None:
    counts = sum(islice(interruptions(random.Random(3)), 5), Counter[str]())
    assert counts["same"] + counts["refused"] == 5
