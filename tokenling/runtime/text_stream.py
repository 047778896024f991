"""Bytes of tokens in, text out: no broken character and no part of a stop ever leaves."""

import codecs
from collections.abc import Sequence


class TextStream:
    """The text of one generation as it grows. What might become a stop is held back until it cannot."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        # "ignore": a model may write any bytes; those that are not UTF-8 are dropped, not shown as U+FFFD
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._is_inside = False  # a character whose end is still owed
        self._held = ""
        self._parts: list[str] = []
        self.stopped = False

    @property
    def text(self) -> str:
        """All that has left so far."""
        return "".join(self._parts)

    def push(self, data: bytes) -> str:
        """The text that `data` sets free; `stopped` is then true if a stop was met."""
        if self._is_inside or not data.isascii():
            text = self._decoder.decode(data)
            self._is_inside = bool(self._decoder.getstate()[0])
        else:
            text = data.decode("ascii")  # nearly every token, for a third of the time
        held = self._held + text
        found, keep = -1, 0
        for stop in self._stops:  # plain loops: this runs for every token
            at = held.find(stop)
            if at >= 0 and (found < 0 or at < found):
                found = at
            if len(stop) > 1:
                keep = max(keep, _overlap(held, stop))
        if found >= 0:
            self.stopped = True
            return self._leave(held[:found], "")
        return self._leave(held[: len(held) - keep], held[len(held) - keep :])

    def finish(self) -> str:
        """The rest, when nothing more will come; an unfinished character is dropped."""
        return self._leave(self._held, "")

    def _leave(self, text: str, held: str) -> str:
        self._held = held
        if text:
            self._parts.append(text)
        return text


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` begin `stop`."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
