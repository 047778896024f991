"""A tokenizer for the tiny models: 48 tokens, one of them the end of text."""

from tokenizers import Tokenizer as Inner
from tokenizers import models

from tokenling.runtime.tokenizer import Tokenizer, TokenTable

EOS = 0


def tiny_tokenizer(vocabulary: int = 48) -> Tokenizer:
    """Each token writes one letter; the end of text writes nothing."""
    spellings = ["", *(chr(ord("A") + place) for place in range(vocabulary - 1))]
    inner = Inner(models.WordLevel({word or "<eos>": place for place, word in enumerate(spellings)}, unk_token="<eos>"))
    return Tokenizer(inner, TokenTable(tuple(word.encode() for word in spellings)))
