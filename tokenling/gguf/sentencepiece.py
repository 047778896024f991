"""A SentencePiece vocabulary as a `tokenizers.Tokenizer`: BPE by scores (`llama`) and unigram (`t5`).

The pieces are found in Python (`spm.py`, `unigram.py`) and handed over by a pre-tokenizer in front of a BPE without
merges, which knows their ids and falls back to bytes. So added tokens and ids are `tokenizers`'; offsets are not kept.
As in llama.cpp and Transformers, text behind an added token is begun like a text of its own.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenling.gguf.charsmap import Charsmap, read_charsmap
from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.metadata import Metadata
from tokenling.gguf.spm import SPACE, SpmPieces
from tokenling.gguf.unigram import UnigramPieces
from tokenling.gguf.vocabulary import PREFIX, Kind, Vocabulary

if TYPE_CHECKING:
    import tokenizers

BLANKS = re.compile(" {2,}")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


class Pieces(Protocol):
    """What cuts normalised text."""

    def pieces(self, text: str) -> list[str]:
        """The pieces of `text`, in order, and what is no piece between them."""
        ...


@dataclass(frozen=True, slots=True)
class Normaliser:
    """What SentencePiece does to a text first, in this order."""

    charsmap: Charsmap | None
    drops_blanks: bool
    """At both ends, and all but one of a row."""
    adds_blank: bool

    def normalised(self, text: str) -> str:
        """`text` with its blanks as SentencePiece writes them."""
        if self.charsmap is not None:
            text = self.charsmap.normalised(text)
        if self.drops_blanks:
            text = BLANKS.sub(" ", text).lstrip(" ")
        if self.adds_blank and text:
            text = " " + text
        text = text.replace(" ", SPACE)
        return text.rstrip(SPACE) if self.drops_blanks else text


class PiecesFirst:
    """The pre-tokenizer that `tokenizers` calls: it gets what lies between added tokens, and gives pieces."""

    def __init__(self, normaliser: Normaliser, finder: Pieces) -> None:
        self._normaliser = normaliser
        self._finder = finder

    def pre_tokenize(self, text: "tokenizers.PreTokenizedString") -> None:
        """Cut each part."""
        text.split(self._split)

    def _split(self, _place: int, text: "tokenizers.NormalizedString") -> "list[tokenizers.NormalizedString]":
        # fresh strings: a slice of a long one takes as long as the string is
        from tokenizers import NormalizedString

        pieces = self._finder.pieces(self._normaliser.normalised(str(text)))
        return [NormalizedString(piece) for piece in pieces]


def sentencepiece_of(vocabulary: Vocabulary, metadata: Metadata) -> "tokenizers.Tokenizer":
    """The tokenizer of a `llama` or `t5` vocabulary, its added tokens apart. Raises `GgufRefused`."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    scores = _scores(vocabulary, metadata)
    finder: Pieces = SpmPieces(scores) if vocabulary.model == "llama" else UnigramPieces(scores)
    falls_back = _has_bytes(vocabulary)
    unknown = _unknown(vocabulary, falls_back)
    _check_apart(vocabulary, scores)
    known = {vocabulary.texts[token]: token for token in vocabulary.of_kind(
        Kind.NORMAL, Kind.BYTE, Kind.USER_DEFINED, Kind.CONTROL, Kind.UNKNOWN)}  # fmt: skip
    model = models.BPE(known, [], unk_token=unknown, fuse_unk=True, byte_fallback=falls_back, ignore_merges=True)
    found = Tokenizer(model)
    first = PiecesFirst(_normaliser(metadata), finder)
    found.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(first)
    return found


def adds_blank(metadata: Metadata) -> bool:
    """Whether a blank goes in front of a text."""
    return metadata.flag(PREFIX + "add_space_prefix", True)


def _scores(vocabulary: Vocabulary, metadata: Metadata) -> dict[str, float]:
    """What may be found in text: the normal pieces."""
    for key in ("scores", "token_type"):
        if PREFIX + key not in metadata:
            raise GgufMalformed("key_missing", PREFIX + key, "no such key", "one value for each token")
    scores = metadata.numbers(PREFIX + "scores")
    if len(scores) != len(vocabulary.texts):
        raise GgufMalformed("vocabulary_size", PREFIX + "scores", f"{len(scores)} scores",
                            f"{len(vocabulary.texts)}, one for each token")  # fmt: skip
    found = {vocabulary.texts[token]: scores[token] for token in vocabulary.of_kind(Kind.NORMAL)}
    odd = next((token for token, score in found.items() if not -1e30 < score < 1e30), None)
    if odd is not None:
        raise GgufMalformed("score_range", PREFIX + "scores", f"{found[odd]} for {odd!r}", "a finite score")
    return found


def _has_bytes(vocabulary: Vocabulary) -> bool:
    """Whether unknown characters fall back to bytes. Refuses a part of the 256."""
    found = [vocabulary.texts[token] for token in vocabulary.of_kind(Kind.BYTE)]
    if found and set(found) != set(BYTES):
        raise GgufMalformed("byte_tokens", PREFIX + "tokens", f"{len(found)} byte tokens", "none, or <0x00> to <0xFF>")
    return bool(found)


def _unknown(vocabulary: Vocabulary, falls_back: bool) -> str | None:
    """What stands for a character that no token spells. Bytes need none."""
    of_kind = vocabulary.of_kind(Kind.UNKNOWN)
    token = vocabulary.unknown_id if vocabulary.unknown_id is not None else of_kind[0] if of_kind else None
    if token is not None and vocabulary.texts[token]:
        return vocabulary.texts[token]
    if not falls_back:
        raise GgufMalformed("unknown_missing", PREFIX + "unknown_token_id", "no such key", "an id: there are no bytes")
    return None


def _check_apart(vocabulary: Vocabulary, scores: dict[str, float]) -> None:
    """Refuse a control token that text could spell: one of characters that are no pieces reaches the ids as it is."""
    for token in vocabulary.of_kind(Kind.CONTROL, Kind.UNKNOWN, Kind.BYTE):
        text = vocabulary.texts[token]
        if not any(char in scores for char in text) and len(scores) > 1 and text not in BYTES:
            raise GgufMalformed("control_spelled", PREFIX + "tokens", f"token {token}, of unknown characters",
                                "control tokens that text does not spell")  # fmt: skip


def _normaliser(metadata: Metadata) -> Normaliser:
    key = PREFIX + "precompiled_charsmap"
    values = metadata.get(key)
    if values is not None and not isinstance(values, np.ndarray):
        raise GgufMalformed("key_type", key, "no array of numbers", "an array of bytes")
    charsmap = read_charsmap(values, key) if isinstance(values, np.ndarray) and values.size else None
    return Normaliser(charsmap, metadata.flag(PREFIX + "remove_extra_whitespaces", False), adds_blank(metadata))
