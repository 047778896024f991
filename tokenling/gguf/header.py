"""One GGUF file up to its data, memory-mapped; nothing in it is believed before it is checked.

    magic "GGUF" | version u32 | tensors u64 | keys u64 | metadata | tensor table | padding | tensor data

Every count, length, offset, type, alignment and product is held against the file's size before it is used, so that a
hostile file costs neither time nor memory. Specification: docs/gguf.md of the ggml project (versions 2 and 3,
little-endian).
"""

import mmap
import os
import stat
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tokenling.gguf.cursor import Buffer, Cursor, product
from tokenling.gguf.errors import GgufMalformed, GgufUnsupported
from tokenling.gguf.ggml_types import GGML_TYPES, GgmlType
from tokenling.gguf.metadata import KEYS_MAX, Metadata, read_metadata

MAGIC = b"GGUF"
VERSIONS = (2, 3)
HEADER_BYTES = 4 + 4 + 8 + 8
TENSORS_MAX = 2**16
"""A guess: thirty times what the deepest dense model has."""
NAME_BYTES_MAX = 64
"""The specification's."""
DIMENSIONS_MAX = 4
"""ggml's."""
ALIGNMENT_DEFAULT = 32
ALIGNMENT_MAX = 2**20
"""A guess: thirty times a page of the largest kind in use."""
TENSOR_BYTES_MAX = 2**43
"""Of one tensor, eight tebibytes. A guess; it keeps every sum of sizes an honest one for a header without its data."""
_KEY_LEAST = 8 + 1 + 4 + 1
_TENSOR_LEAST = 8 + 1 + 4 + 8 + 4 + 8


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor's place. `shape` is row-major, as NumPy has it: a matrix that maps K to N is (N, K)."""

    name: str
    shape: tuple[int, ...]
    type: GgmlType
    offset_bytes: int
    """From the beginning of the file of its part."""
    size_bytes: int
    part: int = 0
    """Which file of a split set; 0 for a single one."""

    @property
    def elements(self) -> int:
        """How many numbers it stands for."""
        return product(self.shape)


@dataclass(frozen=True, slots=True)
class Header:
    """What one file says before its data."""

    version: int
    metadata: Metadata
    tensors: tuple[GgufTensor, ...]
    data_at: int
    """Where the tensor data begins; beyond the end of a file that was cut there."""


@dataclass(frozen=True, slots=True)
class Part:
    """One mapped file."""

    path: Path
    size_bytes: int
    map: mmap.mmap


def map_file(path: Path) -> Part:
    """The regular file at `path`, mapped read-only. Raises `GgufMalformed`."""
    try:
        # O_NONBLOCK: a pipe must not hold the start up
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise GgufMalformed("file_unreadable", path.name, "no such file", "a readable file") from None
    except OSError as error:
        found = (error.strerror or "an error").lower()
        raise GgufMalformed("file_unreadable", path.name, found, "a readable file") from None
    except ValueError:
        raise GgufMalformed("file_unreadable", path.name, "a path that no file can have", "a readable file") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise GgufMalformed("file_irregular", path.name, "no regular file", "a regular file")
        if status.st_size < HEADER_BYTES:
            raise GgufMalformed("file_truncated", path.name, f"{status.st_size} bytes", f"at least {HEADER_BYTES}")
        return Part(path, status.st_size, mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def read_header(part: Part, number: int, *, header_only: bool) -> Header:
    """What one file says, its tensors held against its own size. `number` is its place in a split set."""
    with memoryview(part.map) as data:
        cursor = Cursor(data, len(MAGIC))
        version = _check_start(data, cursor)
        tensors = cursor.count("tensor count", each_bytes=_TENSOR_LEAST, most=TENSORS_MAX)
        keys = cursor.count("metadata key count", each_bytes=_KEY_LEAST, most=KEYS_MAX)
        metadata = read_metadata(cursor, keys)
        alignment = _alignment(metadata)
        rows = [_read_tensor(cursor, place, alignment, number) for place in range(tensors)]
        data_at = -(-cursor.at // alignment) * alignment
        return Header(version, metadata, _placed(rows, data_at, part, header_only=header_only), data_at)


def _check_start(data: Buffer, cursor: Cursor) -> int:
    """Magic and version. Raises `GgufUnsupported` for a file of the other byte order or an older format."""
    magic = bytes(data[: len(MAGIC)])
    if magic != MAGIC:
        raise GgufMalformed("magic", "magic", magic.hex(" "), f"{MAGIC.hex(' ')}, the letters GGUF")
    version = cursor.u32("version")
    if version in VERSIONS:
        return version
    swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
    if swapped in VERSIONS:
        raise GgufUnsupported("byte_order", "version", "a big-endian file", "a little-endian one")
    raise GgufUnsupported("version", "version", str(version), "2 or 3")


def _alignment(metadata: Metadata) -> int:
    key = "general.alignment"
    value = metadata.integer(key, ALIGNMENT_DEFAULT, least=1, most=ALIGNMENT_MAX)
    if value % 8 or value & (value - 1):
        raise GgufMalformed("alignment", key, str(value), f"a power of two from 8 to {ALIGNMENT_MAX}")
    return value


def _read_tensor(cursor: Cursor, place: int, alignment: int, part: int) -> GgufTensor:
    """One row of the tensor table, its offset still counted from the beginning of the data."""
    name = cursor.text(f"tensor name {place}", most=NAME_BYTES_MAX)
    if not name:
        raise GgufMalformed("tensor_unnamed", f"tensor name {place}", "an empty name", "at least one character")
    rank = cursor.u32(name)
    if not 1 <= rank <= DIMENSIONS_MAX:
        raise GgufMalformed("tensor_rank", name, f"{rank} dimensions", f"1 to {DIMENSIONS_MAX}")
    extents = tuple(cursor.u64(name) for _ in range(rank))
    kind = cursor.u32(name)
    offset = cursor.u64(name)
    if offset % alignment:
        raise GgufMalformed("tensor_alignment", name, f"offset {offset}", f"a multiple of {alignment}")
    size = _size(name, extents, kind)
    return GgufTensor(name, extents[::-1], GGML_TYPES[kind], offset, size, part)


def _size(name: str, extents: tuple[int, ...], kind: int) -> int:
    """The bytes of a tensor whose innermost extent stands first."""
    if kind not in GGML_TYPES:
        raise GgufUnsupported("tensor_type", name, f"type {kind}", "a type of ggml that is still in use")
    form = GGML_TYPES[kind]
    if 0 in extents:
        raise GgufMalformed("tensor_empty", name, f"extents {extents}", "every extent at least 1")
    if extents[0] % form.block_elements:
        expected = f"a multiple of {form.block_elements}, as blocks of {form.name} are"
        raise GgufMalformed("tensor_row", name, f"rows of {extents[0]} elements", expected)
    size = product(extents) // form.block_elements * form.block_bytes
    if size > TENSOR_BYTES_MAX:
        raise GgufMalformed("tensor_size", name, f"{size} bytes", f"at most {TENSOR_BYTES_MAX}")
    return size


def _placed(rows: list[GgufTensor], data_at: int, part: Part, *, header_only: bool) -> tuple[GgufTensor, ...]:
    """The tensors with offsets from the file's beginning: each name once, all inside, none over another."""
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            raise GgufMalformed("tensor_duplicate", row.name, "the name a second time", "each tensor once")
        seen.add(row.name)
    moved = [_moved(row, data_at) for row in rows]
    ordered = sorted(moved, key=lambda row: row.offset_bytes)
    for before, after in pairwise(ordered):
        if before.offset_bytes + before.size_bytes > after.offset_bytes:
            expected = f"an offset behind {before.name}"
            raise GgufMalformed("tensor_overlap", after.name, f"bytes that {before.name} has", expected)
    for row in moved:
        if not header_only and row.offset_bytes + row.size_bytes > part.size_bytes:
            raise beyond_end(row, part.size_bytes)
    return tuple(moved)


def _moved(row: GgufTensor, data_at: int) -> GgufTensor:
    return GgufTensor(row.name, row.shape, row.type, row.offset_bytes + data_at, row.size_bytes, row.part)


def beyond_end(tensor: GgufTensor, size_bytes: int) -> GgufMalformed:
    end = tensor.offset_bytes + tensor.size_bytes
    return GgufMalformed("tensor_truncated", tensor.name, f"bytes up to {end}", f"at most the file's {size_bytes}")
