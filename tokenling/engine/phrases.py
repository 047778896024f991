"""Events and meters in plain words for prompts: small vocabularies that a small brain can learn."""

from collections.abc import Mapping

from tokenling.engine.balance import BANDS
from tokenling.engine.sky import HOUR_WORDS
from tokenling.engine.state import Body, Event

_BANDS: Mapping[str, tuple[str, str, str, str, str]] = {
    "fullness": ("empty", "hungry", "peckish", "fed", "full"),
    "energy": ("weary", "tired", "fine", "rested", "lively"),
    "mood": ("very quiet", "low", "content", "glad", "joyful"),
    "hygiene": ("muddy", "grubby", "dusty", "clean", "sparkling"),
    "warmth": ("cold", "chilly", "mild", "warm", "toasty"),
    "bond": ("new to owner", "used to owner", "fond of owner", "close to owner", "devoted to owner"),
}
_DID: Mapping[str, str] = {
    "eat": "ate a snack",
    "nap": "took a nap",
    "play": "played",
    "wash": "washed",
    "explore": "explored",
    "sing": "sang",
    "dance": "danced",
    "watch": "watched the sky",
    "draw": "drew a picture",
    "stretch": "stretched",
    "hug": "hugged",
    "hide": "hid",
}
_TOLD: Mapping[str, str] = {
    "hatched": "hatched",
    "grew": "became {item}",
    "came": "owner came back",
    "habit": "owner came at {hour} again",
    "talked": "talked with owner",
    "fed": "was fed {item}",
    "washed": "had a bath",
    "tucked": "was tucked in",
    "stroked": "was stroked",
    "lamp": "lamp went {item}",
    "offered": "was offered {item}",
    "accepted": "took {item}",
    "declined": "did not take {item}",
    "expired": "an offer passed",
    "caught": "played catch for {n} points",
    "game_expired": "a game of catch ended",
    "slept": "slept",
    "woke": "woke up",
    "did": "{did}",
    "went": "went to the {item}",
    "found": "found a snack",
    "remembered": "learned something",
    "named": "got a new name",
    "moved_house": "moved house",
    "new_brain": "got a new brain",
    "quiet": "had quiet time",
    "weather": "saw {item}",
}
_HOUR_WORD: Mapping[str, str] = {str(hour): HOUR_WORDS[hour % 12] for hour in range(24)}
_COUNTED = frozenset(("talked", "fed", "washed", "stroked", "did", "found"))
_WHERE: Mapping[str, str] = {"window": "at the window", "hearth": "by the hearth", "pond": "at the pond"}
_OFFERED_AS: Mapping[str, str] = {"catch": "a game of catch"}


def body_words(body: Body) -> str:
    """The six meters in words from five bands each, in the order of the meters."""
    held = (body.fullness, body.energy, body.mood, body.hygiene, body.warmth, body.bond)
    return ", ".join(words[band(value)] for words, value in zip(_BANDS.values(), held, strict=True))


def band(value: int) -> int:
    """Which of the five bands, 0 to 4, a meter lies in."""
    return sum(value >= mark for mark in BANDS)


def named(item: str) -> str:
    """An item as a prompt names it."""
    return _OFFERED_AS.get(item, item)


def where(place: str) -> str:
    """A place as a sentence names it: "in the garden", "at the pond"."""
    return _WHERE.get(place, f"in the {place}")


def told(event: Event) -> str:
    """An event as a few words, its count where it has one."""
    text = _TOLD[event.kind]
    hour = _HOUR_WORD.get(event.item, event.item)
    did = _DID.get(event.item, event.item)
    text = text.format(item=named(event.item), n=event.n, did=did, hour=hour)
    return text + times(event.n) if event.kind in _COUNTED else text


def times(n: int) -> str:
    """A count behind a few words: nothing, " twice", " 3 times"."""
    return "" if n <= 1 else " twice" if n == 2 else f" {n} times"


def away_words(hours: int) -> str:
    """How long an owner was away, in words."""
    if hours < 24:
        return f"{hours} hours"
    return "a day" if hours < 48 else f"{hours // 24} days"
