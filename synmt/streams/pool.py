"""Several processes, each with its own model and one thread, that return results in input order."""

import os
import pickle
import sys
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from threading import Thread
from traceback import format_exception
from types import ModuleType
from typing import Any, Generic, Self, TypeVar

from synmt.streams import BadInput, Note
from synmt.streams.process import search_rarely

T = TypeVar("T")
U = TypeVar("U")
Run = Callable[[Iterable[T | None]], Iterator[U]]  # after a None, it yields all results before it takes more items
CONTEXT = get_context("spawn")  # a fork would copy locks that threads of this process hold


@contextmanager
def processes(
    jobs: int, here: Callable[[T], U], opener: Callable[..., Callable[[T], U]] | None = None, *arguments: Hashable
) -> Iterator[Run[T, U]]:
    """Yield a function that maps items in order: with `here` in this process, or with several jobs in as many
    processes.

    Each process calls `opener` once with the arguments to get its own `here`. Without an opener, it gets a copy.
    """
    if jobs == 1:
        yield alone(here)
    else:
        with Pool(jobs, opener, *arguments) if opener else Pool(jobs, _itself, here) as pool:
            yield pool.map


def alone(here: Callable[[T], U]) -> Run[T, U]:
    """Return a function that maps items in this process."""
    return lambda items: (here(item) for item in items if item is not None)


def _itself(work: T) -> T:
    return work


class Pool(Generic[T, U]):
    """A context manager of up to `jobs` processes. On exit they end at once, even in the middle of work."""

    def __init__(self, jobs: int, opener: Callable[..., Callable[[T], U]], *arguments: Hashable) -> None:
        self._jobs, self._opening = jobs, pickle.dumps((opener, arguments))
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join()

    def map(self, items: Iterable[T | None]) -> Iterator[U]:
        """Yield the result of each item in order. At most two items per process are pending, and none after a None.

        Raises what the work raises, BadInput if a process dies, and a BadInput of `items` after all results.
        """
        pending: deque[Future[U]] = deque()
        failure: BadInput | None = None
        upcoming = iter(items)
        while failure is None:
            try:
                item = next(upcoming)
            except StopIteration:
                break
            except BadInput as error:  # unlike an error of the work, it comes after all results
                failure = error
            else:
                if item is not None:
                    pending.append(self._free_worker().give(item))
                while pending and (item is None or len(pending) >= 2 * self._jobs):
                    yield self._result(pending.popleft())
        while pending:
            yield self._result(pending.popleft())
        if failure:
            raise failure

    def _free_worker(self) -> "_Worker":
        """Return the process with the fewest pending items, preferably a new one to a busy one."""
        worker = min(self._workers, key=lambda each: len(each.owed), default=None)
        if worker is None or (worker.owed and len(self._workers) < self._jobs):
            worker = _Worker(self._opening)
            self._workers.append(worker)
        return worker

    def _result(self, answer: Future[U]) -> U:
        at_work = {each.pipe: each for each in self._workers}
        while not answer.done():
            for pipe in wait(at_work):
                at_work[pipe].take()  # type: ignore[index]
        return answer.result()


class _Worker:
    """A process at the other end of a pipe, which ends with the pipe, and the answers it owes, in order."""

    def __init__(self, opening: bytes) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.owed: deque[Future[Any]] = deque()
        self.process = CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
        with _without_main(), _sigint_blocked():
            self.process.start()
        theirs.close()  # so that we notice if the process dies
        self._send(opening)

    def give(self, item: object) -> Future[Any]:
        answer: Future[Any] = Future()
        self._send(pickle.dumps(item))
        self.owed.append(answer)
        return answer

    def take(self) -> None:
        """Read the next answer."""
        with _naming_death():
            message = self.pipe.recv_bytes()
        result, error = pickle.loads(message)
        if error:
            self.owed.popleft().set_exception(error)
        else:
            self.owed.popleft().set_result(result)

    def _send(self, message: bytes) -> None:
        with _naming_death():
            self.pipe.send_bytes(message)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module. Otherwise, a new process would import it, and so run a user's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block Ctrl-C, for a new process also while it starts: it ends with our end of its pipe."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


@contextmanager
def _naming_death() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise BadInput("a process died, perhaps out of memory; all lines so far are complete") from None


def one_thread() -> None:
    """Restrict numeric libraries in this process to one thread. Call it before they are imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"


def _serve(pipe: Connection) -> None:
    """Answer each item from a pipe. The first message is the opener with its arguments."""
    current_process().daemon = False  # so that the work may start processes, as parsers with a stranger's model do
    one_thread()
    search_rarely()
    warnings.simplefilter("ignore", Note)  # the process that started this one has said the same
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(pipe, messages), daemon=True).start()
    opening = messages.get()
    work: Callable[[Any], Any] | None = None
    while True:
        item = messages.get()
        try:
            if work is None:
                opener, arguments = pickle.loads(opening)
                work = opener(*arguments)
            answer = pickle.dumps((work(pickle.loads(item)), None))
        except Exception as error:
            error.add_note("".join(format_exception(error)))
            answer = pickle.dumps((None, error))
        with suppress(OSError):
            pipe.send_bytes(answer)


def _receive(pipe: Connection, messages: "SimpleQueue[bytes]") -> None:
    """Read ahead, so that nobody waits for room in the pipe. End this process when the pipe closes."""
    with suppress(EOFError, OSError):
        while True:
            messages.put(pipe.recv_bytes())
    os._exit(0)
