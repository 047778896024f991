"""A byte-level BPE vocabulary (`gpt2`) as a `tokenizers.Tokenizer`.

A vocabulary may lack bytes that its text never had (SmolLM2 lacks 15, and some control characters): they are left out
of what is encoded, as everywhere.
"""

from typing import TYPE_CHECKING

from tokenling.gguf.errors import GgufMalformed
from tokenling.gguf.metadata import Metadata
from tokenling.gguf.pretokenizers import Family, pre_tokenizer_of
from tokenling.gguf.vocabulary import PREFIX, Kind, Vocabulary
from tokenling.runtime.tokenizer import byte_alphabet

if TYPE_CHECKING:
    import tokenizers

CONTROLS_MAX = 2**14
"""A guess: twice Gemma's, which has the most."""
_LETTERS = str.maketrans({chr(byte): "\uffff" for byte in range(256)} | {k: chr(v) for k, v in byte_alphabet().items()})
"""To each letter of the byte alphabet the character of its byte's number; to what is no letter one beyond Latin-1."""


def bpe_of(vocabulary: Vocabulary, metadata: Metadata, family: Family) -> "tokenizers.Tokenizer":
    """The tokenizer, its added tokens apart. Raises `GgufRefused`."""
    from tokenizers import Tokenizer, models, normalizers

    merges = _merges(vocabulary, metadata)
    known = {vocabulary.texts[token]: token for token in vocabulary.of_kind(
        Kind.NORMAL, Kind.USER_DEFINED, Kind.CONTROL, Kind.UNKNOWN)}  # fmt: skip
    found = Tokenizer(models.BPE(known, merges, ignore_merges=family.ignores_merges))
    found.pre_tokenizer = pre_tokenizer_of(family)
    if family.composes:
        found.normalizer = normalizers.NFC()
    _check_apart(vocabulary, found, family)
    return found


def spelled(text: str) -> bytes | None:
    """The bytes that a token's letters stand for; None if one is no letter of the byte alphabet."""
    try:
        return text.translate(_LETTERS).encode("latin-1")
    except UnicodeEncodeError:
        return None


def _merges(vocabulary: Vocabulary, metadata: Metadata) -> list[tuple[str, str]]:
    """The pairs in order. Both parts and what they make must be tokens, and what they make a normal one."""
    key = PREFIX + "merges"
    ids, kinds = vocabulary.ids, vocabulary.kinds
    found = []
    for place, line in enumerate(metadata.texts(key)):
        left, _, right = line.partition(" ")
        token = ids.get(left + right)
        if left not in ids or right not in ids or token is None:
            raise GgufMalformed("merge_unknown", key, f"merge {place}", "two tokens that make a third")
        if kinds[token] != Kind.NORMAL:
            raise GgufMalformed("control_spelled", key, f"merge {place} makes token {token}", "a normal token")
        found.append((left, right))
    if len(set(found)) != len(found):
        raise GgufMalformed("merge_duplicate", key, "a merge a second time", "each merge once")
    return found


def _check_apart(vocabulary: Vocabulary, found: "tokenizers.Tokenizer", family: Family) -> None:
    """Refuse control tokens that text could spell."""
    apart = vocabulary.of_kind(Kind.CONTROL, Kind.UNKNOWN)
    if len(apart) > CONTROLS_MAX:
        raise GgufMalformed("controls_many", PREFIX + "token_type", f"{len(apart)} control tokens", f"{CONTROLS_MAX}")
    for token in apart:
        data = spelled(vocabulary.texts[token])
        is_letter = len(vocabulary.texts[token]) == 1 and data is not None
        if is_letter or (family.ignores_merges and data is not None and _spells(found, data, token)):
            raise GgufMalformed("control_spelled", PREFIX + "tokens", f"token {token}", "no text that spells it")


def _spells(found: "tokenizers.Tokenizer", data: bytes, token: int) -> bool:
    return token in found.encode(data.decode("utf-8", errors="ignore"), add_special_tokens=False).ids
