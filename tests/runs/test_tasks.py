"""The tasks of a run, done one at a time, in parallel or after interruptions, give the same table."""

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from synmt.runs import tasks
from synmt.runs.run import Run
from synmt.streams import BadInput
from tests.fuzz import runs
from tests.fuzz.runs import Asked
from tests.hostile import FORKS


def tuned(asked: Asked) -> Asked:
    return runs.TAKEN["alpha"](asked)


DATA = {"records": runs.of_records, "text": runs.of_text, "tuned": lambda: tuned(runs.of_text())}
DATA["sizes"] = lambda: runs.TAKEN["sizes"](tuned(runs.of_records()))


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "COMMAND", runs.CHEAP)


@pytest.fixture(params=DATA)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    DATA[request.param]().write(tmp_path)
    return tmp_path


def opened(folder: Path, out: str = "out") -> Run:
    return Run.open(folder / "run.toml", folder / out)


def table(run: Run) -> list[dict[str, Any]]:
    return [{**json.loads(line), "cpu_minutes": 0, "megabytes": 0} for line in run.table("json")]


def states(folder: Path) -> list[str]:
    return [line.split("\t")[1] for line in opened(folder).listed()]


def test_tasks_in_any_order_give_the_table_of_one_run(folder: Path) -> None:
    """And a task that is done again changes nothing."""
    expected, source = table(opened(folder, "at once")), Random(5)
    while "ready" in (found := states(folder)):
        assert set(found) <= {"done", "ready", "waiting"}
        number = source.choice([number for number, state in enumerate(found, 1) if state == "ready"])
        opened(folder).do(number)
        made = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*") if path.is_file()}
        opened(folder).do(source.choice([*(each for each, state in enumerate(found, 1) if state == "done"), number]))
        assert {path: path.stat().st_mtime_ns for path in made} == made
    assert set(states(folder)) == {"done"}
    assert table(opened(folder)) == expected


def test_a_task_is_refused_before_those_that_it_needs(folder: Path) -> None:
    lines = [line.split("\t") for line in opened(folder).listed()]
    assert [line[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert all(int(each) < int(number) for number, _, _, needs in lines for each in needs.split())
    for number, state, name, needs in lines:
        assert (state == "waiting") == bool(needs)
        if needs:
            first = needs.split()[0]
            with pytest.raises(BadInput, match=f"^task {number}, {name}, needs task {first}, .*, which is not done$"):
                opened(folder).do(int(number))
    with pytest.raises(BadInput, match=f"the run has no task {len(lines) + 1}, only {len(lines)} tasks$"):
        opened(folder).do(len(lines) + 1)


@pytest.mark.parametrize("folder", ["tuned"], indirect=True)
def test_each_task_goes_on_after_any_signal(folder: Path) -> None:
    """Each is ended at some moment, then done by two processes at once."""
    source = Random(1)
    for number in range(1, len(states(folder)) + 1):
        process = FORKS.Process(target=_do, args=(folder, number))
        process.start()
        time.sleep(source.uniform(0, 0.2))
        source.choice([process.terminate, process.kill])()  # nothing, where the task is done already
        process.join()
        both = [FORKS.Process(target=_do, args=(folder, number)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join()
        assert [process.exitcode for process in both] == [0, 0]
        assert states(folder)[number - 1] == "done"
    assert table(opened(folder)) == table(opened(folder, "at once"))


def _do(folder: Path, number: int) -> None:
    tasks.COMMAND[:] = runs.CHEAP
    opened(folder).do(number)


def test_a_run_says_what_it_does(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    list(opened(folder).table())
    said = capfd.readouterr().err.splitlines()
    assert len([line for line in said if "scoring" not in line]) == len(states(folder))
    assert all(line.startswith("synmt run: ") for line in said)
    trained = [line for line in said if "training" in line]
    assert trained[0].endswith(f", 1 of {len(trained)}") and trained[0].startswith(
        "synmt run: training sequence, seed 1"
    )
    assert all(", about " in line and line.endswith(" s left") for line in trained[1:])
    list(opened(folder).table())
    assert all("scoring seen" in line for line in capfd.readouterr().err.splitlines())
