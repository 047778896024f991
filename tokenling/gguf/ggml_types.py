"""The tensor types of ggml: how many elements one block holds and how many bytes it takes.

The reader knows them all, so that sizes can be checked and shown; which of them run is `quantization.py`'s matter.
Numbers and sizes: the GGUF specification and the block structures of ggml.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GgmlType:
    """One tensor type: `block_bytes` for every `block_elements` along the innermost axis."""

    number: int
    name: str
    block_elements: int
    block_bytes: int


_ROWS = (
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
)
GGML_TYPES: Mapping[int, GgmlType] = {row[0]: GgmlType(*row) for row in _ROWS}
"""By number, as a file holds it. The gaps are types that ggml has given up, or that it keeps in memory only."""
