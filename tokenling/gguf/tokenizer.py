"""A file's tokenizer: from its metadata alone, as a `tokenizers.Tokenizer`, with the ids that begin and end texts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokenling.gguf.bpe import bpe_of, spelled
from tokenling.gguf.errors import GgufMalformed, GgufUnsupported
from tokenling.gguf.pretokenizers import family_of
from tokenling.gguf.reader import GgufFile
from tokenling.gguf.sentencepiece import adds_blank, sentencepiece_of
from tokenling.gguf.spm import SPACE
from tokenling.gguf.vocabulary import PREFIX, Kind, Vocabulary, read_vocabulary
from tokenling.runtime import GenerationRefused
from tokenling.runtime.tokenizer import Tokenizer, TokenTable

if TYPE_CHECKING:
    import tokenizers

MODELS = ("gpt2", "llama", "t5")
SPECIAL = (Kind.CONTROL, Kind.UNKNOWN)
"""Read out of a text only when asked for."""
PARSED = (Kind.USER_DEFINED, *SPECIAL)
TEXT_CHARS_MAX = 2**20
"""Of one text to encode. A guess: twice the longest published context, in English."""


@dataclass(frozen=True, slots=True)
class GgufTokenizer:
    """Text to ids and back. Safe to use from any thread."""

    tokenizer: "tokenizers.Tokenizer" = field(repr=False)
    """Special tokens are never read out of text by this one; nothing is added in front or behind."""
    vocabulary: int
    """How many tokens there are; the model may have more rows."""
    bos_id: int | None
    eos_id: int | None
    stop_ids: tuple[int, ...]
    """What ends a generation: EOS, and the ends of a turn and of a message."""
    adds_bos: bool
    adds_eos: bool
    table: TokenTable = field(repr=False)
    _parsing: "tokenizers.Tokenizer" = field(repr=False)
    _cutting: "tokenizers.Tokenizer" = field(repr=False)
    _special: frozenset[int] = field(repr=False)
    _drops_blank: bool = field(repr=False)

    def encode(
        self, text: str, *, special: bool = False, bos: bool | None = None, eos: bool | None = None
    ) -> list[int]:
        """The ids of `text`. `special` reads special tokens out of it, whoever wrote them: for a conversation use
        `chat_ids`, which tells the template's from a user's.

        BOS goes in front and EOS behind as the file says, or as `bos` and `eos` say: a rendered chat template brings
        its own, so encode it with `bos=False`. Raises `GenerationRefused` for a text that is too long or not Unicode.
        """
        self.check(text)
        front = [self.bos_id] if self.bos_id is not None and (self.adds_bos if bos is None else bos) else []
        behind = [self.eos_id] if self.eos_id is not None and (self.adds_eos if eos is None else eos) else []
        return front + _encode(self._parsing if special else self.tokenizer, text) + behind

    def cut(self, text: str) -> "list[str | int]":
        """The text in order, each special token that it spells as its id. Raises `GenerationRefused`: not Unicode."""
        _check_unicode(text)
        parts: list[str | int] = []
        done = 0
        for token, (start, end) in zip(*_matches(self._cutting, text), strict=True):
            found = self._parsing.token_to_id(token)
            if found in self._special and text.startswith(token, start):
                parts += [text[done:start], found]
                done = end
        return [part for part in (*parts, text[done:]) if part != ""]

    def spelling(self, token: int) -> str:
        """How a special token is written; empty for what is none."""
        return self._parsing.id_to_token(token) or "" if token in self._special else ""

    def check(self, text: str) -> None:
        """Raises `GenerationRefused` for a text that is too long to encode."""
        if len(text) > TEXT_CHARS_MAX:
            raise GenerationRefused("text_long", "text", f"{len(text)} characters", f"at most {TEXT_CHARS_MAX}")

    def decode(self, ids: "list[int] | tuple[int, ...]") -> str:
        """The text of `ids`; special tokens write nothing, broken UTF-8 is dropped, and so is the blank that
        SentencePiece put in front. Raises `GenerationRefused` for an id outside the vocabulary."""
        outside = next((token for token in ids if not 0 <= token < self.vocabulary), None)
        if outside is not None:
            raise GenerationRefused("token_range", "ids", str(outside), f"ids from 0 to {self.vocabulary - 1}")
        text = b"".join(self.table.bytes_of[token] or b"" for token in ids).decode("utf-8", errors="ignore")
        return text.removeprefix(" ") if self._drops_blank else text

    def for_brain(self) -> Tokenizer:
        """As the runtime's lanes and pets take it."""
        return Tokenizer(self.tokenizer, self.table)


def gguf_tokenizer(file: GgufFile) -> GgufTokenizer:
    """The tokenizer of an open file; the file may be closed afterwards.

    Raises `GgufRefused`: a model or pre-tokenizer that is not known here, a vocabulary that contradicts itself.
    """
    vocabulary = read_vocabulary(file)
    metadata = file.metadata
    if vocabulary.model not in MODELS:
        raise GgufUnsupported("tokenizer_model", PREFIX + "model", vocabulary.model, "one of " + ", ".join(MODELS))
    is_pieces = vocabulary.model != "gpt2"
    family = None if is_pieces else family_of(metadata.text(PREFIX + "pre"))
    plain = sentencepiece_of(vocabulary, metadata) if family is None else bpe_of(vocabulary, metadata, family)
    parsing = _twin(plain)
    _add(plain, vocabulary, (Kind.USER_DEFINED,), file.architecture)
    _add(parsing, vocabulary, PARSED, file.architecture)
    cutting = _cutter()
    _add(cutting, vocabulary, PARSED, file.architecture)
    adds_bos = vocabulary.model == "llama" if family is None else family.adds_bos
    return GgufTokenizer(
        tokenizer=plain,
        vocabulary=len(vocabulary.texts),
        bos_id=vocabulary.bos_id,
        eos_id=vocabulary.eos_id,
        stop_ids=vocabulary.stop_ids,
        adds_bos=metadata.flag(PREFIX + "add_bos_token", adds_bos),
        adds_eos=metadata.flag(PREFIX + "add_eos_token", vocabulary.model == "t5"),
        table=_table(vocabulary),
        _parsing=parsing,
        _cutting=cutting,
        _special=frozenset(vocabulary.of_kind(*SPECIAL)),
        _drops_blank=is_pieces and adds_blank(metadata),
    )


def _twin(plain: "tokenizers.Tokenizer") -> "tokenizers.Tokenizer":
    """A second tokenizer over the same model, which is shared: only its added tokens will differ."""
    import tokenizers

    found = tokenizers.Tokenizer(plain.model)
    found.pre_tokenizer = plain.pre_tokenizer
    if plain.normalizer is not None:
        found.normalizer = plain.normalizer
    return found


def _cutter() -> "tokenizers.Tokenizer":
    """Knows no word: what lies between the added tokens is one token, so offsets tell where those stand."""
    import tokenizers
    from tokenizers.models import WordLevel

    return tokenizers.Tokenizer(WordLevel({"": 0}, unk_token=""))


def _matches(found: "tokenizers.Tokenizer", text: str) -> tuple[list[str], list[tuple[int, int]]]:
    encoding = found.encode(text, add_special_tokens=False)
    return encoding.tokens, encoding.offsets


def _add(found: "tokenizers.Tokenizer", vocabulary: Vocabulary, kinds: tuple[Kind, ...], architecture: str) -> None:
    """Tokens that are found in text before anything else, the leftmost first and the longest of those."""
    from tokenizers import AddedToken

    strips = architecture == "phi3" and vocabulary.model == "llama"
    tokens = []
    for token in vocabulary.of_kind(*kinds):
        text = vocabulary.texts[token]
        tokens.append(AddedToken(text, normalized=False, rstrip=strips and _phi3_strips(text)))
    found.add_tokens(tokens)


def _phi3_strips(text: str) -> bool:
    """Whether blanks behind a special token go with it: the file does not say, Phi 3's own tokenizer does."""
    return text == "</s>" or (text.startswith("<|") and text.endswith("|>") and text != "<|endoftext|>")


def _table(vocabulary: Vocabulary) -> TokenTable:
    """What each id writes."""
    return TokenTable(tuple(_written(vocabulary, token) for token in range(len(vocabulary.texts))))


def _written(vocabulary: Vocabulary, token: int) -> bytes | None:
    text, kind = vocabulary.texts[token], vocabulary.kinds[token]
    if not text or kind in (Kind.UNUSED, Kind.UNDEFINED):
        return None
    if kind in (Kind.CONTROL, Kind.UNKNOWN):
        return b""
    if vocabulary.model != "gpt2":
        return bytes((int(text[3:5], 16),)) if kind == Kind.BYTE else text.replace(SPACE, " ").encode()
    data = text.encode() if kind == Kind.USER_DEFINED else spelled(text)
    if data is None:
        raise GgufMalformed("token_spelling", PREFIX + "tokens", f"token {token}", "letters of the byte alphabet")
    return data


def _encode(found: "tokenizers.Tokenizer", text: str) -> list[int]:
    """The ids. Raises `GenerationRefused` for lone surrogates."""
    _check_unicode(text)
    return list(found.encode(text, add_special_tokens=False).ids)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GenerationRefused("text_not_unicode", "text", "a lone surrogate", "Unicode text") from None
