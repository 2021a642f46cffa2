"""Several parser processes, each with its own model and one thread, whose results come in input order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context, parent_process
from signal import SIG_IGN, SIGINT, signal
from threading import Thread

from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.parser import Parser
from synmt.parsers.tokenization import ParserInput
from synmt.streams import BadInput, never
from synmt.trees.record import ParseRecord

Parsing = Future[tuple[list[ParseRecord], int]]  # the records of a window, and how many trees are flat


def _start_worker() -> None:
    signal(SIGINT, SIG_IGN)
    one_thread()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker with its parent: one that waits for work does not see that its parent was killed."""
    parent = parent_process()
    assert parent
    parent.join()
    os._exit(1)


@cache
def _worker_parser(config: ParserConfig) -> Parser:
    return open_parser(config)


def _parse(config: ParserConfig, lines: Sequence[ParserInput]) -> tuple[list[ParseRecord], int]:
    parser = _worker_parser(config)
    before = parser.flattened
    return parser.parse(lines), parser.flattened - before


def one_thread() -> None:
    """Keep this process's numeric libraries to one thread; before they are imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"


class ParserPool:
    """`jobs` processes that parse windows of lines; a context manager."""

    def __init__(self, config: ParserConfig, jobs: int) -> None:
        self.flattened = 0
        self._parsed = 0
        self._config = config
        self._jobs = jobs
        self._executor = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker)

    def __enter__(self) -> "ParserPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def parse_windows(
        self, windows: Iterable[Sequence[ParserInput]], pauses: Callable[[], bool] = never
    ) -> Iterator[list[ParseRecord]]:
        """Yield the records of each window in order; at most two windows a process are under way, and none is left
        when the input pauses.

        Raises ModelError, BadInput when a process has died, and a BadInput of `windows` after all records.
        """
        pending: deque[Parsing] = deque()
        failure: BadInput | None = None
        upcoming = iter(windows)
        while failure is None:
            try:
                window = next(upcoming, None)
            except BadInput as error:  # but not one of `_records`, after which nothing may follow
                failure = error
            else:
                if window is None:
                    break
                pending.append(self._submit(window))
                while len(pending) >= 2 * self._jobs or (pending and pauses()):
                    yield self._records(pending.popleft())
        while pending:
            yield self._records(pending.popleft())
        if failure:
            raise failure

    def _submit(self, window: Sequence[ParserInput]) -> Parsing:
        try:
            return self._executor.submit(_parse, self._config, window)
        except BrokenProcessPool:
            raise self._death() from None

    def _records(self, future: Parsing) -> list[ParseRecord]:
        try:
            records, flattened = future.result()
        except BrokenProcessPool:
            raise self._death() from None
        self.flattened += flattened
        self._parsed += len(records)
        return records

    def _death(self) -> BadInput:
        return BadInput(f"a parser process has died; {self._parsed} lines were parsed before")
