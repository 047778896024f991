r"""How each family cuts text before byte-level BPE: `tokenizer.ggml.pre` to the regular expressions of its tokenizer.

Sources: the families' own `tokenizer.json` and tiktoken files, and the names that llama.cpp's converter gives them.
Where llama.cpp writes a pattern anew for its own engine (case folding, scripts), the family's own is used here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokenling.gguf.errors import GgufUnsupported
from tokenling.gguf.vocabulary import PREFIX

if TYPE_CHECKING:
    import tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
EACH_DIGIT = r"\p{N}"
_SUFFIXES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_MARKS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_MARKS_SLASH = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_EDGE = r"[^\r\n\p{L}\p{N}]?"
CL100K = rf"{_SUFFIXES}|{_EDGE}\p{{L}}+|\p{{N}}{{1,3}}|{_MARKS}|{_TAIL}"
QWEN2 = rf"{_SUFFIXES}|{_EDGE}\p{{L}}+|\p{{N}}|{_MARKS}|{_TAIL}"
SEED_CODER = rf"{_SUFFIXES}|{_EDGE}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_TAIL}"
TEKKEN = rf"{_EDGE}{_UPPER}*{_LOWER}+|{_EDGE}{_UPPER}+{_LOWER}*|\p{{N}}|{_MARKS_SLASH}|{_TAIL}"
_CASED = rf"{_EDGE}{_UPPER}*{_LOWER}+{_SUFFIXES}?|{_EDGE}{_UPPER}+{_LOWER}*{_SUFFIXES}?"
O200K = rf"{_CASED}|\p{{N}}{{1,3}}|{_MARKS_SLASH}|{_TAIL}"
PUNCTUATION = r"[\p{P}\$\+<=>\^~\|]+"
PUNCTUATION_AND_BACKTICK = r"[\p{P}\$\+<=>\^~\|`]+"
THREE_DIGITS = r"[0-9][0-9][0-9]"
DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥\u0800-一가-\ud7ff]+", EACH_DIGIT)
WORDS_OF_POEMS = " ?[^(\\s|.,!?…。，、।۔،)]+"


@dataclass(frozen=True, slots=True)
class Family:
    """`splits` apply one behind the other, each within the pieces of the one before; what none matches is a piece."""

    splits: tuple[str, ...]
    composes: bool = False
    """Text is first put into Unicode's normal form C."""
    ignores_merges: bool = False
    """A piece that is a token whole is that token, whatever the merges say."""
    adds_bos: bool = False
    """Unless the file says otherwise."""


_GPT2 = Family((GPT2,))
_DIGITS_GPT2 = Family((EACH_DIGIT, GPT2))
_LLAMA3 = Family((CL100K,), ignores_merges=True, adds_bos=True)
_CL100K = Family((CL100K,))
_QWEN2 = Family((QWEN2,), composes=True)
_O200K = Family((O200K,))
FAMILIES: Mapping[str, Family] = {
    "default": Family((PUNCTUATION, GPT2, r"\p{N}+", THREE_DIGITS)),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "jais", "exaone4", "trillion", "mellum", "gigachat"), _GPT2),
    **dict.fromkeys(("granite-docling", "a.x-4.0", "modern-bert"), _GPT2),
    "olmo": replace(_GPT2, composes=True),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0"), _LLAMA3),
    **dict.fromkeys(("dbrx", "smaug-bpe"), _CL100K),
    "qwen2": _QWEN2,
    "stablelm2": _QWEN2,
    **dict.fromkeys(("deepseek-r1-qwen", "megrez"), replace(_QWEN2, composes=False)),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"), _DIGITS_GPT2),
    "command-r": replace(_DIGITS_GPT2, composes=True),
    "tekken": Family((TEKKEN,), ignores_merges=True, adds_bos=True),
    **dict.fromkeys(("gpt-4o", "llama4"), _O200K),
    "seed-coder": Family((SEED_CODER,)),
    "deepseek-coder": Family(DEEPSEEK_CODER),
    "falcon": Family((PUNCTUATION_AND_BACKTICK, GPT2, THREE_DIGITS)),
    **dict.fromkeys(("poro-chat", "bloom", "gpt3-finnish"), Family((WORDS_OF_POEMS,))),
    "viking": Family((WORDS_OF_POEMS, EACH_DIGIT)),
}  # fmt: skip
"""By `tokenizer.ggml.pre`. A further one is a row here."""


def family_of(name: str) -> Family:
    """The row of a file. Raises `GgufUnsupported` for a name that is not known here."""
    if name not in FAMILIES:
        raise GgufUnsupported("pre_tokenizer", PREFIX + "pre", name, "one of " + ", ".join(sorted(FAMILIES)))
    return FAMILIES[name]


def pre_tokenizer_of(family: Family) -> "tokenizers.pre_tokenizers.PreTokenizer":
    """The family's cuts, then each byte as its letter."""
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in family.splits]
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([*splits, letters])
