"""Files of a model folder, and other output files. We check them before reading, and always replace whole files."""

import fcntl
import math
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import msgspec
from safetensors import SafetensorError

from synmt.streams import BadInput, Message
from synmt.streams.decoding import decoded, encoded
from synmt.streams.inputs import packed

if TYPE_CHECKING:
    from torch import Tensor

CONFIG_FILE, PARAMETERS_FILE = "config.json", "model.safetensors"
EXPORTED_FOLDER = "ctranslate2"  # of an exported model, instead of the parameters
FORMAT = 2
ASIDE = ".synmt-"  # start of the names of files that are not yet complete
LARGEST_CONFIG, LARGEST_TEXT = 2**20, 2**26  # bytes; more than any training run writes


def write_config(folder: Path, fields: dict[str, Any]) -> None:
    """Write the config of a folder of any kind, after all other files. Raises BadInput."""
    data = msgspec.json.format(encoded({"format": FORMAT, **fields}))
    write_aside(folder / CONFIG_FILE, data + b"\n")


def read_config(folder: Path) -> dict[str, Any]:
    """Return the fields of the config of a folder of any kind. Raises BadInput."""
    if folder.is_file():
        raise BadInput("expected the folder of a model, found a file", str(folder))
    path = folder / CONFIG_FILE
    check_inside(folder, path, LARGEST_CONFIG)
    with naming(path):
        fields: dict[str, Any] = decoded(path.read_bytes())
        if fields["format"] != FORMAT:
            raise ValueError(
                f"written in format {fields['format']!r:.40}, but this version of synmt reads format {FORMAT}"
            )
        return fields


def check_new(folder: Path, resume: bool | None = None, begun: bool | None = None) -> None:
    """Make a writable folder. Arguments and errors as for `check_free`."""
    check_free(folder, resume, begun)
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


def check_free(folder: Path, resume: bool | None = None, begun: bool | None = None) -> None:
    """Raise BadInput if a folder is not empty or, with `resume`, has no model, or if it cannot be made and written to.
    This makes nothing, so that input that is refused later leaves nothing behind.

    resume: whether to continue the folder's training run, None if that is impossible; begun: whether it has a model, if
    a config alone does not show it.
    """
    if bool(resume) != ((folder / CONFIG_FILE).exists() if begun is None else begun):
        if resume:
            raise BadInput("has no run to resume", str(folder))
        advice = "name a new folder" + (", or add --resume to continue its training run" if resume is False else "")
        raise BadInput(Message(f"already has a model; {advice}"), str(folder))
    if not resume:
        check_empty(folder)
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise BadInput("the name of a model folder must be UTF-8", str(folder)) from None
    with naming(folder):
        place = _existing(folder)
        try:
            TemporaryFile(dir=place).close()
        except OSError as error:  # which names the temporary file
            raise BadInput(error.strerror or str(error), str(folder)) from None


def check_empty(folder: Path, advice: str = "name a new folder") -> None:
    """Raise BadInput if a folder exists and is not empty: its files could be the user's, under the names of ours."""
    with naming(folder):
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"is not empty; {advice}")


def _existing(folder: Path) -> Path:
    """Return a folder, or the one that it will be made in. Raises OSError and ValueError."""
    try:
        folder.lstat()
    except FileNotFoundError:
        return _existing(folder.parent)
    return folder


@contextmanager
def locked(folder: Path, wait: bool = False, shared: bool = False) -> Iterator[None]:
    """Lock a folder for one process, or for all processes that share it. If another process has locked it, raise
    BadInput, or with `wait`, wait for it."""
    with naming(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BadInput("another process is writing to this folder", str(folder)) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def check_inside(folder: Path, path: Path, largest: float = math.inf) -> None:
    """Raise BadInput for a path that is missing, not a file, larger than `largest` bytes, or a link out of the folder.

    A folder from a stranger must not reach other files.
    """
    with naming(path):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise ValueError("leads out of the folder")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a file")
        if status.st_size > largest:
            raise ValueError(f"has {status.st_size} bytes, more than the limit of {largest}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn any error with a file of the folder into a BadInput that names the file."""
    try:
        yield
    except KeyError as error:
        raise BadInput(f"the field {error} is missing", str(path)) from None
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(error.filename or path)) from None
    except (ValueError, TypeError, EOFError, SafetensorError) as error:
        raise BadInput(str(error), str(path)) from None


def save_tensors(path: Path, tensors: "dict[str, Tensor]", metadata: dict[str, str] | None = None) -> None:
    """Write a file aside. Raises BadInput, as `_written_aside` does."""
    from safetensors.torch import save_file

    with _written_aside(path) as aside:
        save_file({name: t.detach().cpu().contiguous() for name, t in tensors.items()}, aside, metadata=metadata)


def write_aside(path: Path, data: bytes) -> None:
    """Write a file aside. Raises BadInput, as `_written_aside` does."""
    with _written_aside(path) as aside:
        aside.write_bytes(data)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that a user has named, compressed if its suffix says so. Raises BadInput.

    Links, FIFOs and devices remain, and are written through; a file is replaced, and keeps its mode and owner.
    """
    with naming(path):
        data = packed(str(path), data)
        place = Path(os.path.realpath(path))
        if not path.exists() or place.is_file():
            with _written_aside(place) as aside:
                aside.write_bytes(data)
        else:
            with os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:
                stream.write(data)


@contextmanager
def _written_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` once it is written and synced.

    Raises BadInput, naming `path`, if it cannot be written; the old file then remains.
    """
    aside = path.with_name(f"{ASIDE}{secrets.token_hex(8)}")
    try:
        with naming(path):
            try:
                aside.touch(exist_ok=False)
                status = path.stat() if path.is_file() else aside.stat()
                yield aside
                with suppress(PermissionError):
                    os.chown(aside, status.st_uid, status.st_gid)
                aside.chmod(stat.S_IMODE(status.st_mode))  # safetensors makes files for the owner only
                _sync(aside)
                aside.replace(path)
                _sync(path.parent)
            except OSError as error:
                error.filename = None  # the temporary path, which a user does not know
                raise
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove files that a killed process left half written; those of safetensors are named `.tmp` and six characters.

    Others of the user stay.
    """
    for pattern in (f"{ASIDE}{'[0-9a-f]' * 16}", ".tmp??????"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
