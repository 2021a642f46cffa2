"""The state of this process: signals, and the caller's random numbers, logging and garbage collection."""

import gc
import logging
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from signal import (
    ITIMER_REAL,
    SIG_DFL,
    SIG_IGN,
    SIGALRM,
    SIGHUP,
    SIGINT,
    SIGTERM,
    Signals,
    default_int_handler,
    getsignal,
    raise_signal,
    setitimer,
    signal,
)  # fmt: skip
from tempfile import TemporaryDirectory
from types import FrameType

RETRY = 0.5  # seconds
OBJECTS = 100_000  # new objects between two searches; Python's default of 700 is about twenty sentences


class Interrupted(Exception):
    """Work ended by a signal, with the outcome in one line."""

    def __init__(self, cause: str, signal: Signals) -> None:
        self.signal = signal
        super().__init__(cause)


class Interruption:
    """A context that records SIGINT, SIGTERM and SIGHUP, so that work can stop at a point where nothing is lost.

    A signal that was ignored before stays ignored (nohup).
    """

    def __init__(self) -> None:
        self.signal: Signals | None = None
        self._at_once = False

    def __enter__(self) -> "Interruption":
        in_main = threading.current_thread() is threading.main_thread()  # no other thread may set handlers
        noted = [each for each in (SIGINT, SIGTERM, SIGHUP) if in_main and getsignal(each) is not SIG_IGN]
        self._before = {each: signal(each, self._receive) for each in noted}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal(each, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.signal = Signals(number)
        if self._at_once:
            self._at_once = False
            raise Interrupted("interrupted", self.signal)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let a signal raise Interrupted at once, for long work that leaves nothing behind."""
        if self.signal:
            raise Interrupted("interrupted", self.signal)
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False


class Ended(KeyboardInterrupt):
    """A signal that ends this process."""

    def __init__(self, signal: Signals) -> None:
        self.signal = signal
        super().__init__(signal.name)


def unwind_on_signals() -> None:
    """Let SIGINT, SIGTERM and SIGHUP raise Ended, so that temporary files are removed.

    A second signal ends the process at once. Ignored signals stay ignored (nohup). An exception can be lost in a
    callback or in a library, so Ended is raised again as long as nothing handles it. After a plain KeyboardInterrupt in
    code that Python compiles from a string, as for named tuples, Python ends with a signal instead of our exit status.
    """

    def end(number: int, _: FrameType | None) -> None:
        signal(number, SIG_DFL)
        unwind(Signals(number))

    def unwind(received: Signals) -> None:
        signal(SIGALRM, lambda *_: unwind(received))
        setitimer(ITIMER_REAL, RETRY)
        handled = sys.exc_info()[1]
        while handled and not isinstance(handled, Ended):
            handled = handled.__context__
        if handled is None:
            raise Ended(received)

    for each in (SIGINT, SIGTERM, SIGHUP):
        if getsignal(each) in (SIG_DFL, default_int_handler):
            signal(each, end)


def unwound() -> None:
    """Raise Ended no more."""
    setitimer(ITIMER_REAL, 0)


@contextmanager
def temporary_folder(prefix: str | None = None) -> Iterator[str]:
    """Yield a folder that is removed afterwards, even if a signal arrives while it is made."""
    with Interruption() as interruption:
        made = TemporaryDirectory(prefix=prefix)
    with made as folder:
        if interruption.signal:
            raise_signal(interruption.signal)
        yield folder


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Restore the caller's global random state after a body that seeds or draws global random numbers.

    The body must not consume an iterator of the caller, who may draw random numbers in it. Imports neither NumPy nor
    PyTorch.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    numbers = random.getstate()
    of_numpy = numpy and numpy.random.get_state()
    of_torch = torch and torch.get_rng_state()
    of_devices = torch.cuda.get_rng_state_all() if torch and torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(numbers)
        if numpy:
            numpy.random.set_state(of_numpy)
        if torch:
            torch.set_rng_state(of_torch)
        if torch and of_devices:
            torch.cuda.set_rng_state_all(of_devices)


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Silence all but critical messages of these libraries; their exceptions say the same."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def search_rarely() -> None:
    """Search for reference cycles less often, since our many records and examples contain none.

    With Python's default, the search takes a third of the time that it takes to create these objects.
    """
    gc.set_threshold(OBJECTS, 20, 20)
