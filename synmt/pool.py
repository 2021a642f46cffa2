"""Several processes, each with a model of its own and one thread, whose results come in the order of the input."""

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import Any, Generic, TypeVar

from synmt.garbage import search_rarely
from synmt.streams import BadInput

T = TypeVar("T")
U = TypeVar("U")
Run = Callable[[Iterable[T | None]], Iterator[U]]  # None asks for all results so far, before more items are taken


@contextmanager
def processes(
    jobs: int, here: Callable[[T], U], opener: Callable[..., Callable[[T], U]], *arguments: Hashable
) -> Iterator[Run[T, U]]:
    """Give what maps items in order: by `here` in this process, or, with more than one job, in as many processes.

    Each of them calls `opener` with the arguments, once, for what `here` is in it.
    """
    if jobs == 1:
        yield alone(here)
    else:
        with Pool(jobs, opener, *arguments) as pool:
            yield pool.map


def alone(here: Callable[[T], U]) -> Run[T, U]:
    """Return what maps items in this process."""
    return lambda items: (here(item) for item in items if item is not None)


class Pool(Generic[T, U]):
    """`jobs` processes; a context manager. If it is left by an error, they end at once, whatever they are at."""

    def __init__(self, jobs: int, opener: Callable[..., Callable[[T], U]], *arguments: Hashable) -> None:
        self._jobs, self._opener, self._arguments = jobs, opener, arguments
        context = get_context("spawn")
        self._theirs, self._ours = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(jobs, context, _start, (self._theirs,))

    def __enter__(self) -> "Pool[T, U]":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._ours.close()
            # A process that ends while it writes leaves half a result, and one that ends before it reads leaves an item
            # in the pipe. As long as this process has the other ends of its pipes open, it would wait for the other
            # half, and for room in the pipe.
            self._executor._result_queue._writer.close()  # type: ignore[attr-defined]
            self._executor._call_queue._reader.close()  # type: ignore[attr-defined]
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._ours.close()
        self._theirs.close()

    def map(self, items: Iterable[T | None]) -> Iterator[U]:
        """Yield the result of each item in order; at most two items a process are under way, and none at a None.

        Raises what the work raises, BadInput when a process has died, and a BadInput of `items` after all results.
        """
        pending: deque[Future[U]] = deque()
        failure: BadInput | None = None
        upcoming = iter(items)
        while failure is None:
            try:
                item = next(upcoming)
            except StopIteration:
                break
            except BadInput as error:  # but not one of the work, after which nothing may follow
                failure = error
            else:
                if item is not None:
                    with _naming_death():
                        pending.append(self._executor.submit(_work, self._opener, self._arguments, item))
                while pending and (item is None or len(pending) >= 2 * self._jobs):
                    yield _result(pending.popleft())
        while pending:
            yield _result(pending.popleft())
        if failure:
            raise failure


def one_thread() -> None:
    """Keep this process's numeric libraries to one thread; before they are imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"


def _start(theirs: Connection) -> None:
    signal(SIGINT, SIG_IGN)
    one_thread()
    search_rarely()
    Thread(target=_end_with_pipe, args=(theirs,), daemon=True).start()


def _end_with_pipe(theirs: Connection) -> None:
    """End this process when the other end of its pipe is closed, or gone with the process that had it."""
    with suppress(EOFError, OSError):
        theirs.recv()
    os._exit(1)


@cache
def _opened(opener: Callable[..., Any], *arguments: Hashable) -> Any:
    return opener(*arguments)


def _work(opener: Callable[..., Callable[[T], U]], arguments: tuple[Hashable, ...], item: T) -> U:
    result: U = _opened(opener, *arguments)(item)
    return result


def _result(future: Future[U]) -> U:
    with _naming_death():
        return future.result()


@contextmanager
def _naming_death() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise BadInput("a process has died, perhaps for want of memory; all lines before are whole") from None
