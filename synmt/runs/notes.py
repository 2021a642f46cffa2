"""What made a file or folder of a run: a note beside it, by which it is not made again, nor taken for another one."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from synmt.model.files import naming, write_aside


@dataclass(frozen=True)
class Made:
    """words: what it depends on, as on a command line; cpu_seconds: what it took, of its last start alone."""

    words: list[str]
    cpu_seconds: float


def noted(path: Path) -> Made | None:
    """Return what made a path, None where it is not there, or not whole. Raises BadInput for a note that is none."""
    note = _note(path)
    if not (path.exists() and note.exists()):
        return None
    with naming(note):
        made = Made(**orjson.loads(note.read_bytes()))
        if not isinstance(made.words, list) or not isinstance(made.cpu_seconds, float):
            raise ValueError("no note of what was made")
    return made


def make(path: Path, words: Sequence[str], work: Callable[[], float]) -> Made:
    """Do the work that makes a path, in so many CPU seconds, and note it once that is done. Raises BadInput."""
    note = _note(path)
    note.unlink(missing_ok=True)
    made = Made(list(words), work())
    write_aside(note, orjson.dumps(asdict(made)))
    return made


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.made.json")
