"""Text to token ids, and each id's own bytes: all that decoding needs, so generated text never leaves byte order."""

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenling.runtime.documents import JsonObject, JsonValue, brain_object
from tokenling.runtime.errors import BrainRefused

if TYPE_CHECKING:
    import tokenizers


SPACE_BYTES = 1
"""A byte-level tokenizer may put a space in front."""
# the library's own threads gain nothing on texts of a prompt's length, and lanes have theirs
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@dataclass(frozen=True, slots=True)
class TokenTable:
    """`bytes_of[id]` is what an id writes: `b""` for a special token, None for an id that does not exist."""

    bytes_of: tuple[bytes | None, ...]


class Tokenizer:
    """A byte-level BPE tokenizer. Special tokens are never read out of text: what an owner types stays text."""

    def __init__(self, inner: "tokenizers.Tokenizer", table: TokenTable, *, is_plain: bool = False) -> None:
        """`is_plain`: each token writes a byte or more of the text as it is."""
        self._inner = inner
        self._is_plain = is_plain
        self.table = table

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of `text`, nothing added in front or behind."""
        # a batch of one: the library lets go of Python's interpreter for a batch, and keeps no offsets in the quick way
        return tuple(self._inner.encode_batch_fast([text], add_special_tokens=False)[0].ids)

    def tokens_max(self, text: str) -> float:
        """No more tokens than this; infinite where the tokenizer's kind does not tell."""
        return len(text.encode("utf-8", "surrogatepass")) + SPACE_BYTES if self._is_plain else math.inf

    def decode(self, ids: tuple[int, ...]) -> str:
        """The text of `ids`, broken UTF-8 dropped."""
        parts = [self.table.bytes_of[token] or b"" for token in ids]
        return b"".join(parts).decode("utf-8", errors="ignore")


def load_tokenizer(data: bytes, vocabulary: int) -> Tokenizer:
    """The tokenizer that `tokenizer.json` holds. Raises `BrainRefused`; ids must lie below `vocabulary`."""
    document = brain_object(data, "tokenizer.json")
    _check_byte_level(document)
    inner = _open(data)
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = True
    table = _token_table(inner.get_vocab(with_added_tokens=True), _added(document), vocabulary)
    return Tokenizer(inner, table, is_plain=inner.normalizer is None)


def _check_byte_level(document: JsonObject) -> None:
    """Refuse a tokenizer whose tokens are not spelled in the byte alphabet: their bytes could not be known."""
    for field in ("pre_tokenizer", "decoder"):
        if "ByteLevel" not in _kinds(document.get(field)):
            found = ", ".join(_kinds(document.get(field))) or "nothing"
            raise BrainRefused("tokenizer_kind", f"tokenizer.json {field}", found, "a ByteLevel one")


def _kinds(value: JsonValue) -> list[str]:
    """The type names of a pre-tokenizer or decoder, the members of a sequence included."""
    if not isinstance(value, dict):
        return []
    members = value.get("pretokenizers") or value.get("decoders") or []
    own = [str(value.get("type"))]
    return own + [str(part.get("type")) for part in members if isinstance(part, dict)] if members else own


def _open(data: bytes) -> "tokenizers.Tokenizer":
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_buffer(data)
    except BaseException as error:
        # the library raises bare Exception, and a Rust panic arrives as a BaseException
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise BrainRefused("tokenizer_unreadable", "tokenizer.json", str(error), "a tokenizer that loads") from None


def _added(document: JsonObject) -> dict[int, bytes]:
    """What each added token writes: nothing when it is special, else its own text."""
    found: dict[int, bytes] = {}
    entries = document.get("added_tokens")
    if not isinstance(entries, list):
        return found
    for entry in entries:
        token = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(token, int):
            found[token] = b"" if entry.get("special") else str(entry.get("content")).encode()
    return found


def _token_table(spellings: dict[str, int], added: dict[int, bytes], vocabulary: int) -> TokenTable:
    """Every id's bytes. Refuses an id outside the model's vocabulary and a spelling outside the byte alphabet."""
    if not spellings:
        raise BrainRefused("tokenizer_empty", "tokenizer.json vocab", "no token", "at least one token")
    last = max(spellings.values())
    if last >= vocabulary:
        raise BrainRefused(
            "tokenizer_range", "tokenizer.json vocab", f"id {last}", f"ids below vocab_size {vocabulary}"
        )
    alphabet = byte_alphabet()
    table: list[bytes | None] = [None] * (last + 1)
    for spelling, token in spellings.items():
        table[token] = added[token] if token in added else _spelled(spelling, alphabet)
    return TokenTable(tuple(table))


def _spelled(spelling: str, alphabet: dict[str, int]) -> bytes:
    try:
        return bytes(alphabet[char] for char in spelling)
    except KeyError:
        expected = "a spelling in the byte-level alphabet"
        raise BrainRefused("tokenizer_token", "tokenizer.json vocab", spelling, expected) from None


def byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte in byte-level BPE (GPT-2): itself if printable, else from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    pairs = [(chr(byte), byte) for byte in printable] + [(chr(0x100 + i), byte) for i, byte in enumerate(others)]
    return dict(pairs)
