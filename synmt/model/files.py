"""Files of a model folder: checked before they are read, and written aside, so that each is the old or the new."""

import fcntl
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import orjson
from safetensors import SafetensorError

from synmt.streams import BadInput

if TYPE_CHECKING:
    from torch import Tensor

CONFIG_FILE, PARAMETERS_FILE = "config.json", "model.safetensors"
FORMAT = 2
LARGEST_CONFIG, LARGEST_TEXT = 2**20, 2**26  # bytes; more than any training makes of a config, of a vocabulary or codes


def write_config(folder: Path, fields: dict[str, Any]) -> None:
    """Write the config of a folder of any kind; where it is, all else is. Raises BadInput."""
    data = orjson.dumps({"format": FORMAT, **fields}, option=orjson.OPT_INDENT_2)
    write_aside(folder / CONFIG_FILE, data + b"\n")


def read_config(folder: Path) -> dict[str, Any]:
    """Return the fields of the config of a folder of any kind. Raises BadInput."""
    path = folder / CONFIG_FILE
    check_inside(folder, path, LARGEST_CONFIG)
    with naming(path):
        fields: dict[str, Any] = orjson.loads(path.read_bytes())
        if fields["format"] != FORMAT:
            raise ValueError(f"format {fields['format']} is not known, only {FORMAT}")
        return fields


def check_new(folder: Path, resume: bool, begun: bool | None = None) -> None:
    """Make a folder that can be written to. Raises BadInput for one that holds a model, or, with `resume`, none.

    begun: whether it holds one, where more than a config tells.
    """
    if resume != ((folder / CONFIG_FILE).exists() if begun is None else begun):
        raise BadInput("holds no run to resume" if resume else "holds a model; --resume goes on with it", str(folder))
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise BadInput("the name of a model folder is UTF-8", str(folder)) from None
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


@contextmanager
def locked(folder: Path, wait: bool = False, shared: bool = False) -> Iterator[None]:
    """Keep a folder to one process, until that ends, or to those that share it. Raises BadInput where another one has
    it, unless it is to wait."""
    with naming(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BadInput("another process writes into this folder", str(folder)) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def check_inside(folder: Path, path: Path, largest: float = math.inf) -> None:
    """Raise BadInput for a file of the folder that is missing, no file, of more than `largest` bytes, or a link that
    leads out of the folder: a folder from a stranger is to reach nothing else."""
    with naming(path):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise ValueError("leads out of the folder")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a file")
        if status.st_size > largest:
            raise ValueError(f"{status.st_size} bytes, where at most {largest} are expected")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a file of the folder into one BadInput that names it."""
    try:
        yield
    except KeyError as error:
        raise BadInput(f"no field {error}", str(path)) from None
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(error.filename or path)) from None
    except (ValueError, TypeError, SafetensorError) as error:
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


@contextmanager
def _written_aside(path: Path) -> Iterator[Path]:
    """Give the place to write what then takes that of `path`, synced and renamed.

    Raises BadInput, naming `path`, where that cannot be written; the old file then stays, and the new one goes.
    """
    aside = path.with_name(path.name + ".new")
    try:
        with naming(path):
            aside.unlink(missing_ok=True)  # a link would be followed
            aside.touch()
            mode = stat.S_IMODE(aside.stat().st_mode)
            yield aside
            aside.chmod(mode)  # that of any new file; safetensors writes for the owner alone
            _sync(aside)
            aside.replace(path)
            _sync(path.parent)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def remove_unfinished(folder: Path) -> None:
    """Take out what a process that was killed has left half written; `.tmp` is how safetensors begins."""
    for pattern in ("*.new", ".tmp*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
