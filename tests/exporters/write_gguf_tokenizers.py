"""Write tests/gguf/tokenizers: tiny vocabularies of each kind as GGUF, and what other tokenizers make of hostile texts.

    python tests/exporters/write_gguf_tokenizers.py            (in the environment of `nox -s exporters`)

Vocabularies are trained here, by SentencePiece and by `tokenizers`, and kept. The ids expected of them come from
implementations that share nothing with ours: SentencePiece itself, tiktoken, and Transformers' tokenizers in pure
Python (which cut by the `regex` package); `smollm` has Transformers' own pre-tokenizers instead.
"""

import io
import json
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import sentencepiece
import tiktoken
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "gguf"))
from gguf_bytes import INT32, UINT8, array, gguf  # noqa: E402
from hostile_text import SCRAPS, hostile_texts  # noqa: E402

from tokenling.gguf import open_gguf  # noqa: E402

OUT = HERE.parent / "gguf" / "tokenizers"
TEXTS, SEED = 120, 3
VOCABULARY = 800
WORDS = (
    "the cat sat on the mat and watched the rain fall over the garden while a small bird sang of summer; then it slept "
    "in the warm light, dreaming of fish and of the sea. Where do clouds go when they are tired? Home, says the cat."
)
Encode = Callable[[str], list[int]]


def corpus() -> list[str]:
    """What the vocabularies are trained on: words, and what the tests will ask."""
    chance = random.Random(11)  # noqa: S311 - words, not keys
    words = [*WORDS.split(), *WORDS.title().split(), *SCRAPS]
    return [" ".join(chance.choices(words, k=12)) for _ in range(1500)]


# ---- SentencePiece

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
AS_IT_IS: Mapping[str, object] = {
    "character_coverage": 0.99, "byte_fallback": True, "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}  # fmt: skip
SPM: Mapping[str, Mapping[str, object]] = {
    "spm-llama": {"model_type": "bpe", **AS_IT_IS, "split_digits": True},
    "spm-gemma": {"model_type": "bpe", **AS_IT_IS, "add_dummy_prefix": False,
                  "user_defined_symbols": ["\n", "\n\n", "\n\n\n", "▁▁", "▁▁▁", "<table>", "\t"]},
    "spm-ties": {"model_type": "bpe", **AS_IT_IS, "split_by_whitespace": False},
    "spm-no-bytes": {"model_type": "bpe", "character_coverage": 0.98, "normalization_rule_name": "identity"},
    "t5-unigram": {"model_type": "unigram", "character_coverage": 0.98, "normalization_rule_name": "nmt_nfkc"},
    "t5-bytes": {"model_type": "unigram", **AS_IT_IS},
}  # fmt: skip


def train_spm(name: str) -> bytes:
    """A model's bytes. `spm-ties` gets equal scores, as Mistral's runs of blanks have."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, vocab_size=VOCABULARY, num_threads=1,
        hard_vocab_limit=False, minloglevel=2, **SPM[name])  # fmt: skip
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    if name == "spm-ties":
        for piece in proto.pieces:
            if piece.type == NORMAL and set(piece.piece) == {"▁"}:
                piece.score = -1e9
            elif piece.type == NORMAL:
                piece.score = float(int(piece.score) // 40)
    return proto.SerializeToString()


def spm_gguf(name: str, model: bytes) -> bytes:
    """The file that a converter writes of it. User-defined pieces have plain blanks there."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    pieces = list(proto.pieces)
    texts = [piece.piece.replace("▁", " ") if piece.type == USER_DEFINED else piece.piece for piece in pieces]
    keys: dict[str, object] = {
        "general.architecture": "llama", "general.name": name,
        "tokenizer.ggml.model": "t5" if name.startswith("t5") else "llama", "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": texts, "tokenizer.ggml.scores": [piece.score for piece in pieces],
        "tokenizer.ggml.token_type": array(INT32, [piece.type for piece in pieces]),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": proto.normalizer_spec.add_dummy_prefix,
        "tokenizer.ggml.remove_extra_whitespaces": proto.normalizer_spec.remove_extra_whitespaces,
    }  # fmt: skip
    if charsmap := proto.normalizer_spec.precompiled_charsmap:
        keys["tokenizer.ggml.precompiled_charsmap"] = array(UINT8, list(charsmap))
    return gguf(keys)


def spm_reference(path: Path) -> Encode:
    """SentencePiece over the file's own vocabulary."""
    with open_gguf(path) as file:
        data = file.metadata
        proto = sentencepiece_model_pb2.ModelProto()
        kinds = data.integers("tokenizer.ggml.token_type")
        for text, score, kind in zip(
            data.texts("tokenizer.ggml.tokens"), data.numbers("tokenizer.ggml.scores"), kinds, strict=True
        ):
            spelled = text.replace(" ", "▁") if kind == USER_DEFINED else text
            proto.pieces.add(piece=spelled, score=score, type=kind)
        unigram = data.text("tokenizer.ggml.model") == "t5"
        proto.trainer_spec.model_type = 1 if unigram else 2
        proto.trainer_spec.byte_fallback = BYTE in kinds
        proto.normalizer_spec.add_dummy_prefix = data.flag("tokenizer.ggml.add_space_prefix")
        proto.normalizer_spec.remove_extra_whitespaces = data.flag("tokenizer.ggml.remove_extra_whitespaces")
        charsmap = data.get("tokenizer.ggml.precompiled_charsmap")
        if charsmap is not None:
            proto.normalizer_spec.precompiled_charsmap = charsmap.tobytes()
    loaded = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    return loaded.encode


# ---- byte-level BPE

CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+SUFFIX|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*SUFFIX|"
)
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TIKTOKEN: Mapping[str, str] = {
    # tiktoken's own spelling of cl100k and o200k, and the pattern in Mistral's tekken file
    "llama-bpe": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
    r"\s*[\r\n]|\s+(?!\S)|\s",
    "gpt-4o": CASED.replace("SUFFIX", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?") + r"\p{N}{1,3}" + REST,
    "tekken": CASED.replace("SUFFIX", "") + r"\p{N}" + REST,
}
BPE = ("gpt-2", "qwen2", "smollm", *TIKTOKEN)
END = "<|endoftext|>"


def train_bpe(name: str) -> Tokenizer:
    """Trained with a cut that lets merges reach over words: the family's own cut must then keep them apart."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "merged_with_next"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=sorted(letters), show_progress=False)
    found.train_from_iterator(corpus(), trainer)
    assert name in BPE
    return found


def bpe_gguf(name: str, trained: Tokenizer) -> bytes:
    """The file that a converter writes of it, one control token behind the others."""
    document = json.loads(trained.to_str())["model"]
    texts = sorted(document["vocab"], key=document["vocab"].__getitem__)
    return gguf({
        "general.architecture": "llama", "general.name": name, "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": name, "tokenizer.ggml.tokens": [*texts, END],
        "tokenizer.ggml.token_type": array(INT32, [NORMAL] * len(texts) + [CONTROL]),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in document["merges"]],
        "tokenizer.ggml.eos_token_id": len(texts),
    })  # fmt: skip


def bpe_reference(path: Path) -> Encode:
    """Another implementation over the file's own vocabulary."""
    with open_gguf(path) as file:
        texts = file.metadata.texts("tokenizer.ggml.tokens")
        merges = [tuple(line.split(" ")) for line in file.metadata.texts("tokenizer.ggml.merges")]
        name = file.metadata.text("general.name")
    vocabulary = {text: token for token, text in enumerate(texts)}
    if name in TIKTOKEN:
        return tiktoken_reference(name, texts)
    if name == "smollm":
        return smollm_reference(vocabulary, merges)
    slow = transformers.GPT2Tokenizer if name == "gpt-2" else transformers.Qwen2Tokenizer
    return slow_reference(slow, vocabulary, merges)


def tiktoken_reference(name: str, texts: tuple[str, ...]) -> Encode:
    """Ranks are ids: the alphabet first, then what each merge made."""
    letters = {char: byte for byte, char in transformers.models.gpt2.tokenization_gpt2.bytes_to_unicode().items()}
    ranks = {bytes(letters[char] for char in text): token for token, text in enumerate(texts[:-1])}
    found = tiktoken.Encoding(name, pat_str=TIKTOKEN[name], mergeable_ranks=ranks, special_tokens={})
    return found.encode_ordinary


def smollm_reference(vocabulary: dict[str, int], merges: list[tuple[str, ...]]) -> Encode:
    """`tokenizers` with the parts that SmolLM's `tokenizer.json` names."""
    found = Tokenizer(models.BPE(vocabulary, merges))  # type: ignore[arg-type]
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    found.decoder = decoders.ByteLevel()
    return lambda text: found.encode(text).ids


def slow_reference(kind: type, vocabulary: dict[str, int], merges: list[tuple[str, ...]]) -> Encode:
    """Transformers' tokenizer in pure Python: reads files, cuts by `regex`."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "vocab.json", Path(folder) / "merges.txt"
        names[0].write_text(json.dumps(vocabulary), "utf-8")
        names[1].write_text("\n".join(["#version: 0.2", *(" ".join(pair) for pair in merges), ""]), "utf-8")
        slow = kind(*map(str, names))
    return lambda text: slow.convert_tokens_to_ids(slow._tokenize(slow.prepare_for_tokenization(text)[0]))


def reference(name: str) -> Encode:
    """By the name of a file of `OUT`."""
    path = OUT / f"{name}.gguf"
    return spm_reference(path) if name in SPM else bpe_reference(path)


def expected() -> dict[str, object]:
    """The texts, and each vocabulary's ids of them."""
    texts = list(hostile_texts(TEXTS, SEED))
    found: dict[str, object] = {"texts": texts}
    for name in (*SPM, *BPE):
        encode = reference(name)
        found[name] = [encode(text) if is_asked(name, text) else None for text in texts]
    return found


def is_asked(name: str, text: str) -> bool:
    """SentencePiece finds user-defined pieces behind its own letter for a blank, a converted file before it."""
    return name != "spm-gemma" or "▁" not in text


def main() -> None:
    """Train and write all; `--expected` keeps the vocabularies and writes only what is expected of them."""
    OUT.mkdir(exist_ok=True)
    if "--expected" not in sys.argv:
        for name in SPM:
            (OUT / f"{name}.gguf").write_bytes(spm_gguf(name, train_spm(name)))
        for name in BPE:
            (OUT / f"{name}.gguf").write_bytes(bpe_gguf(name, train_bpe(name)))
    (OUT / "expected.json").write_text(json.dumps(expected(), separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
