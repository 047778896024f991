"""Closed tags: what a reply may carry now, and how words and tags are told apart."""

from collections.abc import Mapping
from types import MappingProxyType

from tokenling.engine import balance
from tokenling.engine.bounds import RAW_REPLY_MAX, TEXT_MAX
from tokenling.engine.lists import ACTIONS, MOODS, PLACES
from tokenling.engine.request import FREE_TAG_CODE_POINTS_MAX, FREE_TAG_MARK
from tokenling.engine.state import State
from tokenling.engine.text import clean, cut, without_brackets

REMEMBER = "remember "
TAG_MAX = 64
"""Code points inside brackets that are looked at: `remember ` and its free text are the longest."""

_CLASS: Mapping[str, str] = MappingProxyType(
    {"accept": "answer", "decline": "answer"}
    | dict.fromkeys(ACTIONS, "action")
    | dict.fromkeys(MOODS, "mood")
    | {f"go {place}": "place" for place in PLACES}
)


def class_of(tag: str) -> str:
    """What kind of tag it is: answer, action, mood, place, memory; "" for lookups and unknown ones."""
    return "memory" if tag.startswith(REMEMBER) else _CLASS.get(tag, "")


def legal_tags(state: State, kind: str) -> tuple[str, ...]:
    """The tags that a turn of this kind may carry now, without brackets, in the order of the lists."""
    remember = REMEMBER + FREE_TAG_MARK
    if kind == "diary":
        return (*MOODS, remember)
    if state.asleep:
        return ("wake", "sleepy", remember) if kind == "reactive" else ("wake", "sleepy")
    answers = ("accept", "decline") if state.offer is not None else ()
    actions = tuple(action for action in ACTIONS if _may(state, action, kind))
    places = tuple(f"go {place}" for place in PLACES if place != state.place)
    return (*answers, *actions, *MOODS, *places, remember)


def _may(state: State, action: str, kind: str) -> bool:
    body = state.body
    strong = body.energy > balance.PLAY_ENERGY_MIN
    allowed: Mapping[str, bool] = {
        "eat": state.snacks > 0 and body.fullness < balance.HUNGRY_ENOUGH,
        "nap": body.energy < balance.NAP_ENERGY_MAX and state.game is None,
        "play": strong,
        "dance": strong,
        "explore": strong,
        "wash": body.hygiene < balance.SELF_WASH_MAX,
        "hug": kind == "reactive",
        "wake": False,
    }
    return allowed.get(action, True)


def parted(text: str, length: int = TEXT_MAX) -> tuple[str, tuple[str, ...]]:
    """The printable words of a model's raw text, at most `length` code points, and the tags in order.

    A tag is what stands between `[` and the next `]` with no bracket between. A bracket without its fellow is
    dropped; a tag that the end of the text cut off goes with it.
    """
    words: list[str] = []
    tags: list[str] = []
    rest = text[:RAW_REPLY_MAX]
    while True:
        head, opened, tail = rest.partition("[")
        words.append(head.replace("]", ""))
        if not opened:
            break
        inner, closed, after = tail.partition("]")
        nested = inner.rfind("[")
        if not closed:
            rest = "" if nested < 0 and len(inner) <= TAG_MAX else tail
        elif nested >= 0:
            rest = tail
        else:
            rest = after
            if len(inner) <= TAG_MAX:
                tags.append(clean(inner))
            words.append(" ")
    return cut(_joined(words), length), tuple(tags)


def _joined(words: list[str]) -> str:
    text = clean(without_brackets("".join(words)))
    for mark in (",", ".", "!", "?", ";"):
        text = text.replace(f" {mark}", mark)
    return text.strip(" ,;")


def effective(tags: tuple[str, ...], legal: tuple[str, ...]) -> dict[str, str]:
    """By class, the first legal tag that the text carries; what is not legal is dropped."""
    chosen: dict[str, str] = {}
    for tag in tags:
        kind = class_of(tag)
        named = REMEMBER + FREE_TAG_MARK if kind == "memory" else tag
        if kind and kind not in chosen and named in legal:
            chosen[kind] = tag
    return chosen


def memory_text(tag: str) -> str:
    """The free text of a `remember` tag, as a memory keeps it."""
    return cut(clean(tag.removeprefix(REMEMBER)), FREE_TAG_CODE_POINTS_MAX)
