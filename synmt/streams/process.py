"""The state of this process: signals, and the caller's random numbers, logging and garbage collection."""

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
from types import FrameType
from typing import Self

RETRY, SOON = 0.5, 0.02  # seconds
ENDING = SIGINT, SIGTERM, SIGHUP
OBJECTS = 100_000  # new objects between two searches; Python's default of 700 is about twenty sentences


class Interrupted(Exception):
    """Work ended by a signal, with the outcome in one line."""

    def __init__(self, cause: str, signal: Signals) -> None:
        self.signal = signal
        super().__init__(cause)


class Interruption:
    """A context that holds back SIGINT, SIGTERM and SIGHUP, so that work can stop at a point where nothing is lost.

    A signal takes effect when the context ends without an exception. A signal that was ignored before stays ignored
    (nohup).
    """

    def __init__(self) -> None:
        self.signal: Signals | None = None
        self._at_once = False

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()  # no other thread may set handlers
        held = [each for each in ENDING if in_main and getsignal(each) is not SIG_IGN]
        self._before = {each: signal(each, self._receive) for each in held}
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for each, handler in self._before.items():
            signal(each, handler)
        if self.signal and kind is None:
            handler = self._before[self.signal]
            handler(self.signal, None) if callable(handler) else raise_signal(self.signal)

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


class Unwinding:
    """A context in which SIGINT, SIGTERM and SIGHUP raise Ended, so that temporary files are removed.

    After a signal, the context ends with Ended or Interrupted, whatever other exception it meets on the way; after the
    context, signals end the process at once. Ignored signals stay ignored (nohup).

    Destructors, callbacks and libraries can lose an exception, so Ended is raised again until something handles it.
    Compiled modules can even crash if one is raised while they are loaded, so it waits until no module is loading.

    A later signal ends the process at once, unless it follows within RETRY: `timeout` sends two, as do terminals.

    Ended is not a plain KeyboardInterrupt because of code that Python compiles from a string, as for named tuples: if
    it raises one, Python ends with a signal instead of our exit status.
    """

    def __init__(self) -> None:
        self.signal: Signals | None = None
        self._received, self._over = 0.0, False

    def __enter__(self) -> Self:
        show = sys.unraisablehook
        sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, Ended) else show(lost)
        for each in ENDING:
            if getsignal(each) in (SIG_DFL, default_int_handler):
                signal(each, self._end)
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self._over = True  # the handlers remain, since Python reports a signal that arrives while one is replaced
        setitimer(ITIMER_REAL, 0)
        if self.signal and not isinstance(error, Ended | Interrupted):
            raise Ended(self.signal) from None

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal; without a frame, a signal that came earlier."""
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._received = Signals(number), now
            signal(SIGALRM, self._again)
        elif frame and now < self._received + RETRY:
            return
        elif frame:
            self._over = True
        if self._over:
            signal(number, SIG_DFL)
            raise_signal(number)
        self._unwind(self.signal)

    def _again(self, *_: object) -> None:
        if self.signal and not self._over:
            handler = getsignal(self.signal)
            if callable(handler):  # ours, or that of an Interruption
                setitimer(ITIMER_REAL, RETRY)
                handler(self.signal, None)

    def _unwind(self, received: Signals) -> None:
        if _is_importing():
            setitimer(ITIMER_REAL, SOON)
            return
        setitimer(ITIMER_REAL, RETRY)
        handled = sys.exc_info()[1]
        while handled and not isinstance(handled, Ended | Interrupted | GeneratorExit):
            handled = handled.__context__
        if handled is None:
            raise Ended(received)


def _is_importing() -> bool:
    """Return whether the calling code is part of an import."""
    frame: FrameType | None = sys._getframe()
    while frame and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


@contextmanager
def temporary_folder(prefix: str | None = None, parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder that is removed afterwards, even if a signal arrives while it is made or removed."""
    import tempfile  # takes 7 ms, which text commands do without

    made: tempfile.TemporaryDirectory[str] | None = None
    try:
        with Interruption():
            made = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
        yield Path(made.name)
    finally:
        if made:
            with Interruption():
                made.cleanup()


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Restore the caller's global random state after a body that seeds or draws global random numbers.

    The body must not consume an iterator of the caller, who may draw random numbers in it. Imports neither NumPy nor
    PyTorch.
    """
    import random  # takes 5 ms, too

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
    import logging  # takes 5 ms, too

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
