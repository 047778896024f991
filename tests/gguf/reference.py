"""Every architecture once more, in float64 NumPy, without cache, graph or kernel: what a file's logits ought to be.

Written from the models' definitions, not from `tokenling/gguf`; files are read and unpacked by the `gguf` package.
"""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class Reference:
    """A file's model in float64."""

    def __init__(self, path: Path) -> None:
        import gguf

        reader = gguf.GGUFReader(path)
        self.keys = {name: found.contents() for name, found in reader.fields.items()}
        self.arch = str(self.keys["general.architecture"])
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self._quants = gguf.quants
        self._cache: dict[str, Doubles] = {}
        self.heads = int(self.key("attention.head_count"))
        self.kv_heads = int(self.key("attention.head_count_kv", self.heads))
        self.hidden = int(self.key("embedding_length"))
        self.width = int(self.key("attention.key_length", self.hidden // self.heads))
        self.layers = int(self.key("block_count"))
        self.eps = float(self.key("attention.layer_norm_rms_epsilon", self.key("attention.layer_norm_epsilon", 0.0)))

    def key(self, name: str, default: object = None):  # type: ignore[no-untyped-def]
        return self.keys.get(f"{self.arch}.{name}", default)

    def has(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str) -> Doubles:
        if name not in self._cache:
            found = self._tensors[name]
            values = self._quants.dequantize(found.data, found.tensor_type).astype(np.float64)
            self._cache[name] = values.reshape([int(extent) for extent in found.shape[::-1]])
        return self._cache[name]

    def linear(self, name: str, x: Doubles) -> Doubles:
        y = x @ self.tensor(name + ".weight").T
        return y + self.tensor(name + ".bias") if self.has(name + ".bias") else y

    def norm(self, name: str, x: Doubles) -> Doubles:
        if self.arch in ("gpt2", "gptneox", "stablelm"):
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.tensor(name + ".weight")
        return x + self.tensor(name + ".bias") if self.has(name + ".bias") else x

    def is_local(self, layer: int) -> bool:
        return self.arch == "gemma3" and (layer + 1) % 6 != 0

    def angles(self, layer: int, length: int) -> Doubles:
        rotary = int(self.key("rope.dimension_count", self.width))
        base = 10_000.0 if self.is_local(layer) else float(self.key("rope.freq_base", 10_000.0))
        frequencies = base ** (-np.arange(0, rotary, 2) / rotary)
        if self.has("rope_freqs.weight"):
            frequencies = frequencies / self.tensor("rope_freqs.weight")
        if self.has("rope_factors_short.weight"):
            is_long = length > int(self.key("rope.scaling.original_context_length"))
            frequencies = frequencies / self.tensor(f"rope_factors_{'long' if is_long else 'short'}.weight")
        if self.key("rope.scaling.type") == "linear" and not self.is_local(layer):
            frequencies = frequencies / float(self.key("rope.scaling.factor"))
        return np.outer(np.arange(length), frequencies)

    def turned(self, x: Doubles, layer: int) -> Doubles:
        """Rotary positions on x (length, heads, width)."""
        if self.arch == "gpt2":
            return x
        angles = self.angles(layer, len(x))[:, None]
        magnitude = float(self.key("rope.scaling.attn_factor", 1.0))
        cos, sin = np.cos(angles) * magnitude, np.sin(angles) * magnitude
        half = angles.shape[-1]
        if self.arch in ("llama", "granite"):
            at, to = np.arange(0, 2 * half, 2), np.arange(1, 2 * half, 2)
        else:
            at, to = np.arange(half), np.arange(half, 2 * half)
        result = x.copy()
        result[..., at] = x[..., at] * cos - x[..., to] * sin
        result[..., to] = x[..., to] * cos + x[..., at] * sin
        return result

    def queries_keys_values(self, at: str, x: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        sizes = [heads * self.width for heads in (self.heads, self.kv_heads, self.kv_heads)]
        if self.has(at + "attn_qkv.weight"):
            q, k, v = np.split(self.linear(at + "attn_qkv", x), np.cumsum(sizes)[:2], axis=-1)
        else:
            q, k, v = (self.linear(at + name, x) for name in ("attn_q", "attn_k", "attn_v"))
        q, k, v = (part.reshape(len(x), -1, self.width) for part in (q, k, v))
        if self.has(at + "attn_q_norm.weight"):
            q, k = self.norm(at + "attn_q_norm", q), self.norm(at + "attn_k_norm", k)
        return q, k, v

    def attention(self, layer: int, x: Doubles) -> Doubles:
        at, length = f"blk.{layer}.", len(x)
        q, k, v = self.queries_keys_values(at, x)
        q, k = self.turned(q, layer), self.turned(k, layer)
        k, v = (np.repeat(part, self.heads // self.kv_heads, axis=1) for part in (k, v))
        scale = float(self.key("attention.scale", 1 / math.sqrt(self.width)))
        scores = np.einsum("ihd,jhd->hij", q, k) * scale
        row, column = np.indices((length, length))
        hidden = column > row
        if self.is_local(layer) or (self.arch == "phi3" and self.key("attention.sliding_window")):
            hidden |= row - column >= int(self.key("attention.sliding_window"))
        scores = np.where(hidden, -np.inf, scores)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares = shares / shares.sum(-1, keepdims=True)
        mixed = np.einsum("hij,jhd->ihd", shares, v).reshape(length, -1)
        out = self.linear(at + "attn_output", mixed)
        return self.norm(at + "post_attention_norm", out) if self.arch == "gemma3" else out

    def activation(self, x: Doubles) -> Doubles:
        if self.arch == "gptneox":
            return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        if self.arch in ("gpt2", "gemma3"):
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return x / (1 + np.exp(-x))

    def feed_forward(self, at: str, x: Doubles) -> Doubles:
        if self.has(at + "ffn_gate.weight"):
            inner = self.activation(self.linear(at + "ffn_gate", x)) * self.linear(at + "ffn_up", x)
        elif self.arch == "phi3":
            gate, up = np.split(self.linear(at + "ffn_up", x), 2, axis=-1)
            inner = self.activation(gate) * up
        else:
            inner = self.activation(self.linear(at + "ffn_up", x))
        down = self.linear(at + "ffn_down", inner)
        return self.norm(at + "post_ffw_norm", down) if self.arch == "gemma3" else down

    def block(self, layer: int, x: Doubles) -> Doubles:
        at, scale = f"blk.{layer}.", float(self.key("residual_scale", 1.0))
        normed = self.norm(at + "attn_norm", x)
        attended = self.attention(layer, normed) * scale
        parallel = self.arch in ("gptneox", "stablelm") and bool(
            self.key("use_parallel_residual", self.arch == "gptneox")
        )
        if parallel:
            beside = self.norm(at + "ffn_norm", x) if self.has(at + "ffn_norm.weight") else normed
            return x + attended + self.feed_forward(at, beside)
        x = x + attended
        return x + self.feed_forward(at, self.norm(at + "ffn_norm", x)) * scale

    def logits(self, ids: list[int]) -> Doubles:
        """(length, vocabulary)."""
        x = self.tensor("token_embd.weight")[ids]
        if self.arch == "gemma3":
            x = x * math.sqrt(self.hidden)
        x = x * float(self.key("embedding_scale", 1.0))
        if self.arch == "gpt2":
            x = x + self.tensor("position_embd.weight")[: len(ids)]
        for layer in range(self.layers):
            x = self.block(layer, x)
        head = "output" if self.has("output.weight") else "token_embd"
        return self.linear(head, self.norm("output_norm", x)) / float(self.key("logit_scale", 1.0))


def log_softmax(logits: Doubles) -> Doubles:
    """Logarithms of the probabilities, over the last axis."""
    centred = logits - logits.max(-1, keepdims=True)
    return centred - np.log(np.exp(centred).sum(-1, keepdims=True))


def divergence(expected: Doubles, found: Doubles) -> float:
    """The mean KL divergence of `found` from `expected`, in nats."""
    p, q = log_softmax(expected), log_softmax(found.astype(np.float64))
    return float((np.exp(p) * (p - q)).sum(-1).mean())
