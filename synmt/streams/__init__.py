"""Reads and writes lines by the rules of all stream commands.

Text is UTF-8 with one record per line, line n of the output belongs to line n of the input, memory is constant, and
errors name file, line and cause. Only a line feed ends a line: U+2028 and the like do not.
"""

import errno
import os
import re
import string
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from synmt.streams.inputs import CHUNK, COMPRESSIONS, EXCHANGE, Pipe, open_input, unpacker

OnError = Literal["fail", "blank"]
STDOUT, STDERR = 1, 2  # file descriptors
LONGEST_NAME, LONGEST_CAUSE = 200, 500  # characters; they may come from strangers
XML = re.compile(rb"(\xef\xbb\xbf)?<(\?xml\s|tmx\s|xliff\s)|(\xff\xfe)?<\0\?\0x\0|(\xfe\xff)?\0<\0\?\0x")
LONGEST_LINE = 2**28  # bytes; a few kB of a .gz file may unpack to a line of gigabytes
OPTION = re.compile(r"(synmt [a-z-]+ )?--([a-z][a-z0-9-]*)")  # after a command, it stays an option in Python
T = TypeVar("T")


def readable(name: str) -> str:
    """Return a file name as printable text, with \\xff for a byte that is not UTF-8."""
    return "".join(f"\\x{ord(each) - 0xDC00:02x}" if "\udc80" <= each <= "\udcff" else each for each in name)


class Message(str):
    """A message that names options, such as --max-words, as the command line does. A message of any other type names
    none, so the text of a user stays as it is.

    in_python: the message for Python, which names fields instead, such as max_words.
    """

    in_python: str

    def __new__(cls, template: str, *values: object) -> Self:
        """Make a message from a template, which has the options, and the values of its `{}`, which are not changed,
        unless they are messages or errors with one."""
        named = OPTION.sub(lambda found: found[0] if found[1] else found[2].replace("-", "_"), template)
        if not values:
            return cls.of(template, named)
        return cls.of(template.format(*values), named.format(*map(in_python, values)))

    @classmethod
    def of(cls, text: str, in_python: str) -> Self:
        made = super().__new__(cls, text)
        made.in_python = in_python
        return made

    def __str__(self) -> Self:  # so that `str(error)` of another error's message is still one
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self[:], self.in_python)


def in_python(value: object) -> object:
    """Return a message or an error as Python names its options, and any other value unchanged."""
    if isinstance(value, ValueError):
        value = str(value)
    return getattr(value, "in_python", value)


def shown(text: str, longest: int) -> str:
    """Return a text that is fit for a message: on one line, without control characters, truncated if too long."""
    if isinstance(text, Message):
        return Message.of(shown(text[:], longest), shown(text.in_python, longest))
    cut = readable(" ".join(text.split())[: longest + 1])
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)
    return text if len(text) <= longest else text[:longest] + " …"


IS_FOLDER = "expected a file, found a folder"


class BadInput(Exception):
    """Unusable input. The message is one line with the place (file and line, if known) and the cause."""

    def __init__(self, cause: str, source: str = "", number: int = 0) -> None:
        self.cause = shown(cause, LONGEST_CAUSE)
        source = shown(source, LONGEST_NAME)
        self.place = f"{source}:{number}" if source and number else source
        super().__init__(f"{self.place}: {self.cause}" if self.place else self.cause)

    @property
    def in_python(self) -> "BadInput":
        """This error for Python, with the names of fields instead of options."""
        return BadInput(str(in_python(self.cause)), self.place) if isinstance(self.cause, Message) else self


class WrongUsage(ValueError):
    """Arguments that are wrong for any input: out of bounds, or incompatible."""


@dataclass(slots=True, frozen=True)
class Line:
    """One input line without its line end, and its place; `number` counts from 1.

    cause: why the bytes of the line are not text; then `text` is empty. Only with `on_error="blank"`.
    pauses: whether the input pauses after this line, perhaps because someone is waiting for the output.
    """

    text: str
    source: str
    number: int
    cause: str = ""
    pauses: bool = False

    def error(self, cause: object) -> BadInput:
        return BadInput(str(cause), self.source, self.number)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Turn a ValueError in the body into BadInput with the place of this line."""
        try:
            yield
        except ValueError as error:
            raise self.error(error) from None


class BadLines:
    """The policy for unusable lines: raise an error at the first, or with `blank` count them.

    counts: of lines left empty, by kind: "bad line", or for example "line of more than 2000 tokens".
    """

    def __init__(self, on_error: OnError = "fail") -> None:
        self.on_error = on_error
        self.counts: Counter[str] = Counter()

    def add(self, error: BadInput) -> None:
        """Raise the error of a bad line, or count it."""
        if self.on_error == "fail":
            raise error from None
        self.counts["bad line"] += 1

    def leave_empty(self, kind: str) -> None:
        """Count a line that is left empty for another reason, regardless of `on_error`."""
        self.counts[kind] += 1

    def read(self, line: Line, read: Callable[[str], T], blank: T) -> T:
        """Return `read(line.text)`, or `blank` if the line has a cause or `read` raises ValueError."""
        try:
            if line.cause:
                raise ValueError(line.cause)
            return read(line.text)
        except ValueError as error:
            self.add(line.error(error))
            return blank

    def report(self) -> None:
        """Note how many lines of each kind were left empty."""
        for kind, count in self.counts.items():
            lines = kind if count == 1 else re.sub("^(bad line|line|pair)", r"\1s", kind)
            note(f"{count} {lines} left empty")


class Note(UserWarning):
    """A warning about usable but doubtful input. Commands print its `text` on stderr."""

    @property
    def text(self) -> str:
        """The warning, naming options."""
        return str(self.args[0])

    def __str__(self) -> str:
        return str(in_python(self.text))


def note(text: str) -> None:
    """Warn of something that a user should know, at the line of Python that called synmt."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("synmt", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, Note, stacklevel=level)


class Notes:
    """Warnings about usable but doubtful input, which come, each once, when nothing can be refused any more."""

    def __init__(self) -> None:
        self._said: dict[str, bool] = {}

    def add(self, text: str) -> None:
        self._said.setdefault(text, False)

    def __iter__(self) -> Iterator[str]:
        """Yield all notes."""
        return iter(self._said)

    def left_out(self, what: str, lines: Sequence[Line]) -> None:
        """Note how many pairs training leaves out, and the places of the first ones.

        what: what is wrong with them, to follow "pairs".
        """
        if lines:
            places = [f"{line.source}:{line.number}" for line in lines[:3]] + ["…"] * (len(lines) > 3)
            self.add(f"left out {counted(len(lines), 'pair')} {what} ({', '.join(places)})")

    def say(self) -> None:
        """Warn of the notes that have not been said yet."""
        for text, said in self._said.items():
            if not said:
                self._said[text] = True
                note(text)


def sniff(lines: Iterable[Line]) -> tuple[str, Iterator[Line]]:
    """Return the first text that is not empty, or "", to determine the format, and all lines."""
    rest = iter(lines)
    ahead: list[Line] = []
    for line in rest:
        ahead.append(line)
        if line.text.strip():
            break
    return (ahead[-1].text if ahead else ""), chain(ahead, rest)


def read_lines(paths: Iterable[str], on_error: OnError = "fail") -> Iterator[Line]:
    """Yield the lines of several files one after another; `-` is standard input, `.gz` and the like are unpacked.

    Raises BadInput for a file that cannot be read, and for a line with invalid UTF-8 or NUL bytes. With
    `on_error="blank"`, such a line has no text, and `cause` says why.
    """
    for path in paths:
        source = "stdin" if path == "-" else readable(path)
        number = 0
        try:
            with open_input(path, LONGEST_LINE) as stream:
                pauses = stream.pauses if isinstance(stream, Pipe) else never
                for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
                    if len(raw) > LONGEST_LINE:
                        raise BadInput(f"the line is longer than {LONGEST_LINE} bytes", source, number)
                    line = _decode(raw, source, number, pauses())
                    if line.cause and on_error == "fail":
                        raise line.error(line.cause)
                    yield line
        except OSError as error:
            cause = IS_FOLDER if isinstance(error, IsADirectoryError) else error.strerror or str(error)
            raise BadInput(cause, source, number and number + 1) from None


def never() -> bool:
    """Return False: for input that does not pause, or whose output nobody waits for."""
    return False


def nth_line(path: str, number: int) -> Line:
    """Return line `number` of a file, counted from 1. Raises BadInput, also if the file is shorter."""
    count = 0
    for line in read_lines([path]):
        count += 1
        if count == number:
            return line
    raise BadInput(f"has no line {number}, only {counted(count, 'line')}", "stdin" if path == "-" else path)


def _decode(raw: bytes, source: str, number: int, pauses: bool) -> Line:
    text, cause = "", "NUL byte in a text line" if b"\0" in raw else ""
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        cause = cause or f"not UTF-8 (byte {error.start + 1} of the line)"
    if cause and number == 1 and (program := unpacker(raw)):
        cause = f"not text but compressed: unpack it with {program} -dc, or give it the right suffix"
    if number == 1 and XML.match(raw):
        suffix = Path(source).suffix
        cause = (
            f"not lines but XML: name the {suffix} file first, to a command that reads it"
            if source.endswith(EXCHANGE)
            else "not lines but XML: align, link, lexicon, filter, markup and strip-markup read files that end in .tmx,"
            " .xlf or .xliff"
        )
    return Line("" if cause else text.rstrip("\r\n"), source, number, cause, pauses)


@dataclass
class Latest:
    """The last line read, which tells whether the input pauses."""

    line: Line = Line("", "", 0)

    def follow(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines, and remember each."""
        for self.line in lines:
            yield self.line

    def pauses(self) -> bool:
        return self.line.pauses


def read_parallel(paths: Sequence[str], on_error: OnError = "fail") -> Iterator[tuple[Line, ...]]:
    """Yield line n of all files together, as `read_lines`. Raises BadInput, also for files of different lengths."""
    check_stdin_once(paths)
    return side_by_side(paths, [read_lines([path], on_error) for path in paths])


def check_stdin_once(paths: Sequence[str]) -> None:
    """Raise WrongUsage if more than one of the paths is standard input."""
    if paths.count("-") > 1:
        raise WrongUsage("standard input can be read only once")


def side_by_side(names: Sequence[str], streams: Sequence[Iterator[T]], unit: str = "line") -> Iterator[tuple[T, ...]]:
    """Yield item n of all streams together; None is not an item. Raises BadInput with their lengths if these differ.

    A stream may have an attribute `rest`, the item that it has wherever others are longer.
    """
    rests = [getattr(stream, "rest", None) for stream in streams]
    for number, row in enumerate(zip_longest(*streams), 1):
        row = tuple(rest if item is None else item for item, rest in zip(row, rests, strict=True))
        items = [item for item in row if item is not None]
        if len(items) < len(row):
            counts = (
                number - 1 if item is None else number + sum(1 for _ in stream)
                for item, stream in zip(row, streams, strict=True)
            )
            raise BadInput(", ".join(f"{name}: {counted(n, unit)}" for name, n in zip(names, counts, strict=True)))
        yield tuple(items)


def windows(
    items: Iterable[T], size: int, first: int | None = None, pauses: Callable[[], bool] = never
) -> Iterator[list[T]]:
    """Yield consecutive lists of at most `size` items, as bounded look-ahead for stages that sort or batch.

    With `first`, lists start at that size and double, so that first results come early. A list also ends if the input
    `pauses` after its last item. A BadInput of `items` is raised after all items before it, so that none is lost.
    """
    iterator = iter(items)
    failure: BadInput | None = None
    ahead = first or size
    while failure is None:
        window: list[T] = []
        try:
            for item in islice(iterator, ahead):
                window.append(item)
                if pauses():
                    break
            else:
                ahead = min(2 * ahead, size)
        except BadInput as error:
            failure = error
        if not window and failure is None:
            return
        if window:
            yield window
    raise failure


class LineWriter:
    """Writes whole lines to standard output."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "closed")
        # A buffer of our own: sys.stdout has none under PYTHONUNBUFFERED, and lines could break.
        self._stream = open(STDOUT, "wb", closefd=False)  # noqa: SIM115

    def write(self, line: str) -> None:
        self._stream.write(line.encode() + b"\n")

    def write_bytes(self, data: bytes) -> None:
        """Write what does not consist of lines."""
        self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def __enter__(self) -> "LineWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def write_lines(lines: Iterable[str | None], pauses: Callable[[], bool] = never, files: Sequence[str] = ()) -> None:
    """Write lines to standard output, nothing for None, and flush it after a line if the input pauses.

    files: with as many lines as there will be; on a terminal, a progress bar appears if they can be counted.
    """
    if files and os.isatty(STDERR) and (total := count_lines(files)):
        lines = with_progress(lines, "lines", lambda: total)
    with LineWriter() as output:
        for line in lines:
            if line is not None:
                output.write(line)
            if pauses():
                output.flush()


def with_progress(
    items: Iterable[T], unit: str, total: Callable[[], int | None] = lambda: None, doing: str | None = None
) -> Iterable[T]:
    """Return the items, with a progress bar if stderr is a terminal and standard output is not (the two would mix).

    total: returns the number of items, if known; doing: text at the start of the bar.
    """
    if sys.stdout is None or sys.stdout.isatty() or not sys.stderr.isatty():
        return items
    watched: Iterable[T] = bar(unit, items, total=total(), desc=doing)
    return watched


def bar(unit: str, items: Iterable[Any] | None = None, quiet: bool = False, **options: Any) -> Any:
    """Return a progress bar of tqdm with these options, over items if given. It shows nothing if `quiet`, or if stderr
    is neither a terminal nor in a notebook."""
    from tqdm.auto import tqdm

    shown = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    return tqdm(items, unit=f" {unit}", disable=quiet or not shown, **options)


def count_lines(paths: Sequence[str]) -> int | None:
    """Return the number of lines in files, or None unless all are plain files, which can be read twice."""
    if not all(Path(path).is_file() and not path.endswith((*COMPRESSIONS, *EXCHANGE)) for path in paths):
        return None
    count = 0
    for path in paths:
        with Path(path).open("rb") as stream:
            count += sum(chunk.count(b"\n") for chunk in iter(partial(stream.read, CHUNK), b""))
    return count


def convert_files(
    paths: Sequence[str],
    convert: Callable[[str], str],
    bad: BadLines,
    blank: str | None = "",
    group: Callable[[Iterable[Line]], Iterable[Line]] = iter,
) -> None:
    """Write `convert(text)` for each line of files to standard output, and `blank` if it is empty or the line is bad.

    A line of ASCII white space is empty. Other white space may be a word, as U+3000 is to BPE. blank: None to write
    nothing.
    group: joins the lines of each multi-line record into one Line.
    """
    latest = Latest()

    def converted(line: Line) -> str | None:
        is_empty = not line.text.strip(string.whitespace) and not line.cause
        return blank if is_empty else bad.read(line, convert, "") or blank

    lines = map(converted, group(latest.follow(read_lines(paths, bad.on_error))))
    write_lines(lines, latest.pauses, paths if group is iter else ())
    bad.report()


def discard_output() -> None:
    """Keep the interpreter's last flush from failing again after standard output has failed."""
    with suppress(OSError):
        os.close(STDOUT)  # first, since there may be no other descriptor left
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != STDOUT:
        os.dup2(nowhere, STDOUT)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 line` and `2 lines`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """Return a time in words, such as `12 min`."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def complain(name: str, cause: str, code: int = 1) -> int:
    """Flush standard output, then write one line on stderr. Returns the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        discard_output()
    print(f"{name}: {shown(cause, LONGEST_NAME + LONGEST_CAUSE + 50)}", file=sys.stderr)
    return code
