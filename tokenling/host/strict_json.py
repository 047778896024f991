"""JSON from strangers: what the standard parser takes in silence is refused here, each with a stable `reason`.

Measured (facts of the probing): the default paths answer 500 for bad UTF-8 and deep nesting and let NaN, doubled keys
and lone surrogates pass; orjson turns a 23-digit integer into a float and keeps the last doubled key. So this is the
standard parser with hooks, behind a scan that bounds the nesting before anything can recurse, and the number of values
before anything is made of them.
"""

import json
import math
import re
from typing import NoReturn

from tokenling.host.errors import ApiError
from tokenling.host.json_value import JsonValue

JSON_DEPTH_MAX = 64
"""Arrays and objects within each other. A guess: a save nests less than ten deep."""
STRINGS_MAX = 40_000
STRUCTURE_MAX = 100_000
"""Strings, and commas, colons and opening brackets outside them, in one body. A save's unknown fields (64 KiB in all)
may be nothing but empty strings (22,000) or brackets (66,000); its known ones stay below 10,000. Two mebibytes of `[],`
took the parser 0.34 s, during which nobody else was answered; within these bounds a body takes a tenth of that."""
INTEGER_LIMIT = 2**53
"""Every JSON integer stays below this, so that JavaScript reads the same number (design section 3)."""
INTEGER_DIGITS_MAX = 17
"""More characters than any allowed integer has: refused unparsed, since parsing digits is quadratic."""

# possessive, and with an optional closing quote: an unterminated string matches once, so the scan stays linear
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRUCTURE = (b",", b":", b"[", b"{")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

REASONS = {
    "encoding": "The body is not UTF-8 without a byte order mark.",
    "depth": f"The JSON nests deeper than {JSON_DEPTH_MAX} arrays and objects.",
    "structure": f"The JSON has more than {STRINGS_MAX} strings or {STRUCTURE_MAX} commas, colons and brackets.",
    "syntax": "The body is not one JSON text.",
    "duplicate_key": "An object holds the same key twice.",
    "constant": "NaN and Infinity are not JSON.",
    "integer": "An integer is 2^53 or more, or -2^53 or less.",
    "number": "A number is too large to be held.",
    "surrogate": "A string holds half of a surrogate pair.",
}


def parse(data: bytes) -> JsonValue:
    """The one JSON value in `data`. Raises `ApiError` 400 `invalid_json` whose `reason` is a key of `REASONS`."""
    if data.startswith(b"\xef\xbb\xbf"):
        refuse("encoding")
    outside, strings = _STRING.subn(b"", data, count=STRINGS_MAX)
    if strings == STRINGS_MAX or sum(map(outside.count, _STRUCTURE)) > STRUCTURE_MAX:
        refuse("structure")
    if _depth_exceeds(outside, JSON_DEPTH_MAX):
        refuse("depth")
    try:
        value: JsonValue = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        refuse("encoding")
    except json.JSONDecodeError:
        refuse("syntax")
    if _SURROGATE_ESCAPE.search(data):
        _refuse_lone_surrogates(value)
    return value


def compact(value: JsonValue) -> bytes:
    """The value as UTF-8 JSON without spaces, keys in the order they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def canonical(value: JsonValue) -> bytes:
    """The value as UTF-8 JSON without spaces, keys sorted: equal values, equal bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode()


def refuse(reason: str) -> NoReturn:
    raise ApiError(400, "invalid_json", REASONS[reason], reason=reason) from None


def _depth_exceeds(outside: bytes, depth_max: int) -> bool:
    """Whether text without its strings nests deeper."""
    depth = 0
    for bracket in outside.translate(None, delete=_NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > depth_max:
            return True
    return False


def _refuse_lone_surrogates(value: JsonValue) -> None:
    """The parser joins real pairs, so what is left of them cannot be encoded."""
    try:
        compact(value)
    except UnicodeEncodeError:
        refuse("surrogate")


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        refuse("duplicate_key")
    return members


def _integer(digits: str) -> int:
    if len(digits) > INTEGER_DIGITS_MAX or abs(value := int(digits)) >= INTEGER_LIMIT:
        refuse("integer")
    return value


def _number(digits: str) -> float:
    """Floats pass here: no envelope field takes one, and the engine refuses them in a save with their path."""
    value = float(digits)
    if not math.isfinite(value):
        refuse("number")
    return value


def _constant(_name: str) -> NoReturn:
    refuse("constant")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)
