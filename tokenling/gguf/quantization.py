"""The quantised tensor types that run here: each a row of `QUANTIZATIONS` and one small function that unpacks a block.

A quantised weight is `scale * (code - center) + minimum`, scale and minimum shared by a block of 16 or 32 neighbours
along the inner axis. ONNX Runtime's MatMulNBits computes `scale * (code - 8)` in 4 bits and `scale * (code - 128)` in 8
bits; what its center leaves over joins the minimum, which the graph adds as a product of its own:

    y = MatMulNBits(x) + blocksum(x) @ (minimum + scale * (kernel center - center))

Worked example, Q4_1 with d = 0.5, m = -1, code 3: 0.5 * 3 - 1 = 0.5, or 0.5 * (3 - 8) = -2.5 and (-1 + 0.5 * 8) = 3.
Block structures: ggml-common.h of the ggml project.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tokenling.gguf.cursor import Buffer
from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.header import GgufTensor

Bytes: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float32]

KERNEL_CENTER = {4: 8, 8: 128}
"""What MatMulNBits subtracts from a code of so many bits when it is given no zero points."""
PASS_ELEMENTS = 2**19
"""Elements unpacked at a time, so that what lies between stays in the processor's cache. Measured: 2^17 to 2^20 are
alike, whole tensors take twice the time."""


Parts: TypeAlias = "tuple[Bytes, Floats, Floats | None]"
"""Of many blocks: codes (blocks, bytes), scales (blocks,), minima (blocks,). 4-bit codes stand two to a byte, the even
one low; 8-bit ones one to a byte."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How one type is kept and unpacked: `unpack` takes raw blocks (blocks, bytes of a block)."""

    bits: int
    block: int
    center: int
    unpack: Callable[[Bytes], Parts]

    def floats(self, raw: Bytes) -> Floats:
        """The weights of raw blocks, (blocks, block)."""
        codes, scales, minima = self.unpack(raw)
        if self.bits == 4:
            codes = np.stack([codes & 15, codes >> 4], axis=-1)
        values = (codes.reshape(-1, self.block).astype(np.int16) - self.center) * scales[:, None]
        result: Floats = values if minima is None else values + minima[:, None]
        return result

    def for_kernel(self, raw: Bytes) -> Parts:
        """The same blocks, their minima as what the kernel's product lacks of the weights."""
        codes, scales, minima = self.unpack(raw)
        shift = np.float32(KERNEL_CENTER[self.bits] - self.center)
        if minima is None:
            return codes, scales, scales * shift if shift else None
        return codes, scales, minima + scales * shift


def _half(raw: Bytes, at: int, count: int = 1) -> Floats:
    """`count` float16 numbers at byte `at` of each block, (blocks * count,)."""
    return np.ascontiguousarray(raw[:, at : at + 2 * count]).view("<f2").astype(np.float32).reshape(-1)


def _pairs(bytes_: Bytes) -> tuple[Bytes, Bytes]:
    """Neighbouring bytes' low nibbles as one byte, and their high nibbles: half as many bytes each."""
    words = np.ascontiguousarray(bytes_).view("<u2")
    low = (words & 0x0F) | ((words >> 4) & 0xF0)
    high = ((words >> 4) & 0x0F) | ((words >> 8) & 0xF0)
    return low.astype(np.uint8), high.astype(np.uint8)


def _bits5(raw: Bytes, at: int, low_at: int) -> Bytes:
    """The 5-bit codes of a block of 32 plus 112: four low bits as in Q4, the fifth of each in 32 bits at byte `at`."""
    high = np.unpackbits(raw[:, at : at + 4], axis=1, bitorder="little")  # (blocks, 32)
    nibbles = raw[:, low_at : low_at + 16]
    low = np.concatenate([nibbles & 15, nibbles >> 4], axis=1)
    codes: Bytes = (low | (high << 4)) + np.uint8(112)
    return codes


def _q4_0(raw: Bytes) -> Parts:
    """d, 16 bytes: byte j holds codes j and j + 16."""
    return np.concatenate(_pairs(raw[:, 2:18]), axis=1), _half(raw, 0), None


def _q4_1(raw: Bytes) -> Parts:
    """d, m, 16 bytes as in Q4_0."""
    return np.concatenate(_pairs(raw[:, 4:20]), axis=1), _half(raw, 0), _half(raw, 2)


def _q5_0(raw: Bytes) -> Parts:
    """d, the fifth bits, 16 bytes as in Q4_0; the center is 16."""
    return _bits5(raw, 2, 6), _half(raw, 0), None


def _q5_1(raw: Bytes) -> Parts:
    """d, m, the fifth bits, 16 bytes as in Q4_0."""
    return _bits5(raw, 4, 8), _half(raw, 0), _half(raw, 2)


def _q8_0(raw: Bytes) -> Parts:
    """d, 32 signed bytes."""
    return raw[:, 2:] ^ np.uint8(0x80), _half(raw, 0), None


def _scales_k(raw: Bytes) -> tuple[Floats, Floats]:
    """Scales and minima of the eight sub-blocks of Q4_K and Q5_K: 6 bits each, in 12 bytes behind d and dmin."""
    packed = raw[:, 4:16].reshape(-1, 3, 4)
    low, middle, high = packed[:, 0], packed[:, 1], packed[:, 2]
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=1)
    minima = np.concatenate([middle & 63, (high >> 4) | ((middle >> 6) << 4)], axis=1)
    d, dmin = _half(raw, 0)[:, None], _half(raw, 2)[:, None]
    return (d * scales).reshape(-1), -(dmin * minima).reshape(-1)


def _q4_k(raw: Bytes) -> Parts:
    """256 codes: each 32 bytes hold one sub-block in their low nibbles and the next in their high ones."""
    low, high = _pairs(raw[:, 16:144].reshape(-1, 32))
    codes = np.stack([low, high], axis=1).reshape(-1, 16)
    return codes, *_scales_k(raw)


def _q5_k(raw: Bytes) -> Parts:
    """As Q4_K; the fifth bits lie in 32 bytes, bit n of byte j belonging to code j of sub-block n."""
    fifth = (raw[:, 16:48, None] >> np.arange(8, dtype=np.uint8)) & 1  # (blocks, 32, 8)
    nibbles = raw[:, 48:176].reshape(-1, 4, 32)
    low = np.stack([nibbles & 15, nibbles >> 4], axis=2).reshape(-1, 8, 32)
    codes = (low | (fifth.swapaxes(1, 2) << 4)) + np.uint8(112)
    return codes.reshape(-1, 32), *_scales_k(raw)


def _q6_k(raw: Bytes) -> Parts:
    """128 bytes of low nibbles, 64 of high bit pairs, 16 signed scales, d; sub-blocks of 16, the center is 32."""
    nibbles = raw[:, :128].reshape(-1, 2, 1, 64)
    low = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)  # (blocks, 2, 2, 64)
    pairs = raw[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], dtype=np.uint8)[:, None]
    codes = (low.reshape(-1, 2, 4, 32) | ((pairs & 3) << 4)) + np.uint8(96)
    scales = _half(raw, 208)[:, None] * raw[:, 192:208].view(np.int8)
    return codes.reshape(-1, 16), scales.reshape(-1), None


def _f32(raw: Bytes) -> Floats:
    return raw.view("<f4").astype(np.float32)  # a copy: a view would keep the file mapped


def _f16(raw: Bytes) -> Floats:
    return raw.view("<f2").astype(np.float32)


def _bf16(raw: Bytes) -> Floats:
    """The upper halves of float32 numbers."""
    return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)


QUANTIZATIONS: Mapping[str, Quantization] = {
    "Q4_0": Quantization(4, 32, 8, _q4_0),
    "Q4_1": Quantization(4, 32, 0, _q4_1),
    "Q5_0": Quantization(8, 32, 128, _q5_0),
    "Q5_1": Quantization(8, 32, 112, _q5_1),
    "Q8_0": Quantization(8, 32, 128, _q8_0),
    "Q4_K": Quantization(4, 32, 0, _q4_k),
    "Q5_K": Quantization(8, 32, 112, _q5_k),
    "Q6_K": Quantization(8, 16, 128, _q6_k),
}
"""The types that stay in their own bits. A further one is a row here and a small function above."""
FLOATS: Mapping[str, Callable[[Bytes], Floats]] = {"F32": _f32, "F16": _f16, "BF16": _bf16}
"""The types that are widened: no kernel of the CPU multiplies by them."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix (N, K) as MatMulNBits takes it; `minima` is what its product lacks, None when nothing."""

    bits: int
    block: int
    codes: Bytes  # (N, K / block, block * bits / 8)
    scales: Floats  # (N, K / block)
    minima: Floats | None  # (N, K / block)

    @property
    def inner(self) -> int:
        """K."""
        return self.block * int(self.codes.shape[1])


def check_type(tensor: GgufTensor) -> None:
    """Refuse a type that does not run here, by its name. Raises `GgufUnsupported`."""
    if tensor.type.name not in QUANTIZATIONS and tensor.type.name not in FLOATS:
        known = ", ".join([*QUANTIZATIONS, *FLOATS])
        raise GgufUnsupported("quantization", tensor.name, tensor.type.name, f"one of {known}")


def dequantize(tensor: GgufTensor, data: Buffer) -> Floats:
    """The tensor as float32 in its own shape. Raises `GgufUnsupported` for a type that does not run here."""
    check_type(tensor)
    raw = np.frombuffer(data, np.uint8)
    if tensor.type.name in FLOATS:
        return FLOATS[tensor.type.name](raw).reshape(tensor.shape)
    form = QUANTIZATIONS[tensor.type.name]
    rows = raw.reshape(-1, tensor.type.block_bytes)
    found = np.empty((len(rows), tensor.type.block_elements), dtype=np.float32)
    for part in _passes(tensor):
        found[part] = form.floats(rows[part]).reshape(-1, tensor.type.block_elements)
    return found.reshape(tensor.shape)


def blocks_of(tensor: GgufTensor, data: Buffer) -> Blocks:
    """The tensor (N, K), of one of `QUANTIZATIONS`, as MatMulNBits takes it."""
    check_type(tensor)
    form = QUANTIZATIONS[tensor.type.name]
    rows = np.frombuffer(data, np.uint8).reshape(-1, tensor.type.block_bytes)
    each = tensor.type.block_elements // form.block
    codes = np.empty((len(rows) * each, form.block * form.bits // 8), dtype=np.uint8)
    scales = np.empty(len(rows) * each, dtype=np.float32)
    minima = np.empty_like(scales)
    lacks = None
    for part in _passes(tensor):
        into = slice(part.start * each, part.stop * each)
        codes[into], scales[into], lacks = form.for_kernel(rows[part])
        if lacks is not None:
            minima[into] = lacks
    shape = tensor.shape[0], tensor.shape[1] // form.block
    shaped = None if lacks is None else minima.reshape(shape)
    return Blocks(form.bits, form.block, codes.reshape(*shape, -1), scales.reshape(shape), shaped)


def _passes(tensor: GgufTensor) -> "list[slice[int, int, None]]":
    """The tensor's blocks, as many at a time as make `PASS_ELEMENTS`."""
    count = tensor.elements // tensor.type.block_elements
    step = max(1, PASS_ELEMENTS // tensor.type.block_elements)
    return [slice(at, min(at + step, count)) for at in range(0, count, step)]
