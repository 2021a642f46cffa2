"""The steps of a run, done one at a time, in parallel or after interruptions, give the same table."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from shlex import join
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from synmt.runs import steps
from synmt.runs.commands import Command, parsed
from synmt.runs.file import RunFile
from synmt.runs.run import Run
from synmt.runs.work import Work
from synmt.streams import BadInput
from synmt.training.checkpoint import checkpoints
from tests.cli.commands import FORKS, warm_command
from tests.fuzz import runs
from tests.fuzz.runs import Asked


def tuned(asked: Asked) -> Asked:
    return runs.TAKEN["alpha"](asked)


DATA = {"records": runs.of_records, "text": runs.of_text, "tuned": lambda: tuned(runs.of_text())}
DATA["sizes"] = lambda: runs.TAKEN["sizes"](tuned(runs.of_records()))


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "PROGRAM", runs.CHEAP)


@pytest.fixture(params=DATA)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    DATA[request.param]().write(tmp_path)
    return tmp_path


def opened(folder: Path, out: str = "out") -> Run:
    return Run.open(folder / "run.toml", folder / out)


def record(path: Path) -> steps.Record:
    """Return the record of a model."""
    found = steps.RunFolder(path.parents[1]).record(path)
    assert found
    return found


def table(run: Run) -> list[dict[str, Any]]:
    return [{**json.loads(line), "cpu_minutes": 0, "megabytes": 0} for line in run.table("jsonl")]


def states(folder: Path) -> list[str]:
    return [line.split("  # ")[1].partition(": ")[0] for line in opened(folder).listed()]


@pytest.mark.parametrize("folder", ["text", "sizes"], indirect=True)
def test_steps_in_any_order_give_the_same_table(folder: Path) -> None:
    """Each step does what it needs first. Doing a step again changes nothing."""
    expected, source = table(opened(folder, "at once")), Random(5)
    numbers = list(range(1, 1 + len(states(folder))))
    for number in source.sample(numbers, len(numbers)):
        opened(folder).do(number)
        made = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*") if path.is_file()}
        done = [each for each, state in enumerate(states(folder), 1) if state == "done"]
        assert number in done
        opened(folder).do(source.choice(done))
        assert {path: path.stat().st_mtime_ns for path in made} == made
    assert set(states(folder)) == {"done"}
    assert table(opened(folder)) == expected


def test_a_step_does_what_it_needs_and_nothing_else(folder: Path) -> None:
    run = opened(folder)
    for number, step in enumerate(run.work.steps, 1):
        shutil.rmtree(folder / "out", ignore_errors=True)
        opened(folder).do(number)
        needed = {each.name for each in step.with_needs()}
        done = zip(run.work.steps, states(folder), strict=True)
        assert {each.name for each, state in done if state == "done"} == needed
    for wrong in (0, len(run.work.steps) + 1):
        with pytest.raises(BadInput, match=f"the run has no step {wrong}, only {len(run.work.steps)} steps$"):
            opened(folder).do(wrong)


def test_the_comments_of_a_list_are_the_commands_of_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a run starts is in its list, and the command itself accepts each line of it."""
    started = tmp_path / "started"
    spy = "import os, sys; open(sys.argv[1], 'a').write(' '.join(sys.argv[3:]) + chr(10)); os.execv(sys.executable,"
    own = [sys.executable, "-c", f"{spy} [sys.executable, *sys.argv[2:]])", str(started), runs.CHEAP[-1]]
    monkeypatch.setattr(steps, "PROGRAM", own)
    list(opened(folder).table())
    lines = [line.split(": synmt ")[1] for line in opened(folder).listed() if ": synmt " in line]
    assert sorted(lines) == sorted(started.read_text().splitlines())
    for step in opened(folder).work.steps:
        if step.command and step.verb != "translating":  # the cheap models have no config
            parsed(step.command())


def test_inputs_may_not_change_during_a_run(tmp_path: Path) -> None:
    """Otherwise models with different data would be in one table, with records that name the same data."""
    file, run_folder = tmp_path / "train.en", steps.RunFolder(tmp_path / "out")
    file.write_text("a\n")

    def made(name: str, after: str) -> steps.Record:
        path = run_folder.path / name

        def work() -> steps.Cost:
            file.write_text(after)
            path.write_text("made\n")
            return steps.Cost(1.0)

        return run_folder.make(steps.Step("making", name, path, (), lambda: {"source": file}, work))

    for name, text, after in (("first", "a\n", "b\n"), ("second", "b\n", "b\n")):
        file.write_text(text)
        with pytest.raises(BadInput, match=r"train\.en: has changed since this run started"):
            made(name, after)
        found = run_folder.record(run_folder.path / name)
        assert found is None or not found.is_finished
        file.write_text("a\n")
        assert made(name, "a\n").cpu_seconds == 1.0


@pytest.mark.parametrize("folder", ["tuned"], indirect=True)
def test_each_step_resumes_after_any_signal(folder: Path) -> None:
    """Each step is interrupted at a random moment, then done by two processes at once."""
    source = Random(1)
    for number in range(1, len(states(folder)) + 1):
        process = FORKS.Process(target=_do, args=(folder, number))
        process.start()
        time.sleep(source.uniform(0, 0.2))
        source.choice([process.terminate, process.kill])()  # no effect if the task has finished
        process.join()
        both = [FORKS.Process(target=_do, args=(folder, number)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join()
        assert [process.exitcode for process in both] == [0, 0]
        assert states(folder)[number - 1] == "done"
    assert table(opened(folder)) == table(opened(folder, "at once"))


def _do(folder: Path, number: int, command: list[str] = runs.CHEAP) -> None:
    steps.PROGRAM[:] = command
    opened(folder).do(number)


KILLED_AT_FIRST = """#!/bin/bash
case "$*" in *--task*)
    number="${!#}" RANDOM="${!#}"
    signals=(TERM KILL)
    mkdir "$KILLS/$number" 2> /dev/null && exec timeout -s ${signals[RANDOM % 2]} 0.$((RANDOM % 6)) PYTHON "$@"
esac
exec PYTHON "$@"
"""
CHEAPLY = "from synmt.runs import steps; steps.PROGRAM[:] = {}; from synmt.cli.main import main; main()"
SBATCH = """#!/bin/bash
for word; do
    case "$word" in --array=1-*) last="${word#--array=1-}";; esac
done
for SLURM_ARRAY_TASK_ID in $(seq $last -1 1); do
    export SLURM_ARRAY_TASK_ID
    sh -c "${!#}" || sh -c "${!#}" || exit
done
"""
RECIPES = {"sh": "| sh -e", "make": ".PHONY", "parallel": "| parallel --", "sbatch": "sbatch --"}
AGAIN = "set -o pipefail; until {{ {}; }}; do [ $((++tries)) -lt 20 ] || exit; done"


@pytest.mark.parametrize("folder", ["records"], indirect=True)
@pytest.mark.parametrize("tool", RECIPES)
def test_the_recipes_give_the_table_even_if_every_step_is_killed_once(tool: str, folder: Path) -> None:
    """The recipes are copied word for word from docs/runs.md, and run with a stand-in for Slurm, which starts the last
    step first. A shell and make stop at a failure, so they are started again."""
    if tool in ("parallel", "make") and not shutil.which(tool):
        pytest.skip(f"needs {tool}")
    text = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()
    blocks = re.findall(r"^```(?:sh|make)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (block,) = (each for each in blocks if RECIPES[tool] in each)
    (folder / "systems.toml").write_text((folder / "run.toml").read_text().replace("[1, 2]", "[1]"))
    (folder / "cheap.py").write_text(CHEAPLY.format(runs.CHEAP))
    bin, kills = folder / "bin", folder / "kills"
    bin.mkdir()
    kills.mkdir()
    own = KILLED_AT_FIRST.replace("PYTHON", join([sys.executable, str(folder / "cheap.py")]))
    for name, script in (("synmt", own), ("sbatch", SBATCH), ("srun", '#!/bin/sh\nexec "$@"\n')):
        (bin / name).write_text(script)
        (bin / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "KILLS": str(kills), "HOME": str(folder)}
    (folder / "Makefile").write_text(block)
    scripts = {"sh": AGAIN.format(block.strip()), "make": AGAIN.format("make --jobs 2")}
    done = subprocess.run(
        ["bash", "-c", scripts.get(tool, block)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = Run.open(folder / "systems.toml", folder / "systems")
    lines = list(found.listed())
    assert all("  # done: " in line for line in lines) and len(list(kills.iterdir())) == len(lines)
    assert done.stdout.splitlines()[-1] == list(found.table())[-1]
    assert table(found) == table(Run.open(folder / "systems.toml", folder / "at once"))


def test_an_interrupted_training_step_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a real training run, SIGTERM leaves a checkpoint of the current update, and two processes at once finish
    it."""
    cold, warm = [sys.executable, "-m", "synmt.cli.step"], warm_command("synmt.cli.step")
    monkeypatch.setattr(steps, "PROGRAM", warm)
    asked = runs.of_records()
    text = asked.text.replace("checkpoint-minutes = 0.00001", "report-every = 1\nvalidate-every = 1000\nepochs = 1000")
    replace(asked, text=text.replace("updates = 12", "updates = 150")).write(tmp_path)
    (number,) = (n for n, line in enumerate(opened(tmp_path).listed(), 1) if "training sequence, seed 1" in line)
    whole, stopped = (tmp_path / name / "all" / "sequence.1" for name in ("whole", "out"))
    opened(tmp_path, "whole").do(number)
    process = FORKS.Process(target=_do, args=(tmp_path, number, cold))
    process.start()
    while not ((stopped / "log.tsv").exists() and (stopped / "log.tsv").read_text().count("\n") > 5):
        assert process.is_alive()
        time.sleep(0.01)
    process.terminate()
    process.join()
    (checkpoint,) = checkpoints(stopped / "checkpoint")
    update = int(checkpoint.stem.removeprefix("update-"))
    assert 5 <= update < 150 and states(tmp_path)[number - 1] == "to do"
    interrupted = record(stopped)
    assert interrupted.cpu_seconds > 0 and not interrupted.is_finished
    both = [FORKS.Process(target=_do, args=(tmp_path, number, warm)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    updates = [row.split("\t")[0] for row in (stopped / "log.tsv").read_text().splitlines()[1:]]
    assert updates == [row.split("\t")[0] for row in (whole / "log.tsv").read_text().splitlines()[1:]]
    mine, its = (load_file(each / "model.safetensors") for each in (stopped, whole))
    assert all(torch.equal(mine[name], its[name]) for name in its)
    assert record(stopped).is_finished and interrupted.cpu_seconds < record(stopped).cpu_seconds


BUSY = """
from synmt.cli import step
def work(words):
    while True:
        pass
step.EVERY, step.run = 0.02, work
step.main()
"""


def _be_busy(model: Path) -> None:
    steps.PROGRAM = [sys.executable, "-c", BUSY]
    folder = steps.RunFolder(model.parent)

    def work() -> steps.Cost:
        model.write_text("begun")
        return folder.run(Command("train", {}, {}), folder.log(model))

    folder.make(steps.Step("training", "model", model, (), dict, work))


def test_the_time_of_a_process_that_is_killed_together_with_its_run_adds_up(tmp_path: Path) -> None:
    """The process is stopped before the run is killed, so that it cannot report its time at the end."""
    folder, model, spent = steps.RunFolder(tmp_path), tmp_path / "model", [0.0]
    log = folder.log(model)
    for _ in range(2):
        reported = log.read_bytes().count(steps.SPENT) if log.exists() else 0
        run = FORKS.Process(target=_be_busy, args=(model,))
        run.start()
        try:
            while not log.exists() or log.read_bytes().count(steps.SPENT) == reported:
                assert run.is_alive()
                time.sleep(0.01)
            (process,) = psutil.Process(run.pid).children()
            process.suspend()
        finally:
            run.kill()
            run.join()
        process.kill()
        found = folder.record(model)
        assert found and not found.is_finished
        spent.append(found.cpu_seconds)
    assert 0 < spent[1] < spent[2]


def test_a_step_uses_one_thread_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise scores would depend on the number of cores."""
    said = "import os; print(os.environ['OMP_NUM_THREADS'])"
    monkeypatch.setattr(steps, "PROGRAM", [sys.executable, "-c", said])
    for given, expected in ((None, "1"), ("3", "3")):
        if given:
            monkeypatch.setenv("OMP_NUM_THREADS", given)
        else:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        steps.RunFolder(tmp_path).run(Command("train", {}, {}), tmp_path / "log", tmp_path / "output")
        assert (tmp_path / "output").read_text() == f"{expected}\n"


def plan_of(folder: steps.RunFolder, models: str, work: Callable[[Path], steps.Cost]) -> list[steps.Step]:
    """Return steps that cut the data of a model, train it and translate with it, for each letter; in the order of a
    run, all data are cut first, and all models are trained next."""
    plan = Work(folder, RunFile(None, None, {}, {}), 1)
    for verb, end, needed in (("cutting", ".cut", None), ("training", "", ".cut"), ("translating", ".test", "")):
        for name in models:
            path = folder.path / f"{name}{end}"
            needs = [] if needed is None else [folder.path / f"{name}{needed}"]
            plan.add((verb, path.name), path, {}, partial(work, path), needs)
    return plan.steps


def test_a_model_translates_while_another_trains(tmp_path: Path) -> None:
    """Here the second model trains until the first one has translated."""
    folder, translated = steps.RunFolder(tmp_path), threading.Event()

    def work(path: Path) -> steps.Cost:
        if path.name == "b":
            assert translated.wait(60)
        if path.name == "a.test":
            translated.set()
        path.touch()
        return steps.Cost()

    plan = plan_of(folder, "ab", work)
    steps.do_all(folder, plan, 2)
    assert all(folder.is_done(step, {}) for step in plan)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_model_translates_before_another_starts_to_train(jobs: int, tmp_path: Path) -> None:
    """A run that is stopped has then translated with every model that it finished."""
    folder, begun = steps.RunFolder(tmp_path), list[str]()

    def work(path: Path) -> steps.Cost:
        begun.append(path.suffix)
        ahead = begun.count("") - begun.count(".test")
        # each thread has a model that trains, or whose translation it is about to begin
        assert ahead <= 2 * jobs - 1
        path.touch()
        return steps.Cost()

    steps.do_all(folder, plan_of(folder, "abcdef", work), jobs)
    assert len(begun) == 18


def test_a_step_that_parses_runs_alone(tmp_path: Path) -> None:
    """It starts as many processes as the run may have."""
    folder, running = steps.RunFolder(tmp_path), list[str]()

    def work(path: Path) -> steps.Cost:
        running.append(path.suffix)
        time.sleep(0.01)
        assert running == [".parsed"] or (".parsed" not in running and len(running) <= 3)
        running.remove(path.suffix)
        path.touch()
        return steps.Cost()

    plan = Work(folder, RunFile(None, None, {}, {}), 3)
    for verb, end, needed in (("cutting", ".cut", ""), (steps.PARSING, ".parsed", ".cut"), ("training", "", ".parsed")):
        for name in "abcdef":
            path, needs = folder.path / f"{name}{end}", [folder.path / f"{name}{needed}"] if name < "d" else []
            plan.add((verb, path.name), path, {}, partial(work, path), needs)
    steps.do_all(folder, plan.steps, 3)
    assert all(folder.is_done(step, {}) for step in plan.steps)


def test_a_resumed_run_keeps_its_order(tmp_path: Path) -> None:
    """Wherever a run is stopped, it trains its models in the order of the run file."""

    def order(stop: int | None) -> list[str]:
        """Return the paths in the order in which they are made. stop: the step with which the first attempt ends."""
        begun = list[str]()

        def work(path: Path) -> steps.Cost:
            if len(begun) == stop and not (tmp_path / "stopped").exists():
                (tmp_path / "stopped").touch()
                raise BadInput("stopped", str(path))
            begun.append(path.name)
            path.touch()
            return steps.Cost()

        folder = steps.RunFolder(tmp_path / str(stop))
        plan = plan_of(folder, "abcd", work)
        if stop is not None:
            (tmp_path / "stopped").unlink(missing_ok=True)
            with pytest.raises(BadInput, match="stopped"):
                steps.do_all(folder, plan, 1)
        steps.do_all(folder, plan, 1)
        return begun

    uninterrupted = order(None)
    assert [name for name in uninterrupted if name in "abcd"] == list("abcd")
    for stop in range(len(uninterrupted)):
        assert order(stop) == uninterrupted


def test_output_of_other_inputs_is_refused_before_any_work(tmp_path: Path) -> None:
    """Aligners that read trees are fitted with one size of the data before the next one is parsed."""
    begun = list[str]()

    def work(path: Path) -> steps.Cost:
        begun.append(path.name)
        path.touch()
        return steps.Cost()

    folder = steps.RunFolder(tmp_path)
    for rounds, names in ((5, "b"), (4, "ab")):
        plan = Work(folder, RunFile(None, None, {}, {}), 1)
        for name in names:
            for verb, path, inputs in (("parsing", f"{name}.trees", {}), ("aligning", name, {"rounds": rounds})):
                plan.add((verb, name), tmp_path / path, inputs, partial(work, tmp_path / path))
        if names == "b":
            steps.do_all(folder, plan.steps, 1)
    with pytest.raises(BadInput, match="/b: was made with rounds 5, not 4"):
        steps.do_all(folder, plan.steps, 1)
    assert begun == ["b.trees", "b"]


@pytest.mark.parametrize("folder", ["sizes"], indirect=True)
def test_a_run_reports_its_progress(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
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
