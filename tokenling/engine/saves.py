"""Saves: version 2, checked whole before anything is accepted, written as canonical bytes.

Nothing of a refused save is used. Version 1 has no `hosting`: it becomes local mode with no brain chosen and UTC.
"""

import json
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import NoReturn

from tokenling.engine import bounds, json_text
from tokenling.engine.balance import TRAITS
from tokenling.engine.bounds import METER_MAX, TICK_MS, TIME_MS_MAX, TIME_MS_MIN
from tokenling.engine.codec import (
    Checked,
    Doubt,
    Flag,
    Int,
    ListOf,
    Member,
    OneOf,
    Optional,
    Record,
    Text,
    Token,
    Wrong,
)
from tokenling.engine.errors import SaveRefused
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.lists import (
    CHATTERS,
    EFFECTS,
    EVENTS,
    FOODS,
    GIFTS,
    MODES,
    MOODS,
    OFFERS,
    PLACES,
    SEASONS,
    STAGES,
    TOYS,
    WANTS,
    WEATHERS,
)
from tokenling.engine.rows import Rows
from tokenling.engine.state import (
    Asked,
    Body,
    Character,
    ChatLine,
    DiaryPage,
    Effect,
    Event,
    Game,
    Hosting,
    Memory,
    OpenOffer,
    Owed,
    State,
    Want,
)
from tokenling.engine.zones import date_text, zone_keys

SAVE_VERSION = 2
ENGINE_VERSION = 1
"""Moves when the same save and inputs would live on differently."""
CUES = ("say", "feed", "wash", "tuck", "stroke", "offer", "game", "return", "hatch")
"""What a reactive turn answers."""
WHO = ("owner", "pet")

_DAY_MS = TICK_MS * bounds.MINUTES_OF_DAY
_DAY_MIN = TIME_MS_MIN // _DAY_MS - 1
_DAY_MAX = TIME_MS_MAX // _DAY_MS + 2
"""A zone may be a calendar day off the first and the last instant. Pages that are written and owed share both ends."""
_DATES = (date_text(_DAY_MIN), date_text(_DAY_MAX))
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@lru_cache(maxsize=2 * bounds.DIARY_MAX)  # pets that live together have the same dates
def _date_rule(text: str) -> str | None:
    try:
        real = bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        real = False
    return None if real and _DATES[0] <= text <= _DATES[1] else "not_a_date"


def _zone_rule(text: str) -> str | None:
    return None if text in zone_keys() else "unknown_time_zone"


_TIME = Int(TIME_MS_MIN, TIME_MS_MAX)
_TIME_OR_NEVER = Int(0, TIME_MS_MAX)
_COUNT = Int(0, bounds.COUNT_MAX)
_METER = Int(0, METER_MAX)
_SEED = Token(0, bounds.SEED_MAX)
_TURN_ID = Token(0, 40)
_ITEM = Token(0, bounds.ITEM_MAX, "-_. ")
_DAY_OR_NEVER = Int(0, _DAY_MAX)

HOSTING = Record(
    Hosting,
    {
        "mode": Member(OneOf(MODES), about="who runs the pet: the page or a host"),
        "brain_id": Member(Token(0, bounds.BRAIN_ID_MAX), about="the brain it thinks with; empty: none chosen"),
        "time_zone": Member(Checked("a key of the pinned tzdata package", bounds.ZONE_MAX, _zone_rule)),
    },
)
BODY = Record(Body, dict.fromkeys(("fullness", "energy", "mood", "hygiene", "warmth", "bond"), Member(_METER)))
CHARACTER = Record(
    Character,
    {
        "traits": Member(ListOf(OneOf(tuple(TRAITS)), 2, 2), about="drawn from the pet's seed, as all of this"),
        "food": Member(OneOf(FOODS)),
        "toy": Member(OneOf(TOYS)),
        "place": Member(OneOf(PLACES)),
        "hue": Member(Int(0, 359), about="degrees, for drawing"),
    },
)
OFFER = Record(
    OpenOffer,
    {
        "kind": Member(OneOf(OFFERS)),
        "item": Member(OneOf(("", *FOODS, *TOYS, *GIFTS)), ""),
        "at_ms": Member(_TIME),
        "expires_ms": Member(_TIME),
        "asked": Member(Flag(), about="false while it waits for a sleeper"),
    },
)
GAME = Record(Game, {"id": Member(Token(1, 40)), "started_ms": Member(_TIME), "expires_ms": Member(_TIME)})
ASKED = Record(
    Asked,
    {
        "number": Member(_COUNT),
        "at_ms": Member(_TIME),
        "revision": Member(_COUNT),
        "cue": Member(OneOf(CUES)),
        "item": Member(_ITEM, ""),
        "n": Member(_COUNT, 0),
    },
)
OWED = Record(Owed, {"day": Member(Int(_DAY_MIN, _DAY_MAX)), "at_ms": Member(_TIME), "revision": Member(_COUNT)})
WANT = Record(Want, {"kind": Member(OneOf(WANTS)), "at_ms": Member(_TIME)})
CHAT_LINE = Record(
    ChatLine,
    {
        "who": Member(OneOf(WHO)),
        "text": Member(Text(1, bounds.TEXT_MAX)),
        "at_ms": Member(_TIME),
        "turn": Member(_TURN_ID, "", "the turn that wrote it"),
    },
)
MEMORY = Record(
    Memory,
    {"text": Member(Text(1, bounds.MEMORY_MAX)), "at_ms": Member(_TIME), "recalled": Member(_COUNT, 0)},
)
DIARY_PAGE = Record(
    DiaryPage,
    {
        "date": Member(Checked("a local date, YYYY-MM-DD", 10, _date_rule)),
        "text": Member(Text(1, bounds.DIARY_TEXT_MAX)),
        "at_ms": Member(_TIME),
        "keepsake": Member(Token(0, bounds.KEEPSAKE_MAX, "-'. "), ""),
        "turn": Member(_TURN_ID, ""),
    },
)
EVENT = Record(
    Event,
    {"kind": Member(OneOf(EVENTS)), "at_ms": Member(_TIME), "item": Member(_ITEM, ""), "n": Member(_COUNT, 1)},
)
EFFECT = Record(
    Effect,
    {
        "id": Member(_COUNT),
        "kind": Member(OneOf(EFFECTS)),
        "at_ms": Member(_TIME),
        "item": Member(Text(0, bounds.MEMORY_MAX), ""),
        "n": Member(_COUNT, 0),
    },
)
STATE = Record(
    State,
    {
        "hosting": Member(HOSTING),
        "pet_seed": Member(_SEED, about="what chance and character are drawn from"),
        "weather_seed": Member(Text(0, bounds.SEED_MAX), about="what the weather is drawn from"),
        "name": Member(Text(1, bounds.NAME_MAX)),
        "born_ms": Member(_TIME),
        "body_clock_ms": Member(Int(TIME_MS_MIN, TIME_MS_MAX - _DAY_MS, TICK_MS), about="the last minute lived"),
        "character": Member(CHARACTER),
        "body": Member(BODY, about="six meters in millionths"),
        "stage": Member(OneOf(STAGES)),
        "minutes_lived": Member(_COUNT),
        "quiet_minutes": Member(_COUNT, 0, "minutes that passed in closed form"),
        "care": Member(_COUNT, about="cares that counted for growth"),
        "care_ms": Member(_TIME_OR_NEVER, about="when the last of them was"),
        "asleep": Member(Flag()),
        "tucked": Member(Flag()),
        "lamp": Member(Flag()),
        "disturbance": Member(_METER, about="what may wake a sleeper; fades"),
        "place": Member(OneOf(PLACES)),
        "feeling": Member(OneOf(MOODS), about="the mood it last showed"),
        "local_hour": Member(Int(0, _DAY_MAX * 24), about="hours since 1970 on the local calendar"),
        "weather": Member(OneOf(WEATHERS)),
        "season": Member(OneOf(SEASONS)),
        "snacks": Member(Int(0, bounds.SNACKS_MAX)),
        "treasures": Member(ListOf(OneOf((*TOYS, *GIFTS)), bounds.TREASURES_MAX)),
        "chatter": Member(Int(min(CHATTERS), max(CHATTERS)), about="idle slots a waking hour: 0, 1, 2 or 4"),
        "want": Member(Optional(WANT), None, "what it asks for: the alert"),
        "want_ms": Member(_TIME_OR_NEVER, about="when it last asked"),
        "offer": Member(Optional(OFFER), None),
        "game": Member(Optional(GAME), None),
        "games": Member(_COUNT),
        "best_score": Member(Int(0, bounds.SCORE_MAX)),
        "context_revision": Member(_COUNT),
        "asked": Member(Optional(ASKED), None, "the reactive turn that is owed"),
        "asked_next": Member(Optional(ASKED), None, "what follows an unstoppable turn"),
        "asked_count": Member(_COUNT),
        "cancels": Member(Int(0, bounds.CANCELS_MAX), about="replacements in a row"),
        "owed": Member(Optional(OWED), None, "the diary page that is owed"),
        "diary_day": Member(_DAY_OR_NEVER, about="the last local day whose page is decided"),
        "diary_since_ms": Member(_TIME_OR_NEVER, about="later events belong to the next page"),
        "slot_ms": Member(_TIME_OR_NEVER, about="the last idle slot that is done"),
        "slot_day": Member(_DAY_OR_NEVER, about="the last local day with an idle turn"),
        "quiet_slots": Member(_COUNT, 0, "idle slots that were skipped by rule"),
        "owner_ms": Member(_TIME, about="when the owner last did something"),
        "stroke_ms": Member(_TIME_OR_NEVER, about="the last stroke that got words"),
        "next_effect": Member(Int(1, bounds.COUNT_MAX)),
        "chat": Member(Rows(CHAT_LINE, bounds.CHAT_MAX)),
        "memories": Member(Rows(MEMORY, bounds.MEMORIES_MAX)),
        "diary": Member(Rows(DIARY_PAGE, bounds.DIARY_MAX)),
        "events": Member(Rows(EVENT, bounds.EVENTS_MAX)),
        "effects": Member(Rows(EFFECT, bounds.EFFECTS_MAX)),
    },
    fixed={"v": SAVE_VERSION, "engine": ENGINE_VERSION},
)


def save_schema() -> JsonObject:
    """The JSON Schema of a version 2 save, from the declarations that check it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Tokenling save", **STATE.schema()}


# --- parsing -------------------------------------------------------------------------------------------------

_DIGITS_MAX = 17


def _object(pairs: list[tuple[str, object]]) -> object:
    found = dict(pairs)
    if len(found) != len(pairs):
        return Wrong("duplicate_key")
    return found


def _integer(digits: str) -> object:
    if len(digits) > _DIGITS_MAX:
        return Wrong("integer_too_large")
    number = int(digits)
    return number if -bounds.INTEGER_MAX <= number <= bounds.INTEGER_MAX else Wrong("integer_too_large")


def parse_save_json(data: bytes) -> object:
    """The JSON value in bounded bytes, with a `Wrong` wherever a save may not hold what stands there."""
    if len(data) > bounds.SAVE_BYTES_MAX:
        raise SaveRefused("too_large", "")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SaveRefused("not_utf8", "") from None
    if json_text.is_too_deep(data):
        raise SaveRefused("too_deep", "")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=lambda _: Wrong("float"),
            parse_constant=lambda _: Wrong("not_a_number"),
        )
    except (json.JSONDecodeError, RecursionError):
        raise SaveRefused("not_json", "") from None


# --- reading and writing -------------------------------------------------------------------------------------


_read_state = STATE.reader()


def load_save(data: bytes) -> State:
    """The pet in a save of version 1 or 2. Raises `SaveRefused(code, path)`; nothing is half accepted."""
    try:
        state = _read_plain(data)
    except (Doubt, ValueError, RecursionError):
        state = _load_carefully(data)
        _check_whole(state)
        _check_extra(state)  # a quick reader takes no member that nobody declared
    else:
        _check_whole(state)
    return state


def _read_plain(data: bytes) -> State:
    """The quick way for what `dump_save` writes. Raises `Doubt` or `ValueError` for all else."""
    if len(data) > bounds.SAVE_BYTES_MAX:
        raise Doubt
    value = json_text.read(data)
    if type(value) is not dict or not _is_ours(value):
        raise Doubt
    return _read_state(value)


def _is_ours(value: Mapping[str, object]) -> bool:
    version, engine = value.get("v"), value.get("engine")
    return type(version) is int and version == SAVE_VERSION and type(engine) is int and engine == ENGINE_VERSION


def _load_carefully(data: bytes) -> State:
    value = parse_save_json(data)
    if not isinstance(value, dict):
        _refuse(value)
    version = value.get("v")
    if type(version) is not int:
        raise SaveRefused("missing" if "v" not in value else "not_an_integer", "/v")
    if version == 1:
        value = _from_version_1(value)
    elif version != SAVE_VERSION:
        raise SaveRefused("unknown_save_version", "/v")
    _check_engine(value)
    return STATE.load(value, "")


def _refuse(value: object) -> NoReturn:
    raise SaveRefused(value.code if isinstance(value, Wrong) else "not_an_object", "")


def _from_version_1(value: dict[str, object]) -> dict[str, object]:
    if "hosting" in value:
        raise SaveRefused("unexpected", "/hosting")
    return {**value, "v": SAVE_VERSION, "hosting": {"mode": "local", "brainId": "", "timeZone": "Etc/UTC"}}


def _check_engine(value: dict[str, object]) -> None:
    engine = value.get("engine")
    if type(engine) is not int:
        raise SaveRefused("missing" if "engine" not in value else "not_an_integer", "/engine")
    if not 1 <= engine <= ENGINE_VERSION:
        raise SaveRefused("newer_engine" if engine > ENGINE_VERSION else "out_of_range", "/engine")


def _check_whole(state: State) -> None:
    """What no single field can tell: fields that must agree with each other."""
    for refused, code, path in (
        (state.chatter not in CHATTERS, "unknown_member", "/chatter"),
        (state.offer is not None and not _offer_fits(state.offer), "does_not_fit", "/offer/item"),
        (state.character.traits[0] == state.character.traits[1], "does_not_fit", "/character/traits"),
        (len(frozenset(page.date for page in state.diary)) != len(state.diary), "does_not_fit", "/diary"),
        (state.owed is not None and day_of_date(state, state.owed.day), "does_not_fit", "/owed/day"),
        (any(late.id <= early.id for early, late in zip(state.effects, state.effects[1:], strict=False)),
         "does_not_fit", "/effects"),
        (bool(state.effects) and state.effects[-1].id >= state.next_effect, "does_not_fit", "/nextEffect"),
        (state.stage == "egg" and not state.asleep, "does_not_fit", "/asleep"),
        (state.asked is None and state.asked_next is not None, "does_not_fit", "/askedNext"),
        (state.cancels > 0 and state.asked is None and state.owed is None, "does_not_fit", "/cancels"),
    ):  # fmt: skip
        if refused:
            raise SaveRefused(code, path)


def _offer_fits(offer: OpenOffer) -> bool:
    return offer.item in {"food": FOODS, "toy": TOYS, "gift": GIFTS, "catch": ("",)}[offer.kind]


def _check_extra(state: State) -> None:
    singles = (state, state.hosting, state.body, state.character, state.offer, state.game, state.asked,
               state.asked_next, state.owed, state.want)  # fmt: skip
    records = (*singles, *state.chat, *state.memories, *state.diary, *state.events, *state.effects)
    if sum(len(record.extra.encode()) for record in records if record is not None) > bounds.EXTRA_BYTES_MAX:
        raise SaveRefused("unknown_fields_too_large", "")


def dump_save(state: State) -> bytes:
    """The save as canonical bytes: the same state gives the same bytes."""
    data = json_text.write(value_of(STATE, state))
    assert len(data) <= bounds.SAVE_BYTES_MAX
    return data


def value_of(record: Record[object], held: object) -> JsonObject:
    """One record as JSON."""
    value: JsonValue = record.dump(held)
    assert isinstance(value, dict)
    return value


def day_of_date(state: State, day: int) -> bool:
    """Whether a page for a local day is already written."""
    text = date_text(day)
    return any(page.date == text for page in state.diary)
