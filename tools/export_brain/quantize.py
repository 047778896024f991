"""Blocked symmetric quantisation, as DequantizeLinear of opset 21 undoes it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.export_brain.weights import Array

BLOCK = 32
"""Values that share one scale: the block that ONNX Runtime's int4 kernels know best."""
SCALE_TRIES = 16
"""Candidate scales that a block chooses from. A guess: the last of them hardly ever won."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """`codes * scales` (each scale standing for `BLOCK` rows of `axis`) is about the matrix."""

    codes: NDArray[np.int8]
    scales: Array
    bits: int
    axis: int

    def undone(self) -> Array:
        """The matrix as the graph will see it."""
        return self.codes.astype(np.float32) * np.repeat(self.scales, BLOCK, axis=self.axis)


def quantize(matrix: Array, *, bits: int, axis: int) -> Blocked:
    """`matrix` in `bits` (4 or 8) along `axis`; each block takes the scale of the least squared error.

    The scale's sign is free: a block's largest value then sits on the code -2^(bits-1), which has no positive twin.
    """
    if matrix.shape[axis] % BLOCK:
        raise ValueError(f"axis {axis} of shape {matrix.shape} must be a multiple of {BLOCK}")
    rows = np.moveaxis(matrix, axis, -1)
    blocks = rows.reshape(*rows.shape[:-1], -1, BLOCK)  # (…, blocks, BLOCK)
    scales = best_scales(blocks, bits)  # (…, blocks)
    codes = codes_of(blocks, scales, bits).reshape(rows.shape)
    return Blocked(
        codes=np.ascontiguousarray(np.moveaxis(codes, -1, axis)),
        scales=np.ascontiguousarray(np.moveaxis(scales, -1, axis)),
        bits=bits,
        axis=axis,
    )


def codes_of(blocks: Array, scales: Array, bits: int) -> NDArray[np.int8]:
    """The nearest code of each value; ties to even, as NumPy rounds."""
    low = -(1 << bits - 1)
    safe = np.where(scales == 0, np.float32(1), scales)[..., None]
    return np.clip(np.rint(blocks / safe), low, -low - 1).astype(np.int8)


def best_scales(blocks: Array, bits: int) -> Array:
    """For each block the best of `SCALE_TRIES` shrunken scales: clipping one outlier may serve the others."""
    peak = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0]
    full = (peak / np.float32(-(1 << bits - 1))).astype(np.float32)
    best, best_error = full, np.full(full.shape, np.inf, dtype=np.float32)
    for step in range(SCALE_TRIES if bits == 4 else 1):
        scales = (full * np.float32(1 - step * 0.025)).astype(np.float32)
        error = np.square(codes_of(blocks, scales, bits) * scales[..., None] - blocks).sum(-1, dtype=np.float32)
        best = np.where(error < best_error, scales, best)
        best_error = np.minimum(error, best_error)
    return best.astype(np.float32)


def packed(codes: NDArray[np.int8]) -> bytes:
    """Int4 codes two to a byte, the first in the low half (the ONNX layout)."""
    flat = codes.reshape(-1).astype(np.uint8) & 0xF
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
