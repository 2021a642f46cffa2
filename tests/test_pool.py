"""Processes that work on a stream: order, errors, dying processes, and stopping at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from synmt.streams import BadInput
from synmt.streams.pool import Pool, processes

DIED = "a process died, perhaps out of memory; all lines so far are complete"


@pytest.fixture(autouse=True)
def spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes as for users; other tests fork them."""
    monkeypatch.setattr("synmt.streams.pool.CONTEXT", get_context("spawn"))


def opener(base: int) -> Callable[[int], int]:
    """Return a function on integers that depends on the base."""
    opened = []

    def work(item: int) -> int:
        opened.append(item)
        if item == -1:
            raise BadInput("no such number", "in", 3)
        if item == -2:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == -3:
            time.sleep(600)
        time.sleep(0.01 * (item % 3))
        return base + item

    return work


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "spawn_main" in " ".join(each.cmdline())]


def test_results_come_in_order_from_all_processes() -> None:
    items = list(range(40))
    with processes(2, opener(7), opener, 7) as run:
        assert list(run(items)) == list(map(opener(7), items))
        assert len(children()) == 2
        assert list(run([])) == []
        came: list[int] = []
        for each in run([1, None, 2, 3, None, None, 4]):
            came.append(each)
        assert came == [8, 9, 10, 11]
        came = []
        read: list[int] = []
        for each in run(asking(read, came)):
            came.append(each)
        assert came == [7, 8, 9]
        came = []
        results = run([1, 2, -1, 3])
        with pytest.raises(BadInput, match="in:3: no such number"):
            came += results
        assert came == [8, 9]
        with pytest.raises(BadInput, match="too late"):
            came += run(until_failure(5))
        assert came == [8, 9, *range(7, 12)]
    assert children() == []


@pytest.mark.parametrize("name", ["script.py", "-"])
def test_a_script_needs_no_guard_around_its_main_part(name: str, tmp_path: Path) -> None:
    script = "import synmt; print(*(each.text for each in synmt.parse(['One.'] * 99, 'udpipe', jobs=2)))"
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, name], input=script, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (" ".join(["One."] * 99) + "\n", "")


def asking(read: list[int], came: list[int]) -> Iterator[int | None]:
    """Yield 0, 1 and 2, each only after the previous result has arrived."""
    for each in range(3):
        assert len(came) == len(read)
        read.append(each)
        yield each
        yield None


def until_failure(count: int) -> Iterator[int]:
    yield from range(count)
    raise BadInput("too late")


def test_one_job_runs_in_this_process() -> None:
    with processes(1, opener(7), opener, 7) as run:
        assert list(run([1, 2])) == [8, 9]
        assert children() == []


def test_a_dead_process_is_reported_and_ends_the_results() -> None:
    came = []
    with pytest.raises(BadInput, match=DIED), Pool[int, int](2, opener, 0) as pool:
        for each in pool.map([1, -2, *range(100)]):
            came.append(each)
    assert came in ([], [1])


def test_an_error_stops_processes_in_the_middle_of_work() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), Pool[int, int](2, opener, 0) as pool:
        for each in pool.map([1, -3, -3, 4]):
            each / 0
    assert time.monotonic() - began < 60 and children() == []


@pytest.mark.parametrize("items", [2, 4, 5])
def test_no_results_follow_a_lost_item(items: int) -> None:
    """The first item is lost with its process, although the other process has finished its items. After that, the pool
    accepts no more items."""
    came = []
    with pytest.raises(BadInput, match=DIED), Pool[int, int](2, opener, 0) as pool:
        for each in pool.map([-2, *range(items - 1)]):
            came.append(each)
    assert came == []


def test_the_next_item_notices_that_an_idle_process_was_killed() -> None:
    with pytest.raises(BadInput, match=DIED), Pool[int, int](1, opener, 0) as pool:
        assert list(pool.map([1, 2])) == [1, 2]
        (child,) = children()
        child.kill()
        child.wait()
        list(pool.map([3]))


class Unwritable:
    def __reduce__(self) -> str:
        raise ValueError("cannot be written")


def strange(kind: str) -> Callable[[int], object]:
    if kind == "opening":
        raise BadInput("no model", "folder")

    def work(item: int) -> object:
        return [Unwritable()][item]

    return work


@pytest.mark.parametrize("kind, error, said", [("opening", BadInput, "no model"), ("work", ValueError, "cannot be")])
def test_errors_are_passed_on(kind: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said), Pool[int, object](2, strange, kind) as pool:
        list(pool.map([0]))


def test_errors_in_a_process_include_its_traceback() -> None:
    with pytest.raises(IndexError) as caught, Pool[int, object](2, strange, "work") as pool:
        list(pool.map([1]))
    assert "return [Unwritable()][item]" in "".join(caught.value.__notes__)


def sleeper(seconds: float) -> Callable[[bytes], float]:
    def work(item: bytes) -> float:
        time.sleep(seconds)
        return seconds

    return work


def test_pending_items_do_not_delay_an_interrupt() -> None:
    """Each item is larger than the buffer of a pipe, and both processes are asleep."""

    def items() -> Iterator[bytes]:
        for _ in range(3):
            yield bytes(1 << 20)
        time.sleep(3)  # until both processes sleep
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), processes(2, sleeper(600), sleeper, 600) as run:
        list(run(items()))
    assert time.monotonic() - started < 60
    assert children() == []
