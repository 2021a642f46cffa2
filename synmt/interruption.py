"""SIGINT, SIGTERM and SIGHUP as requests: work goes on to where it can stop with nothing lost."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIG_IGN, SIGHUP, SIGINT, SIGTERM, Signals, getsignal, signal
from types import FrameType


class Interrupted(Exception):
    """Work that a signal has ended, with what has become of it in one line."""

    def __init__(self, cause: str, signal: Signals) -> None:
        self.signal = signal
        super().__init__(cause)


class Interruption:
    """A context in which the three signals are noted; a signal that was ignored before stays so (nohup)."""

    def __init__(self) -> None:
        self.signal: Signals | None = None
        self._at_once = False

    def __enter__(self) -> "Interruption":
        in_main = threading.current_thread() is threading.main_thread()  # the only one that may set handlers
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
        """Let a signal raise Interrupted inside, for long work that leaves nothing behind."""
        if self.signal:
            raise Interrupted("interrupted", self.signal)
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False
