"""What the pet keeps of what it is told, how it says it again, and how a day's events come back in its diary."""

import re
from collections.abc import Mapping
from typing import Protocol

from tokenling.engine.request import FREE_TAG_CODE_POINTS_MAX
from tools.train_brain.owners import Said
from tools.train_brain.phrases import Chance
from tools.train_brain.scene import NAME_MEMORY, Scene

FACTS: tuple[tuple[str, str], ...] = (
    (r"birthday is in (\w+)|born in (\w+)", "owner's birthday is in {}"),
    (r"live (?:in a|in the|near the|by the) ([\w ]+)", "owner lives by the {}"),
    (r"(?:play|learning|learn) the (\w+)", "owner plays the {}"),
    (r"i (?:have|own|got) a (?:brother|sister|daughter|son) called (\w+)", "owner's family: {}"),
    (r"i (?:have|own|got) an? (\w+)", "owner has a {}"),
    (r"my (?:brother|sister|mum|dad|best friend|cat|dog) is called (\w+)", "owner knows {}"),
    (r"(?:work as|am|want to be) an? ([\w ]+)", "owner is a {}"),
)
"""What a told fact becomes, by how it was put."""
NEWS_FACTS: tuple[tuple[str, str], ...] = (
    (r"(?:come|came|am) from ((?:a |an |the )?(?:small |big )?[a-z]+)", "owner is from {}"),
    (r"(?:have|own|got|share) ((?:two|three|four|five|six|seven) \w+)", "owner has {}"),
)
"""The same for what an owner says of their own life: most of it is talk, not to be kept."""
TURNED: tuple[tuple[str, str], ...] = (
    ("owner's ", "your "),
    ("owner likes ", "you like "),
    ("owner dislikes ", "you don't like "),
    ("owner has ", "you have "),
    ("owner is ", "you are "),
    ("owner lives ", "you live "),
    ("owner plays ", "you play "),
    ("owner knows ", "you know "),
)
"""A memory as it is said to its owner."""


class Wording(Protocol):
    """`compose.words`: a phrase of the book in a scene's words."""

    def __call__(self, scene: Scene, chance: Chance, file: str, section: str, **more: str) -> str: ...


def memory_of(said: Said) -> str:
    """What is worth keeping of a line, or ""."""
    slots = said.slots
    kept = ""
    if said.intent == "tell_name":
        kept = NAME_MEMORY + slots["owner"]
    elif said.intent == "tell_like":
        kept = "owner likes " + slots["thing"]
    elif said.intent == "tell_dislike":
        kept = "owner dislikes " + slots["thing"]
    elif said.intent == "tell_fact":
        kept = fact_in(said.text.lower(), slots, FACTS)
    elif said.intent == "own_news":
        kept = fact_in(said.text.lower(), slots, NEWS_FACTS)
    return kept if len(kept) <= FREE_TAG_CODE_POINTS_MAX else ""


def fact_in(text: str, slots: Mapping[str, str], facts: tuple[tuple[str, str], ...]) -> str:
    """The fact of a line, names in their own spelling; "" when a slip of the fingers hid it."""
    for pattern, kept in facts:
        found = re.search(pattern, text)
        if found is not None:
            word = next(group for group in found.groups() if group).strip()
            owner = slots["owner"]
            return kept.format(owner if word == owner.lower() else word)
    return ""


def turned(memory: str) -> str:
    """A memory as it is said to its owner: "owner likes tea" is "you like tea"."""
    for start, said in TURNED:
        if memory.startswith(start):
            return said + memory.removeprefix(start)
    return memory


def recalled_words(scene: Scene, chance: Chance, words: Wording) -> str:
    """A reply to a question about what was told: from the header, by a lookup, or an honest no."""
    assert scene.said is not None
    intent = scene.said.intent
    if intent == "my_name":
        if name := scene.known_name:
            return "[proud] " + words(scene, chance, "answers", "my_name_known", owner=name)
        return " " + words(scene, chance, "answers", "my_name_unknown")
    topic = scene.said.slots.get("topic", "")
    known = [memory for memory in scene.knows if intent == "recall_any" or topic in memory]
    lookups = sorted(tag for tag in scene.answers if tag.startswith("[recall "))
    wanted = lookups[:1] if intent == "recall_any" else [tag for tag in lookups if topic in tag]
    if known:
        told = turned(known[0])
        return " " + words(scene, chance, "answers", "recall_known", memory=told)
    if wanted:
        told = turned(scene.answers[wanted[0]])
        return f"{wanted[0]} " + words(scene, chance, "answers", "recall_known", memory=told)
    section = "recall_any_unknown" if intent == "recall_any" else "recall_unknown"
    return " " + words(scene, chance, "answers", section, topic=topic or "that")


EVENTS: tuple[tuple[str, str], ...] = (
    (r"hatched", "hatched"),
    (r"became a?n? ?(.*)", "grew"),
    (r"owner came back", "came"),
    (r"owner came at .* again", "habit"),
    (r"talked with owner", "talked"),
    (r"was fed (\w+)", "fed"),
    (r"had a bath", "washed"),
    (r"was tucked in", "tucked"),
    (r"was stroked", "stroked"),
    (r"took a nap", "slept"),
    (r"took (.+)", "accepted"),
    (r"did not take (.+)", "declined"),
    (r"played catch", "caught"),
    (r"slept", "slept"),
    (r"went to the (\w+)", "went"),
    (r"found a snack", "found"),
    (r"learned something", "remembered"),
    (r"got a new name", "named"),
    (r"moved house", "moved_house"),
    (r"got a new brain", "new_brain"),
    (r"saw (\w+)", "weather"),
    (r"sang", "did"),
    (r"danced", "did"),
    (r"explored", "did"),
    (r"drew a picture", "did"),
    (r"played", "did"),
    (r"watched the sky", "did"),
    (r"hid", "did"),
    (r"stretched", "did"),
)
"""How the day's line tells an event, and the diary's section for it."""
DEED_NAMES: Mapping[str, str] = {
    "sang": "singing",
    "danced": "dancing",
    "explored": "exploring",
    "drew a picture": "drawing",
    "played": "playing",
    "watched the sky": "sky watching",
    "hid": "hiding",
    "stretched": "stretching",
}
_COUNT = re.compile(r" twice$| \d+ times$")


def event_of(told: str) -> tuple[str, str] | None:
    """The diary's section and the thing it is about; None for what is not worth a sentence."""
    text = _COUNT.sub("", told)
    for pattern, kind in EVENTS:
        found = re.fullmatch(pattern, text)
        if found is not None:
            item = DEED_NAMES.get(text, "") or next(iter(found.groups()), "") or ""
            return kind, with_article(kind, item)
    return None


def with_article(kind: str, item: str) -> str:
    """A thing as a sentence takes it."""
    if kind == "accepted" and item and not item.startswith("a "):
        return f"{'an' if item[0] in 'aeiou' else 'a'} {item}"
    if kind == "declined" and not item.startswith("a "):
        return f"the {item}"
    return "a snack" if kind == "found" else item
