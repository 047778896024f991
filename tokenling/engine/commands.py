"""What an owner may do, parsed whole: unknown fields are refused, text is cleaned here and nowhere later."""

from collections.abc import Mapping
from dataclasses import dataclass

from tokenling.engine.bounds import BRAIN_ID_MAX, NAME_MAX, RAW_TEXT_MAX, SCORE_MAX, SEED_MAX, TEXT_MAX, ZONE_MAX
from tokenling.engine.errors import CommandRefused
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.lists import CARE, CHATTERS, FOODS, GIFTS, OFFERS, TOYS
from tokenling.engine.text import clean, is_clean, without_brackets
from tokenling.engine.zones import zone_keys

ITEMS_BY_OFFER: Mapping[str, tuple[str, ...]] = {"food": FOODS, "toy": TOYS, "gift": GIFTS, "catch": ()}
GAME_ID_MAX = 40


@dataclass(frozen=True, slots=True)
class Say:
    """The owner's words, clean and without square brackets."""

    text: str


@dataclass(frozen=True, slots=True)
class Care:
    """One of the five cares; `item` is a food for `feed`, "" lets the pet's pantry choose."""

    action: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something held out; `item` "" is chosen by a draw."""

    offer: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class GameResult:
    """The score of the running game of catch."""

    game_id: str
    score: int


@dataclass(frozen=True, slots=True)
class Settings:
    """New settings; None leaves one as it is."""

    name: str | None = None
    time_zone: str | None = None
    chatter: int | None = None


Command = Say | Care | Offer | GameResult | Settings

_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "say": (("text",), ()),
    "care": (("action",), ("item",)),
    "offer": (("offer",), ("item",)),
    "game": (("gameId", "score"), ()),
    "settings": ((), ("name", "timeZone", "chatter")),
}
"""Required and optional fields by kind."""


def parse_command(value: JsonValue) -> Command:
    """The command in a JSON value. Raises `CommandRefused(code, path)`."""
    if not isinstance(value, dict):
        raise CommandRefused("not_an_object", "")
    kind = value.get("kind")
    if "kind" not in value:
        raise CommandRefused("missing_field", "/kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise CommandRefused("unknown_kind", "/kind")
    required, optional = _FIELDS[kind]
    for name in value:
        if name != "kind" and name not in required and name not in optional:
            raise CommandRefused("unknown_field", "/?")
    for name in required:
        if name not in value:
            raise CommandRefused("missing_field", f"/{name}")
    return _PARSERS[kind](value)


def _text(value: JsonObject, name: str) -> str:
    text = value[name]
    if not isinstance(text, str):
        raise CommandRefused("wrong_type", f"/{name}")
    return text


def _words(value: JsonObject, name: str, high: int) -> str:
    raw = _text(value, name)
    if len(raw) > RAW_TEXT_MAX:
        raise CommandRefused("text_too_long", f"/{name}")
    text = without_brackets(clean(raw))
    if not text:
        raise CommandRefused("text_empty", f"/{name}")
    if len(text) > high:
        raise CommandRefused("text_too_long", f"/{name}")
    return text


def _member(value: JsonObject, name: str, members: tuple[str, ...]) -> str:
    text = _text(value, name)
    if text not in members:
        raise CommandRefused("unknown_value", f"/{name}")
    return text


def _integer(value: JsonObject, name: str, low: int, high: int) -> int:
    number = value[name]
    if type(number) is not int:
        raise CommandRefused("wrong_type", f"/{name}")
    if not low <= number <= high:
        raise CommandRefused("out_of_range", f"/{name}")
    return number


def _item(value: JsonObject, members: tuple[str, ...]) -> str:
    return _member(value, "item", members) if "item" in value else ""


def _parse_say(value: JsonObject) -> Command:
    return Say(_words(value, "text", TEXT_MAX))


def _parse_care(value: JsonObject) -> Command:
    action = _member(value, "action", CARE)
    return Care(action, _item(value, FOODS if action == "feed" else ()))


def _parse_offer(value: JsonObject) -> Command:
    offer = _member(value, "offer", OFFERS)
    return Offer(offer, _item(value, ITEMS_BY_OFFER[offer]))


def _parse_game(value: JsonObject) -> Command:
    game_id = _text(value, "gameId")
    if not 1 <= len(game_id) <= GAME_ID_MAX:
        raise CommandRefused("out_of_range", "/gameId")
    return GameResult(game_id, _integer(value, "score", 0, SCORE_MAX))


def _parse_settings(value: JsonObject) -> Command:
    if len(value) == 1:
        raise CommandRefused("nothing_to_set", "")
    chatter = _integer(value, "chatter", 0, max(CHATTERS)) if "chatter" in value else None
    if chatter is not None and chatter not in CHATTERS:
        raise CommandRefused("unknown_value", "/chatter")
    return Settings(
        name=_words(value, "name", NAME_MAX) if "name" in value else None,
        time_zone=known_zone(_text(value, "timeZone"), "/timeZone") if "timeZone" in value else None,
        chatter=chatter,
    )


_PARSERS = {
    "say": _parse_say,
    "care": _parse_care,
    "offer": _parse_offer,
    "game": _parse_game,
    "settings": _parse_settings,
}


def known_zone(key: str, path: str) -> str:
    """The key, when the pinned tzdata knows it."""
    if len(key) > ZONE_MAX or key not in zone_keys():
        raise CommandRefused("unknown_time_zone", path)
    return key


def fit_name(name: str) -> str:
    """A pet's name as every save holds it. Raises `CommandRefused` when nothing is left or it is too long."""
    return _words({"name": name}, "name", NAME_MAX)


def fit_seed(text: str, path: str) -> str:
    """A weather seed, which an operator may choose: any clean line."""
    if len(text) > SEED_MAX or not is_clean(text):
        raise CommandRefused("out_of_range", path)
    return text


def fit_id(text: str, path: str, high: int = BRAIN_ID_MAX) -> str:
    """A seed or brain id: letters, digits, `-`, `_`, `.`."""
    plain = all("0" <= c <= "9" or "A" <= c <= "Z" or "a" <= c <= "z" or c in "-_." for c in text)
    if len(text) > high or not plain:
        raise CommandRefused("out_of_range", path)
    return text
