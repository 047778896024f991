"""Tokenizers from GGUF metadata: against independent implementations' ids, and against what no file should hold."""

import itertools
import json
import random
import time
from pathlib import Path

import pytest
from gguf_bytes import INT32, UINT8, array, gguf, write
from hostile_text import hostile_texts
from tokenizer_files import FILES, PREFIX, changed, keys_of

from tokenling.gguf import GgufRefused, GgufTokenizer, gguf_tokenizer, open_gguf
from tokenling.gguf.pretokenizers import FAMILIES
from tokenling.gguf.spm import SpmPieces, joined
from tokenling.gguf.tokenizer import TEXT_CHARS_MAX
from tokenling.gguf.unigram import UNKNOWN_PENALTY, UnigramPieces
from tokenling.runtime import GenerationRefused
from tokenling.runtime.tokenizer import byte_alphabet

EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
TEXTS: list[str] = EXPECTED.pop("texts")
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


def opened(path: Path) -> GgufTokenizer:
    with open_gguf(path) as file:
        return gguf_tokenizer(file)


# ---- against others


@pytest.mark.parametrize("name", EXPECTED)
def test_ids_are_those_of_an_independent_tokenizer(name: str) -> None:
    tokenizer = opened(FILES / f"{name}.gguf")
    asked = [(text, ids) for text, ids in zip(TEXTS, EXPECTED[name], strict=True) if ids is not None]
    assert len(asked) > 100
    for text, ids in asked:
        assert ids == tokenizer.encode(text, bos=False, eos=False), ascii(text)


@pytest.mark.parametrize(
    "name", ["spm-llama", "spm-ties", "t5-bytes", "gpt-2", "smollm", "llama-bpe", "tekken", "gpt-4o"]
)
def test_what_is_encoded_comes_back(name: str) -> None:
    tokenizer = opened(FILES / f"{name}.gguf")
    for text in hostile_texts(200, 5):
        expected = text.replace("▁", " ") if name.startswith(("spm", "t5")) else text
        assert expected == tokenizer.decode(tokenizer.encode(text))


def test_composed_text_is_what_qwen_reads() -> None:
    tokenizer = opened(FILES / "qwen2.gguf")
    assert tokenizer.encode("\u00e9") == tokenizer.encode("e\u0301")
    plain = opened(FILES / "gpt-2.gguf")
    assert plain.encode("\u00e9") != plain.encode("e\u0301")


def naive_spm(text: str, scores: dict[str, float]) -> list[str]:
    """The definition: of all neighbours join those with the best score, the leftmost of equals; start again."""
    symbols = list(text)
    while True:
        pairs = [(scores.get(left + right), -at) for at, (left, right) in enumerate(itertools.pairwise(symbols))]
        best = max(((score, at) for score, at in pairs if score is not None), default=None)
        if best is None:
            return joined(symbols, scores)
        at = -best[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


def test_pieces_by_score_are_the_definitions_over_random_vocabularies() -> None:
    chance = random.Random(8)  # noqa: S311 - texts, not keys
    for _ in range(400):
        letters = chance.choice(("ab", "abc", "a\u2581", "ab\u2581"))
        pieces = {"".join(chance.choices(letters, k=chance.randint(1, 5))) for _ in range(chance.randint(1, 30))}
        scores = {piece: float(chance.randint(-4, 0)) for piece in pieces}  # few values: ties everywhere
        finder = SpmPieces(scores)
        for _ in range(10):
            text = "".join(chance.choices(letters + "x", k=chance.randint(0, 30)))
            assert naive_spm(text, scores) == finder.pieces(text), (scores, text)


def best_cut(text: str, scores: dict[str, float]) -> float:
    """The greatest sum over every way to cut a text."""
    unknown = min(scores.values()) - UNKNOWN_PENALTY
    sums = []
    for cuts in itertools.product((False, True), repeat=len(text) - 1):
        ends = [at + 1 for at, cut in enumerate(cuts) if cut] + [len(text)]
        parts = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        each = [scores.get(part, unknown if len(part) == 1 else None) for part in parts]
        if None not in each:
            sums.append(sum(score for score in each if score is not None))
    return max(sums)


def test_unigram_pieces_have_the_greatest_sum_of_all_cuts() -> None:
    chance = random.Random(9)  # noqa: S311 - texts, not keys
    for _ in range(150):
        pieces = {"".join(chance.choices("abc", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 15))}
        scores = {piece: -float(chance.randint(1, 400)) / 32 for piece in pieces}
        text = "".join(chance.choices("abcx", k=chance.randint(1, 9)))
        unknown = min(scores.values()) - UNKNOWN_PENALTY
        found = UnigramPieces(scores).pieces(text)
        assert text == "".join(found)
        assert best_cut(text, scores) == pytest.approx(
            sum(scores[piece] if piece in scores else unknown * len(piece) for piece in found)
        )


# ---- special, user-defined and added tokens


def test_special_tokens_are_read_only_when_asked_for() -> None:
    tokenizer = opened(FILES / "gpt-2.gguf")
    end = tokenizer.eos_id
    text = "a<|endoftext|>b"
    assert end not in tokenizer.encode(text)
    assert text == tokenizer.decode(tokenizer.encode(text))
    read = tokenizer.encode(text, special=True)
    assert [*tokenizer.encode("a"), end, *tokenizer.encode("b")] == read
    assert "ab" == tokenizer.decode(read)


def test_control_pieces_of_sentencepiece_are_read_only_when_asked_for() -> None:
    tokenizer = opened(FILES / "spm-llama.gguf")
    assert (1, 2) == (tokenizer.bos_id, tokenizer.eos_id)
    assert not {0, 1, 2} & set(tokenizer.encode("<s>a</s><unk>", bos=False))
    assert [1, *tokenizer.encode("a", bos=False), 2, 0] == tokenizer.encode("<s>a</s><unk>", bos=False, special=True)


def test_bytes_that_are_typed_as_names_stay_text() -> None:
    tokenizer = opened(FILES / "spm-llama.gguf")
    assert "<0x0A>" == tokenizer.decode(tokenizer.encode("<0x0A>"))


def test_user_defined_tokens_are_always_found_the_longest_first() -> None:
    tokenizer = opened(FILES / "spm-gemma.gguf")
    ids = {text: tokenizer.tokenizer.token_to_id(text) for text in ("\n", "\n\n\n", "   ", "<table>")}
    assert None not in ids.values()
    assert [ids["\n\n\n"], ids["\n"], ids["<table>"]] == tokenizer.encode("\n\n\n\n<table>", bos=False)
    assert ids["   "] in tokenizer.encode("a   b", bos=False)


def test_phi3_drops_blanks_behind_its_special_tokens(tmp_path: Path) -> None:
    keys = keys_of("spm-llama")
    texts, kinds = keys[PREFIX + "tokens"], keys_kinds("spm-llama")
    more = {PREFIX + "tokens": [*texts, "<|user|>", "<|endoftext|>"],  # type: ignore[misc]
            PREFIX + "scores": [*keys[PREFIX + "scores"], 0.0, 0.0],  # type: ignore[misc]
            PREFIX + "token_type": array(INT32, [*kinds, CONTROL, CONTROL])}  # fmt: skip
    for architecture, strips in (("phi3", True), ("llama", False)):
        path = write(tmp_path / "phi.gguf", gguf({**keys, **more, "general.architecture": architecture}))
        tokenizer = opened(path)
        user, end = len(kinds), len(kinds) + 1
        blanks = tokenizer.encode("<|user|> \n a", special=True, bos=False)
        assert strips == (blanks == tokenizer.encode("<|user|>a", special=True, bos=False))
        assert [end, *tokenizer.encode(" \n a", bos=False)] == tokenizer.encode(
            "<|endoftext|> \n a", special=True, bos=False
        )
        assert user == blanks[0]


def keys_kinds(name: str) -> list[int]:
    with open_gguf(FILES / f"{name}.gguf") as file:
        return list(file.metadata.integers(PREFIX + "token_type"))


@pytest.mark.parametrize(("changes", "front", "behind"), [
    ({}, [1], []),
    ({"add_bos_token": False}, [], []),
    ({"add_eos_token": True}, [1], [2]),
    ({"bos_token_id": None}, [], []),
])  # fmt: skip
def test_what_goes_in_front_and_behind_is_the_files_word(
    changes: dict[str, object], front: list[int], behind: list[int], tmp_path: Path
) -> None:
    tokenizer = opened(changed(tmp_path, "spm-llama", **changes))
    bare = tokenizer.encode("a b", bos=False, eos=False)
    assert [*front, *bare, *behind] == tokenizer.encode("a b")
    assert (bool(behind), [2]) == (tokenizer.adds_eos, list(tokenizer.stop_ids))
    if tokenizer.bos_id is not None:
        assert [1, *bare, 2] == tokenizer.encode("a b", bos=True, eos=True)


def test_every_end_of_a_turn_stops(tmp_path: Path) -> None:
    keys = keys_of("gpt-2")
    texts = [*keys[PREFIX + "tokens"], "<|im_end|>", "<turn>", "<|eom|>"]  # type: ignore[misc]
    count = len(texts)
    path = write(tmp_path / "t.gguf", gguf({**keys, PREFIX + "tokens": texts, PREFIX + "eot_token_id": count - 2,
                 PREFIX + "eom_token_id": count - 1,
                 PREFIX + "token_type": array(INT32, [NORMAL] * (count - 4) + [CONTROL] * 4)}))  # fmt: skip
    assert {count - 4, count - 3, count - 2, count - 1} == set(opened(path).stop_ids)


def test_a_file_that_does_not_say_kinds_still_keeps_its_end_apart(tmp_path: Path) -> None:
    tokenizer = opened(changed(tmp_path, "gpt-2", token_type=None))
    assert tokenizer.eos_id not in tokenizer.encode("<|endoftext|>")
    assert b"" == tokenizer.table.bytes_of[tokenizer.eos_id or 0]


def test_unused_tokens_write_nothing_and_are_never_found(tmp_path: Path) -> None:
    keys = keys_of("gpt-2")
    texts = [*keys[PREFIX + "tokens"], "[PAD1]", ""]  # type: ignore[misc]
    kinds = array(INT32, [NORMAL] * (len(texts) - 3) + [CONTROL, UNUSED, UNUSED])
    path = write(tmp_path / "u.gguf", gguf({**keys, PREFIX + "tokens": texts, PREFIX + "token_type": kinds}))
    tokenizer = opened(path)
    assert (None, None) == tokenizer.table.bytes_of[-2:]
    assert len(texts) - 2 not in tokenizer.encode("[PAD1]", special=True)
    assert "a" == tokenizer.decode([*tokenizer.encode("a"), len(texts) - 2, len(texts) - 1])


# ---- bounds


@pytest.mark.parametrize("name", ["spm-ties", "gpt-2", "llama-bpe", "tekken"])
@pytest.mark.parametrize("run", [" ", "\n", " \n", "a", "aB", "你", "'s", "\u0301", "▁", "1", "!"])
def test_long_runs_take_their_length_in_time(name: str, run: str) -> None:
    tokenizer = opened(FILES / f"{name}.gguf")
    text = run * (2**16 // len(run))
    started = time.process_time()
    assert len(tokenizer.encode(text)) > 0
    assert time.process_time() - started < 2


def test_texts_beyond_the_bound_and_lone_surrogates_are_refused_without_their_words() -> None:
    tokenizer = opened(FILES / "gpt-2.gguf")
    with pytest.raises(GenerationRefused, match="text_long"):
        tokenizer.encode("a" * (TEXT_CHARS_MAX + 1))
    with pytest.raises(GenerationRefused, match="text_not_unicode") as refused:
        tokenizer.encode("secret \ud800")
    assert "secret" not in str(refused.value)
    for outside in (-1, tokenizer.vocabulary):
        with pytest.raises(GenerationRefused, match="token_range"):
            tokenizer.decode([outside])


# ---- refusals


def texts_of(name: str) -> list[str]:
    with open_gguf(FILES / f"{name}.gguf") as file:
        return list(file.metadata.texts(PREFIX + "tokens"))


def merges_of(name: str) -> list[str]:
    with open_gguf(FILES / f"{name}.gguf") as file:
        return list(file.metadata.texts(PREFIX + "merges"))


BPE_TEXTS, SPM_TEXTS = texts_of("gpt-2"), texts_of("spm-llama")
MERGES = merges_of("gpt-2")
REFUSALS: dict[str, tuple[str, dict[str, object], str, str]] = {
    "model unknown": ("gpt-2", {"model": "rwkv"}, "tokenizer_model", "tokenizer.ggml.model"),
    "model missing": ("gpt-2", {"model": None}, "key_missing", "tokenizer.ggml.model"),
    "pre unknown": ("gpt-2", {"pre": "klingon"}, "pre_tokenizer", "tokenizer.ggml.pre"),
    "pre missing": ("gpt-2", {"pre": None}, "key_missing", "tokenizer.ggml.pre"),
    "no tokens": ("gpt-2", {"tokens": array(8, [])}, "vocabulary_size", "tokenizer.ggml.tokens"),
    "tokens missing": ("gpt-2", {"tokens": None}, "key_missing", "tokenizer.ggml.tokens"),
    "token twice": ("gpt-2", {"tokens": [*BPE_TEXTS[:-1], "a"]}, "token_duplicate", "tokenizer.ggml.tokens"),
    "token too long": ("gpt-2", {"tokens": [*BPE_TEXTS[:-1], "a" * 1025]}, "token_long", "tokenizer.ggml.tokens"),
    "token of no letters": ("gpt-2", {"tokens": [*BPE_TEXTS[:-2], "你", "<|endoftext|>"], "merges": MERGES[:-1]},
                            "token_spelling", "tokenizer.ggml.tokens"),
    "kinds too few": ("gpt-2", {"token_type": array(INT32, [1])}, "vocabulary_size", "tokenizer.ggml.token_type"),
    "kind unknown": ("gpt-2", {"token_type": array(INT32, [7] * len(BPE_TEXTS))}, "token_kind",
                     "tokenizer.ggml.token_type"),
    "kinds as text": ("gpt-2", {"token_type": "normal"}, "key_type", "tokenizer.ggml.token_type"),
    "eos outside": ("gpt-2", {"eos_token_id": len(BPE_TEXTS)}, "token_range", "tokenizer.ggml.eos_token_id"),
    "bos outside": ("spm-llama", {"bos_token_id": 2**31}, "token_range", "tokenizer.ggml.bos_token_id"),
    "bos as text": ("spm-llama", {"bos_token_id": "<s>"}, "key_type", "tokenizer.ggml.bos_token_id"),
    "merge of no tokens": ("gpt-2", {"merges": [*MERGES, "qqq zzz"]}, "merge_unknown", "tokenizer.ggml.merges"),
    "merge without a blank": ("gpt-2", {"merges": ["ab", *MERGES]}, "merge_unknown", "tokenizer.ggml.merges"),
    "merge that makes nothing": ("gpt-2", {"merges": [*MERGES, "! !"]}, "merge_unknown", "tokenizer.ggml.merges"),
    "merge twice": ("gpt-2", {"merges": [*MERGES, MERGES[0]]}, "merge_duplicate", "tokenizer.ggml.merges"),
    "merges missing": ("gpt-2", {"merges": None}, "key_missing", "tokenizer.ggml.merges"),
    "merge that makes a control token": (
        "gpt-2", {"token_type": array(INT32, [1] * (len(BPE_TEXTS) - 2) + [CONTROL, CONTROL])}, "control_spelled",
        "tokenizer.ggml.merges"),
    "letter as control token": (
        "gpt-2", {"token_type": array(INT32, [CONTROL] + [1] * (len(BPE_TEXTS) - 1))}, "control_spelled",
        "tokenizer.ggml.tokens"),
    "word as control token where merges are ignored": (
        "llama-bpe", {"tokens": [*texts_of("llama-bpe")[:-1], "hiddenword"]}, "control_spelled",
        "tokenizer.ggml.tokens"),
    "scores missing": ("spm-llama", {"scores": None}, "key_missing", "tokenizer.ggml.scores"),
    "kinds missing": ("spm-llama", {"token_type": None}, "key_missing", "tokenizer.ggml.token_type"),
    "scores too few": ("spm-llama", {"scores": [0.0]}, "vocabulary_size", "tokenizer.ggml.scores"),
    "score not a number": ("spm-llama", {"scores": [float("nan")] * len(SPM_TEXTS)}, "score_range",
                           "tokenizer.ggml.scores"),
    "score infinite": ("spm-llama", {"scores": [float("inf")] * len(SPM_TEXTS)}, "score_range",
                       "tokenizer.ggml.scores"),
    "a part of the bytes": ("spm-llama", {"token_type": array(INT32, [2, 3, 3, BYTE] + [1] * (len(SPM_TEXTS) - 4))},
                            "byte_tokens", "tokenizer.ggml.tokens"),
    "no unknown and no bytes": (
        "spm-no-bytes", {"unknown_token_id": None,
                         "token_type": array(INT32, [3, 3, 3] + [1] * (len(texts_of("spm-no-bytes")) - 3))},
        "unknown_missing", "tokenizer.ggml.unknown_token_id"),
    "control of unknown characters": ("spm-llama", {"tokens": ["<unk>", "\U0001f0a1", *SPM_TEXTS[2:]]},
                                      "control_spelled", "tokenizer.ggml.tokens"),
    "flag as number": ("spm-llama", {"add_space_prefix": 1}, "key_type", "tokenizer.ggml.add_space_prefix"),
    "map too short": ("t5-unigram", {"precompiled_charsmap": array(UINT8, [1, 2, 3])}, "charsmap",
                      "tokenizer.ggml.precompiled_charsmap"),
    "map of a trie beyond it": ("t5-unigram", {"precompiled_charsmap": array(UINT8, [255] * 64)}, "charsmap",
                                "tokenizer.ggml.precompiled_charsmap"),
    "map as text": ("t5-unigram", {"precompiled_charsmap": "map"}, "key_type", "tokenizer.ggml.precompiled_charsmap"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_vocabulary_that_contradicts_itself_is_refused_by_name(case: str, tmp_path: Path) -> None:
    name, changes, code, subject = REFUSALS[case]
    path = changed(tmp_path, name, **changes)
    started = time.process_time()
    with open_gguf(path) as file, pytest.raises(GgufRefused) as refused:
        gguf_tokenizer(file)
    assert (code, subject) == (refused.value.code, refused.value.subject)
    assert time.process_time() - started < 2


def test_more_tokens_than_the_model_has_rows_are_refused(tmp_path: Path) -> None:
    from gguf_bytes import Tensor

    path = write(tmp_path / "rows.gguf", gguf(keys_of("gpt-2"), [Tensor("token_embd.weight", (32, 4), b"\0" * 512)]))
    with open_gguf(path) as file, pytest.raises(GgufRefused, match="vocabulary_size"):
        gguf_tokenizer(file)


def test_random_maps_end_and_stay_within_bounds(tmp_path: Path) -> None:
    chance = random.Random(10)  # noqa: S311 - texts, not keys
    for _ in range(60):
        trie = bytearray(chance.randbytes(4 * chance.randint(1, 400)))
        values = [*len(trie).to_bytes(4, "little"), *trie, *chance.randbytes(chance.randint(0, 200))]
        path = changed(tmp_path, "t5-unigram", precompiled_charsmap=array(UINT8, values))
        tokenizer = opened(path)
        for text in hostile_texts(5, chance.randrange(1000)):
            tokenizer.encode(text)


def test_every_family_encodes_every_byte(tmp_path: Path) -> None:
    assert 256 == len(byte_alphabet())
    for name in FAMILIES:
        tokenizer = opened(changed(tmp_path, "gpt-2", pre=name))
        for text in TEXTS[:20]:
            ids = tokenizer.encode(text, bos=False)
            if not FAMILIES[name].composes:
                assert text == tokenizer.decode(ids), name
