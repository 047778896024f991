"""Protobuf's wire format, as far as ONNX needs it: read in place, and written, without the `onnx` package."""

from collections.abc import Iterator

from tokenling.runtime.errors import BrainRefused

_VARINT_BITS_MAX = 70
_FIXED = {1: 8, 5: 4}
"""Wire types of a fixed width, and their bytes."""


def fields(message: memoryview, subject: str) -> Iterator[tuple[int, memoryview | int]]:
    """The fields of one message: (number, bytes or integer). Raises `BrainRefused` for bytes that are not protobuf."""
    return ((number, value) for number, value, _ in raw_fields(message, subject))


def raw_fields(message: memoryview, subject: str) -> Iterator[tuple[int, memoryview | int, memoryview]]:
    """The same, each with the bytes that it takes as a whole: a field that is not understood can be handed on."""
    at, end = 0, len(message)
    while at < end:
        start = at
        key, at = _read_varint(message, at, subject)
        wire, number = key & 7, key >> 3
        if wire == 0:
            value, at = _read_varint(message, at, subject)
            yield number, value, message[start:at]
            continue
        size, at = _read_varint(message, at, subject) if wire == 2 else (_FIXED.get(wire, -1), at)
        if size < 0 or at + size > end or number == 0:
            raise malformed(subject)
        yield number, message[at : at + size], message[start : at + size]
        at += size


def _read_varint(message: memoryview, at: int, subject: str) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < _VARINT_BITS_MAX:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise malformed(subject)


def malformed(subject: str) -> BrainRefused:
    """The refusal of bytes that hold no model."""
    return BrainRefused("graph_malformed", subject, "bytes that are not an ONNX model", "an ONNX model")


def signed(value: int) -> int:
    """A varint as the int64 that was written: negative ones fill all 64 bits."""
    return value - 2**64 if value >= 2**63 else value


def varint(value: int) -> bytes:
    """An integer, negative ones as 64 bits."""
    rest, found = value & (2**64 - 1), bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def integer_field(number: int, value: int) -> bytes:
    """A field that holds an integer."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, *parts: bytes | memoryview) -> bytes:
    """A field that holds bytes, a text or a message: the parts one behind the other."""
    size = sum(len(part) for part in parts)
    return b"".join((varint(number << 3 | 2), varint(size), *parts))
