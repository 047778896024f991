"""A save's JSON text: by orjson where it is (a host), by the standard library where it is not (the page).

Either way the same bytes and the same values. What they tell apart (a float's digits, an integer beyond 64 bits, a
lone surrogate) is never read here, and is written as the standard library does.
"""

import json
import re

from tokenling.engine import bounds
from tokenling.engine.jsonvalue import JsonObject

try:
    import orjson

    QUICK = True
except ImportError:  # Pyodide holds the standard library alone
    QUICK = False

# possessive, and with an optional closing quote: an unterminated string matches once, so the scan stays linear
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NOT_MARKS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
# values come from a parsed text or from records: they hold no circle to look for
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def write(value: JsonObject) -> bytes:
    """The compact text: no spaces, characters as they are, members in the order that the value has them."""
    if QUICK:
        try:
            return orjson.dumps(value)
        except TypeError:  # a lone surrogate: the other says so in its own way
            pass
    return _encode(value).encode()


def read(data: bytes) -> object:
    """The value whose compact text this is. Raises `ValueError` for all else.

    Written again the value gives the same text; with a member twice, or a lone surrogate, it does not.
    """
    value = _quickly_parsed(data) if QUICK else _parsed(data)
    if value is None:
        raise ValueError("expected the compact JSON text of a value")
    return value


def _quickly_parsed(data: bytes) -> object | None:
    """Its depth needs no look: orjson itself goes no deeper than 1024 values."""
    value: object = orjson.loads(data)
    try:
        return value if orjson.dumps(value) == data else None
    except TypeError:  # nested deeper than it writes
        return None


def _parsed(data: bytes) -> object | None:
    """What is deep is never parsed: in WebAssembly the parser's recursion ends the interpreter, not the parsing."""
    if not _is_flat(data):
        return None
    text = data.decode()
    value: object = json.loads(text)
    return value if _encode(value) == text else None


def is_too_deep(data: bytes) -> bool:
    """Whether brackets outside of strings nest deeper than a save may."""
    depth = 0
    for bracket in _STRING.sub(b"", data).translate(None, delete=_NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > bounds.SAVE_DEPTH_MAX:
            return True
    return False


def _is_flat(data: bytes) -> bool:
    """Whether no value stands deeper than a few times the bound, at a tenth of the price of `is_too_deep`.

    Outside of strings, brackets that enclose nothing are taken out again and again. A text that is cut off, or holds
    an escape that hides where a string ends, is not flat: that is for the careful way to say.
    """
    if b"\\" in data:
        return not is_too_deep(data)
    marks = data.translate(None, delete=_NOT_MARKS).replace(b'""', b"")  # what lies behind stays within, or without
    brackets = b"".join(marks.split(b'"')[::2])
    for _ in range(bounds.SAVE_DEPTH_MAX):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not brackets:
            return True
    return False
