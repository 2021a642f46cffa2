"""Mutated files through every reader.

A reader may accept a file, or refuse it with one of the errors that commands report in one line; anything else is a
crash. A record that a reader accepts must survive writing and reading.
"""

import gzip
import os
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from safetensors.torch import save

from synmt.alignment.pairs import with_known_links
from synmt.alignment.published.mask_align.config import MaskAlignModelConfig
from synmt.data.records import SentencePair, columns_of_pairs
from synmt.metrics.links import read_prediction
from synmt.metrics.parses import read_parse
from synmt.model.config import ModelConfig
from synmt.model.files import naming
from synmt.model.folder import ModelFolder
from synmt.parsers import benepar_models, udpipe
from synmt.parsers.parser import ModelError
from synmt.streams import BadInput, BadLines, Line, read_lines
from synmt.text.bpe import Bpe
from synmt.training.checkpoint import checksum, read_checkpoint
from synmt.trees.arc_tokens import ArcStyle, read_tokens
from synmt.trees.formats import conllu_blocks, read_conllu, write_conllu
from synmt.trees.record import ParseRecord, read_record, record_of_brackets, write_record
from synmt.trees.transitions import read_forest, read_transitions, transitions_of_record
from tests.cli.commands import CODES, RECORD
from tests.hostile import PARSER, ROW, good_aligner, good_folder

REFUSALS = (BadInput, ValueError)
A3 = b"".join(b"# Sentence pair (%d)\na b\nNULL ({ }) c ({ 1 2 }) d ({ })\n" % number for number in range(1, 101))
REFUSED = 3  # an exit code
WORK = Path(mkdtemp())
NASTY = [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\n\n", b"\t", b" ", "\u2028".encode(), "\u0085".encode(),
    b"\x0b", b"\x0c", "\u00a0".encode(), "\U0010ffff".encode(), b"(", b")", b"(S ", b"()", b'"', b"\\u0000",
    b"\\ud800", b"\\n", b"{", b"}", b"[", b"]", b"[" * 2000, b"-1", b"0", b"1e999", b"9" * 400, b"99999999999",
    b"null", b"true", b"1.5", b"-", b"_", b"1-2", b"1.1", b"#", b"@@", b"</w>", b"#version: 0.1\n", b"-LRB-",
    b"-NONE-", b"x" * 3000, b"(A " * 1500, b"heads", b"parents", b"tokens", b"\x00\x00\x00\x00\x00\x00\x00\x80",
]  # fmt: skip


def mutated(data: bytes, seeds: list[bytes], source: random.Random) -> bytes:
    """Return the bytes after a few random changes at random places."""
    for _ in range(source.choice([1, 1, 2, 3, 8])):
        start, end = sorted(source.choices(range(len(data) + 1), k=2))
        kind = source.randrange(7)
        if kind == 0 and data:  # flip a bit
            place = source.randrange(len(data))
            data = data[:place] + bytes([data[place] ^ (1 << source.randrange(8))]) + data[place + 1 :]
        elif kind == 1:  # delete a part
            data = data[:start] + data[min(end, start + source.choice([1, 4, 100])) :]
        elif kind == 2:  # repeat a part
            data = data[:end] + data[start : min(end, start + 200)] * source.choice([1, 2, 30]) + data[end:]
        elif kind == 3:  # truncate
            data = data[:start]
        elif kind == 4:  # insert a part of another seed
            other = source.choice(seeds)
            data = data[:start] + other[source.randrange(len(other) + 1) :][:200] + data[end:]
        else:  # insert something nasty, or replace a part by it
            data = data[:start] + source.choice(NASTY) + data[start if kind == 5 else min(end, start + 8) :]
    return data


def each_line(read: Callable[[str], object]) -> Callable[[Path], object]:
    def read_file(path: Path) -> None:
        for line in read_lines([str(path)]):
            read(line.text)

    return read_file


def same_again(record: ParseRecord) -> None:
    again = read_record(write_record(record))
    if again != record and record.tokens:
        raise AssertionError(f"{record} is read back as {again}")
    if record.heads and "#" not in record.text:
        back = read_conllu(write_conllu(record))
        if (back.tokens, back.heads) != (record.tokens, record.heads):
            raise AssertionError(f"{record} is read back from CoNLL-U as {back}")


def read_brackets_of(text: str) -> None:
    if text.strip():
        same_again(record_of_brackets(text))
        same_again(record_of_brackets(text, strip=True))


def read_blocks(path: Path) -> None:
    for block in conllu_blocks(read_lines([str(path)])):
        try:
            same_again(read_conllu(block.text))
        except ValueError as error:
            raise block.error(error) from None


def read_pairs(path: Path) -> list[tuple[Line, ...]]:
    return list(columns_of_pairs(read_lines([str(path)]), BadLines()))


def read_codes(path: Path) -> None:
    bpe = Bpe.load(str(path))
    bpe.apply(["the", "father", "x" * 50, "\u2028"])


@cache
def folder() -> ModelFolder[ModelConfig]:
    return good_folder(WORK / "model")


@cache
def aligner() -> ModelFolder[MaskAlignModelConfig]:
    return good_aligner(WORK / "aligner")


def in_folder(name: str, made: Callable[[], ModelFolder[Any]] = folder) -> Callable[[Path], object]:
    """Return a reader of a model folder in which one file is replaced by the mutated one."""

    def read(path: Path) -> None:
        model = made()
        place = model.path / name
        whole = place.read_bytes()
        place.write_bytes(path.read_bytes())
        try:
            ModelFolder.open(model.path, type(model.config)).load_model(torch.device("cpu"))
        finally:
            place.write_bytes(whole)

    return read


def parser_part(suffix: str) -> Callable[[Path], object]:
    """Return a reader of the embedded constituency model in which one of the two files is replaced by the mutated
    one."""

    def read(path: Path) -> None:
        for part in (".json", ".safetensors"):
            data = path if part == suffix else PARSER / f"en-constituency{part}"
            (WORK / f"parser{part}").write_bytes(data.read_bytes())
        benepar_models.load_model(str(WORK / "parser.safetensors"))

    return read


def read_links_of(path: Path) -> None:
    """Read links, or an A3 file, for endless pairs of two words each."""
    words = ParseRecord(tokens=["a", "b"])
    pairs = (SentencePair(words, words, (Line("", "pairs", number),) * 2) for number in count(1))
    for pair in islice(with_known_links(pairs, [str(path)]), 100):
        assert pair.links


def read_target(text: str) -> None:
    """Read the trees of any target string. If it is one tree, check that it survives writing and reading."""
    entries = read_tokens(text)
    read_forest(entries, ArcStyle(split=True, root_arc=True))
    record = read_transitions(entries, ArcStyle())
    again = read_transitions(transitions_of_record(record, lambda word: [word], ArcStyle()), ArcStyle())
    if (again.tokens, again.heads, again.deprels) != (record.tokens, record.heads, record.deprels):
        raise AssertionError(f"{record} is read back as {again}")


def read_udpipe(path: Path) -> None:
    """Read a UDPipe model in a separate process, since C++ reads it."""
    child = get_context("fork").Process(target=_read_udpipe, args=(path,))
    child.start()
    child.join(60)
    if child.exitcode == REFUSED:
        raise ValueError("refused")
    if child.exitcode != 0:
        child.kill()
        raise RuntimeError(f"UDPipe ended with {child.exitcode}")


def _read_udpipe(path: Path) -> None:
    try:
        udpipe.UDPipeParser(str(path)).parse(["He is my father."])
    except REFUSALS:
        os._exit(REFUSED)


def read_state(path: Path) -> None:
    with naming(path):
        read_checkpoint(path)


Reader = tuple[Callable[[Path], object], list[bytes], str]


def readers() -> dict[str, Reader]:
    """Return by name the function that reads a file, good files, and the suffix of such files."""
    records = [
        RECORD.encode(),
        b'{"text": "a b", "tokens": ["a", "b"], "spaces": [true, false], "upos": ["X", "Y"], "heads": [2, 0],'
        b' "deprels": ["det", "root"], "tree": "(S (A a) (B b))"}\n',
    ]
    masks = [b'{"tokens":["NP","PRP$","my","NN","father"],"parents":[-1,0,1,0,3],"relations":["=CDCD","P=Cr>"]}\n']
    trees = [b"(S (NP-SBJ (PRP He)) (VP (VBZ is) (NP (-NONE- *T*-1) (NN father))) (. .))\n", b"( (S (X a)) )\n"]
    rows = [b"# text = a b\n" + ROW + ROW.replace(b"1\ta", b"2\tb").replace(b"\t0\t", b"\t1\t") + b"\n",
            ROW.replace(b"1\ta\t_\tX\t_\t_\t0\troot\t_", b"1-2\tab\t_\t_\t_\t_\t_\t_\t_") + ROW
            + ROW.replace(b"1\ta", b"2\tb").replace(b"\t0\t", b"\t1\t"), ROW * 2]  # fmt: skip
    links = b"0-0 1-1\n0-1 1p0\n" * 50
    predictions = b'{"links": [[0, 1, 0.5], [1, 0]], "predicted": [true, false]}\n'
    arcs = b"the coals LEFT-ARC:det burn@@ ed LEFT-ARC:nsubj . RIGHT-ARC:punct\n"
    of_aligner = (aligner().path / "config.json").read_bytes()
    own = {name: [(folder().path / name).read_bytes()] for name in (
        "config.json", "codes.bpe", "vocab.target.txt", "vocab.labels.txt", "model.safetensors")}  # fmt: skip
    state = {"model.a": torch.ones(3)}
    progress = '{"update": 3}'
    checkpoint = save(state, {"progress": progress, "crc32": str(checksum(progress, state))})
    found: dict[str, Reader] = {
        "records": (each_line(lambda text: same_again(read_record(text))), records, ".jsonl"),
        "mask records": (each_line(lambda text: same_again(read_record(text))), masks + records, ".jsonl"),
        "brackets": (each_line(read_brackets_of), trees, ".ptb"),
        "evalb's files": (each_line(read_parse), trees + records, ".ptb"),
        "CoNLL-U": (read_blocks, rows, ".conllu"),
        "TSV": (read_pairs, [b"a b\tc d\n", RECORD.encode() + b"\tEr\n"], ".tsv"),
        "zipped lines": (each_line(str), [gzip.compress(RECORD.encode() * 3, mtime=0)], ".gz"),
        "word links": (read_links_of, [links, A3], ".links"),
        "predictions": (each_line(read_prediction), [predictions], ".jsonl"),
        "target strings": (each_line(read_target), [arcs], ".arcs"),
        "an aligner's config.json": (in_folder("config.json", aligner), [of_aligner], ""),
        "BPE codes": (read_codes, [CODES.encode(), CODES.encode().split(b"\n", 1)[1]], ".bpe"),
        "checkpoints": (read_state, [checkpoint], ".safetensors"),
        "benepar's JSON": (parser_part(".json"), [(PARSER / "en-constituency.json").read_bytes()], ".json"),
        "benepar's weights": (
            parser_part(".safetensors"), [(PARSER / "en-constituency.safetensors").read_bytes()], ".safetensors"
        ),
        "UDPipe's models": (read_udpipe, [(PARSER / "en-dependency.udpipe").read_bytes()], ".udpipe"),
    }  # fmt: skip
    return found | {f"a folder's {name}": (in_folder(name), seeds, "") for name, seeds in own.items()}


def fuzz(reader: Reader, source: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield for each input tried "read", "refused" or the crash, and the input."""
    read, seeds, suffix = reader
    path = WORK / f"mutated{suffix}"
    while True:
        data = mutated(source.choice(seeds), seeds, source)
        path.write_bytes(data)
        try:
            read(path)
            yield "read", data
        except (*REFUSALS, ModelError):
            yield "refused", data
        except Exception as error:
            yield f"{type(error).__name__}: {error}", data
