"""How much memory a model takes, by arithmetic over its header: weights as kernels hold them, caches, one step's work.

    need = memory_of(file, numerics="fast", context=4096)
    need.weights_bytes + need.cache_bytes + need.work_bytes

What is counted is the most that an open model takes while a context of `context` tokens is filled and written in. The
pages of a file that is mapped come on top while it opens, and go when anybody else needs them. The process itself
(Python, NumPy, ONNX Runtime and the tokenizer) is its caller's to measure.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tokenling.gguf.architectures import read_architecture
from tokenling.gguf.build import TABLE, Choices, resolve
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.hyperparameters import Hyperparameters
from tokenling.gguf.quantization import FLOATS, KERNEL_CENTER, QUANTIZATIONS, check_type
from tokenling.gguf.reader import GgufFile
from tokenling.runtime import Numerics

PREFILL_CHUNK = 512
"""Prompt tokens of one step: more are no faster, and a step's activations grow with them."""
FLOAT_BYTES = 4
KERNEL_BYTES_PER_BLOCK = 8
"""MatMulNBits keeps a float32 scale and a float32 sum of each block beside its codes."""
MINIMUM_BYTES_PER_BLOCK = 4
"""What its product lacks, as a matrix of its own (docs/gguf.md)."""
NODE_BYTES = 12 * 1024
"""Of ONNX Runtime for one operator of a graph and its constants. Measured on SmolLM2 (660 operators) and Gemma 3."""
OPERATORS_PER_LAYER = 22
RUNTIME_BYTES = 10 * 2**20
"""Pages of ONNX Runtime's own code and tables that the first steps touch. Measured."""
INNERS, STREAMS = 8, 4
"""Activations of the feed-forward's and of the stream's width that a step's arena ends up with. Measured on SmolLM2
135M and Gemma 3 270M over 512 to 4096 tokens: attention adds nothing that grows with the context."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes by what they are for."""

    numerics: Numerics
    context: int
    weights_bytes: int
    cache_bytes: int
    """Keys and values of `context` tokens."""
    work_bytes: int
    """Of the largest step, a chunk of the prompt; given back behind it."""
    graph_bytes: int
    """ONNX Runtime's own: the operators, its code's pages."""
    temporary_bytes: int
    """On disk while the model opens, without a kept graph."""

    @property
    def total_bytes(self) -> int:
        """At most, with the context full."""
        return self.weights_bytes + self.cache_bytes + self.work_bytes + self.graph_bytes


def memory_of(file: GgufFile, *, numerics: Numerics = "fast", context: int = 0) -> MemoryNeed:
    """What a run of `context` tokens takes (0: the training's, at most 4096). The header is enough.

    Raises `GgufRefused` for a model that does not run here.
    """
    h, keys, choices = resolve(file, Choices(numerics=numerics, positions=context))
    read_architecture(keys, h)
    matrices = [tensor for tensor in file.tensors.values() if len(tensor.shape) == 2]
    for tensor in file.tensors.values():
        check_type(tensor)
    is_tied = "output.weight" not in file.tensors
    multiplied = [tensor for tensor in matrices if tensor.name != TABLE or is_tied]
    return MemoryNeed(
        numerics=numerics,
        context=choices.positions,
        weights_bytes=sum(packed_bytes(tensor, numerics) for tensor in multiplied) + _vectors(file.tensors.values()),
        cache_bytes=2 * h.layers * h.cache_width * choices.positions * FLOAT_BYTES,
        work_bytes=_work(h, choices.positions),
        graph_bytes=h.layers * OPERATORS_PER_LAYER * NODE_BYTES + RUNTIME_BYTES,
        temporary_bytes=sum(stored_bytes(tensor, numerics) for tensor in matrices),
    )


def packed_bytes(tensor: GgufTensor, numerics: Numerics) -> int:
    """A matrix as the kernel that multiplies by it keeps it."""
    if numerics == "exact" or tensor.type.name in FLOATS:
        return tensor.elements * FLOAT_BYTES
    form = QUANTIZATIONS[tensor.type.name]
    blocks = tensor.elements // form.block
    lacking = MINIMUM_BYTES_PER_BLOCK if form.center != KERNEL_CENTER[form.bits] else 0
    return tensor.elements * form.bits // 8 + blocks * (KERNEL_BYTES_PER_BLOCK + lacking)


def stored_bytes(tensor: GgufTensor, numerics: Numerics) -> int:
    """The same matrix in the built graph's file: scales but no sums."""
    if numerics == "exact" or tensor.type.name in FLOATS:
        return tensor.elements * FLOAT_BYTES
    blocks = tensor.elements // QUANTIZATIONS[tensor.type.name].block
    return packed_bytes(tensor, numerics) - blocks * (KERNEL_BYTES_PER_BLOCK - FLOAT_BYTES)


def _vectors(tensors: Iterable[GgufTensor]) -> int:
    return sum(tensor.elements * FLOAT_BYTES for tensor in tensors if len(tensor.shape) == 1)


def _work(h: Hyperparameters, context: int) -> int:
    """The activations of one chunk of a prompt, and a row of logits."""
    rows = min(PREFILL_CHUNK, context)
    return FLOAT_BYTES * (rows * (INNERS * h.inner + STREAMS * h.hidden) + h.vocabulary)
