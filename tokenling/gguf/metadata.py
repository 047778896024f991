"""A GGUF file's metadata: keys to values, read within bounds, then asked for by type."""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from tokenling.gguf.cursor import Cursor, Numbers
from tokenling.gguf.errors import GgufMalformed

MetaValue: TypeAlias = "int | float | bool | str | tuple[str, ...] | Numbers"
"""A scalar, an array of strings, or an array of numbers (NumPy, read-only)."""

KEYS_MAX = 2**16
"""A guess: a thousand times what published files hold."""
KEY_BYTES_MAX = 2**16 - 1
"""The specification's."""
TEXT_BYTES_MAX = 2**24
"""Of one string. A guess: the longest published chat templates and grammars take 100 KB."""
ARRAY_BYTES_MAX = 2**26
"""Of all arrays of numbers in one file. A guess: thirty times Gemma's scores and types."""
TEXTS_MAX = 2**21
"""Strings in all arrays of one file: 2.7 times the largest published (262 144 tokens and 514 906 merges). They cost
about 60 bytes of memory each beside their text."""

_SCALARS: Mapping[int, tuple[str, str]] = {
    0: ("UINT8", "<u1"),
    1: ("INT8", "<i1"),
    2: ("UINT16", "<u2"),
    3: ("INT16", "<i2"),
    4: ("UINT32", "<u4"),
    5: ("INT32", "<i4"),
    6: ("FLOAT32", "<f4"),
    7: ("BOOL", "<u1"),
    10: ("UINT64", "<u8"),
    11: ("INT64", "<i8"),
    12: ("FLOAT64", "<f8"),
}
_BOOL, _STRING, _ARRAY = 7, 8, 9


class Metadata(Mapping[str, MetaValue]):
    """Keys to values; the typed getters refuse a value of another kind, and an absent one unless given a default."""

    def __init__(self, values: Mapping[str, MetaValue]) -> None:
        self._values = MappingProxyType(dict(values))

    def __getitem__(self, key: str) -> MetaValue:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, key: str, default: str | None = None) -> str:
        """The string at `key`."""
        value = self._values.get(key, default)
        if not isinstance(value, str):
            raise self._refusal(key, "a string")
        return value

    def integer(self, key: str, default: int | None = None, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """The integer at `key`, from `least` to `most`."""
        value = self._values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._refusal(key, f"an integer from {least} to {most}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """The finite number at `key`, as a float."""
        value = self._values.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise self._refusal(key, "a finite number")
        return float(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """The boolean at `key`."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self._refusal(key, "a boolean")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """The array of strings at `key`; an empty array of any kind is one too."""
        value = self._values.get(key, default)
        if isinstance(value, np.ndarray) and not value.size:
            return ()
        if not isinstance(value, tuple):
            raise self._refusal(key, "an array of strings")
        return value

    def integers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """The array of integers at `key`."""
        values = self._array(key, "iu", default is None, "an array of integers")
        if values is None:
            return default or ()
        return tuple(int(value) for value in values.tolist())

    def numbers(self, key: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """The array of numbers at `key`, as floats."""
        values = self._array(key, "iuf", default is None, "an array of numbers")
        if values is None:
            return default or ()
        found: list[float] = values.astype(np.float64).tolist()
        return tuple(found)

    def _array(self, key: str, kinds: str, required: bool, expected: str) -> "Numbers | None":
        value = self._values.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise self._refusal(key, expected)
        return value

    def _refusal(self, key: str, expected: str) -> GgufMalformed:
        if key not in self._values:
            return GgufMalformed("key_missing", key, "no such key", expected)
        return GgufMalformed("key_type", key, describe(self._values[key]), expected)


def describe(value: MetaValue) -> str:
    """A value as a refusal shows it: scalars as they are, arrays by their size alone."""
    if isinstance(value, tuple):
        return f"{len(value)} strings"
    if isinstance(value, np.ndarray):
        return f"{value.size} numbers ({value.dtype.name})"
    return f"the string {value[:40]!r}" if isinstance(value, str) else str(value)


class MetadataReader:
    """Reads keys and values in file order. One reader a file: it carries the budgets that all arrays share."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._texts_left = TEXTS_MAX
        self._array_bytes_left = ARRAY_BYTES_MAX

    def read(self, count: int) -> Metadata:
        """`count` keys with their values. Raises `GgufMalformed` naming the key."""
        found: dict[str, MetaValue] = {}
        for place in range(count):
            key = self._cursor.text(f"metadata key {place}", most=KEY_BYTES_MAX)
            if not key:
                raise GgufMalformed("key_empty", f"metadata key {place}", "an empty key", "at least one character")
            if key in found:
                raise GgufMalformed("key_duplicate", key, "the key a second time", "each key once")
            found[key] = self._value(key)
        return Metadata(found)

    def _value(self, key: str) -> MetaValue:
        kind = self._cursor.u32(key)
        if kind == _STRING:
            return self._cursor.text(key, most=TEXT_BYTES_MAX)
        if kind == _ARRAY:
            return self._array(key)
        values = self._numbers(key, kind, 1)
        scalar: int | float | bool = values[0].item()
        return scalar

    def _array(self, key: str) -> MetaValue:
        kind = self._cursor.u32(key)
        if kind == _ARRAY:
            raise GgufMalformed("array_nested", key, "an array of arrays", "an array of scalars or strings")
        each = 8 if kind == _STRING else np.dtype(self._scalar(key, kind)).itemsize
        count = self._cursor.count(key, each_bytes=each, most=2**63)
        if kind != _STRING:
            return self._numbers(key, kind, count)
        self._texts_left -= count
        if self._texts_left < 0:
            raise GgufMalformed("array_long", key, f"{count} strings", f"at most {TEXTS_MAX} in one file")
        return self._cursor.texts(count, key, most=TEXT_BYTES_MAX)

    def _numbers(self, key: str, kind: int, count: int) -> Numbers:
        dtype = self._scalar(key, kind)
        size = count * np.dtype(dtype).itemsize
        self._array_bytes_left -= size
        if self._array_bytes_left < 0:
            raise GgufMalformed("array_long", key, f"{size} bytes of numbers", f"at most {ARRAY_BYTES_MAX} in one file")
        values = self._cursor.numbers(count, dtype, key)
        return self._booleans(key, values) if kind == _BOOL else values

    def _booleans(self, key: str, values: Numbers) -> Numbers:
        if values.size and values.max() > 1:
            raise GgufMalformed("boolean_range", key, str(values.max()), "0 or 1")
        found = values.astype(np.bool_)
        found.flags.writeable = False
        return found

    def _scalar(self, key: str, kind: int) -> str:
        if kind not in _SCALARS:
            raise GgufMalformed("value_type", key, f"value type {kind}", "one of the thirteen of GGUF")
        return _SCALARS[kind][1]


def read_metadata(cursor: Cursor, count: int) -> Metadata:
    """The metadata at the cursor, which is then behind it."""
    return MetadataReader(cursor).read(count)
