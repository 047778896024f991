"""A byte-level BPE whose JavaScript twin cannot disagree: explicit ranges only, no Unicode class, no `\\s`.

Worked example: `" It's wet.[nap]\\n"` splits into `" It's"`, `" wet"`, `"."`, `"["`, `"nap"`, `"]"`, `"\\n"`; merges
happen within a piece only, so a bracket or a newline is always a text token of its own.
"""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END = "[end]"
"""The end of a text. The engine turns an owner's brackets into parentheses, so nobody can type it."""
PIECE = r" ?[A-Za-z]+(?:'[A-Za-z]+)*| ?[0-9]|[\[\]\n]| ?[^ A-Za-z0-9\[\]\n]+| +"
"""A word with its space, one digit, a bracket or newline alone, other marks, spare spaces."""


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A tokenizer of `vocab_size` tokens: the end, 256 bytes, and the merges that shorten `texts` the most."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != vocab_size:
        raise ValueError(
            f"the texts gave {tokenizer.get_vocab_size()} text tokens, expected {vocab_size}: too few words"
        )
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a brain directory or a training run; like the runtime's it never reads `END` out of a text."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return tokenizer


def end_id(tokenizer: Tokenizer) -> int:
    """The id of `END`."""
    found = tokenizer.token_to_id(END)
    if found is None:
        raise ValueError(f"tokenizer.json has no {END} token")
    return int(found)
