"""Random tensors of every type as a file holds them: any bytes are codes, the scales are kept small and finite."""

import numpy as np

from tokenling.gguf import GGML_TYPES, GgmlType

TYPES = {kind.name: kind for kind in GGML_TYPES.values()}
_HALVES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2),
           "Q6_K": (208,)}  # fmt: skip
"""Where a block of each type keeps its float16 numbers: d, and m or dmin."""
_SPREAD = {"Q4_0": 4.6, "Q4_1": 4.6, "Q5_0": 9.2, "Q5_1": 9.2, "Q8_0": 74, "Q4_K": 145, "Q5_K": 290, "Q6_K": 1360}
"""The standard deviation of code times sub-scale for random bytes and d = 1: d is divided by it."""


def random_raw(kind: GgmlType, elements: int, scale: float, seed: int) -> bytes:
    """Raw bytes of `elements` weights whose standard deviation is about `scale`."""
    random = np.random.default_rng(seed)
    if kind.name in ("F32", "F16", "BF16"):
        return floats_raw(kind.name, random.standard_normal(elements).astype(np.float32) * scale)
    raw = random.integers(0, 256, (elements // kind.block_elements, kind.block_bytes), dtype=np.uint8)
    for place, at in enumerate(_HALVES[kind.name]):
        d = random.uniform(0.5, 1.5, len(raw)) * scale / _SPREAD[kind.name]
        if place:  # the minimum brings the mean near zero
            top = {"Q4_1": -7.5, "Q5_1": -15.5, "Q4_K": 7.5, "Q5_K": 15.5}[kind.name]
            d = raw[:, 0:2].copy().view("<f2")[:, 0].astype(np.float32) * top
        raw[:, at : at + 2] = d.astype("<f2").view(np.uint8).reshape(-1, 2)
    return raw.tobytes()


def floats_raw(name: str, values: np.ndarray) -> bytes:
    """Floats as F32, F16 or BF16 (cut, not rounded)."""
    if name == "BF16":
        return (values.astype("<f4").view(np.uint32) >> 16).astype("<u2").tobytes()
    return values.astype("<f4" if name == "F32" else "<f2").tobytes()
