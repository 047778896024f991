"""The tiny vocabularies of tests/gguf/tokenizers, and real ones where installed, against independent tokenizers."""

import base64
import json
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
import regex

pytest.importorskip("sentencepiece")
pytest.importorskip("tiktoken")

import write_gguf_tokenizers as write
from gguf_bytes import INT32, array, gguf
from hostile_text import hostile_texts
from tokenizers import Regex, pre_tokenizers

from tokenling.gguf import gguf_tokenizer, open_gguf
from tokenling.gguf.pretokenizers import FAMILIES

EXPECTED = json.loads((write.OUT / "expected.json").read_text("utf-8"))
NAMES = [name for name in EXPECTED if name != "texts"]
TEXTS = 1500


def encode_of(path: Path) -> write.Encode:
    with open_gguf(path) as file:
        tokenizer = gguf_tokenizer(file)
    return lambda text: tokenizer.encode(text, bos=False, eos=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_expected_ids_are_the_references(name: str) -> None:
    encode = write.reference(name)
    for text, ids in zip(EXPECTED["texts"], EXPECTED[name], strict=True):
        assert ids is None or ids == encode(text)


@pytest.mark.parametrize("name", NAMES)
def test_many_texts_get_the_references_ids(name: str) -> None:
    ours, theirs = encode_of(write.OUT / f"{name}.gguf"), write.reference(name)
    for text in hostile_texts(TEXTS, 31):
        if write.is_asked(name, text):
            assert theirs(text) == ours(text), ascii(text)


@pytest.mark.parametrize("pattern", sorted({cut for family in FAMILIES.values() for cut in family.splits}))
def test_a_pattern_cuts_as_the_regex_package_cuts(pattern: str) -> None:
    cut = pre_tokenizers.Split(Regex(pattern), "isolated")
    # characters that are newer than this Python's Unicode are left out: the libraries' versions differ
    for text in hostile_texts(TEXTS, 32):
        whole = "".join(char for char in text if unicodedata.category(char) != "Cn")
        assert pieces_by_regex(pattern, whole) == [piece for piece, _ in cut.pre_tokenize_str(whole)], ascii(whole)


def pieces_by_regex(pattern: str, text: str) -> list[str]:
    """Matches, and what lies between them."""
    found, at = [], 0
    for match in regex.finditer(pattern, text):
        found += [text[at : match.start()], match.group()]
        at = match.end()
    return [piece for piece in (*found, text[at:]) if piece]


# ---- Mistral's own vocabularies, where its package is installed


def mistral_data() -> Path:
    module = pytest.importorskip("mistral_common")
    return Path(module.__file__).parent / "data"


def spm_file(model: Path, folder: Path) -> Path:
    """A real model as a file, as a converter writes it."""
    path = folder / "model.gguf"
    path.write_bytes(write.spm_gguf(model.name, model.read_bytes()))
    return path


@pytest.mark.parametrize("name", ["tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"])
def test_mistrals_pieces_are_sentencepieces(name: str, tmp_path: Path) -> None:
    path = spm_file(mistral_data() / name, tmp_path)
    ours, theirs = encode_of(path), write.spm_reference(path)
    for text in hostile_texts(TEXTS, 33):
        assert theirs(text) == ours(text), ascii(text)


def test_runs_of_blanks_of_any_length_are_sentencepieces(tmp_path: Path) -> None:
    path = spm_file(mistral_data() / "tokenizer.model.v1", tmp_path)
    ours, theirs = encode_of(path), write.spm_reference(path)
    for length in range(1, 200):
        for text in (" " * length, "a" + " " * length, " " * length + "b", "\n" + " " * length + "\n"):
            assert theirs(text) == ours(text), length


def test_tekken_has_tiktokens_ids(tmp_path: Path) -> None:
    import tiktoken

    document = json.loads((mistral_data() / "tekken_240718.json").read_text("utf-8"))
    ranks = {base64.b64decode(item["token_bytes"]): item["rank"] for item in document["vocab"][:20_000]}
    theirs = tiktoken.Encoding("t", pat_str=document["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    ours = encode_of(tekken_file(ranks, tmp_path))
    for text in hostile_texts(TEXTS, 34):
        assert theirs.encode_ordinary(text) == ours(text), ascii(text)


def tekken_file(ranks: dict[bytes, int], folder: Path) -> Path:
    """Ranks as merges: each token is split in two as merging by the ranks before it splits it."""
    import transformers

    letters = transformers.models.gpt2.tokenization_gpt2.bytes_to_unicode()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [" ".join(spelled[part] for part in parts_of(token, ranks)) for token in ranks if len(token) > 1]
    path = folder / "tekken.gguf"
    path.write_bytes(gguf({
        "general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "tekken",
        "tokenizer.ggml.tokens": list(spelled.values()), "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": array(INT32, [1] * len(ranks)), "tokenizer.ggml.add_bos_token": False,
    }))  # fmt: skip
    return path


def parts_of(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two parts that the last merge joins."""
    parts = [bytes((byte,)) for byte in token]
    while len(parts) > 2:
        pairs = [ranks.get(left + right, len(ranks)) for left, right in pairwise(parts)]
        best = min(pairs)
        assert best < ranks[token]
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]
