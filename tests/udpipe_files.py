"""Edited UDPipe models with correct checksums, as an attacker could make them."""

import lzma
import random
import struct
from dataclasses import dataclass

LENGTHS = struct.Struct("<III")
SETTINGS = bytes.fromhex("5d00000001")  # LZMA settings as UDPipe writes them: lc=3, lp=0, pb=2, 16 MiB
FILTERS = [{"id": lzma.FILTER_LZMA1, "preset": 0, "dict_size": 2**24, "lc": 3, "lp": 0, "pb": 2}]
EXTREMES = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\0\0\0\x80", b"\xff\xff", b"\0"]


@dataclass(frozen=True)
class Block:
    """A block's data, and where the block starts (with its header) and ends in the file."""

    start: int
    end: int
    data: bytes


def blocks(model: bytes) -> list[Block]:
    """Return all blocks of a model, found by their checksums."""
    found, place = [], 0
    while place + LENGTHS.size <= len(model):
        unpacked, packed, checksum = LENGTHS.unpack_from(model, place)
        end = place + LENGTHS.size + len(SETTINGS) + packed
        if checksum == _checksum(unpacked, packed) and end <= len(model):
            packed_data = model[place + LENGTHS.size + len(SETTINGS) : end]
            data = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=FILTERS).decompress(packed_data, unpacked)
            found.append(Block(place, end, data))
            place = end
        else:
            place += 1
    return found


def packed(data: bytes, unpacked: int | None = None, longer: int = 0) -> bytes:
    """Return a block. unpacked, longer: false claims about its sizes."""
    body = _without_end(lzma.compress(data, lzma.FORMAT_RAW, filters=FILTERS), len(data))
    size = len(data) if unpacked is None else unpacked
    return LENGTHS.pack(size, len(body) + longer, _checksum(size, len(body) + longer)) + SETTINGS + body


def _without_end(body: bytes, unpacked: int) -> bytes:
    """Return only the bytes that a decoder needs, without the end marker, which UDPipe's blocks lack. In a few percent
    of blocks, UDPipe's decoder reads one more byte, and then calls the block damaged."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=FILTERS)
    end = max(len(body) - 20, 0)
    came = len(decoder.decompress(body[:end]))
    while came < unpacked:
        came += len(decoder.decompress(body[end : end + 1]))
        end += 1
    return body[:end]


def _checksum(unpacked: int, packed: int) -> int:
    return int((unpacked * 19991 + packed * 199999991 + 1234567890) % 2**32)


def with_block(model: bytes, block: Block, packed: bytes) -> bytes:
    return model[: block.start] + packed + model[block.end :]


def edited(model: bytes, seed: int) -> bytes:
    """Return a model with one block edited at random."""
    source = random.Random(seed)
    found = blocks(model)
    number = seed % len(found)
    data = bytearray(found[number].data)
    reach = source.choice([40, 1000, len(data)])  # lengths are at the beginning
    for _ in range(source.choice([1, 1, 3, 30])):
        place = source.randrange(min(reach, len(data)))
        change = source.choice([*EXTREMES, bytes([data[place] ^ (1 << source.randrange(8))]), source.randbytes(4)])
        data[place : place + len(change)] = change
    if source.random() < 0.2:
        del data[source.randrange(len(data)) :]
    return with_block(model, found[number], packed(bytes(data)))
