"""The figures over held-out turns: what fits, what is looked up, what is kept, and how it is said."""

from collections.abc import Callable, Sequence

from tokenling.engine import Reply
from tools.grade_brain.marks import legal, lookup_wanted, memory_wanted, tags_in, wanted_actions, word_told, words_in
from tools.grade_brain.speech import Book, borrowing, manners, repetition, variety
from tools.grade_brain.tally import Figure, Tally, share
from tools.train_brain.lives import Lived

Answer = Callable[[Lived], Reply]
MARKS = ("fitting actions", "right lookups", "false lookups", "told words said", "right memories", "legal tags")
OWNER_LINES = 500
"""Replies to owners' lines that variety is counted over: it falls with their number, so the number is fixed."""


def turn_figures(answer: Answer, turns: Sequence[Lived], book: Book | None) -> dict[str, Figure]:
    """The figures by name."""
    replies = [answer(lived).text for lived in turns]
    tallies = {name: Tally() for name in MARKS}
    for lived, reply in zip(turns, replies, strict=True):
        mark(tallies, lived, reply)
    figures = {name: share(tally) for name, tally in tallies.items()}
    to_owners = [reply for lived, reply in zip(turns, replies, strict=True) if lived.scene.said is not None]
    figures |= variety(to_owners[:OWNER_LINES]) | manners(replies)
    figures["repetition"] = repetition(
        [(reply, lived.request.lines) for lived, reply in zip(turns, replies, strict=True)]
    )
    return figures | (borrowing(to_owners, book) if book is not None else {})


def mark(tallies: dict[str, Tally], lived: Lived, reply: str) -> None:
    """One reply's marks."""
    scene, tags = lived.scene, tags_in(reply)
    wanted = wanted_actions(scene)
    if wanted is not None:
        tallies["fitting actions"].count(bool(wanted.intersection(tags)))
    lookup = lookup_wanted(scene)
    if lookup:
        tallies["right lookups"].count(lookup[1:-1] in tags)
    elif scene.said is not None and scene.said.intent not in ("recall", "recall_any", "my_name", "weather", "time"):
        tallies["false lookups"].count(any(tag.startswith(("look ", "recall ")) for tag in tags))
    if word := word_told(lived):
        tallies["told words said"].count(word in words_in(reply).lower())
    if memory := memory_wanted(lived):
        tallies["right memories"].count(memory in reply)
    tallies["legal tags"].count(legal(reply, scene))
