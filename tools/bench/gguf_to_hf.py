"""A Hugging Face directory out of a Llama GGUF file, its weights as floats: a source for benchmarks only.

    python -m venv GGUF && GGUF/bin/pip install gguf==0.19.0 tokenizers
    GGUF/bin/python -m tools.bench.gguf_to_hf SmolLM2-135M-Instruct.Q4_1.gguf OUT

The file is trusted here (the `gguf` package believes its lengths). Weights come out as float32 in one safetensors file;
queries and keys are brought back from GGUF's order of rotary pairs to the halves that Transformers uses.
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
ENDS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def field(reader: gguf.GGUFReader, name: str) -> object:
    """A metadata value."""
    found = reader.get_field(name)
    if found is None:
        raise ValueError(f"{name}: not in the file")
    return found.contents()


def unpermuted(weight: Array, heads: int) -> Array:
    """Rows (heads, pairs, 2) brought to (heads, 2, pairs)."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def hf_name(name: str) -> str:
    """The name that Transformers gives a tensor."""
    if name in ENDS:
        return ENDS[name]
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.weight"


def read_config(reader: gguf.GGUFReader, tensors: dict[str, Array]) -> dict[str, object]:
    """`config.json` of a Llama."""
    names = {
        "hidden_size": "embedding_length",
        "intermediate_size": "feed_forward_length",
        "num_hidden_layers": "block_count",
        "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv",
        "max_position_embeddings": "context_length",
        "rms_norm_eps": "attention.layer_norm_rms_epsilon",
        "rope_theta": "rope.freq_base",
    }
    fixed = {"model_type": "llama", "hidden_act": "silu", "eos_token_id": field(reader, "tokenizer.ggml.eos_token_id")}
    sizes = {ours: field(reader, "llama." + theirs) for ours, theirs in names.items()}
    vocabulary = tensors["model.embed_tokens.weight"].shape[0]
    return fixed | sizes | {"vocab_size": vocabulary, "tie_word_embeddings": "lm_head.weight" not in tensors}


def read_tensors(reader: gguf.GGUFReader) -> dict[str, Array]:
    """Every tensor as float32, under Transformers' names."""
    heads = {"attn_q": "attention.head_count", "attn_k": "attention.head_count_kv"}
    found: dict[str, Array] = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.split(".")[-2]
        if part in heads:
            values = unpermuted(values, int(str(field(reader, "llama." + heads[part]))))
        found[hf_name(tensor.name)] = values
    return found


def tokenizer_json(reader: gguf.GGUFReader) -> str:
    """The byte-level vocabulary; digits apart, as the `smollm` pre-tokenizer has them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    if field(reader, "tokenizer.ggml.pre") != "smollm":
        raise ValueError(f"tokenizer.ggml.pre: found {field(reader, 'tokenizer.ggml.pre')}, expected smollm")
    words, kinds = field(reader, "tokenizer.ggml.tokens"), field(reader, "tokenizer.ggml.token_type")
    merges = field(reader, "tokenizer.ggml.merges")
    assert isinstance(words, list)
    assert isinstance(kinds, list)
    assert isinstance(merges, list)
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab={word: place for place, word in enumerate(words)}, merges=pairs))
    tokenizer.add_special_tokens(
        [AddedToken(word, special=True) for word, kind in zip(words, kinds, strict=True) if kind == 3]
    )
    digits, byte_level = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return str(tokenizer.to_str())


def save(file: Path, tensors: dict[str, Array]) -> None:
    """A safetensors file."""
    table: dict[str, object] = {}
    at = 0
    for name, values in tensors.items():
        table[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    header = json.dumps(table).encode()
    with file.open("wb") as opened:
        opened.write(len(header).to_bytes(8, "little") + header)
        for values in tensors.values():
            opened.write(np.ascontiguousarray(values).tobytes())


def main() -> None:
    """Write config.json, tokenizer.json and model.safetensors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    reader = gguf.GGUFReader(chosen.gguf)
    tensors = read_tensors(reader)
    chosen.out.mkdir(parents=True)
    (chosen.out / "config.json").write_text(json.dumps(read_config(reader, tensors), indent=2) + "\n", "utf-8")
    (chosen.out / "tokenizer.json").write_text(tokenizer_json(reader), "utf-8")
    save(chosen.out / "model.safetensors", tensors)


if __name__ == "__main__":
    main()
