"""What to write next, given a row of logits: sampling, tags, lookups, stops. No ONNX Runtime here."""

from collections.abc import Sequence

import numpy as np

from tokenling.runtime.plan import Choice, DecodePlan, StopReason
from tokenling.runtime.sampling import Logits, choose, weights_of
from tokenling.runtime.tags import NEVER, OUTSIDE, State, TagMask, TokenIndex, cut_of, make_mask
from tokenling.runtime.text_stream import TextStream

_SHARES_TEMPERATURE_MILLI = 1000
"""A greedy plan has no temperature; its branch points show the model's own shares."""


class Writer:
    """One generation as it is written. `write` is called with each step's logits until it answers no ids.

    `piece` is the text that the last call set free, `legal` the masked logits it chose from (until the next call).
    """

    def __init__(self, plan: DecodePlan, index: TokenIndex, eos_ids: Sequence[int]) -> None:
        self._plan = plan
        self._index = index
        self._eos = frozenset() if plan.ignore_eos else frozenset(eos_ids)
        self._mask = self._make_mask(plan.constraint)
        self._always = cut_of(~np.isin(np.arange(index.size), index.missing))
        self._masked: Logits = np.empty(index.size, dtype=np.float32)
        self._state: State = OUTSIDE
        self._stream = TextStream(plan.stops)
        self._left = plan.max_new
        self.piece = ""
        self.legal: Logits = np.empty(0, dtype=np.float32)
        self.token_ids: list[int] = []
        self.insertions_used: list[str] = []
        self.choices: list[Choice] = []
        self.near_ties: list[int] = []
        self.stop: StopReason | None = None

    @property
    def text(self) -> str:
        """The generated text that is whole, without inserted answers."""
        return self._stream.text

    def write(self, logits: Logits) -> tuple[int, ...]:
        """Choose one token from `logits` (vocabulary,); the ids to run next, empty when the generation is over."""
        legal = self.legal = self._legal(logits[: self._index.size])
        step, state = len(self.token_ids), self._state
        draw = choose(legal, self._plan.sampling, step)
        self.token_ids.append(draw.token)
        if draw.near_tie:
            self.near_ties.append(step)
        closed = self._advance(legal, state, draw.token)
        self._left -= 1
        self.piece = self._stream.push(self._index.bytes_of[draw.token] or b"")
        return self._next(draw.token, closed)

    def cancel(self) -> None:
        """The generation ends here, by its caller's wish. The last token's piece has been read: only what was held
        back behind it is new."""
        self.piece = ""
        self._end("cancelled")

    def _next(self, token: int, closed: Sequence[str]) -> tuple[int, ...]:
        """What runs behind `token`: itself and a lookup's answer, or nothing when a stop was met."""
        if token in self._eos:
            return self._end("eos")
        if self._stream.stopped:
            return self._end("newline")
        feed = (token, *self._insert(closed))
        return feed if self._left > 0 else self._end("length")

    def _end(self, stop: StopReason) -> tuple[int, ...]:
        self.stop = stop
        if not self._stream.stopped:
            self.piece += self._stream.finish()
        return ()

    def _insert(self, closed: Sequence[str]) -> tuple[int, ...]:
        """The answer behind a lookup tag; it counts against the budget, and the last one ends lookups."""
        asked = [name for name in closed if name in self._plan.insertions]
        if not asked:
            return ()
        answer = self._plan.insertions[asked[0]]
        self._left -= len(answer)
        self.insertions_used.append(asked[0])
        if len(self.insertions_used) >= self._plan.insertions_max:
            self._mask = self._make_mask(self._without_lookups())
        return answer

    def _without_lookups(self) -> tuple[str, ...]:
        return tuple(tag for tag in self._plan.constraint or () if tag not in self._plan.insertions)

    def _make_mask(self, tags: tuple[str, ...] | None) -> TagMask | None:
        if tags is None:
            return None
        allowed = tags if self._plan.insertions_max > 0 else self._without_lookups()
        return make_mask(self._index, allowed, {tag: len(ids) for tag, ids in self._plan.insertions.items()})

    def _legal(self, logits: Logits) -> Logits:
        """The logits with -inf for every token that may not be written now."""
        cut = self._always if self._mask is None else self._mask.cut(self._state, min(self._left, NEVER) - 1)
        return cut.over(logits, self._masked)

    def _advance(self, legal: Logits, state: State, token: int) -> tuple[str, ...]:
        """Follow the tags over `token`; note a branch point. The tags it closed."""
        if self._mask is None:
            return ()
        walk = self._mask.walk(state, token)
        assert not walk.illegal, "the mask let an illegal token through"
        self._state = walk.state
        if state or walk.state or walk.closed:
            self._note_choice(self._mask, legal, state)
        return walk.closed

    def _note_choice(self, mask: TagMask, legal: Logits, state: State) -> None:
        """Record what the legal continuations weighed, when there was more than one."""
        candidates = np.flatnonzero(legal > -np.inf) if state else np.asarray(self._index.opening, dtype=np.int64)
        temperature = self._plan.sampling.temperature_milli or _SHARES_TEMPERATURE_MILLI
        weights = weights_of(legal, float(legal.max()), temperature)
        total = int(weights.sum())
        shares: dict[str, int] = {}
        for token in candidates[weights[candidates] > 0].tolist():
            name = mask.label(state, token)
            if name is not None:
                shares[name] = shares.get(name, 0) + int(weights[token])
        if not state or len(shares) > 1:
            ppm = {name: weight * 1_000_000 // total for name, weight in sorted(shares.items())}
            self.choices.append(Choice(len(self.token_ids) - 1, ppm))
