"""What a GGUF file says of itself, from its header: for whoever wants to know before anything is loaded."""

import math
from collections import Counter
from dataclasses import dataclass

from tokenling.gguf.architectures import read_architecture
from tokenling.gguf.build import Choices, resolve
from tokenling.gguf.errors import GgufRefused
from tokenling.gguf.hyperparameters import Hyperparameters
from tokenling.gguf.quantization import FLOATS, QUANTIZATIONS, check_type
from tokenling.gguf.reader import GgufFile

TEMPLATE_KEY = "tokenizer.chat_template"


@dataclass(frozen=True, slots=True)
class TypeShare:
    """The tensors of one type. `kernel_bits` is what the fast kernels multiply by; 0 for none of them."""

    type: str
    tensors: int
    elements: int
    size_bytes: int
    kernel_bits: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokenizer's keys, as the file spells them."""

    model: str
    pre: str
    tokens: int
    template_chars: int
    """Of the chat template; 0 for none."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A file at a glance. `obstacle` says why it does not run here, by its header; an empty text when nothing does."""

    name: str
    version: int
    architecture: str
    size_bytes: int
    is_complete: bool
    parameters: int
    shares: tuple[TypeShare, ...]
    hyperparameters: Hyperparameters | None
    vocabulary: Vocabulary
    obstacle: str

    @property
    def bits_per_weight(self) -> float:
        """Of all tensors together."""
        return 8 * sum(share.size_bytes for share in self.shares) / max(1, self.parameters)


def summarize(file: GgufFile) -> Summary:
    """What the header of an open file says; nothing of it makes this raise but a key of a wrong type."""
    hyperparameters, obstacle = _hyperparameters(file)
    return Summary(
        name=file.metadata.text("general.name", ""),
        version=file.version,
        architecture=file.metadata.text("general.architecture", ""),
        size_bytes=file.size_bytes,
        is_complete=file.is_complete,
        parameters=sum(tensor.elements for tensor in file.tensors.values()),
        shares=_shares(file),
        hyperparameters=hyperparameters,
        vocabulary=_vocabulary(file),
        obstacle=obstacle,
    )


def _hyperparameters(file: GgufFile) -> tuple[Hyperparameters | None, str]:
    """The numbers, and what stands in the way of running them."""
    found = None
    try:
        found, keys, _ = resolve(file, Choices())
        read_architecture(keys, found)
        for tensor in file.tensors.values():
            check_type(tensor)
    except GgufRefused as refused:
        return found, str(refused)
    return found, ""


def _shares(file: GgufFile) -> tuple[TypeShare, ...]:
    """Types by the bytes they take, the largest first."""
    counts: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in file.tensors.values():
        counts[tensor.type.name] += 1
        elements[tensor.type.name] += math.prod(tensor.shape)
        sizes[tensor.type.name] += tensor.size_bytes
    return tuple(
        TypeShare(name, counts[name], elements[name], size, _kernel_bits(name)) for name, size in sizes.most_common()
    )


def _kernel_bits(name: str) -> int:
    if name in QUANTIZATIONS:
        return QUANTIZATIONS[name].bits
    return 32 if name in FLOATS else 0


def _vocabulary(file: GgufFile) -> Vocabulary:
    metadata = file.metadata
    return Vocabulary(
        model=metadata.text("tokenizer.ggml.model", ""),
        pre=metadata.text("tokenizer.ggml.pre", ""),
        tokens=len(metadata.texts("tokenizer.ggml.tokens", ())),
        template_chars=len(metadata.text(TEMPLATE_KEY, "")),
    )
