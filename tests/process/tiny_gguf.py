"""A directory with a tiny random GGUF model that a pet can live on: a real tokenizer and two layers."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "gguf"))
from gguf_bytes import INT32, Tensor, array, gguf, tensor
from test_gguf_tokenizer import keys_of

HIDDEN, INNER, POSITIONS = 32, 48, 2048
SHAPES = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (16, HIDDEN), "attn_v": (16, HIDDEN), "attn_output": (HIDDEN, HIDDEN),
          "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN), "ffn_down": (HIDDEN, INNER)}  # fmt: skip


def tiny_gguf(folder: Path, *, tokenizer: str = "gpt-2", architecture: str = "llama", seed: int = 1) -> Path:
    """`folder` with one file in it."""
    keys = {**keys_of(tokenizer), "general.architecture": architecture}
    a = architecture + "."
    keys |= {a + "context_length": POSITIONS, a + "embedding_length": HIDDEN, a + "block_count": 2,
             a + "attention.head_count": 2, a + "attention.head_count_kv": 1, a + "feed_forward_length": INNER,
             a + "attention.layer_norm_rms_epsilon": 1e-5}  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.gguf").write_bytes(gguf(keys, tensors(vocabulary(tokenizer), seed)))
    return folder


def vocabulary(tokenizer: str) -> int:
    return len(keys_of(tokenizer)["tokenizer.ggml.tokens"])  # type: ignore[arg-type]


def tensors(rows: int, seed: int) -> list[Tensor]:
    random = np.random.default_rng(seed)
    found = [tensor("token_embd.weight", random.standard_normal((rows, HIDDEN))),
             tensor("output_norm.weight", np.ones(HIDDEN))]  # fmt: skip
    for layer in range(2):
        found += [tensor(f"blk.{layer}.{name}.weight", np.ones(HIDDEN)) for name in ("attn_norm", "ffn_norm")]
        found += [tensor(f"blk.{layer}.{name}.weight", random.standard_normal(shape) * 0.3)
                  for name, shape in SHAPES.items()]  # fmt: skip
    return found


__all__ = ["INT32", "array", "tiny_gguf"]
