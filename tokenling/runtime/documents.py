"""A brain's JSON files, read strictly: bounded size, one object, no duplicate key, no NaN."""

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias

from tokenling.runtime.errors import BrainRefused

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),  # before int, which it is as well
    (int, "an integer"),
    (float, "a number with a fraction or exponent"),
    (str, "a text"),
    (Mapping, "an object"),
)


class JsonRefused(ValueError):  # noqa: N818 - named like its siblings
    """The bytes are not one plain JSON object; the message says why, without quoting values."""


def parse_object(data: bytes) -> JsonObject:
    """The one JSON object that `data` holds, as UTF-8. Raises `JsonRefused`."""
    value = parse_value(data)
    if not isinstance(value, Mapping):
        raise JsonRefused(f"{kind_of(value)}, not an object")
    return value


def parse_value(data: bytes) -> JsonValue:
    """The one JSON value that `data` holds, as UTF-8. Raises `JsonRefused`."""
    try:
        value: JsonValue = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except JsonRefused:
        raise
    except UnicodeDecodeError:
        raise JsonRefused("bytes that are not UTF-8") from None
    except RecursionError:
        raise JsonRefused("nesting that is too deep") from None
    except ValueError as error:
        raise JsonRefused(f"JSON that does not parse at character {getattr(error, 'pos', '?')}") from None
    return value


def brain_object(data: bytes, subject: str) -> JsonObject:
    """`parse_object` for one of a brain's files: refuses with the code `json_malformed`."""
    try:
        return parse_object(data)
    except JsonRefused as refusal:
        raise BrainRefused("json_malformed", subject, str(refusal), "one JSON object") from None


def kind_of(value: JsonValue) -> str:
    """What JSON calls a value of this kind: a refusal says it where the value itself may be an owner's words."""
    if value is None:
        return "null"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "an array")


def canonical_json(value: JsonValue) -> bytes:
    """The one spelling of a value: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """The object of `pairs`; a repeated key is refused, since readers differ in which one they keep."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonRefused("a key that is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise JsonRefused(f"the constant {name}, which JSON does not have")
