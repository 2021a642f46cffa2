"""Numbers in text: ASCII digits in decimal notation, and nothing else that Python's int and float accept."""

import math
import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole_number(text: str) -> int:
    """Return a whole number. Raises ValueError, for example for `1_000`, `1.0` and `１２`."""
    if not _WHOLE.fullmatch(text.strip(" ")):
        raise ValueError(f"{text!r:.40} is not a whole number in decimal digits")
    return int(text)


def number(text: str) -> float:
    """Return a number. Raises ValueError, for example for `1_000`, `nan`, `1e999`, `0x1` and `１２`."""
    if not _DECIMAL.fullmatch(text.strip(" ")) or not math.isfinite(value := float(text)):
        raise ValueError(f"{text!r:.40} is not a finite number in decimal digits")
    return value
