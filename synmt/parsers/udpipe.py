"""Dependency trees by UDPipe 1, with models that need not be trusted.

Straka & Straková (2017), "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe".

UDPipe is C++ code that trusts its models. A manipulated model can make it crash, loop forever or allocate all memory,
at once or at a later sentence. We therefore check the sizes that a file declares before UDPipe reads it, and run
foreign models in a separate process with limits on memory and time. If that process dies, the command survives. The
process sends back parse records, which are checked like the records in any file. It is not a sandbox: it can read
whatever the user can read.

A `.udpipe` file is a sequence of single bytes, each the version or kind of what follows, and of blocks. A block
consists of its unpacked length, its packed length and a checksum of both, 4 bytes each, 5 bytes of LZMA settings, and
the packed data (`model_morphodita_parsito::load` and `compressor::load` in UDPipe's udpipe.cpp).
"""

import os
import re
import resource
import signal
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

import msgspec
from ufal.udpipe import Model, MultiwordToken, OutputFormat, ProcessingError, Sentence

from synmt.parsers.parser import (
    DEPENDENCY,
    FOLDER,
    ModelError,
    Parser,
    ParserInput,
    Tokenized,
    embedded_model,
    normalized,
    tokenize,
)
from synmt.trees.dependency import UNKNOWN, joined
from synmt.trees.formats import read_conllu, sentence_blocks, write_conllu
from synmt.trees.record import ParseRecord, read_record, write_record

HEADER = b"\x12morphodita_parsito"
GRU_TOKENIZER = 3
TOKENIZERS = {0: 2, 2: 1, GRU_TOKENIZER: 1}  # number of bytes after each kind: Czech, generic, GRU
DERIVATOR = 7  # kind of a dictionary of derivations, which precedes the tagger's dictionary
LENGTHS, SETTINGS = struct.Struct("<III"), 5
LARGEST = 2**26  # bytes unpacked, plus LARGEST_RATIO times the file; small models consist mostly of zeros
LARGEST_RATIO = 16
_WORD = re.compile(r"\S+\Z")
LONGEST_SENTENCE = 1000  # words; parsing time grows with the square
REMEMBERED = 100_000  # tokens
# Limits for UDPipe. The embedded models need about a tenth of them.
SECONDS, SECONDS_PER_MEBIBYTE, SECONDS_PER_CHARACTER = 4, 0.1, 0.02
MEMORY, MEMORY_PER_BYTE, MEMORY_PER_CHARACTER = 2**28, 4, 2**11  # bytes


def unpacked_size(path: Path) -> int:
    """Return the total unpacked size of a UDPipe model's blocks in bytes, as the file declares it.

    Raises ModelError unless this is a UDPipe model in a regular file, for a truncated block or a wrong checksum, and
    for a size that no real model of this file size has.
    """
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
            raise ValueError("it is not a file")
        with path.open("rb") as stream:
            size = _size_of_blocks(stream, status.st_size)
    except OSError as error:
        raise ModelError(f"UDPipe model {path}: {error.strerror}") from None
    except ValueError as error:
        raise ModelError(f"UDPipe model {path}: not a UDPipe 1 model, or damaged: {error}") from None
    if size > LARGEST + LARGEST_RATIO * status.st_size:
        raise ModelError(f"UDPipe model {path}: it would unpack to {size} bytes, from {status.st_size}")
    return size


def _size_of_blocks(stream: BinaryIO, length: int) -> int:
    """Return the total over all blocks. Raises ValueError."""

    def byte() -> int:
        read = stream.read(1)
        if not read:
            raise ValueError("it is truncated")
        return read[0]

    def block(name: str) -> int:
        header = stream.read(LENGTHS.size)
        if len(header) < LENGTHS.size:
            raise ValueError(f"it is truncated before its {name}")
        unpacked, packed, checksum = LENGTHS.unpack(header)
        if checksum != (unpacked * 19991 + packed * 199999991 + 1234567890) % 2**32:
            raise ValueError(f"the checksum of its {name} is wrong")
        if packed > length - stream.seek(SETTINGS, os.SEEK_CUR):
            raise ValueError(f"its {name} would reach beyond the end of the file, with {packed} bytes")
        stream.seek(packed, os.SEEK_CUR)
        return int(unpacked)

    if stream.read(len(HEADER)) != HEADER:
        raise ValueError("it does not start like a UDPipe model")
    size = 0
    if byte() >= 2:  # the version; the next two bytes only stop older readers
        byte(), byte()
    if byte():
        for _ in range(TOKENIZERS.get(kind := byte(), 0)):
            byte()
        if kind == GRU_TOKENIZER:
            size += block("tokenizer")
        byte()
        size += block("rules of multiword tokens")
    for _ in range(byte()):
        for _ in ("lemmas", "XPOS", "features", "kind of tagger"):
            byte()
        if byte() == DERIVATOR:
            size += block("derivations")
            byte()
        size += block("dictionary")
        byte()
        size += block("features") + block("weights of features")
    return size + (block("parser") if byte() else 0)


def load_model(model: str | None = None) -> Model:
    """Load the embedded model or a `.udpipe` file. Raises ModelError.

    Checks the declared sizes first, since UDPipe ends the whole process on some files that are not models.
    """
    path = Path(model) if model is not None else embedded_model(DEPENDENCY)
    unpacked_size(path)
    loaded = Model.load(str(path))
    if loaded is None:
        raise ModelError(f"UDPipe model {path}: not a UDPipe 1 model, or damaged")
    return loaded


class UDPipeParser:
    """UDPipe with the embedded model or another, on raw text (UDPipe's tokens) or on tokens."""

    def __init__(self, model: str | None = None) -> None:
        """Open the model. Raises ModelError."""
        self.unparsed = 0
        self._model = load_model(model)
        self._tokenizer = self._model.newTokenizer(Model.DEFAULT)
        self._writer = OutputFormat.newOutputFormat("conllu")
        self._words = lru_cache(REMEMBERED)(self._words_of)
        try:
            self.parse(["a" if self._tokenizer else ["a"]])
        except ValueError as error:
            raise ModelError(f"UDPipe model {model}: {error}") from None

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        return [self._parsed(line) for line in lines]

    def words(self, text: str) -> list[str]:
        """Return the tokens that a line of text would have as a record."""
        return tokenize(text, lambda _: [self._record(each).tokens for each in self._sentences(text)]).record().tokens

    def _parsed(self, line: ParserInput) -> ParseRecord:
        found = list(self._sentences(line)) if isinstance(line, str) else []
        records = [self._analysed(sentence) for sentence in found]
        tokenized = tokenize(line, lambda _: [record.tokens for record in records])
        if [record.tokens for record in records] != tokenized.sentences:
            found = [self._sentence_of(tokens) for tokens in tokenized.sentences]
            records = [self._analysed(sentence) for sentence in found]
        record = joined(records)
        record.text, record.spaces = tokenized.text, tokenized.spaces
        if any(sentence.multiwordTokens.size() for sentence in found):
            block = self._with_words(record, found)
            record.conllu = "" if block == write_conllu(record) else block
        return record

    def _with_words(self, record: ParseRecord, sentences: Sequence[Sentence]) -> str:
        """Return the sentence blocks of a record with the words of its multiword tokens."""
        spaces = iter([*(record.spaces or [True] * len(record.tokens))[:-1], True])  # as of the last word of any line
        blocks = []
        for written, sentence in zip(sentence_blocks(write_conllu(record)), sentences, strict=True):
            lines = [line for line in written.split("\n") if line.startswith("#")]
            last = 0  # word of the latest multiword token
            for line in self._writer.writeSentence(sentence).strip("\n").split("\n"):
                if line.startswith("#"):
                    continue
                number, form, *columns, _ = line.split("\t")
                first, _, end = number.partition("-")
                space = True
                if end or int(first) > last:
                    words = [word.form for word in list(sentence.words)[int(first) : int(end or first) + 1]]
                    parts = words if "".join(words) == form else [form]
                    space = [next(spaces) for part in parts for _ in part.split()][-1]
                    last = int(end or first)
                lines.append("\t".join([number, form, *columns, UNKNOWN if space else "SpaceAfter=No"]))
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    def _sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences that UDPipe finds in a line of text."""
        if self._tokenizer is None:
            raise ValueError("it has no tokenizer, so its input must be tokens")
        self._tokenizer.setText(f"{normalized(text)}\n")  # without the end of the line, "Jr." would be two tokens
        error = ProcessingError()
        sentence = Sentence()
        while self._tokenizer.nextSentence(sentence, error):
            yield sentence
            sentence = Sentence()
        _raise(error)

    def _sentence_of(self, tokens: Sequence[str]) -> Sentence:
        """Return tokens as a sentence of UDPipe's, where German `zum` is one token of the words zu and dem."""
        sentence = Sentence()
        for token in tokens:
            first = sentence.words.size()  # the root counts
            words = self._words(token)
            for word in words:
                sentence.addWord(word)
            if len(words) > 1:
                sentence.multiwordTokens.append(MultiwordToken(first, first + len(words) - 1, token, ""))
        return sentence

    def _words_of(self, token: str) -> list[str]:
        """Return the words that the tokenizer finds in a token if they do not spell it, else the token itself."""
        whole = list(self._sentences(token)) if self._tokenizer else []
        spans = [(each.idFirst, each.idLast) for sentence in whole for each in sentence.multiwordTokens]
        found = [word.form for sentence in whole for word in list(sentence.words)[1:]]
        return found if spans == [(1, len(found))] and "".join(found) != token else [token]

    def _analysed(self, sentence: Sentence) -> ParseRecord:
        error = ProcessingError()
        self._model.tag(sentence, Model.DEFAULT, error)
        parsed = sentence.words.size() - 1 <= LONGEST_SENTENCE
        if parsed:
            self._model.parse(sentence, Model.DEFAULT, error)
        _raise(error)
        record = self._record(sentence)
        if not parsed:
            self.unparsed += 1
            record.heads, record.deprels = [], []
        return record

    def _record(self, sentence: Sentence) -> ParseRecord:
        """Return the columns of a sentence, by way of its CoNLL-U if some word is not simply a token."""
        words = list(sentence.words)[1:]  # the first is the root
        if len(sentence.multiwordTokens) or not all(w.upostag and w.deprel and _WORD.match(w.form) for w in words):
            return read_conllu(self._writer.writeSentence(sentence).strip("\n"))
        return ParseRecord(
            tokens=[word.form for word in words],
            upos=[word.upostag for word in words],
            feats=[word.feats or UNKNOWN for word in words],
            heads=[word.head for word in words],
            deprels=[word.deprel for word in words],
        )


def _raise(error: ProcessingError) -> None:
    if error.occurred():
        raise ValueError(error.message)


def open_udpipe(model: str) -> Parser:
    """Open a model: an embedded one in this process, any other in a separate process. Raises ModelError."""
    path = Path(model)
    return UDPipeParser(model) if path.resolve().parent == FOLDER.resolve() else UDPipeProcess(path)


class UDPipeProcess:
    """A UDPipeParser in a separate process, which ends when this object does."""

    def __init__(self, model: Path) -> None:
        """Check the file, open the model and parse a test word. Raises ModelError."""
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
        """Raises ModelError if UDPipe dies on a line or returns an invalid parse."""
        try:
            self._pipe.send_bytes(msgspec.json.encode(lines))
        except OSError:
            raise self._end() from None
        return self._answer()

    def _answer(self) -> list[ParseRecord]:
        """Return the records that the process sends. Raises ModelError with the cause if it sends none."""
        try:
            head, *records = self._pipe.recv_bytes().decode().split("\n")
        except (EOFError, OSError):
            raise self._end() from None
        said = msgspec.json.decode(head)
        if "error" in said:
            raise ModelError(f"UDPipe model {self._model}: {said['error']}")
        self.unparsed += said["unparsed"]
        try:
            return [_checked(read_record(record, partial=True)) for record in records]
        except ValueError as error:
            raise ModelError(f"UDPipe model {self._model}: its parse of a line is invalid: {error}") from None

    def _end(self) -> ModelError:
        self._process.join()
        code = self._process.exitcode or 0
        if code == -signal.SIGXCPU:
            cause = "UDPipe takes too long with it, so it must be damaged"
        elif code < 0:
            cause = f"UDPipe crashed on it ({signal.Signals(-code).name}): it is damaged, or memory ran out"
        else:
            cause = f"the UDPipe process exited with status {code}"
        return ModelError(f"UDPipe model {self._model}: {cause}")


def _checked(record: ParseRecord) -> ParseRecord:
    """Raise ValueError for labels with unprintable characters, which no annotation has."""
    rows = [line.split("\t") for line in record.conllu.split("\n") if not line.startswith("#")]
    of_words = (label for columns in rows for place in (3, 5, 7) for label in columns[place : place + 1])
    for label in (*record.upos, *record.feats, *record.deprels, *of_words):
        if not label.isprintable():
            raise ValueError(f"the label {label!r}")
    return record


def _serve(pipe: Connection, model: str, size: int) -> None:
    """Parse the lines from the pipe until it is closed. size: total unpacked size of the model's blocks in bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _keep_quiet()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = _memory() + MEMORY + MEMORY_PER_BYTE * size
    seconds = SECONDS + SECONDS_PER_MEBIBYTE * size / 2**20
    try:
        _allow(memory, seconds)
        parser = UDPipeParser(model)
        lines: list[ParserInput] = []
        while True:
            unparsed, records = parser.unparsed, []
            for line in lines:
                characters = sum(map(len, line.text if isinstance(line, Tokenized) else line))
                _allow(memory + MEMORY_PER_CHARACTER * characters, SECONDS + SECONDS_PER_CHARACTER * characters)
                records += [write_record(record) for record in parser.parse([line])]
            head = msgspec.json.encode({"unparsed": parser.unparsed - unparsed}).decode()
            pipe.send_bytes("\n".join([head, *records]).encode())
            lines = msgspec.json.decode(pipe.recv_bytes(), type=list[ParserInput])
    except (EOFError, BrokenPipeError):  # the other process has gone
        return
    except Exception as error:  # UDPipe, or reading its output, may raise anything
        if isinstance(error, ModelError):
            cause = str(error).removeprefix(f"UDPipe model {model}: ")
        else:
            cause = f"its parse of a line is invalid: {str(error) or type(error).__name__}"
        pipe.send_bytes(msgspec.json.encode({"error": ascii(cause)[1:-1]}))


def _keep_quiet() -> None:
    """Discard what C++ prints when it dies."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)


def _allow(memory: int, seconds: float) -> None:
    """Limit this process to this much memory in total, and to this much further processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    if sys.platform == "linux":  # other systems ignore the limit
        _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def _lower(kind: int, limit: int) -> None:
    """Set the soft limit, unless the user has set a lower hard limit."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _memory() -> int:
    """Return the size of this process's address space in bytes, or 0 if unknown."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
