"""A pet in words for a terminal: its meters, memories and diary, and what its effects say it does."""

from collections.abc import Mapping
from typing import TypeVar

from tokenling.cli.save_view import SaveView
from tokenling.engine import JsonObject
from tokenling.engine.phrases import where

BAR_WIDTH = 10
T = TypeVar("T")
VOWELS = tuple("aeiou")
METERS = ("fullness", "energy", "mood", "hygiene", "warmth", "bond")

DEEDS: Mapping[str, str] = {
    "hatch": "hatches",
    "grow": "has grown: {one} now",
    "feed": "gets {one}",
    "wash": "has a bath",
    "tuck": "is tucked in",
    "stroke": "is stroked",
    "lamp": "sees the lamp go {item}",
    "hear": "",
    "speak": "",
    "feel": "feels {item}",
    "go": "goes to the {item}",
    "act": "{act}",
    "offer": "is offered {one}",
    "accept": "{takes} {one}",
    "decline": "does not {take} {one}",
    "expire": "sees the offer pass",
    "game_start": "plays: /catch and your score within three minutes",
    "game_end": "played for {points}",
    "game_expire": "stops playing",
    "sleep": "falls asleep",
    "wake": "wakes up",
    "want": "would like {want}",
    "remember": "remembers: {item}",
    "diary": "writes in its diary",
}
"""Every effect in words; "" for what its line says already."""
MASS = ("bread", "soup", "honey", "blocks")
"""Things that are some, not one."""
WANTED: Mapping[str, str] = {"food": "a meal", "wash": "a bath", "warmth": "to be warm", "company": "company"}
ACTS: Mapping[str, str] = {
    "eat": "eats a snack",
    "nap": "takes a nap",
    "play": "plays",
    "wash": "washes itself",
    "explore": "explores",
    "sing": "sings",
    "dance": "dances",
    "watch": "watches the sky",
    "draw": "draws a picture",
    "stretch": "stretches",
    "hug": "hugs you",
    "hide": "hides",
}
NOTICES: Mapping[str, str] = {
    "clock_rebased": "the clock went back; nothing is lived twice",
    "quiet_time": "a very long time went by quietly",
}


def deeds(effects: tuple[JsonObject, ...]) -> tuple[str, ...]:
    """What the effects say the pet does, in order."""
    told = (_deed(effect) for effect in effects)
    return tuple(text for text in told if text)


def _deed(effect: JsonObject) -> str:
    item, n = str(effect.get("item", "")), effect.get("n", 0)
    words = {
        "item": item,
        "one": one(item),
        "takes": "agrees to" if item == "catch" else "takes",
        "take": "want" if item == "catch" else "take",
        "act": ACTS.get(item, item),
        "want": WANTED.get(item, item),
        "points": f"{n} point{'s' * (n != 1)}",
    }
    return DEEDS[str(effect["kind"])].format(**words)


def one(item: str) -> str:
    """An item as a sentence has it: with its article, or `some`."""
    if item == "catch":
        return "a game of catch"
    if item in MASS:
        return f"some {item}"
    return _with_article(item) if item else item


def many(item: str) -> str:
    """An item as a kind of thing: what a pet may love."""
    if item in MASS:
        return item
    return f"{item[:-1]}ies" if item.endswith("y") else f"{item}s"


def _with_article(words: str) -> str:
    return f"{'an' if words.startswith(VOWELS) else 'a'} {words}"


def body_lines(pet: SaveView) -> tuple[str, ...]:
    """Who and how the pet is, and a bar for each meter."""
    character, body = pet.inner("character"), pet.inner("body")
    assert character is not None
    assert body is not None
    sleeping = "asleep" if pet.flag("asleep") else "awake"
    who = f"{pet.text('name')}, {_with_article(' and '.join(character.words('traits')))} {pet.text('stage')}"
    return (
        f"{who}, loves {many(character.text('food'))}.",
        f"It is {sleeping} {where(pet.text('place'))}, feeling {pet.text('feeling')}.",
        *(_bar(name, body.number(name)) for name in METERS),
        *_having(pet),
    )


def _bar(name: str, meter: int) -> str:
    full = meter * BAR_WIDTH // 1_000_000
    return f"{name:9} {'#' * full}{'.' * (BAR_WIDTH - full)} {meter // 10_000:3} %"


def _having(pet: SaveView) -> tuple[str, ...]:
    parts = [f"snacks: {pet.number('snacks')}"]
    if pet.words("treasures"):
        parts.append(f"treasures: {', '.join(pet.words('treasures'))}")
    if (want := pet.inner("want")) is not None:
        parts.append(f"would like {WANTED.get(want.text('kind'), want.text('kind'))}")
    if (offer := pet.inner("offer")) is not None:
        parts.append(f"on offer: {one(offer.text('item') or offer.text('kind'))}")
    return tuple(parts)


def memory_lines(pet: SaveView) -> tuple[str, ...]:
    """What it remembers, oldest first."""
    return tuple(memory.text("text") for memory in pet.all("memories")) or ("nothing yet",)


def diary_lines(pet: SaveView, pages: int) -> tuple[str, ...]:
    """Its last pages, oldest first, each with the keepsake of that day."""
    return tuple(_page_line(page) for page in last(pet.all("diary"), pages)) or ("no page yet",)


def _page_line(page: SaveView) -> str:
    kept = f"  (kept: {page.text('keepsake')})" if page.text("keepsake") else ""
    return f"{page.text('date')}  {page.text('text')}{kept}"


def last(held: tuple[T, ...], count: int) -> tuple[T, ...]:
    """The last `count` of them; with 0 none."""
    return held[max(0, len(held) - count) :]
