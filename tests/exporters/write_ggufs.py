"""Write tests/gguf/models: a tiny random model of each architecture as GGUF, and what Transformers computes for it.

    python tests/exporters/write_ggufs.py            (in the environment of `nox -s exporters`)

Matrices are float16, which the model is rounded to before it runs, in float64. Names and layouts are those of
llama.cpp's converter: queries and keys of Llama and Granite permuted to interleaved rotary pairs, Gemma's gains with
their 1 added, GPT-NeoX's packed projection sorted by kind.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
import transformers

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "gguf"))
from gguf_bytes import Tensor, gguf  # noqa: E402

OUT = HERE.parent / "gguf" / "models"
VOCABULARY, HIDDEN, HEADS, INNER, POSITIONS, LAYERS = 48, 32, 2, 48, 128, 2
IDS = [int(i) for i in np.random.default_rng(5).integers(0, VOCABULARY, 24)]
SHAPE = {
    "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "initializer_range": 0.3,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
}  # fmt: skip
GROUPED = SHAPE | {"num_key_value_heads": 1}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}  # fmt: skip
SHORT, LONG = [1.0, 1.1, 1.3, 1.7, 2.0, 2.5, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
LONGROPE = {"type": "longrope", "short_factor": SHORT, "long_factor": LONG}

MODELS: Mapping[str, tuple[str, Callable[[], transformers.PretrainedConfig]]] = {
    "llama": ("llama", lambda: transformers.LlamaConfig(**GROUPED)),
    "llama-tied": ("llama", lambda: transformers.LlamaConfig(**GROUPED, tie_word_embeddings=True)),
    "llama-biases": ("llama", lambda: transformers.LlamaConfig(**GROUPED, attention_bias=True, mlp_bias=True)),
    "llama3": ("llama", lambda: transformers.LlamaConfig(**GROUPED, rope_theta=500.0, rope_scaling=LLAMA3)),
    "llama-linear": ("llama", lambda: transformers.LlamaConfig(
        **GROUPED, rope_scaling={"rope_type": "linear", "factor": 4.0})),
    "mistral": ("llama", lambda: transformers.MistralConfig(**GROUPED, head_dim=32, sliding_window=None)),
    "qwen2": ("qwen2", lambda: transformers.Qwen2Config(**GROUPED)),
    "qwen3": ("qwen3", lambda: transformers.Qwen3Config(**GROUPED, head_dim=32)),
    "gemma3": ("gemma3", lambda: transformers.Gemma3TextConfig(
        **(GROUPED | {"num_hidden_layers": 7}), head_dim=16, query_pre_attn_scalar=16, sliding_window=6,
        rope_theta=1000.0, rope_local_base_freq=10_000.0, rope_scaling={"rope_type": "linear", "factor": 8.0})),
    "phi3": ("phi3", lambda: transformers.Phi3Config(**GROUPED, sliding_window=7)),
    "phi3-longrope": ("phi3", lambda: transformers.Phi3Config(
        **GROUPED, original_max_position_embeddings=64, rope_scaling=LONGROPE, sliding_window=None)),
    "granite": ("granite", lambda: transformers.GraniteConfig(
        **GROUPED, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.2, logits_scaling=4.0)),
    "stablelm": ("stablelm", lambda: transformers.StableLmConfig(
        **GROUPED, partial_rotary_factor=0.25, use_qkv_bias=True)),
    "stablelm-parallel": ("stablelm", lambda: transformers.StableLmConfig(
        **(SHAPE | {"num_key_value_heads": 2}), partial_rotary_factor=0.25, qk_layernorm=True,
        use_parallel_residual=True)),
    "gpt2": ("gpt2", lambda: transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=POSITIONS, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER,
        initializer_range=0.3, bos_token_id=0, eos_token_id=0)),
    "gptneox": ("gptneox", lambda: transformers.GPTNeoXConfig(**SHAPE, rotary_pct=0.25)),
    "gptneox-serial": ("gptneox", lambda: transformers.GPTNeoXConfig(
        **SHAPE, rotary_pct=1.0, use_parallel_residual=False)),
}  # fmt: skip

ENDS = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
    "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output",
}  # fmt: skip
PARTS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "self_attn.dense": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "mlp.gate_up_proj": "ffn_up", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
    "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down",
}  # fmt: skip
GEMMA_PARTS = PARTS | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip


def gguf_name(name: str, arch: str) -> str:
    """llama.cpp's name of a Transformers tensor."""
    stem, _, end = name.rpartition(".")
    if stem in ENDS:
        return f"{ENDS[stem]}.{end}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{(GEMMA_PARTS if arch == 'gemma3' else PARTS)[part]}.{end}"


def permuted(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows (heads, 2, pairs) brought to (heads, pairs, 2)."""
    halves = values.reshape(heads, 2, len(values) // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def by_kind(values: np.ndarray) -> np.ndarray:
    """Rows (heads, kind, width) brought to (kind, heads, width)."""
    apart = values.reshape(HEADS, 3, HIDDEN // HEADS, *values.shape[1:])
    return apart.swapaxes(0, 1).reshape(values.shape)


def laid_out(name: str, values: np.ndarray, arch: str) -> np.ndarray:
    """A tensor as the converter stores it."""
    if arch in ("llama", "granite") and ".attn_q." in name:
        return permuted(values, HEADS)
    if arch in ("llama", "granite") and ".attn_k." in name:
        return permuted(values, 1)
    if arch == "gemma3" and name.endswith("norm.weight"):
        return values + 1
    if arch == "gptneox" and ".attn_qkv." in name:
        return by_kind(values)
    is_conv = arch == "gpt2" and values.ndim == 2 and name.startswith("blk.")
    return values.T if is_conv else values


def tensors_of(model: transformers.PreTrainedModel, arch: str) -> dict[str, np.ndarray]:
    """Every tensor by its GGUF name."""
    found: dict[str, np.ndarray] = {}
    heads: dict[str, list[np.ndarray]] = {}
    for name, tensor in model.named_parameters():  # a head that is tied to the table is not among them
        values = tensor.detach().double().numpy()
        if "layernorm.norms." in name:  # StableLM's: a norm of its own for each head
            layer, kind = name.split(".")[2], name.split(".")[4][0]
            heads.setdefault(f"blk.{layer}.attn_{kind}_norm.weight", []).append(values)
            continue
        full = gguf_name(name, arch)
        found[full] = laid_out(full, values, arch)
    return found | {name: np.stack(rows) for name, rows in heads.items()}


def keys_of(config: transformers.PretrainedConfig, arch: str) -> dict[str, object]:
    """The metadata that the converter writes."""
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    rotary = getattr(config, "rotary_pct", None) or getattr(config, "partial_rotary_factor", None) or 1.0
    eps = getattr(config, "rms_norm_eps", None)
    layer_eps = getattr(config, "layer_norm_eps", None) or getattr(config, "layer_norm_epsilon", None)
    keys: dict[str, object] = {
        "context_length": config.max_position_embeddings, "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers, "attention.head_count": heads,
        "feed_forward_length": getattr(config, "intermediate_size", None) or config.n_inner,
        "attention.head_count_kv": getattr(config, "num_key_value_heads", heads),
    }  # fmt: skip
    keys |= {"attention.layer_norm_rms_epsilon": eps} if eps else {"attention.layer_norm_epsilon": layer_eps}
    if arch != "gpt2":
        theta = getattr(config, "rope_theta", None) or config.rotary_emb_base
        keys |= {"rope.freq_base": float(theta), "rope.dimension_count": int(width * rotary)}
    if width * heads != config.hidden_size:
        keys |= {"attention.key_length": width, "attention.value_length": width}
    return keys | special_keys(config, arch)


def special_keys(config: transformers.PretrainedConfig, arch: str) -> dict[str, object]:
    """What one family has alone."""
    keys: dict[str, object] = {}
    scaling = getattr(config, "rope_scaling", None) or {}
    if scaling.get("rope_type") == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": scaling["factor"]}
    if scaling.get("type") == "longrope":
        original = config.original_max_position_embeddings
        factor = math.sqrt(1 + math.log(config.max_position_embeddings / original) / math.log(original))
        keys |= {"rope.scaling.type": "longrope", "rope.scaling.attn_factor": factor,
                 "rope.scaling.original_context_length": original}  # fmt: skip
    if arch == "granite":
        keys |= {"embedding_scale": config.embedding_multiplier, "residual_scale": config.residual_multiplier,
                 "attention.scale": config.attention_multiplier, "logit_scale": config.logits_scaling}  # fmt: skip
    if arch in ("gptneox", "stablelm"):
        keys["use_parallel_residual"] = config.use_parallel_residual
    if arch in ("gemma3", "phi3") and config.sliding_window:
        keys["attention.sliding_window"] = config.sliding_window
    return keys


def factors(name: str) -> list[Tensor]:
    """The tensors of rotary factors that two of the models have."""
    if name == "llama3":
        config = MODELS[name][1]()
        plain = 1 / config.rope_theta ** (np.arange(0, 16, 2) / 16)
        scaled, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
        return [f32("rope_freqs.weight", plain / scaled.double().numpy())]
    if name == "phi3-longrope":
        return [f32("rope_factors_short.weight", np.array(SHORT)), f32("rope_factors_long.weight", np.array(LONG))]
    return []


def f32(name: str, values: np.ndarray) -> Tensor:
    return Tensor(name, values.shape[::-1], np.ascontiguousarray(values, dtype="<f4").tobytes(), 0)


def f16(name: str, values: np.ndarray) -> Tensor:
    return Tensor(name, values.shape[::-1], np.ascontiguousarray(values, dtype="<f2").tobytes(), 1)


def model_of(name: str) -> transformers.PreTrainedModel:
    """One model with random weights, each a float16 number."""
    torch.manual_seed(sum(name.encode()))
    arch, configure = MODELS[name]
    config = configure()
    config._attn_implementation = "eager"
    with transformers.modeling_utils.no_init_weights():  # StableLM's own cannot initialise its norms without bias
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    model.tie_weights()
    with torch.no_grad():
        for key, tensor in model.named_parameters():
            drawn = torch.randn_like(tensor) * (0.3 if tensor.ndim > 1 else 0.2)
            is_gain = tensor.ndim == 1 and key.endswith("weight") and arch != "gemma3"
            tensor.copy_((drawn + is_gain).half().to(tensor.dtype))
    return model


def logits_of(model: transformers.PreTrainedModel, ids: list[int]) -> list[list[float]]:
    """The logits at each of `ids`, in float64."""
    with torch.no_grad():
        rows = model.double()(torch.tensor([ids])).logits[0].numpy()
    return [[float(f"{value:.7g}") for value in row] for row in rows]


def make(name: str) -> tuple[bytes, list[list[float]]]:
    """The file of one model, and its logits at each of `IDS`."""
    model = model_of(name)
    arch, config = MODELS[name][0], model.config
    keys = {"general.architecture": arch} | {f"{arch}.{k}": v for k, v in keys_of(config, arch).items()}
    rows = [f16(n, v) if v.ndim == 2 and "norm" not in n else f32(n, v) for n, v in tensors_of(model, arch).items()]
    return gguf(keys, [*rows, *factors(name)]), logits_of(model, IDS)


def beyond_original_context() -> dict[str, list[list[float]] | list[int]]:
    """The LongRoPE model behind more ids than its original context: its long factors hold for every position."""
    ids = [int(i) for i in np.random.default_rng(6).integers(0, VOCABULARY, 100)]
    return {"ids": ids, "logits": logits_of(model_of("phi3-longrope"), ids)[-8:]}


def main() -> None:
    """Write every model and `expected.json`."""
    OUT.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name in MODELS:
        data, expected[name] = make(name)
        (OUT / f"{name}.gguf").write_bytes(data)
    lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in expected.items()]
    body = ",\n".join([f'"ids": {json.dumps(IDS)}', *lines])
    (OUT / "longrope.json").write_text(json.dumps(beyond_original_context()) + "\n", "utf-8")
    (OUT / "expected.json").write_text("{\n" + body + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
