"""SentencePiece's unigram model: of all ways to cut a text, the one whose pieces have the greatest sum of scores."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokenling.gguf.spm import joined

UNKNOWN_PENALTY = 10.0
"""SentencePiece's: what an unknown character lies below the worst piece."""
_FLOAT = struct.Struct("<f")


@dataclass(slots=True)
class _End:
    """The best way to an end: its sum, and where its last piece starts."""

    score: float = 0.0
    start: int = -1


class UnigramPieces:
    """Cuts normalised text into pieces; unknown characters in a row are one."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self._scores = scores
        self._longest: dict[str, int] = {}
        for piece in scores:
            self._longest[piece[0]] = max(self._longest.get(piece[0], 0), len(piece))
        self._unknown = _rounded(min(scores.values(), default=0.0) - UNKNOWN_PENALTY)

    def pieces(self, text: str) -> list[str]:
        """`text` as SentencePiece cuts it (Viterbi; sums are rounded to float32 as there, so equals are equals)."""
        ends = [_End() for _ in range(len(text) + 1)]
        for start in range(len(text)):
            here = ends[start].score
            for piece_end, score in self._candidates(text, start):
                end, total = ends[piece_end], _rounded(score + here)
                if end.start < 0 or total > end.score:
                    end.score, end.start = total, start
        return joined(_backwards(text, ends), self._scores)

    def _candidates(self, text: str, start: int) -> Iterator[tuple[int, float]]:
        """Where pieces that start here end; the character alone as unknown when it is no piece."""
        for end in range(start + 1, min(len(text), start + self._longest.get(text[start], 0)) + 1):
            score = self._scores.get(text[start:end])
            if score is not None:
                yield end, score
        if text[start] not in self._scores:
            yield start + 1, self._unknown


def _backwards(text: str, ends: list[_End]) -> list[str]:
    """The pieces of the best way, in order."""
    found: list[str] = []
    at = len(text)
    while at > 0:
        found.append(text[ends[at].start : at])
        at = ends[at].start
    return found[::-1]


def _rounded(value: float) -> float:
    """To the nearest float32."""
    found: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return found
