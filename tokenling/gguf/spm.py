"""SentencePiece's BPE: of all neighbours that join to a piece, the best score joins first, the leftmost of equals.

`tokenizers`' BPE cannot stand in for it. There a pair has a rank of its own; here the pair's *piece* has the score, so
equals go by place, and real vocabularies hold equals (Mistral's runs of spaces all score -1e9).
"""

import itertools
import re
from collections.abc import Mapping
from heapq import heappop, heappush

SPACE = "\u2581"
"""SentencePiece's, for a blank."""
WORDS_MAX = 2**15
"""Words whose pieces are remembered, 64 characters long at most: a guess, some 5 MB."""
WORD_CHARS_MAX = 64

Candidate = tuple[float, int, int, str]
"""Minus the score, the left and the right symbol's places, and the piece they join to."""


def merge(text: str, scores: Mapping[str, float]) -> list[str]:
    """`text` as pieces: single characters joined while any two neighbours are a piece.

    >>> merge("abab", {"ab": -1.0, "ba": 0.0})
    ['a', 'ba', 'b']
    """
    symbols = list(text)
    after = [*range(1, len(symbols)), -1] if symbols else []
    before = list(range(-1, len(symbols) - 1))
    queue: list[Candidate] = []

    def offer(left: int, right: int) -> None:
        piece = symbols[left] + symbols[right]
        score = scores.get(piece)
        if score is not None:
            heappush(queue, (-score, left, right, piece))

    for place in range(len(symbols) - 1):
        offer(place, place + 1)
    while queue:
        _, left, right, piece = heappop(queue)
        if not symbols[left] or not symbols[right] or len(symbols[left]) + len(symbols[right]) != len(piece):
            continue  # one of them has joined another since
        symbols[left], symbols[right] = piece, ""
        after[left] = after[right]
        if after[left] >= 0:
            before[after[left]] = left
            offer(left, after[left])
        if before[left] >= 0:
            offer(before[left], left)
    return [symbol for symbol in symbols if symbol]


def joined(pieces: list[str], known: Mapping[str, float]) -> list[str]:
    """`pieces`, those in a row that are none joined: SentencePiece makes one unknown token of them.

    >>> joined(["a", "ж", "ш", "b"], {"a": 0.0, "b": 0.0})
    ['a', 'жш', 'b']
    """
    if all(map(known.__contains__, pieces)):
        return pieces
    runs = itertools.groupby(pieces, key=known.__contains__)
    return [piece for is_known, run in runs for piece in (run if is_known else ["".join(run)])]


class SpmPieces:
    """Cuts normalised text into pieces; characters in a row that are none stay together."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self._scores = scores
        # no piece reaches over such a border, so the words on its sides cannot tell of each other
        inner = (piece for piece in scores if SPACE in piece.lstrip(SPACE))
        glue = {char for piece in inner for char, then in itertools.pairwise(piece) if then == SPACE}
        kept = "".join(re.escape(char) for char in sorted(glue | {SPACE}))
        self._border = re.compile(f"(?<=[^{kept}])(?={SPACE})")
        self._known: dict[str, list[str]] = {}

    def pieces(self, text: str) -> list[str]:
        """`text` as SentencePiece cuts it."""
        return joined([piece for word in self._border.split(text) for piece in self._word(word)], self._scores)

    def _word(self, word: str) -> list[str]:
        if len(word) > WORD_CHARS_MAX:
            return merge(word, self._scores)
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= WORDS_MAX:
                self._known.clear()
            known = self._known[word] = merge(word, self._scores)
        return known
