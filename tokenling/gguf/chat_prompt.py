"""A conversation as its model's tokens: the template's special tokens are read, what was said stays text.

A rendered prompt is one text, in which a user's `<|im_end|>` looks like the template's own. So what was said is
rendered with each such text under a seal, `MARK id MARK`, that no tokenizer reads, and gets its words back once the
prompt has been cut at the special tokens that are left: those are the template's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from tokenling.gguf.chat_template import ChatTemplate, JsonLike
from tokenling.gguf.tokenizer import GgufTokenizer
from tokenling.runtime import GenerationRefused

MARKS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Unicode's noncharacters, meant for use inside a program: one that nobody wrote seals a conversation."""


def chat_ids(tokenizer: GgufTokenizer, template: ChatTemplate, messages: Sequence[Mapping[str, JsonLike]]) -> list[int]:
    """The ids of a conversation that its model is to answer. Raises `TemplateRefused`, `GenerationRefused`."""
    mark = _free_mark(messages)
    sealed = [{name: _sealed(tokenizer, value, mark) for name, value in message.items()} for message in messages]
    prompt = template.render(sealed)
    tokenizer.check(prompt)
    ids: list[int] = []
    for part in tokenizer.cut(prompt):
        ids += (
            [part]
            if isinstance(part, int)
            else tokenizer.encode(_unsealed(tokenizer, part, mark), bos=False, eos=False)
        )
    return ids


def _sealed(tokenizer: GgufTokenizer, value: JsonLike, mark: str) -> JsonLike:
    """The same with a seal for each special token that a text in it spells."""
    if isinstance(value, str):
        parts = tokenizer.cut(value)
        return "".join(f"{mark}{part}{mark}" if isinstance(part, int) else part for part in parts)
    if isinstance(value, Mapping):
        return {name: _sealed(tokenizer, inner, mark) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_sealed(tokenizer, inner, mark) for inner in value]
    return value


def _unsealed(tokenizer: GgufTokenizer, text: str, mark: str) -> str:
    return re.sub(f"{mark}([0-9]+){mark}", lambda found: tokenizer.spelling(int(found[1])), text)


def _free_mark(messages: Sequence[Mapping[str, JsonLike]]) -> str:
    used = {mark for text in _texts(list(messages)) for mark in MARKS if mark in text}
    mark = next((mark for mark in MARKS if mark not in used), None)
    if mark is None:
        raise GenerationRefused("text_noncharacters", "messages", "all of Unicode's", f"fewer than {len(MARKS)}")
    return mark


def _texts(value: JsonLike) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)
