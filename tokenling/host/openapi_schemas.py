"""What the bodies of the API look like, as JSON Schema: those that are asked with, and those of good answers.

Tests hold the first to the readers of envelopes and commands, the second to answers of a real host.
"""

from collections.abc import Mapping

from tokenling.engine.bounds import NAME_MAX, RAW_TEXT_MAX, SCORE_MAX, SEED_MAX, ZONE_MAX
from tokenling.engine.commands import GAME_ID_MAX, ITEMS_BY_OFFER
from tokenling.engine.lists import CARE, CHATTERS, FOODS
from tokenling.host.envelope_fields import ENROL_CODE_MAX, RANDOM_UUID, SHA256_HEX, UUID
from tokenling.host.errors import CODES
from tokenling.host.json_value import JsonValue
from tokenling.protocol import Status

JsonObject = dict[str, JsonValue]


def _object(required: tuple[str, ...], /, **properties: JsonValue) -> JsonObject:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def matching(pattern: str) -> JsonObject:
    """A string that is this pattern from end to end."""
    return {"type": "string", "pattern": f"^{pattern}$"}


def _text(high: int) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": high}


def _one_of(words: tuple[str, ...]) -> JsonObject:
    return {"enum": list(words)}


def _or_null(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


EPOCH: JsonObject = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1}
COUNT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
SAVE: JsonObject = {"type": "object", "description": "A whole save; docs/save-format.md."}
OBJECTS: JsonObject = {"type": "array", "items": {"type": "object"}}
PET_ID, ANY_UUID = matching(RANDOM_UUID), matching(UUID)
OPERATION: JsonObject = {"operationId": ANY_UUID, "epoch": EPOCH}
TO_A_DEVICE: JsonObject = {**OPERATION, "deviceId": ANY_UUID}

COMMANDS: JsonObject = {
    "description": "docs/api.md#commands. What is left of `text` and `name` when cleaned is bounded again.",
    "oneOf": [
        _object(("kind", "text"), kind={"const": "say"}, text=_text(RAW_TEXT_MAX)),
        _object(("kind", "action"), kind={"const": "care"}, action={"const": "feed"}, item=_one_of(FOODS)),
        _object(
            ("kind", "action"),
            kind={"const": "care"},
            action=_one_of(tuple(action for action in CARE if action != "feed")),
        ),
        *(
            _object(
                ("kind", "offer"),
                kind={"const": "offer"},
                offer={"const": offer},
                **({"item": _one_of(items)} if items else {}),
            )
            for offer, items in ITEMS_BY_OFFER.items()
        ),
        _object(
            ("kind", "gameId", "score"),
            kind={"const": "game"},
            gameId=_text(GAME_ID_MAX),
            score={"type": "integer", "minimum": 0, "maximum": SCORE_MAX},
        ),
        {
            **_object(
                ("kind",),
                kind={"const": "settings"},
                name=_text(RAW_TEXT_MAX),
                timeZone=_text(ZONE_MAX),
                chatter={"enum": list(CHATTERS)},
            ),
            "minProperties": 2,
        },
    ],
}

BODIES: Mapping[str, JsonObject] = {
    "prepare": _object(("id", "save"), id=PET_ID, save=SAVE, enrolCode={"type": "string", "maxLength": ENROL_CODE_MAX}),
    "command": _object(("epoch", "operationId", "command"), **OPERATION, command=COMMANDS),
    "transfer": {
        "oneOf": [
            _object(
                ("to", "operationId", "epoch", "deviceId", "save"),
                to={"const": "remote"},
                **TO_A_DEVICE,
                save=SAVE,
                takeover={"type": "boolean"},
            ),
            _object(("to", "operationId", "epoch", "deviceId"), to={"const": "local"}, **TO_A_DEVICE),
        ]
    },
    "change_key": _object(("epoch", "operationId", "newKeyHash"), **OPERATION, newKeyHash=matching(SHA256_HEX)),
    "newborn": _object(
        ("name", "timeZone", "petSeed"),
        name=_text(NAME_MAX),
        timeZone=_text(ZONE_MAX),
        petSeed=matching(f"[0-9A-Za-z._-]{{1,{SEED_MAX}}}"),
    ),
}
"""The request bodies, by the handler's name."""

STATUS = _one_of(tuple(Status))
PLACE: JsonObject = {"id": PET_ID, "status": STATUS, "epoch": EPOCH, "revision": EPOCH}
WORKER: JsonObject = {"name": {"type": "string"}, "provider": {"type": "string"}, "state": {"type": "string"}}
HEALTH: JsonObject = {
    "protocol": {"const": 1},
    "version": {"type": "string"},
    "engine": EPOCH,
    "release": {"type": "string", "description": "The brain's id."},
    "features": {"type": "array", "items": {"type": "string"}},
    "ready": {"type": "boolean"},
    "workers": {"type": "array", "items": _object(tuple(WORKER), **WORKER)},
    "pets": _object(("max",), max=COUNT),
}
VIEW: JsonObject = {
    **PLACE,
    "save": SAVE,
    "effects": OBJECTS,
    "game": _or_null({"type": "object"}),
    "thinking": {"type": "boolean"},
    "error": _or_null({"type": "string"}),
    "serverTime": COUNT,
}
DONE: JsonObject = {"replayed": {"type": "boolean"}, **OPERATION, "revision": EPOCH}
"""Of each operation; an old one's repeat gets no more than this."""
MOVED: JsonObject = {**DONE, "id": PET_ID, "status": STATUS, "destinationDeviceId": _or_null(ANY_UUID), "save": SAVE}

ANSWERS: Mapping[str, JsonObject] = {
    "health": _object(tuple(HEALTH), **HEALTH, reasons={"type": "array", "items": {"type": "string"}}),
    "prepare": _object(tuple(PLACE), **PLACE),
    "view": _object(tuple(VIEW), **VIEW),
    "command": _object(tuple(DONE), **DONE, effects=OBJECTS, notices=OBJECTS),
    "transfer": _object(tuple(DONE), **MOVED),
    "change_key": _object(tuple(DONE), **DONE),
    "receipts": _object(("receipts",), receipts=OBJECTS),
    "newborn": SAVE,
}
"""The good answers that have a body, by the handler's name."""

PROBLEM: JsonObject = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"const": "about:blank"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"enum": list(CODES)},
        "detail": {"type": "string"},
    },
}
"""RFC 9457, with `code`; some codes bring fields of their own."""
