"""GGUF files on the runtime: read within bounds, their tensors kept in their own bits, as an ONNX graph.

    with open_gguf(path) as file:                      # every count and offset checked; GgufRefused names what is wrong
        file.metadata.integer("llama.block_count")
        file.tensors["token_embd.weight"].shape
        file.data("token_embd.weight")                 # a view of the raw bytes
        model = open_model(file, numerics="fast")      # the built graph in an ORT session
        tokenizer = gguf_tokenizer(file)               # from the metadata alone
        template = chat_template(file)                 # None in a file without one
    lane = open_lane(brain_of(model, tokenizer.for_brain(), tokenizer.stop_ids, brain_id="smollm2"))
    generation = generate(model, lane, plan)           # or Chat(model, lane, …).ask, or score(model, ids)

ONNX Runtime is imported when the first model is opened.
"""

from tokenling.gguf.architectures import ARCHITECTURES, check_architecture
from tokenling.gguf.brain import find_gguf, open_gguf_brain
from tokenling.gguf.chat import Chat, ChatTurn, Wanted
from tokenling.gguf.chat_prompt import chat_ids
from tokenling.gguf.chat_template import ChatTemplate, TemplateRefused, chat_template
from tokenling.gguf.context import room_for
from tokenling.gguf.errors import ContextOverflow, GgufMalformed, GgufRefused, GgufUnsupported
from tokenling.gguf.generate import generate
from tokenling.gguf.ggml_types import GGML_TYPES, GgmlType
from tokenling.gguf.header import GgufTensor
from tokenling.gguf.hyperparameters import Hyperparameters, read_hyperparameters
from tokenling.gguf.memory import MemoryNeed, memory_of
from tokenling.gguf.metadata import Metadata, MetaValue
from tokenling.gguf.model import Model, brain_of, open_model
from tokenling.gguf.quantization import FLOATS, QUANTIZATIONS
from tokenling.gguf.reader import GgufFile, open_gguf
from tokenling.gguf.receipts import (
    GENERATION_RECEIPT_VERSION,
    GenerationReceipt,
    make_generation_receipt,
    parse_generation_receipt,
    verify_generation,
)
from tokenling.gguf.score import Scores, score
from tokenling.gguf.steps import BufferedSteps
from tokenling.gguf.summary import Summary, summarize
from tokenling.gguf.tokenizer import GgufTokenizer, gguf_tokenizer

__all__ = [
    "ARCHITECTURES",
    "FLOATS",
    "GENERATION_RECEIPT_VERSION",
    "GGML_TYPES",
    "QUANTIZATIONS",
    "BufferedSteps",
    "Chat",
    "ChatTemplate",
    "ChatTurn",
    "ContextOverflow",
    "GenerationReceipt",
    "GgmlType",
    "GgufFile",
    "GgufMalformed",
    "GgufRefused",
    "GgufTensor",
    "GgufTokenizer",
    "GgufUnsupported",
    "Hyperparameters",
    "MemoryNeed",
    "MetaValue",
    "Metadata",
    "Model",
    "Scores",
    "Summary",
    "TemplateRefused",
    "Wanted",
    "brain_of",
    "chat_ids",
    "chat_template",
    "check_architecture",
    "find_gguf",
    "generate",
    "gguf_tokenizer",
    "make_generation_receipt",
    "memory_of",
    "open_gguf",
    "open_gguf_brain",
    "open_model",
    "parse_generation_receipt",
    "read_hyperparameters",
    "room_for",
    "score",
    "summarize",
    "verify_generation",
]
