"""Notes of what files and folders of a run were made of: written before work on them begins, compared at every start.

So nothing that was made of one thing, or begun with it, is finished with or taken for another.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from synmt.model.files import differing, naming, write_aside
from synmt.streams import BadInput

Of = Mapping[str, str]  # by name, what something is made of: options, and files as `identity` gives them
DIGITS = 16  # of a checksum, 64 bits


@dataclass(frozen=True)
class Made:
    """of: what it was made of; cpu_seconds: what its last start took, None while it is unfinished."""

    of: dict[str, str]
    cpu_seconds: float | None = None


def identity(path: Path) -> str:
    """Return the name of a file or folder with a checksum of its content. Raises BadInput."""
    with naming(path):
        if not path.is_dir():
            with path.open("rb") as stream:
                return f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()[:DIGITS]}"
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return f"{path.name} {digest({str(each.relative_to(path)): identity(each) for each in files})}"


def digest(of: Of) -> str:
    """Return a checksum of what something is made of."""
    return hashlib.sha256(orjson.dumps(of, option=orjson.OPT_SORT_KEYS)).hexdigest()[:DIGITS]


def noted(path: Path, note: Path) -> Made | None:
    """Return what is noted of a path, None where it is not there. Raises BadInput for one without a readable note."""
    if not path.exists():
        return None
    if not note.exists():
        raise BadInput(f"is not part of this run: there is no {note}; name another --out, or remove it", str(path))
    with naming(note):
        made = Made(**orjson.loads(note.read_bytes()))
        if not isinstance(made.of, dict) or not isinstance(made.cpu_seconds, float | None):
            raise ValueError("no note of what was made")
    return made


def check(path: Path, note: Path, of: Of) -> Made | None:
    """Return what is noted of a path, as `noted`. Raises BadInput where it was made of, or begun with, other things."""
    made = noted(path, note)
    if made and (others := differing(made.of, of)):
        before, now = (each.get(others[0], "none") for each in (made.of, of))
        was = "begun" if made.cpu_seconds is None else "made"
        cause = f"was {was} with {others[0]} {before}, not {now}; name another --out, or remove it"
        raise BadInput(cause, str(path))
    return made


def make(path: Path, note: Path, of: Of, work: Callable[[], float], anew: bool = False) -> Made:
    """Return what is noted of a path; do the work that makes it, in so many CPU seconds, unless that is done.

    Raises BadInput as `check`; but with `anew`, what was made of other things is replaced.
    """
    made = noted(path, note) if anew else check(path, note, of)
    if made and made.cpu_seconds is not None and made.of == of:
        return made
    with naming(note):
        note.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
    write_aside(note, orjson.dumps(asdict(Made(dict(of)))))
    made = Made(dict(of), work())
    write_aside(note, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2))
    return made
