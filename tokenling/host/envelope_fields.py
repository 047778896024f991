"""From a request body's bytes to a checked envelope, or to the refusal that names the first wrong field. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from tokenling.host import strict_json
from tokenling.host.envelopes import Envelope, KeyChange, TransferRequest
from tokenling.host.errors import ApiError
from tokenling.host.json_value import JsonValue

FIELD_NAME_SHOWN_MAX = 64
"""Code points of an unknown field's name that a refusal gives back: enough to find it, no echo of a whole body."""
ENROL_CODE_MAX = 256
"""Code points of an enrol code (a guess)."""

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
RANDOM_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
SHA256_HEX = r"[0-9a-f]{64}"

_UUID = re.compile(UUID)
_RANDOM_UUID = re.compile(RANDOM_UUID)
_SHA256_HEX = re.compile(SHA256_HEX)


@dataclass(frozen=True, slots=True)
class Preparation:
    """`POST /api/pets`."""

    pet_id: str
    save: bytes
    enrol_code: str | None


def is_pet_id(text: str) -> bool:
    """Whether `text` is a canonical, lower-case, random (version 4) UUID."""
    return _RANDOM_UUID.fullmatch(text) is not None


def read_preparation(body: bytes) -> Preparation:
    fields = Fields(strict_json.parse(body), required=("id", "save"), optional=("enrolCode",))
    return Preparation(fields.pet_id("id"), fields.save("save"), fields.text("enrolCode", ENROL_CODE_MAX))


def read_command(body: bytes) -> Envelope:
    fields = Fields(strict_json.parse(body), required=("epoch", "operationId", "command"))
    return Envelope(fields.epoch("epoch"), fields.uuid("operationId"), fields["command"], fields.digest("commands"))


def read_transfer(body: bytes) -> TransferRequest:
    """`save` and `takeover` belong to the move to the host; a move away that carries them is refused."""
    value = strict_json.parse(body)
    to = transfer_direction(value)
    common = ("to", "operationId", "epoch", "deviceId")
    if to == "remote":
        fields = Fields(value, required=(*common, "save"), optional=("takeover",))
    else:
        fields = Fields(value, required=common)
    return TransferRequest(
        to=to,
        operation_id=fields.uuid("operationId"),
        epoch=fields.epoch("epoch"),
        device_id=fields.uuid("deviceId"),
        save=fields.save("save") if to == "remote" else None,
        takeover=fields.flag("takeover"),
        digest=fields.digest("transfer"),
    )


def read_key_change(body: bytes) -> KeyChange:
    fields = Fields(strict_json.parse(body), required=("epoch", "operationId", "newKeyHash"))
    return KeyChange(
        fields.epoch("epoch"), fields.uuid("operationId"), fields.sha256("newKeyHash"), fields.digest("key")
    )


def transfer_direction(value: JsonValue) -> Literal["remote", "local"]:
    to = value.get("to") if isinstance(value, dict) else None
    if to == "remote":
        return "remote"
    if to != "local":
        wrong("to", 'it must be "remote" or "local"')
    return "local"


class Fields:
    """The members of one envelope: nothing missing, nothing unknown; each getter checks its own field's value."""

    def __init__(self, value: JsonValue, *, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        if not isinstance(value, dict):
            wrong("", "the body must be an object")
        for name in value:
            if name not in required and name not in optional:
                wrong(name[:FIELD_NAME_SHOWN_MAX], "this field is not known here")
        for name in required:
            if name not in value:
                wrong(name, "this field is required")
        self._members: Mapping[str, JsonValue] = value

    def __getitem__(self, name: str) -> JsonValue:
        return self._members[name]

    def epoch(self, name: str) -> int:
        value = self._members[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            wrong(name, "it must be an integer of 1 or more")
        return value

    def uuid(self, name: str) -> str:
        return self._matching(name, _UUID, "it must be a UUID in lower case with its dashes")

    def pet_id(self, name: str) -> str:
        return self._matching(name, _RANDOM_UUID, "it must be a random (version 4) UUID in lower case with its dashes")

    def sha256(self, name: str) -> bytes:
        return bytes.fromhex(self._matching(name, _SHA256_HEX, "it must be 64 lower-case hexadecimal digits"))

    def flag(self, name: str) -> bool:
        """The boolean, or False when the field is absent."""
        value = self._members.get(name, False)
        if not isinstance(value, bool):
            wrong(name, "it must be true or false")
        return value

    def text(self, name: str, code_points_max: int) -> str | None:
        """The string, or None when the field is absent."""
        value = self._members.get(name)
        if name in self._members and (not isinstance(value, str) or len(value) > code_points_max):
            wrong(name, f"it must be a string of at most {code_points_max} code points")
        return value if isinstance(value, str) else None

    def save(self, name: str) -> bytes:
        """The save as JSON bytes for the engine, which parses and checks them itself."""
        value = self._members[name]
        if not isinstance(value, dict):
            wrong(name, "it must be an object")
        return strict_json.compact(value)

    def digest(self, route: str) -> bytes:
        """SHA-256 over the canonical JSON of `{route, …body}`: the same operation gives the same digest."""
        return hashlib.sha256(strict_json.canonical({"route": route, **self._members})).digest()

    def _matching(self, name: str, pattern: re.Pattern[str], expected: str) -> str:
        value = self._members[name]
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            wrong(name, expected)
        return value


def wrong(path: str, expected: str) -> NoReturn:
    subject = "The body" if path == "" else "A field"
    raise ApiError(422, "invalid_envelope", f"{subject} is wrong: {expected}.", path=path)
