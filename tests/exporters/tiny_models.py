"""Tiny random Transformers models of the contract's three types, and what they write greedily: the oracle of exports.

The weights are drawn much wider than training starts with, so that greedy text is no loop of one token.
"""

import json
from pathlib import Path

import torch
import transformers

LAYERS, HIDDEN, HEADS, POSITIONS = 2, 16, 2, 96
TOKENS = 257
"""The bytes and an end of text: byte-level BPE without a merge."""
VOCABULARY = 264
"""More than the tokenizer's tokens, as padded tables are."""
PROMPT = "Pip, how are you?"
NEW_TOKENS = 64
MARGIN = 1e-3
"""Two float32 implementations agree to about 1e-5 here: with the best two logits this far apart, greedy text is one."""
SEEDS_MAX = 50

CONFIGS = {
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=POSITIONS, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS,
        initializer_range=0.6, bos_token_id=0, eos_token_id=0,
    ),
    "gpt_neox": lambda: transformers.GPTNeoXConfig(
        vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, hidden_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=4 * HIDDEN, rotary_pct=0.5, initializer_range=0.6,
        bos_token_id=0, eos_token_id=0,
    ),
    "llama": lambda: transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, hidden_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=1, intermediate_size=3 * HIDDEN, initializer_range=0.6,
        bos_token_id=0, eos_token_id=0,
    ),
}  # fmt: skip


def tokenizer_json() -> str:
    """A byte-level tokenizer in which each byte is a token, `<eos>` first."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={"<eos>": 0} | {c: i + 1 for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<eos>"])
    assert tokenizer.get_vocab_size() == TOKENS
    return str(tokenizer.to_str())


def prompt_ids() -> list[int]:
    """`PROMPT` in that tokenizer."""
    from tokenizers import Tokenizer

    return list(Tokenizer.from_str(tokenizer_json()).encode(PROMPT, add_special_tokens=False).ids)


def make_model(model_type: str) -> tuple[transformers.PreTrainedModel, list[int]]:
    """A model and its greedy tokens behind the prompt, of the first seed whose choices are all clear ones."""
    for seed in range(SEEDS_MAX):
        transformers.set_seed(seed)
        config = CONFIGS[model_type]()
        config._attn_implementation = "eager"
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        round_parameters(model)
        tokens, margin = greedy(model, prompt_ids())
        if margin > MARGIN and len(set(tokens)) >= NEW_TOKENS // 4:
            return model, tokens
    raise AssertionError(f"no seed below {SEEDS_MAX} gives {model_type} clear and various choices")


@torch.no_grad()
def round_parameters(model: transformers.PreTrainedModel) -> None:
    """Weights with empty low halves: the committed graphs pack twice as well. Buffers (rotary frequencies) stay."""
    for parameter in model.parameters():
        parameter.copy_(parameter.bfloat16().float())


@torch.no_grad()
def greedy(model: transformers.PreTrainedModel, ids: list[int]) -> tuple[list[int], float]:
    """What Transformers' own `generate` writes (ids no token has forbidden), and the least margin on its way."""
    count = len(ids)
    missing = list(range(TOKENS, VOCABULARY))
    whole = model.generate(
        torch.tensor([ids]), max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False, use_cache=True,
        suppress_tokens=[0, *missing], attention_mask=torch.ones(1, count, dtype=torch.int64), pad_token_id=0,
    )[0]  # fmt: skip
    rows = model(whole[None]).logits[0, count - 1 : -1, 1:TOKENS]
    best = rows.topk(2, dim=-1).values
    tokens = whole[count:].tolist()
    assert (rows.argmax(-1) + 1).tolist() == tokens
    # `<eos>` was forbidden above but may be chosen by a greedy decoder: its logit must be out of reach
    everything = model(whole[None]).logits[0, count - 1 : -1]
    clear = (best[:, 0] - everything[:, 0]).min()
    return tokens, float(min((best[:, 0] - best[:, 1]).min(), clear))


def write_source(model_type: str, out: Path) -> list[int]:
    """A Hugging Face directory of the model in `out`, and the greedy tokens."""
    model, tokens = make_model(model_type)
    model.save_pretrained(out)
    (out / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    (out / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}\n', "utf-8")
    (out / "greedy.json").write_text(json.dumps({"prompt": PROMPT, "tokens": tokens}) + "\n", "utf-8")
    return tokens
