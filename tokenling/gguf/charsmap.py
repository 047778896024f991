"""SentencePiece's compiled normalisation: the longest known beginning of a text becomes what the map says.

    uint32 trie bytes | the trie: a double array of uint32 units (Darts) | replacements, each ended by a zero byte

A unit holds its label in the low 8 bits, in bit 8 whether a value hangs on it, from bit 10 the offset to its children
(times 256 where bit 9 is set). A value is where its replacement starts. Nothing of it is believed: a unit or a
replacement outside the map ends the search, as no match.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tokenling.gguf.cursor import Numbers
from tokenling.gguf.errors import GgufMalformed

REPLACEMENT_BYTES_MAX = 256
"""A guess: ten times the longest of NFKC."""
MATCH_BYTES_MAX = 64
"""A guess: three times the longest of NFKC."""


@dataclass(frozen=True, slots=True)
class Charsmap:
    """A parsed map. `units` and `replacements` are looked up within their bounds only."""

    units: "np.ndarray[tuple[int], np.dtype[np.uint32]]"
    replacements: bytes

    def normalised(self, text: str) -> str:
        """`text` with every longest match replaced, from left to right."""
        data = text.encode()
        starts = [0, *(at for at in range(1, len(data)) if data[at] & 0xC0 != 0x80), len(data)]
        found = bytearray()
        free = 0
        for start, end in pairwise(starts):
            if start < free:
                continue  # a longer match has taken this character
            size, replacement = self._longest(data, start)
            free = start + size if size else end
            found += replacement if size else data[start:end]
        return found.decode("utf-8", errors="replace")

    def _longest(self, data: bytes, start: int) -> tuple[int, bytes]:
        """The length of the longest match at `start`, and its replacement; 0 where there is none."""
        best = (0, b"")
        units = self.units
        at = _offset(int(units[0]))
        for place in range(start, min(len(data), start + MATCH_BYTES_MAX)):
            at ^= data[place]
            if at >= len(units):
                break
            unit = int(units[at])
            if unit & 0x800000FF != data[place]:
                break
            at ^= _offset(unit)
            if unit >> 8 & 1 and at < len(units):
                best = (place + 1 - start, self._replacement(int(units[at]) & 0x7FFFFFFF))
        return best

    def _replacement(self, start: int) -> bytes:
        end = self.replacements.find(b"\0", start, start + REPLACEMENT_BYTES_MAX + 1)
        return self.replacements[start : max(end, start)]


def read_charsmap(values: Numbers, key: str) -> Charsmap:
    """The map in a file's array of bytes. Raises `GgufMalformed`."""
    data = values.astype(np.uint8).tobytes()
    size = int.from_bytes(data[:4], "little")
    if len(data) < 8 or size % 4 or not 4 <= size <= len(data) - 4:
        raise GgufMalformed("charsmap", key, f"a trie of {size} bytes in {len(data)}", "a trie that lies within")
    return Charsmap(np.frombuffer(data, "<u4", size // 4, 4), data[4 + size :])


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)
