"""What a `.udpipe` file says of itself, read before UDPipe reads it: UDPipe believes every length.

The file is a row of single bytes, each the version or the kind of what follows, and of blocks. A block is the lengths
of its data unpacked and packed and a checksum of both, 4 bytes each, 5 bytes of LZMA's settings, and the packed data
(`model_morphodita_parsito::load` and `compressor::load` in UDPipe's udpipe.cpp).
"""

import os
import stat
import struct
from pathlib import Path
from typing import BinaryIO

from synmt.parsers.parser import ModelError

HEADER = b"\x12morphodita_parsito"
GRU_TOKENIZER = 3
TOKENIZERS = {0: 2, 2: 1, GRU_TOKENIZER: 1}  # how many bytes follow each kind: Czech, generic, GRU
DERIVATOR = 7  # a dictionary of derivations, which comes before that of the tagger
LENGTHS, SETTINGS = struct.Struct("<III"), 5
LARGEST = 2**26  # bytes unpacked, plus LARGEST_RATIO times the file; the tables of small models are mostly zeros
LARGEST_RATIO = 16


def unpacked_size(path: Path) -> int:
    """Return how many bytes the blocks of a UDPipe model are, unpacked, as they say themselves.

    Raises ModelError for what is no file or no such model, for a block that is not all in the file or whose checksum
    is another, and for more bytes than a model of that size has.
    """
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
            raise ValueError("it is no file")
        with path.open("rb") as stream:
            size = _size_of_blocks(stream, status.st_size)
    except OSError as error:
        raise ModelError(f"UDPipe model {path}: {error.strerror}") from None
    except ValueError as error:
        raise ModelError(f"UDPipe model {path}: not a UDPipe 1 model, or damaged: {error}") from None
    if size > LARGEST + LARGEST_RATIO * status.st_size:
        raise ModelError(f"UDPipe model {path}: says that it unpacks to {size} bytes, from {status.st_size}")
    return size


def _size_of_blocks(stream: BinaryIO, length: int) -> int:
    """Return the sum over all blocks. Raises ValueError."""

    def byte() -> int:
        read = stream.read(1)
        if not read:
            raise ValueError("it ends too soon")
        return read[0]

    def block(name: str) -> int:
        header = stream.read(LENGTHS.size)
        if len(header) < LENGTHS.size:
            raise ValueError(f"it ends before its {name}")
        unpacked, packed, checksum = LENGTHS.unpack(header)
        if checksum != (unpacked * 19991 + packed * 199999991 + 1234567890) % 2**32:
            raise ValueError(f"the checksum of its {name} is another")
        if packed > length - stream.seek(SETTINGS, os.SEEK_CUR):
            raise ValueError(f"its {name} would be {packed} bytes, beyond the end of the file")
        stream.seek(packed, os.SEEK_CUR)
        return int(unpacked)

    if stream.read(len(HEADER)) != HEADER:
        raise ValueError("it does not begin as one")
    size = 0
    if byte() >= 2:  # the version; two bytes follow that turn older readers away
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
