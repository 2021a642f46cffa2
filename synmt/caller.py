"""What belongs to whoever calls synmt from Python, and is given back as it was."""

import logging
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Let the body seed and draw global random numbers, and leave those of the caller as if it had not.

    The body must not read what the caller yields, for a caller may draw random numbers on the way. NumPy and PyTorch
    are not imported for this.
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
    """Log only what is critical of these libraries, whose complaints their exceptions repeat."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
