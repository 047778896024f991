"""Products with a file's matrices: in their own bits where a kernel exists, in float32 otherwise."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tokenling.gguf.graph import MICROSOFT, Graph
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.quantization import FLOATS, QUANTIZATIONS, Blocks, Floats
from tokenling.gguf.weights import Weights
from tokenling.runtime import Numerics

ACCURACY_LEVEL = 4
"""int8 activations: the kernels' fast path, and in distance from a float64 reference the like of llama.cpp's."""

Part: TypeAlias = tuple[GgufTensor, Floats | None]
"""A matrix (N, K) and its bias (N,)."""


@dataclass(frozen=True, slots=True)
class Product:
    """What one operator computed: a name, and how many columns belong to each of the matrices it joined."""

    name: str
    widths: tuple[int, ...]


class Linears:
    """Makes the products of one graph. Block sums of an input are made once, whoever needs them."""

    def __init__(self, graph: Graph, weights: Weights, numerics: Numerics) -> None:
        self._graph = graph
        self._weights = weights
        self._is_fast = numerics == "fast"
        self._sums: dict[tuple[str, int], str] = {}

    def apply(self, x: str, *parts: Part) -> list[Product]:
        """`x @ matrix.T + bias` for each part, as few products as the matrices' bits allow; `x` is (seq, K)."""
        groups: list[list[Part]] = []
        for part in parts:
            if groups and self._form(groups[-1][0][0]) == self._form(part[0]):
                groups[-1].append(part)
            else:
                groups.append([part])
        return [self._product(x, group) for group in groups]

    def one(self, x: str, part: Part) -> str:
        """The product with one matrix."""
        return self.apply(x, part)[0].name

    def each(self, products: list[Product]) -> list[str]:
        """A name for each matrix: joined products are split again."""
        names: list[str] = []
        for product in products:
            if len(product.widths) == 1:
                names.append(product.name)
            else:
                sizes = self._graph.integers(*product.widths)
                names += self._graph.nodes("Split", product.name, sizes, outputs=len(product.widths), axis=-1)
        return names

    def _form(self, tensor: GgufTensor) -> tuple[int, int] | Literal["floats"]:
        """What matrices must have in common to be one product: the kernel's bits and block."""
        if not self._is_fast or tensor.type.name in FLOATS:
            return "floats"
        form = QUANTIZATIONS[tensor.type.name]
        return form.bits, form.block

    def _product(self, x: str, group: list[Part]) -> Product:
        widths = tuple(tensor.shape[0] for tensor, _ in group)
        name = group[0][0].name
        bias = self._bias(name, group)
        if self._form(group[0][0]) == "floats":
            matrix = self.floats([tensor for tensor, _ in group])
            inputs = (x, matrix, bias) if bias else (x, matrix)
            return Product(self._graph.node("Gemm", *inputs, transB=1), widths)
        blocks = joined([self._weights.blocks(tensor) for tensor, _ in group])
        return Product(self._in_blocks(x, name, blocks, bias), widths)

    def _bias(self, name: str, group: list[Part]) -> str:
        """The group's bias as a constant; an empty name when it has none."""
        if all(bias is None for _, bias in group):
            return ""
        parts = [np.zeros(t.shape[0], dtype=np.float32) if bias is None else bias for t, bias in group]
        return self._graph.constant(name + ".bias", np.concatenate(parts))

    def floats(self, tensors: list[GgufTensor]) -> str:
        """A constant (N, K) in float32 of the tensors' rows, made once."""
        constant = tensors[0].name + ".floats"
        if not self._graph.has(constant):
            self._graph.constant(constant, np.concatenate([self._weights.floats(tensor) for tensor in tensors]))
            self._note_widened(tensors)
        return constant

    def _note_widened(self, tensors: list[GgufTensor]) -> None:
        kinds = {tensor.type.name for tensor in tensors} - {"F32"}
        if self._is_fast:
            for kind in sorted(kinds):
                self._graph.note(f"{kind} matrices are widened to float32: no kernel of the CPU multiplies by them")

    def _in_blocks(self, x: str, name: str, blocks: Blocks, bias: str) -> str:
        """MatMulNBits, and the minimum's share of the product behind it."""
        graph = self._graph
        inputs = [x, graph.constant(name + ".codes", blocks.codes), graph.constant(name + ".scales", blocks.scales)]
        inputs += ["", "", bias] if bias else []
        rows = blocks.codes.shape[0]
        y = graph.node(
            "MatMulNBits", *inputs, domain=MICROSOFT,
            bits=blocks.bits, block_size=blocks.block, K=blocks.inner, N=rows, accuracy_level=ACCURACY_LEVEL,
        )  # fmt: skip
        if blocks.minima is None:
            return y
        minima = graph.constant(name + ".minima", blocks.minima.T)  # (K / block, N)
        return graph.node("Gemm", self._block_sums(x, blocks.inner, blocks.block), minima, y)

    def _block_sums(self, x: str, inner: int, block: int) -> str:
        """(seq, K) summed over blocks, (seq, K / block). A product with ones reads more memory than the weights it
        serves: for K = 1536 it took 20 us a token, the reduction takes 1."""
        key = x, block
        if key not in self._sums:
            apart = self._graph.node("Reshape", x, self._graph.integers(-1, inner // block, block))
            self._sums[key] = self._graph.node("ReduceSum", apart, self._graph.integers(-1), keepdims=0)
        return self._sums[key]


def joined(parts: list[Blocks]) -> Blocks:
    """Matrices of one input and one form as one, rows behind rows."""
    if len(parts) == 1:
        return parts[0]
    minima = None
    if any(part.minima is not None for part in parts):
        minima = np.concatenate([np.zeros_like(p.scales) if p.minima is None else p.minima for p in parts])
    codes = np.concatenate([part.codes for part in parts])
    return Blocks(parts[0].bits, parts[0].block, codes, np.concatenate([part.scales for part in parts]), minima)
