"""A file's tensors as a graph's weights: each asked for by name and shape, and none left over."""

import numpy as np

from tokenling.gguf.errors import GgufMalformed, GgufUnsupported
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.progress import Progress, silent
from tokenling.gguf.protobuf import Array
from tokenling.gguf.quantization import Blocks, Floats, blocks_of, check_type, dequantize
from tokenling.gguf.reader import GgufFile

UNUSED = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors of rotary factors, of which a context may need none."""
UNUSED_ENDS = (".attn_rot_embd", ".attn.masked_bias", ".attn.bias", ".rotary_emb.inv_freq")
"""What converters once wrote out although the configuration says it."""


class Weights:
    """The tensors of one file. What was asked for is noted, so that a tensor nobody asked for can be refused."""

    def __init__(self, file: GgufFile, progress: Progress = silent) -> None:
        self._file = file
        self._progress = progress
        self._total_bytes = sum(tensor.size_bytes for tensor in file.tensors.values())
        self._asked_bytes = 0
        self._asked: set[str] = set()
        self._kept: dict[str, Blocks] = {}

    def has(self, name: str) -> bool:
        """Whether the file holds this tensor."""
        return name in self._file.tensors

    def get(self, name: str, *shape: int) -> GgufTensor:
        """The tensor, which must have this shape (-1: any extent). Raises `GgufRefused` by its name."""
        tensor = self._file.tensors.get(name)
        if tensor is None:
            raise GgufUnsupported("tensor_missing", name, "no such tensor", f"a tensor of shape {shape}")
        fits = len(shape) == len(tensor.shape) and all(w in (-1, h) for w, h in zip(shape, tensor.shape, strict=True))
        if not fits:
            raise GgufUnsupported("tensor_shape", name, f"{tensor.shape}", f"{shape}")
        check_type(tensor)
        if name not in self._asked:
            self._asked.add(name)
            self._asked_bytes += tensor.size_bytes
            self._progress("building", self._asked_bytes, self._total_bytes)
        return tensor

    def vector(self, name: str, length: int) -> Floats:
        """A vector, finite throughout, as float32."""
        values = dequantize(self.get(name, length), self._file.data(name))
        if not np.isfinite(values).all():
            raise GgufMalformed("tensor_not_finite", name, "a value that is not finite", "finite values")
        return values

    def may_vector(self, name: str, length: int) -> Floats | None:
        """The same; None when there is no such tensor."""
        return self.vector(name, length) if self.has(name) else None

    def floats(self, tensor: GgufTensor) -> Floats:
        """A matrix as float32, (N, K)."""
        return dequantize(tensor, self._file.data(tensor.name))

    def narrow(self, tensor: GgufTensor) -> "tuple[str, Array, str]":
        """A matrix of floats in its own bits: a constant's name, values and element type."""
        element = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}[tensor.type.name]
        name, data = f"{tensor.name}.{element}", self._file.data(tensor.name)
        if element == "bfloat16":  # NumPy has no such type: its bits travel as integers
            return name, np.frombuffer(data, np.uint16).reshape(tensor.shape), element
        return name, np.frombuffer(data, element).reshape(tensor.shape), element

    def blocks(self, tensor: GgufTensor, *, keep: bool = False) -> Blocks:
        """A quantised matrix in its own bits; `keep` gives the same arrays again to whoever asks next."""
        found = self._kept.get(tensor.name) or blocks_of(tensor, self._file.data(tensor.name))
        if keep:
            self._kept[tensor.name] = found
        return found

    def check_all_used(self) -> None:
        """Refuse a file that holds a tensor of which this architecture knows nothing."""
        for name in self._file.tensors:
            if name not in self._asked and name not in UNUSED and not name.endswith(UNUSED_ENDS):
                expected = f"the tensors of a {self._file.architecture} only"
                raise GgufUnsupported("tensor_unknown", name, "a tensor of this name", expected)
