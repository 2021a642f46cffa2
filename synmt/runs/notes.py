"""Notes on what the files and folders of a run were made from: written before work on them starts, compared at every
start. So no file that was made from one thing, or begun with it, is completed with another or mistaken for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from synmt.model.files import naming, write_aside
from synmt.model.made import check_same
from synmt.streams import BadInput

Of = Mapping[str, str]  # by name, what something is made from: options, and files as `made.identity` gives them


@dataclass(frozen=True)
class Made:
    """of: what it was made from; cpu_seconds: the CPU time of its last start, None while it is unfinished."""

    of: dict[str, str]
    cpu_seconds: float | None = None


def noted(path: Path, note: Path) -> Made | None:
    """Return the note on a path, None if the path does not exist. Raises BadInput if it has no readable note."""
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
    """Return the note on a path, as `noted`. Raises BadInput if it was made from, or begun with, other things."""
    made = noted(path, note)
    if made:
        was = "was begun" if made.cpu_seconds is None else "was made"
        names = {**of, **made.of}
        before, now = ({name: each.get(name, "none") for name in names} for each in (made.of, of))
        check_same(path, before, now, was, "; name another --out, or remove it")
    return made


def make(path: Path, note: Path, of: Of, work: Callable[[], float], anew: bool = False) -> Made:
    """Return the note on a path after doing the work that makes it, unless that is done. work: returns its CPU seconds.

    Raises BadInput as `check` does; with `anew`, a path that was made from other things is replaced instead.
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
