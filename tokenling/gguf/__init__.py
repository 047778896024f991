"""GGUF files on the runtime: read within bounds, their tensors kept in their own bits, as an ONNX graph.

with open_gguf(path) as file:              # every count and offset checked; GgufRefused names what is wrong
    file.metadata.integer("llama.block_count")
    file.tensors["token_embd.weight"].shape
    file.data("token_embd.weight")         # a view of the raw bytes
"""

from tokenling.gguf.errors import GgufMalformed, GgufRefused, GgufUnsupported
from tokenling.gguf.ggml_types import GGML_TYPES, GgmlType
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.metadata import Metadata, MetaValue
from tokenling.gguf.reader import GgufFile, open_gguf

__all__ = [
    "GGML_TYPES",
    "GgmlType",
    "GgufFile",
    "GgufMalformed",
    "GgufRefused",
    "GgufTensor",
    "GgufUnsupported",
    "MetaValue",
    "Metadata",
    "open_gguf",
]
