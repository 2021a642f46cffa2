"""Laws of every option that names an output: it is written through links, into FIFOs and devices, or refused before any
work; nothing else is destroyed.

Enumerated from the commands. No test names a device of the system: as root, a fault would replace it.
"""

import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from synmt.cli.paths import Writes
from synmt.cli.program import run
from synmt.model.files import ASIDE, remove_unfinished, write_output
from synmt.streams import BadInput, WrongUsage, read_lines
from synmt.streams.inputs import COMPRESSIONS
from synmt.streams.paths import check_writable
from tests.cli.commands import is_wrong_usage, shell, synmt
from tests.cli.test_parameters import COMMANDS, arguments, parameters
from tests.inspection.models import write_model

OUTPUTS = dict(parameters(Writes))
FILES = [name for name, each in OUTPUTS.items() if not each.type.folder]  # type: ignore[attr-defined]
FOLDERS = [name for name in OUTPUTS if name not in FILES]
OF_BOTH = {
    "": "name a f",
    "-": "name a f",
    "loop": "Too many levels of symbolic links",
    "file/new": "Not a directory",
    "x" * 300: "File name too long",
    "fd/99": "cannot write to the folder",  # of a descriptor that is not open
}
OF_FILES = OF_BOTH | {
    "folder": "expected a file, found a folder",
    "to-folder": "expected a file, found a folder",
    "new/": "expected a file, found a folder",
    "missing/new": "/missing is missing",
    "to-missing": "/missing is missing",
    "to-nothing/new": "/new is missing",
    "folder/to-socket": "found a block device or a socket",
    "stdout": "would be written over standard output",
}
OF_FOLDERS = OF_BOTH | {
    "file": "file is not a folder",
    "to-file": "to-file is not a folder",
    "fifo": "fifo is not a folder",
    "to-nothing": "to-nothing is a link to nothing",
    "to-nothing/new": "to-nothing is a link to nothing",
    **{f"new{suffix}": "a folder cannot be compressed" for suffix in COMPRESSIONS},
}
BAD = [(name, path) for name in FILES for path in OF_FILES] + [(name, path) for name in FOLDERS for path in OF_FOLDERS]


@pytest.fixture(scope="module")
def places() -> Iterator[Path]:
    """Return a folder with something of each kind. Its name is short, as the path of a socket must be."""
    import socket

    with TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as listener:
        place = Path(name)
        (place / "folder").mkdir()
        (place / "file").write_text("of the user")
        links = {
            "to-file": "file",
            "to-folder": "folder",
            "to-nothing": "new",
            "to-missing": "missing/new",
            "loop": "loop",
        }
        for link, target in {**links, "fd": "/dev/fd", "folder/to-socket": "../socket"}.items():
            (place / link).symlink_to(target)
        os.mkfifo(place / "fifo")
        listener.bind(str(place / "socket"))
        yield place


def state(folder: Path) -> dict[str, object]:
    """Return what is in a folder: the content of files, and where links lead."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the callbacks of all options, some of which open files that these tests do not need."""
    for command in COMMANDS.values():
        for each in command.params:
            monkeypatch.setattr(each, "callback", None)


def line(name: str, path: str) -> list[str]:
    """Return a command line with this output, where all that is required has some name."""
    command, output = name.split(" --")[0], OUTPUTS[name]
    required = [each for each in COMMANDS[command].params if each.required and each is not output]
    others = [word for each in required for word in arguments(each, "elsewhere")]
    return [*command.split(), *arguments(output, path), *others]


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(("name", "path"), BAD)
def test_bad_outputs_are_refused_before_any_work(
    name: str, path: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places)
    before = state(places)
    cause = (OF_FILES if name in FILES else OF_FOLDERS)[path]
    if path == "stdout":
        streams = os.dup(1), os.open("file", os.O_WRONLY)
        os.dup2(streams[1], 1)
        path = "to-file"
    try:
        with pytest.raises(WrongUsage) as error:
            run(line(name, path))
    finally:
        if cause.endswith("standard output"):
            os.dup2(streams[0], 1)
            for each in streams:
                os.close(each)
    assert str(error.value).startswith(OUTPUTS[name].opts[-1]) and cause in str(error.value)
    assert state(places) == before


@pytest.mark.parametrize(
    "own", ["notes.txt", "config.json", "model.safetensors", "log.tsv", "data/train.en", ".hidden"]
)
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_the_user_stay_as_they_are(name: str, own: str, tmp_path: Path) -> None:
    """No command writes into a folder with files that it did not make, except columns, each into a folder of its own
    with a checksum as its name."""
    (tmp_path / "pairs.tsv").write_text("a b\tA B\n" * 3)
    for file, text in {"t.en": "a b\n", "t.de": "A B\n", "gold": "0-0\n"}.items():
        (tmp_path / file).write_text(text)
    (tmp_path / "run.toml").write_text(
        'data.train = ["t.en", "t.de"]\ntests.t = ["t.en", "t.de", "gold"]\naligners.hmm = {}\n'
    )
    write_model(tmp_path / "model", "sequence")
    command = {
        "align --out": "align --method hmm pairs.tsv --out folder",
        "average --out": "average model model --out folder",
        "export --out": "export model --out folder",
        "run --out": "run run.toml --out folder",
        "train --out": "train --tsv pairs.tsv --epochs 1 --out folder",
        "train --prepared": "train --tsv pairs.tsv --epochs 1 --out new --prepared folder",
    }[name]
    place = tmp_path / "folder" / own
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("of the user")
    before = state(tmp_path / "folder")
    done = shell(f"synmt {command}", tmp_path)
    assert state(tmp_path / "folder").items() >= before.items()
    if name == "train --prepared":
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, state(tmp_path / "folder")) == (1, before)
        *_, last = done.stderr.splitlines()
        assert last.startswith(f"synmt {command.split()[0]}: folder") and "new folder" in last


@pytest.mark.parametrize("name", OUTPUTS)
def test_good_outputs_are_not_refused(name: str, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    before = state(places)
    good = (
        ["file", "to-file", "to-nothing", "fifo", "new.gz"] if name in FILES else ["folder", "to-folder", "a/b", "new/"]
    )
    for path in [*good, "new", "./-", str(places / "new")]:
        check_writable("--out", path, folder=name not in FILES)
    assert state(places) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
def test_read_only_outputs_are_refused() -> None:
    with TemporaryDirectory() as name:
        place = Path(name)
        for each in ("file", "fifo", "folder"):
            {"file": Path.touch, "fifo": os.mkfifo, "folder": Path.mkdir}[each](place / each)  # type: ignore[operator]
            (place / each).chmod(0o555)
        place.chmod(0o555)
        os.seteuid(65534)
        try:
            for path, folder in (
                ("file", False),
                ("new", False),
                ("folder", True),
                ("folder/new", True),
                ("new", True),
            ):
                with pytest.raises(WrongUsage, match=r"--out .*(Permission denied|cannot write to)"):
                    check_writable("--out", str(place / path), folder)
        finally:
            os.seteuid(0)


def linked(place: Path) -> Path:
    (place / "there").mkdir()
    (place / "there" / "words").write_text("old")
    (place / "to-words").symlink_to("there/words")
    return place / "to-words"


def linked_twice(place: Path) -> Path:
    (place / "again").symlink_to(linked(place))
    return place / "again"


def dangling(place: Path) -> Path:
    (place / "to-new").symlink_to("new")
    return place / "to-new"


def existing(place: Path) -> Path:
    (place / "words").write_text("old")
    (place / "words").chmod(0o640)
    (place / "hard").hardlink_to(place / "words")
    return place / "words"


KINDS: list[Callable[[Path], Path]] = [linked, linked_twice, dangling, existing, lambda place: place / "new"]


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
@pytest.mark.parametrize("make", KINDS)
def test_outputs_are_written_through_links(make: Callable[[Path], Path], suffix: str, tmp_path: Path) -> None:
    """Suffixes compress, by the name that is given; other files stay as they are."""
    path = make(tmp_path)
    path = path.rename(f"{path}{suffix}") if os.path.lexists(path) else Path(f"{path}{suffix}")
    for name in (f"{path.name}.new", ".tmp", ".synmt-mine"):
        (tmp_path / name).write_text("of the user")
    before = state(tmp_path)
    write_output(path, "ä\n".encode() * 1000)
    assert [each.text for each in read_lines([str(path)])] == ["ä"] * 1000
    assert (path.stat().st_size < 500) == bool(suffix)
    after = state(tmp_path)
    written = str(Path(os.path.realpath(path)).relative_to(os.path.realpath(tmp_path)))
    assert {name for name in after if after[name] != before.get(name)} == {written} and before.keys() <= after.keys()
    if make is existing:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_output(path, b"once more")
    remove_unfinished(tmp_path)
    assert state(tmp_path).keys() == after.keys()


def test_an_output_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = existing(tmp_path)
    before = state(tmp_path)
    monkeypatch.setattr("synmt.model.files._sync", lambda path: os.fsync(10**6))
    with pytest.raises(BadInput, match=r"words: Bad file descriptor"):
        write_output(path, b"new")
    assert state(tmp_path) == before
    (tmp_path / f"{ASIDE}{'0' * 16}").touch()  # as a killed process leaves it
    remove_unfinished(tmp_path)
    assert state(tmp_path) == before


WRITE = "python -c 'import sys, pathlib, synmt.model.files as f; f.write_output(pathlib.Path(sys.argv[1]), b\"new\")'"


def test_fifos_are_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for line in (f"cat fifo > got & {WRITE} fifo; wait", f"{WRITE} >(cat > got); sleep 0.5"):
        done = shell(line, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (tmp_path / "got").read_text() == "new"
    assert (tmp_path / "fifo").is_fifo()
    assert shell(f"{WRITE} /dev/stdout | cat", tmp_path).stdout == "new"


def device(path: Path, minor: int) -> Path:
    """Make a copy of a device of the system, which a fault may replace without harm."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    return path


def test_devices_are_written_into(tmp_path: Path) -> None:
    null, full = device(tmp_path / "null", 3), device(tmp_path / "full", 7)
    (tmp_path / "to-null").symlink_to("null")
    for name in ("null", "to-null"):
        write_output(tmp_path / name, b"new")
    with pytest.raises(BadInput, match="full: No space left on device"):
        write_output(full, b"new")
    assert null.is_char_device() and full.is_char_device() and (tmp_path / "to-null").is_symlink()
    with ThreadPoolExecutor(1) as pool:  # nobody reads the rest
        os.mkfifo(tmp_path / "fifo")
        closed = pool.submit(lambda: (tmp_path / "fifo").open("rb").close())
        with pytest.raises(BadInput, match="fifo: Broken pipe"):
            write_output(tmp_path / "fifo", bytes(10**7))
        closed.result()


@pytest.mark.parametrize("words", ["--report out > out", "--report out 2> out", "--report /dev/stdout > out"])
def test_no_output_replaces_a_stream_of_the_command(words: str, tmp_path: Path) -> None:
    (tmp_path / "file.toml").touch()
    done = shell(f"synmt run file.toml {words}", tmp_path)
    assert done.returncode == 2 and sorted(path.name for path in tmp_path.iterdir()) == ["file.toml", "out"]
    assert "would be written over standard" in done.stderr + (tmp_path / "out").read_text()


def test_an_input_pipe_is_no_output(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert is_wrong_usage(shell("synmt run fifo --report fifo", tmp_path), "over the input fifo")
    done = shell("echo | synmt run - --report /dev/stdin", tmp_path)
    assert is_wrong_usage(done, "over the input standard input")


def test_two_outputs_are_not_written_inside_each_other(tmp_path: Path) -> None:
    given = ["train", "--tsv", "-", "--out", tmp_path / "m", "--prepared"]
    assert is_wrong_usage(synmt(*given, tmp_path / "m" / "columns"), "--out and --prepared would both write")
