"""Little-endian values out of a byte buffer that nobody vouches for: every read is checked against its end."""

import struct
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tokenling.gguf.errors import GgufMalformed

Buffer: TypeAlias = memoryview
Number: TypeAlias = (
    "np.uint8 | np.int8 | np.uint16 | np.int16 | np.uint32 | np.int32 | np.uint64 | np.int64 "
    "| np.float32 | np.float64 | np.bool_"
)
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[Number]]"

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Cursor:
    """A place in `data` that only moves forward. Each method names its `subject` when it refuses."""

    def __init__(self, data: Buffer, at: int = 0) -> None:
        self._data = data
        self._end = len(data)
        self.at = at

    @property
    def left_bytes(self) -> int:
        """What is left of the file."""
        return self._end - self.at

    def need(self, size: int, subject: str) -> int:
        """Where the next `size` bytes begin; the cursor is then behind them."""
        if size > self.left_bytes:
            found = f"{size} bytes at offset {self.at}"
            raise GgufMalformed("file_truncated", subject, found, f"at most the {self.left_bytes} bytes left")
        at = self.at
        self.at += size
        return at

    def u32(self, subject: str) -> int:
        """An unsigned integer of 32 bits."""
        value: int = _U32.unpack_from(self._data, self.need(4, subject))[0]
        return value

    def u64(self, subject: str) -> int:
        """An unsigned integer of 64 bits."""
        value: int = _U64.unpack_from(self._data, self.need(8, subject))[0]
        return value

    def count(self, subject: str, *, each_bytes: int, most: int) -> int:
        """A count of things of at least `each_bytes`: never more than could still lie in the file."""
        value = self.u64(subject)
        fits = self.left_bytes // each_bytes
        if value > fits:
            expected = f"at most {fits}, as the file has no more bytes"
            raise GgufMalformed("count_impossible", subject, f"{value}", expected)
        if value > most:
            raise GgufMalformed("count_range", subject, f"{value}", f"at most {most}")
        return value

    def text(self, subject: str, *, most: int) -> str:
        """A string: its length in bytes, then UTF-8."""
        size = self.u64(subject)
        if size > most:
            raise GgufMalformed("text_long", subject, f"{size} bytes", f"at most {most}")
        at = self.need(size, subject)
        try:
            return str(self._data[at : at + size], "utf-8")
        except UnicodeDecodeError as error:
            raise GgufMalformed("text_encoding", subject, f"byte {error.start} not UTF-8", "UTF-8") from None

    def texts(self, count: int, subject: str, *, most: int) -> tuple[str, ...]:
        """`count` strings. One loop without calls of ours: a vocabulary has hundreds of thousands of them."""
        data, at, end, unpack = self._data, self.at, self._end, _U64.unpack_from
        found: list[str] = []
        try:
            for _ in range(count):
                self.at = at
                begin = at + 8
                at = begin + unpack(data, at)[0]
                if at > end or at - begin > most:
                    break
                found.append(str(data[begin:at], "utf-8"))
            else:
                self.at = at
                return tuple(found)
        except (struct.error, UnicodeDecodeError):
            pass
        self.text(f"{subject}[{len(found)}]", most=most)  # the entry that broke the loop, once more for its error
        raise AssertionError("the entry reads well alone")

    def numbers(self, count: int, dtype: str, subject: str) -> Numbers:
        """`count` numbers of NumPy's `dtype`, copied, read-only."""
        kind = np.dtype(dtype)
        at = self.need(count * kind.itemsize, subject)
        found = np.frombuffer(self._data, kind, count, at).copy()
        found.flags.writeable = False
        return found


def product(factors: Sequence[int]) -> int:
    """The product, exact: Python's integers do not overflow."""
    result = 1
    for factor in factors:
        result *= factor
    return result
