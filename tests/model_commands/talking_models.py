"""Tiny GGUF models with a tokenizer and a chat template, written here: no file is needed to test a command."""

from itertools import pairwise
from pathlib import Path

import numpy as np
from gguf_bytes import INT32, array, gguf, tensor, write

from tokenling.runtime.tokenizer import byte_alphabet

SAYS = "Hé£€!"
"""What the talking model says behind a line break: characters of one, two and three bytes, a token a byte."""
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
END_OF_TEXT, START, END = 256, 257, 258
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VOCABULARY = 256 + len(SPECIAL)


def keys(hidden: int, context: int, template: str) -> dict[str, object]:
    """The metadata of a llama of one layer and one token a byte."""
    spelled = {byte: char for char, byte in byte_alphabet().items()}
    found: dict[str, object] = {
        "general.architecture": "llama", "general.name": "tiny", "llama.block_count": 1,
        "llama.embedding_length": hidden, "llama.feed_forward_length": 64, "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2, "llama.context_length": context,
        "llama.attention.layer_norm_rms_epsilon": 1e-6, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [*(spelled[byte] for byte in range(256)), *SPECIAL],
        "tokenizer.ggml.token_type": array(INT32, [1] * 256 + [3] * len(SPECIAL)),
        "tokenizer.ggml.merges": array(8, []), "tokenizer.ggml.bos_token_id": END_OF_TEXT,
        "tokenizer.ggml.eos_token_id": END, "tokenizer.ggml.add_bos_token": False,
    }  # fmt: skip
    return found | ({"tokenizer.chat_template": template} if template else {})


def model(path: Path, matrices: dict[str, np.ndarray], context: int, template: str) -> Path:
    """A llama of these matrices; norms have a gain of 1."""
    hidden = matrices["token_embd"].shape[1]
    rows = [tensor(f"{name}.weight", np.ones(hidden)) for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")]
    rows += [tensor(f"{name}.weight", values) for name, values in matrices.items()]
    return write(path, gguf(keys(hidden, context, template), rows))


def shapes(hidden: int) -> dict[str, tuple[int, int]]:
    """Of the one layer."""
    return {"blk.0.attn_q": (hidden, hidden), "blk.0.attn_k": (hidden // 2, hidden),
            "blk.0.attn_v": (hidden // 2, hidden), "blk.0.attn_output": (hidden, hidden),
            "blk.0.ffn_gate": (64, hidden), "blk.0.ffn_up": (64, hidden), "blk.0.ffn_down": (hidden, 64)}  # fmt: skip


def talking_model(path: Path, *, says: str = SAYS, context: int = 256, template: str = TEMPLATE) -> Path:
    """Says `says` behind a line break and ends. Each token knows the next: the layer adds nothing, the head looks up
    which token the embedding is of, so `says` may not hold one byte twice."""
    chain = [ord("\n"), *says.encode(), END]
    assert len(set(chain)) == len(chain)
    table = np.where(np.random.default_rng(0).random((VOCABULARY, 256)) < 0.5, -1.0, 1.0)
    head = np.zeros_like(table)
    for token, following in pairwise(chain):
        head[following] = table[token] * (30 / 256)
    matrices = {"token_embd": table, "output": head}
    matrices |= {name: np.zeros(shape) for name, shape in shapes(256).items()}
    return model(path, matrices, context, template)


def noisy_model(path: Path, *, context: int = 512, template: str = TEMPLATE) -> Path:
    """Random weights, printable letters likelier than other bytes, and never an end."""
    random = np.random.default_rng(1)
    sizes = {"token_embd": (VOCABULARY, 64), "output": (VOCABULARY, 64), **shapes(64)}
    matrices = {name: random.standard_normal(shape) * 0.35 for name, shape in sizes.items()}
    matrices["output"][:32] *= 0.01
    matrices["output"][127:] *= 0.01
    return model(path, matrices, context, template)
