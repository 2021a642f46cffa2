"""UDPipe with a model from elsewhere, in a process of its own with limits on memory and time.

UDPipe is C++ that trusts its models. One that was edited can make it crash, loop for ever or ask for all memory, at
once or at a later sentence: that ends the process, and not the command. What comes back are parse records, which are
checked like those of any file. The process is no prison: it may read what the user may read.
"""

import os
import resource
import signal
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import orjson

from synmt.parsers.embedded import FOLDER
from synmt.parsers.parser import ModelError, Parser
from synmt.parsers.tokenization import ParserInput, Tokenized
from synmt.parsers.udpipe_file import unpacked_size
from synmt.parsers.udpipe_parser import UDPipeParser
from synmt.trees.record import ParseRecord, read_record, write_record

# What UDPipe may take: with the embedded models, about a tenth of it is enough.
SECONDS, SECONDS_A_MEBIBYTE, SECONDS_A_CHARACTER = 4, 0.1, 0.02
MEMORY, MEMORY_A_BYTE, MEMORY_A_CHARACTER = 2**28, 4, 2**11  # bytes


def open_udpipe(model: str) -> Parser:
    """Open a model: one that is part of synmt in this process, any other in its own. Raises ModelError."""
    path = Path(model)
    return UDPipeParser(model) if path.resolve().parent == FOLDER.resolve() else UDPipeProcess(path)


class UDPipeProcess:
    """A UDPipeParser in a process of its own, which ends with this object. A Parser."""

    def __init__(self, model: Path) -> None:
        """Check the file, open the model and parse a word with it. Raises ModelError."""
        self.unparsed = 0
        self._model = model
        size = unpacked_size(model)
        context = get_context("spawn")
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, str(model), size), daemon=True)
        self._process.start()
        other_end.close()
        self._answer()

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        """Raise ModelError where UDPipe ends on a line, or what it makes of one is no parse."""
        try:
            self._pipe.send_bytes(orjson.dumps(lines))
        except OSError:
            raise self._end() from None
        return self._answer()

    def _answer(self) -> list[ParseRecord]:
        """Return the records that the process sends, or raise ModelError for the cause why not."""
        try:
            head, *records = self._pipe.recv_bytes().decode().split("\n")
        except (EOFError, OSError):
            raise self._end() from None
        said = orjson.loads(head)
        if "error" in said:
            raise ModelError(f"UDPipe model {self._model}: {said['error']}")
        self.unparsed += said["unparsed"]
        try:
            return [_checked(read_record(record, partial=True)) for record in records]
        except ValueError as error:
            raise ModelError(f"UDPipe model {self._model}: it makes no parse of a line: {error}") from None

    def _end(self) -> ModelError:
        self._process.join()
        code = self._process.exitcode or 0
        if code == -signal.SIGXCPU:
            cause = "UDPipe takes too long with it; it is damaged"
        elif code < 0:
            cause = f"UDPipe crashed on it ({signal.Signals(-code).name}); it is damaged, or memory ran out"
        else:
            cause = f"the process of UDPipe ended on it with exit code {code}"
        return ModelError(f"UDPipe model {self._model}: {cause}")


def _checked(record: ParseRecord) -> ParseRecord:
    """Raise ValueError for labels with characters that cannot be printed: no annotation has them."""
    for label in (*record.upos, *record.feats, *record.deprels):
        if not label.isprintable():
            raise ValueError(f"the label {label!r}")
    return record


def _serve(pipe: Connection, model: str, size: int) -> None:
    """Parse what comes through the pipe until it is closed; size: of the model's blocks, unpacked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _keep_quiet()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = _memory() + MEMORY + MEMORY_A_BYTE * size
    seconds = SECONDS + SECONDS_A_MEBIBYTE * size / 2**20
    try:
        _allow(memory, seconds)
        parser = UDPipeParser(model)
        lines: list[ParserInput] = []
        while True:
            unparsed, records = parser.unparsed, []
            for line in lines:
                characters = sum(map(len, line.text if isinstance(line, Tokenized) else line))
                _allow(memory + MEMORY_A_CHARACTER * characters, SECONDS + SECONDS_A_CHARACTER * characters)
                records += [write_record(record) for record in parser.parse([line])]
            head = orjson.dumps({"unparsed": parser.unparsed - unparsed}).decode()
            pipe.send_bytes("\n".join([head, *records]).encode())
            lines = [Tokenized(**each) if isinstance(each, dict) else each for each in orjson.loads(pipe.recv_bytes())]
    except (EOFError, BrokenPipeError):  # nobody is left to parse for
        return
    except Exception as error:  # whatever UDPipe and what it makes of a line may raise
        if isinstance(error, ModelError):
            cause = str(error).removeprefix(f"UDPipe model {model}: ")
        else:
            cause = f"it makes no parse of a line: {str(error) or type(error).__name__}"
        pipe.send_bytes(orjson.dumps({"error": ascii(cause)[1:-1]}))


def _keep_quiet() -> None:
    """Send what C++ says of its end nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)


def _allow(memory: int, seconds: float) -> None:
    """Let this process have so much memory in all, and so much processor time from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    if sys.platform == "linux":  # others do not keep to it
        _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def _lower(kind: int, limit: int) -> None:
    """Set the limit that counts, where the user has set none that is lower."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _memory() -> int:
    """Return how many bytes of address space this process has; 0 where it is not told."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
