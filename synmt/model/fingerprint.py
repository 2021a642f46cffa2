"""Checksums of the inputs that a file or folder was made from, to tell whether they have changed."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from synmt.model.files import naming
from synmt.streams import BadInput, Message
from synmt.streams.decoding import encoded

DIGITS = 16  # of a checksum: 64 bits
LONGEST = 60  # characters of a value in a message, fewer than the 64 of a whole checksum


def checksum(path: Path) -> str:
    """Return a checksum of a file's content. Raises BadInput."""
    with naming(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fingerprint_of(path: Path) -> str:
    """Return the name of a file or folder with a checksum of its content. Raises BadInput."""
    with naming(path):
        if not path.is_dir():
            return f"{path.name} {checksum(path)[:DIGITS]}"
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return f"{path.name} {digest({str(each.relative_to(path)): fingerprint_of(each) for each in files})}"


def quick_fingerprint(path: Path) -> list[tuple[str, int, int, int]]:
    """Return facts about a file, or all files of a folder, that change when one is written again. Raises BadInput."""
    with naming(path):
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found = ((each, each.stat()) for each in files)
        return [(str(each), status.st_ino, status.st_size, status.st_mtime_ns) for each, status in found]


def digest(of: Mapping[str, object]) -> str:
    """Return a checksum of named inputs, which does not depend on their order."""
    return hashlib.sha256(encoded(of, order="sorted")).hexdigest()[:DIGITS]


def differing(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Return the names of the inputs that differ or exist only on one side."""
    return [name for name in {**now, **before} if now.get(name) != before.get(name)]


def flat(fields: Mapping[str, object], outer: str = "") -> dict[str, object]:
    """Return nested fields under names such as `network width`. The value of a mapping is the names of its fields."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        full = f"{outer}{name}".replace("_", "-")
        found[full] = "+".join(value) if isinstance(value, Mapping) else value
        found |= flat(value, f"{full} ") if isinstance(value, Mapping) else {}
    return found


def check_same(
    path: Path, before: Mapping[str, object], now: Mapping[str, object], was: str = "was made", advice: str = ""
) -> None:
    """Raise BadInput if the file or folder at `path` was made from other inputs.

    The message names the first difference, with both values if they are short.
    """
    for name in differing(before, now):
        values = [before.get(name), now.get(name)]
        if all(map(_is_short, values)):
            cause = Message("{} with {} {}, not {}", was, Message(name), *values)
        else:
            cause = Message("{} with different {} than this command", was, Message(name))
        raise BadInput(Message("{}{}", cause, Message(advice)), str(path))


def _is_short(value: object) -> bool:
    text = str(value)
    return isinstance(value, str | int | float) and 0 < len(text) <= LONGEST and text.isprintable()
