"""GGUF files for tests, written by a writer that can also write what no file should hold."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
FORMATS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "B",
           UINT64: "Q", INT64: "q", FLOAT64: "d"}  # fmt: skip
F32 = 0


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def text(value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return u64(len(data)) + data


def scalar(kind: int, value: float) -> bytes:
    """A value with its type."""
    return u32(kind) + struct.pack("<" + FORMATS[kind], value)


def array(kind: int, values: Sequence[object]) -> bytes:
    """An array with its types."""
    body = b"".join(text(str(v)) for v in values) if kind == STRING else struct.pack(
        f"<{len(values)}{FORMATS[kind]}", *values)  # fmt: skip
    return u32(ARRAY) + u32(kind) + u64(len(values)) + body


def string(value: str | bytes) -> bytes:
    return u32(STRING) + text(value)


def value(found: object) -> bytes:
    """What a key of this Python value is written as."""
    if isinstance(found, bytes):
        return found
    if isinstance(found, bool):
        return scalar(BOOL, found)
    if isinstance(found, int):
        return scalar(UINT32, found)
    if isinstance(found, float):
        return scalar(FLOAT32, found)
    if isinstance(found, str):
        return string(found)
    assert isinstance(found, Sequence)
    kind = STRING if found and isinstance(found[0], str) else INT32 if found and isinstance(found[0], int) else FLOAT32
    return array(kind, found)


@dataclass(frozen=True)
class Tensor:
    """One tensor: `extents` innermost first, as the file has them. `offset` None puts it behind the one before."""

    name: str | bytes
    extents: tuple[int, ...]
    data: bytes
    type: int = F32
    offset: int | None = None
    rank: int | None = None


def tensor(name: str, values: np.ndarray) -> Tensor:
    """A float32 tensor of an array's shape."""
    return Tensor(name, values.shape[::-1], np.ascontiguousarray(values, dtype="<f4").tobytes())


def gguf(
    keys: Mapping[str, object] | Sequence[tuple[str | bytes, object]] = (),
    tensors: Sequence[Tensor] = (),
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    alignment: int = 32,
    tensor_count: int | None = None,
    key_count: int | None = None,
) -> bytes:
    """A whole file. Counts and offsets are true ones unless given."""
    pairs = list(keys.items()) if isinstance(keys, Mapping) else list(keys)
    head = magic + u32(version) + u64(len(tensors) if tensor_count is None else tensor_count)
    head += u64(len(pairs) if key_count is None else key_count)
    head += b"".join(text(key) + value(found) for key, found in pairs)
    data = b""
    for item in tensors:
        data += b"\0" * (-len(data) % alignment)
        offset = len(data) if item.offset is None else item.offset
        head += text(item.name) + u32(len(item.extents) if item.rank is None else item.rank)
        head += b"".join(map(u64, item.extents)) + u32(item.type) + u64(offset)
        data += item.data
    return head + b"\0" * (-len(head) % alignment) + data if tensors else head


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
