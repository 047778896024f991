"""An example in the very pieces that the decoder makes, so that training sees the text tokens that a turn will see.

Worked example: `"[look weather] It rains."` with the answer `rain` is encoded as three texts of their own:
`"[look weather]"`, `"(rain)"` (inserted by the decoder, so never learned), `" It rains."`. Then the stop: a line ends
with a newline as the prompt's own lines do; a diary page may hold one, so it ends with the end.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tokenizers import Tokenizer

from tokenling.engine.request import Mode, insertion_text
from tools.train_brain.tokenizer import end_id


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt, the reply with its tags, and the answers that its lookups receive.

    The pet's lines among the prompt's last `fresh` were its own replies to nearly the same body.
    """

    prompt: str
    reply: str
    mode: Mode
    answers: Mapping[str, str]
    fresh: int = 0
    shared: int = 0
    """Lines that neighbours have in common, where it is not all but the last one."""


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


GIVEN, OWN, EARLIER, APART = 0, 1, 2, 3
"""What an id is to the training: part of the question, the reply, an earlier reply of the pet's, or (the first of a
branch, and padding) nothing that the id before it could tell."""
BRANCHES_MAX = 12
"""Replies that share one trunk; more saved little."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Examples with a common beginning: its ids once, then each ending as a branch that sees the trunk and itself.

    Worked example: the prompts `"H\\nOwner: hi\\nPip:"` and `"H\\nOwner: bye\\nPip:"` share the trunk `"H\\n"`. A
    prompt is mostly trunk, so eight replies from one trunk cost a third of eight prompts.
    """

    ids: list[int]
    kinds: list[int]
    branches: list[int]
    """0 for the trunk, then 1, 2, …"""


def trunk_of(example: Example) -> str:
    """The part of a prompt that its siblings share: `shared` lines, or up to the newline before its last line."""
    if example.shared:
        return "".join(line + "\n" for line in example.prompt.split("\n")[: example.shared])
    body, newline, _ = example.prompt.rpartition("\n")
    return body[: body.rfind("\n") + 1] if newline else ""


def grow_trees(examples: Iterable[Example], tokenizer: Tokenizer, length_max: int) -> Iterator[Tree]:
    """Trees of neighbouring examples with one trunk; an example that alone exceeds `length_max` ids is left out."""
    tree: Tree | None = None
    trunk = ""
    for example in examples:
        if tree is None or trunk_of(example) != trunk or tree.branches[-1] == BRANCHES_MAX:
            yield from [tree] if tree is not None and tree.branches[-1] else []
            trunk = trunk_of(example)
            tree = plant(example, trunk, tokenizer)
        ids, kinds = branch_of(example, trunk, tokenizer)
        if len(tree.ids) + len(ids) > length_max and tree.branches[-1]:
            yield tree
            tree = plant(example, trunk, tokenizer)
        if len(tree.ids) + len(ids) <= length_max:
            tree.ids.extend(ids)
            tree.kinds.extend(kinds)
            tree.branches.extend([(tree.branches[-1] if tree.branches else 0) + 1] * len(ids))
    yield from [tree] if tree is not None and tree.branches and tree.branches[-1] else []


def plant(example: Example, trunk: str, tokenizer: Tokenizer) -> Tree:
    """A tree that is trunk only."""
    prompt = tokenizer.encode(trunk)
    spans = earlier_spans(example)
    kinds = [
        EARLIER if any(start <= first and last <= end for start, end in spans) else GIVEN
        for first, last in prompt.offsets
    ]
    return Tree(list(prompt.ids), kinds, [0] * len(kinds))


def branch_of(example: Example, trunk: str, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """What follows the trunk: the rest of the prompt and the reply in its pieces.

    A newline is a piece of its own, so prompt ids cut behind one are the ids of the two parts.
    """
    ids = list(tokenizer.encode(example.prompt[len(trunk) :]).ids)
    kinds = [APART] + [GIVEN] * (len(ids) - 1)
    for text, own in reply_pieces(example):
        piece = tokenizer.encode(text).ids
        ids += piece
        kinds += [OWN if own else GIVEN] * len(piece)
    if example.mode == "diary":
        ids.append(end_id(tokenizer))
        kinds.append(OWN)
    return ids, kinds


def earlier_spans(example: Example) -> list[tuple[int, int]]:
    """Where the pet's fresh lines stand in the prompt, in code points: from their second word to their newline.

    The first word is left out: the prompt shows no tags, and what comes first in a reply is often one.
    """
    lines = example.prompt.split("\n")
    prefix = lines[-1] + " "
    spans: list[tuple[int, int]] = []
    end = len(example.prompt) - len(lines[-1])
    for line in reversed(lines[:-1][-example.fresh :] if example.fresh else []):
        start = end - len(line) - 1
        second = line.find(" ", len(prefix))
        if line.startswith(prefix) and second > 0:
            spans.append((start + second, end))
        end = start
    return spans
