"""The one way to read JSON that a stranger may have written, and to write JSON that may contain messages."""

import re
from typing import Any, Literal

import msgspec

_OBJECT = re.compile(r'\{\s*["}]')


def decoded(text: str | bytes) -> Any:
    """Return what JSON says.

    Of two values for one key, the last one counts. A whole number is exact, and has at most 4300 digits.
    Raises ValueError ("not JSON: …") for anything else, such as NaN, Infinity, 1e999, which no float holds, half a
    surrogate pair, and thousands of brackets inside each other.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    except UnicodeError:
        raise ValueError("not JSON: not UTF-8") from None
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def encoded(value: Any, order: Literal["sorted"] | None = None) -> bytes:
    """Return a value as JSON. Messages and other kinds of strings are strings. order: of the fields of objects."""
    return msgspec.json.encode(value, enc_hook=_plain, order=order)


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"cannot be JSON: {type(value).__name__}")
    return value[:]  # of the type str, unlike str(value)


def begins_object(line: str) -> bool:
    """Return whether a line begins like a JSON object, valid or not."""
    return bool(_OBJECT.match(line))
