"""The fp16 source of a brain, as a safetensors file: an 8-byte length, a JSON table, the numbers."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
HEADER_BYTES_MAX = 1 << 20
"""A table of a brain of this kind takes a few KiB; a guess with room."""


def write_weights(path: Path, weights: Mapping[str, Array]) -> None:
    """`path` holds `weights` rounded to fp16, in the order of their names."""
    table: dict[str, object] = {}
    blobs: list[bytes] = []
    at = 0
    for name in sorted(weights):
        blob = np.ascontiguousarray(weights[name], dtype="<f2").tobytes()
        table[name] = {"dtype": "F16", "shape": list(weights[name].shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    header = json.dumps(table, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(blobs))


def read_weights(path: Path) -> dict[str, Array]:
    """The weights of an fp16 safetensors file as fp32; `ValueError` tells what is wrong with one that is none."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    if not 0 < length <= min(HEADER_BYTES_MAX, len(data) - 8):
        raise ValueError(f"{path.name}: header length {length} does not fit a file of {len(data)} bytes")
    body = data[8 + length :]
    return {name: read_tensor(name, entry, body) for name, entry in json.loads(data[8 : 8 + length]).items()}


def read_tensor(name: str, entry: Mapping[str, object], body: bytes) -> Array:
    """One tensor of the table, checked against its extent."""
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if entry.get("dtype") != "F16" or not isinstance(shape, list) or not isinstance(offsets, list):
        raise ValueError(f"{name}: expected an F16 tensor with shape and data_offsets, found {sorted(entry)}")
    start, end = offsets
    if not 0 <= start <= end <= len(body) or end - start != 2 * int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{name}: data_offsets {offsets} do not hold shape {shape}")
    return np.frombuffer(body[start:end], dtype="<f2").astype(np.float32).reshape(shape)
