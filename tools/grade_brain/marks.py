"""Marks for one reply: does its action fit, is a lookup there when it is needed, are its tags legal."""

import re
from collections.abc import Sequence

from tools.train_brain.compose import bodily_section, offer_kind, reason_to_decline
from tools.train_brain.lives import Lived
from tools.train_brain.rules import ACTION_BY_INTENT
from tools.train_brain.scene import Scene

TAG = re.compile(r"\[([^\[\]]*)\]")
LOOKUP_BY_INTENT = {"weather": "[look weather]", "time": "[look time]"}
NEEDED_ACTIONS = frozenset(("sing", "dance", "play"))
"""Actions that an owner's line asks for outright; a hug or a hiding place is the pet's own choice."""
SLOT_BY_INTENT = {"tell_name": "owner", "tell_like": "thing", "tell_dislike": "thing", "i_did": "noun"}
"""What an owner's line tells: a name, a thing, what a day was about."""
OWN_TIME_BY_NEED = {
    "hungry": {"eat", "explore"},
    "tired": {"nap"},
    "dirty": {"wash"},
    "cold": {"go hearth"},
    "low": {"sing"},
}


def tags_in(text: str) -> tuple[str, ...]:
    """The tags of a reply, without brackets."""
    return tuple(TAG.findall(text))


def words_in(text: str) -> str:
    """A reply without its tags."""
    return " ".join(TAG.sub(" ", text).split())


def legal(text: str, scene: Scene) -> bool:
    """Whether every tag of a reply is one that the request listed."""
    free = any(tag.startswith("[remember ") for tag in scene.tags)
    return all(f"[{tag}]" in scene.tags or (free and tag.startswith("remember ")) for tag in tags_in(text))


def wanted_actions(scene: Scene) -> set[str] | None:
    """The actions one of which a good reply carries now; None where any, or none, would do."""
    if scene.asleep or scene.cue == "diary":
        return None
    if scene.cue == "offer":
        return {"decline"} if reason_to_decline(scene, offer_kind(scene)) else {"accept"}
    if scene.cue == "idle":
        wanted = OWN_TIME_BY_NEED.get(scene.need, set())
        return {action for action in wanted if f"[{action}]" in scene.tags} or None
    return asked_actions(scene) if scene.said is not None else None


def asked_actions(scene: Scene) -> set[str] | None:
    """The action that the owner's line asks for."""
    assert scene.said is not None
    intent = scene.said.intent
    if intent == "place_go" and scene.said.slots["place"] == scene.place:
        return None
    if intent == "place_go":
        return {f"go {scene.said.slots['place']}"}
    action = ACTION_BY_INTENT.get(intent, "")
    refused = bodily_section(scene, intent) is not None
    return {action} if action in NEEDED_ACTIONS and not refused and f"[{action}]" in scene.tags else None


def lookup_wanted(scene: Scene) -> str:
    """The lookup that the owner's question needs, or ""."""
    if scene.said is None or (scene.asleep and scene.bands["energy"] <= 1):
        return ""
    return LOOKUP_BY_INTENT.get(scene.said.intent, "")


def word_told(lived: Lived) -> str:
    """The word of the owner's line that the writer's reply takes up, or ""; a word lost to a slip is not asked for."""
    said = lived.scene.said
    slot = SLOT_BY_INTENT.get(said.intent, "") if said is not None else ""
    if said is None or not slot:
        return ""
    word = said.slots[slot].lower()
    return word if word in said.text.lower() and word in words_in(lived.reply).lower() else ""


def memory_wanted(lived: Lived) -> str:
    """The tag by which the writer keeps what was told, or ""."""
    return next((f"[{tag}]" for tag in tags_in(lived.reply) if tag.startswith("remember ")), "")


def distinct(texts: Sequence[str], length: int) -> float:
    """Different word sequences of a length over all of them: 1 means that no two words follow each other twice."""
    seen: list[tuple[str, ...]] = []
    for text in texts:
        words = re.findall(r"[a-z']+", text.lower())
        seen += [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]
    return len(set(seen)) / max(1, len(seen))
