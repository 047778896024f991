"""An example in the very pieces that the decoder makes, so that training sees the text tokens that a turn will see.

Worked example: `"[look weather] It rains."` with the answer `rain` is encoded as three texts of their own:
`"[look weather]"`, `"(rain)"` (inserted by the decoder, so never learned), `" It rains."`. Then the stop: a line ends with a newline as the
prompt's own lines do; a diary page may hold one, so it ends with the end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokenizers import Tokenizer

from tokenling.engine.request import Mode, insertion_text
from tools.train_brain.tokenizer import end_id


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt, the reply with its tags, and the answers that its lookups receive."""

    prompt: str
    reply: str
    mode: Mode
    answers: Mapping[str, str]


def reply_pieces(example: Example) -> Iterator[tuple[str, bool]]:
    """The reply's texts in order, each with whether the brain writes it itself."""
    left = example.reply
    while (found := first_lookup(left, example.answers)) is not None:
        end, answer = found
        yield left[:end], True
        yield insertion_text(answer), False
        left = left[end:]
    yield left + ("\n" if example.mode == "line" else ""), True


def first_lookup(text: str, answers: Mapping[str, str]) -> tuple[int, str] | None:
    """Where the first lookup of `text` ends, and its answer."""
    found = [(text.find(tag) + len(tag), answer) for tag, answer in answers.items() if tag in text]
    return min(found, default=None)


def encode(example: Example, tokenizer: Tokenizer) -> tuple[list[int], list[int], int]:
    """All ids, for each whether it is learned (1) or given (0), and how many of them are the prompt's."""
    ids = list(tokenizer.encode(example.prompt).ids)
    prompt_tokens = len(ids)
    learned = [0] * prompt_tokens
    for text, own in reply_pieces(example):
        piece = tokenizer.encode(text).ids
        ids += piece
        learned += [int(own)] * len(piece)
    if example.mode == "diary":
        ids.append(end_id(tokenizer))
        learned.append(1)
    return ids, learned, prompt_tokens
