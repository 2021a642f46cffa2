"""Paths of inputs and outputs, where no output is written over an input, and of the user's cache.

An output is written through links, and into FIFOs and devices. What cannot be written, or would destroy something else,
is refused before any work.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from synmt.streams import IS_FOLDER, Message, WrongUsage, shown
from synmt.streams.inputs import compression_of, import_compression

STDIN = "/dev/stdin"
STREAMS = {1: "standard output", 2: "standard error"}
MOST_FILES = 10_000  # to check per folder


def check_apart(outputs: Iterable[tuple[str, str]], inputs: Iterable[str]) -> None:
    """Raise WrongUsage for an output that is, contains or is inside an input or standard input.

    outputs: pairs of an option's name and its path. Follows links, including those from files of an output folder to an
    input. Ignores devices, which are never overwritten.
    """
    sources = {path: set(files_at(Path(path))) for path in (*inputs, STDIN)}
    for name, path in outputs:
        written = set(files_at(Path(path)))
        for source, files in sources.items():
            if (files and are_nested(path, source)) or written & files:
                place = "standard input" if source == STDIN else source
                raise WrongUsage(Message("{} {} would write over the input {}", Message(name), path, place))


def are_nested(path: str, other: str) -> bool:
    """Return whether two paths are the same after following links, or one contains the other."""
    one, two = (Path(os.path.realpath(each)) for each in (path, other))
    return one.is_relative_to(two) or two.is_relative_to(one)


def files_at(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the device and inode of a file or pipe, or of the files in a folder; nothing for devices."""
    with suppress(OSError, ValueError):  # a path that cannot be opened
        status = path.stat()
        if stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            yield status.st_dev, status.st_ino
        elif stat.S_ISDIR(status.st_mode):
            for each in islice(path.rglob("*"), MOST_FILES):
                if each.is_file():
                    yield each.stat().st_dev, each.stat().st_ino


def check_writable(name: str, path: str, folder: bool) -> None:
    """Raise WrongUsage for a path at which no file, or no folder, can be written, or where that would destroy a stream
    of this process. name: of the option, for messages."""
    try:
        (_check_folder if folder else _check_file)(path)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise WrongUsage(Message("{} {}: {}", Message(name), shown(path, 200), cause)) from None


def _check_file(path: str) -> None:
    """Raise OSError or ValueError unless `model.files.write_output` can write to this path."""
    if path in ("", "-"):
        raise ValueError("name a file")
    if compression := compression_of(path):
        import_compression(compression)
    status = _status(path)
    if path.endswith("/") or (status and stat.S_ISDIR(status.st_mode)):
        raise ValueError(IS_FOLDER)
    if status and not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        raise ValueError("expected a file, found a block device or a socket")
    if status and stat.S_ISREG(status.st_mode):
        Path(path).open("r+b").close()
        for number, stream in STREAMS.items():
            with suppress(OSError):  # a closed one
                if os.path.samestat(os.fstat(number), status):
                    raise ValueError(f"would be written over {stream}")
    elif status and not os.access(path, os.W_OK):  # to open a FIFO would wait for its reader
        raise ValueError("is read-only")
    if not status or stat.S_ISREG(status.st_mode):  # which is replaced
        _check_room(Path(os.path.realpath(path)).parent)


def _check_folder(path: str) -> None:
    """Raise OSError or ValueError unless this is a writable folder, or one can be made."""
    if path in ("", "-"):
        raise ValueError("name a folder")
    if compression := compression_of(path):
        raise ValueError(f"a folder cannot be compressed: leave out {compression}")
    place = Path(path)
    while not _status(str(place)):
        if os.path.lexists(place):
            raise ValueError(f"{place} is a link to nothing")
        place = place.parent
    _check_room(place)


def _check_room(folder: Path) -> None:
    """Raise ValueError unless files can be made in a folder."""
    from tempfile import TemporaryFile  # slow to load

    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder" if folder.exists() else f"the folder {folder} is missing")
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(f"cannot write to the folder {folder}: {error.strerror}") from None


def _status(path: str) -> os.stat_result | None:
    """Return the status of a path after following links, None if nothing is there. Raises OSError and ValueError."""
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def cache_folder(*names: str) -> Path:
    """Return a folder for what synmt keeps for this user, made if it is missing; names: of subfolders.

    A relative XDG_CACHE_HOME is ignored, as its specification asks. Raises OSError for a folder that others can write
    to, that is not this user's, or that cannot be made.
    """
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        root = asked if asked.is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise OSError(str(error)) from None
    if not root.is_absolute():
        raise OSError(f"the home folder {root.parent} is a relative path")
    folder = root.joinpath("synmt", *names)
    for each in (*reversed(folder.parents), folder):
        try:
            each.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            raise OSError(f"{each} is not a folder") from None
        if each.is_relative_to(root) and each != root:
            _check_private(each)
    return folder


def _check_private(folder: Path) -> None:
    """Raise OSError unless only this user can write to a folder."""
    status = folder.stat()
    if {status.st_uid, folder.lstat().st_uid} != {os.geteuid()}:
        raise OSError(f"{folder} belongs to another user")
    if status.st_mode & 0o022:
        raise OSError(f"others can write to {folder}")
