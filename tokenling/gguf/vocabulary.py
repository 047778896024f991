"""A file's vocabulary: the tokens with their kinds, and the ids that have a meaning, checked against each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from tokenling.gguf.errors import GgufMalformed, GgufUnsupported
from tokenling.gguf.metadata import Metadata
from tokenling.gguf.reader import GgufFile
from tokenling.runtime.config import VOCABULARY_MAX

PREFIX = "tokenizer.ggml."
TOKEN_CHARS_MAX = 1024
"""A guess: four times the longest published token, a run of spaces."""
END_OF_TURN = frozenset({
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<end_of_turn>",
})  # fmt: skip
"""Control tokens that end what a model says in one of the families here. Older files name only one of theirs."""


class Kind(IntEnum):
    """What `tokenizer.ggml.token_type` says of a token."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`texts[id]` and `kinds[id]`; `ids` is the way back. A special id lies within, or is None."""

    model: str
    texts: tuple[str, ...]
    kinds: tuple[int, ...]
    ids: Mapping[str, int]
    bos_id: int | None
    eos_id: int | None
    unknown_id: int | None
    stop_ids: tuple[int, ...]

    def of_kind(self, *kinds: Kind) -> list[int]:
        """The ids of these kinds, in order."""
        wanted = {int(kind) for kind in kinds}
        return [token for token, kind in enumerate(self.kinds) if kind in wanted and self.texts[token]]


def read_vocabulary(file: GgufFile) -> Vocabulary:
    """The vocabulary of a file. Raises `GgufRefused` naming the key or the token."""
    metadata = file.metadata
    texts = metadata.texts(PREFIX + "tokens")
    _check_size(file, len(texts))
    kinds = _kinds(metadata, len(texts))
    ids = _ids(texts)
    named = {name: _special(metadata, name, len(texts)) for name in ("bos", "eos", "unknown", "eot", "eom")}
    ends = [named["eos"], named["eot"], named["eom"]]
    ends += [
        token for text in sorted(END_OF_TURN) if (token := ids.get(text)) is not None and kinds[token] == Kind.CONTROL
    ]
    for token in (named["bos"], *ends):
        if token is not None and kinds[token] == Kind.NORMAL:
            kinds[token] = Kind.CONTROL  # files without kinds: what begins and ends a text is never text
    return Vocabulary(
        model=metadata.text(PREFIX + "model"),
        texts=texts,
        kinds=tuple(kinds),
        ids=ids,
        bos_id=named["bos"],
        eos_id=named["eos"],
        unknown_id=named["unknown"],
        stop_ids=tuple(dict.fromkeys(token for token in ends if token is not None)),
    )


def _check_size(file: GgufFile, count: int) -> None:
    """At least one token, and none without a row in the table of embeddings."""
    table = file.tensors.get("token_embd.weight")
    most = table.shape[0] if table is not None and len(table.shape) == 2 else VOCABULARY_MAX
    if not 1 <= count <= most:
        raise GgufMalformed("vocabulary_size", PREFIX + "tokens", f"{count} tokens", f"1 to {most}, the model's rows")


def _kinds(metadata: Metadata, count: int) -> list[int]:
    """The kind of each token; all normal in a file that does not say."""
    key = PREFIX + "token_type"
    if key not in metadata:
        return [int(Kind.NORMAL)] * count
    kinds = list(metadata.integers(key))
    if len(kinds) != count:
        raise GgufMalformed("vocabulary_size", key, f"{len(kinds)} kinds", f"{count}, one for each token")
    if kinds and not 0 <= min(kinds) <= max(kinds) <= max(Kind):
        raise GgufUnsupported("token_kind", key, f"kinds from {min(kinds)} to {max(kinds)}", f"0 to {int(max(Kind))}")
    return kinds


def _ids(texts: tuple[str, ...]) -> Mapping[str, int]:
    """Text to id. An empty text is a hole; any other stands once."""
    longest = max(texts, key=len)
    if len(longest) > TOKEN_CHARS_MAX:
        raise GgufMalformed("token_long", PREFIX + "tokens", f"a token of {len(longest)} characters",
                            f"at most {TOKEN_CHARS_MAX}")  # fmt: skip
    ids = {text: token for token, text in enumerate(texts) if text}
    if len(ids) + texts.count("") != len(texts):
        first = next(token for token, text in enumerate(texts) if text and ids[text] != token)
        raise GgufMalformed("token_duplicate", PREFIX + "tokens", f"tokens {first} and {ids[texts[first]]} alike",
                            "each text once")  # fmt: skip
    return MappingProxyType(ids)


def _special(metadata: Metadata, name: str, count: int) -> int | None:
    """The id at `tokenizer.ggml.NAME_token_id`, None where the file has none."""
    key = f"{PREFIX}{name}_token_id"
    if key not in metadata:
        return None
    found = metadata.integer(key)
    if found >= count:
        raise GgufMalformed("token_range", key, str(found), f"an id from 0 to {count - 1}")
    return found
