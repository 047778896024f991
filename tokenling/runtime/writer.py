"""What to write next, given a row of logits: sampling, tags, lookups, stops. No ONNX Runtime here."""

from collections.abc import Iterable, Sequence

import numpy as np

from tokenling.runtime.plan import Choice, DecodePlan, StopReason
from tokenling.runtime.sampling import Integers, Logits, choose, choose_among, weights_of
from tokenling.runtime.tags import NEVER, OUTSIDE, Cut, State, TagMask, TokenIndex, cut_of, make_mask
from tokenling.runtime.text_stream import TextStream
from tokenling.runtime.top import Top

LOOKED_UP_MAX = 256
"""So few legal tokens are looked up one by one and sorted as a list: about what a whole row costs (a guess)."""
_SHARES_TEMPERATURE_MILLI = 1000
"""A greedy plan has no temperature; its branch points show the model's own shares."""


class Writer:
    """One generation as it is written. `write` is called with each step's logits until it answers no ids.

    `piece` is the text that the last call set free, `legal` the masked logits it chose from (until the next step).
    """

    def __init__(self, plan: DecodePlan, index: TokenIndex, eos_ids: Sequence[int]) -> None:
        self._plan = plan
        self._index = index
        self._eos = frozenset() if plan.ignore_eos else frozenset(eos_ids)
        self._mask = self._make_mask(plan.constraint)
        self._always = cut_of(~np.isin(np.arange(index.size), index.missing))
        self._masked: Logits = np.empty(index.size, dtype=np.float32)
        self._row: Logits = np.empty(0, dtype=np.float32)
        self._cut = self._always
        self._legal: Logits | None = None
        self._state: State = OUTSIDE
        self._stream = TextStream(plan.stops)
        self._left = plan.max_new
        self.piece = ""
        self.token_ids: list[int] = []
        self.insertions_used: list[str] = []
        self.choices: list[Choice] = []
        self.near_ties: list[int] = []
        self.stop: StopReason | None = None

    @property
    def text(self) -> str:
        """The generated text that is whole, without inserted answers."""
        return self._stream.text

    @property
    def legal(self) -> Logits:
        """The last step's logits with -inf for every token that could not be written."""
        if self._legal is None:
            self._legal = self._cut.over(self._row, self._masked)
        return self._legal

    def write(self, logits: Logits, top: Top | None = None) -> tuple[int, ...]:
        """Choose one token from `logits` (vocabulary,); the ids to run next, empty when the generation is over.

        `top` holds the greatest of them, where somebody found them: the same choice, at less cost.
        """
        self._row, self._legal = logits[: self._index.size], None
        self._cut = self._cut_now()
        step, state = len(self.token_ids), self._state
        few = None if top is None else self._few(top)
        sampling = self._plan.sampling
        draw = choose(self.legal, sampling, step) if few is None else choose_among(*few, sampling, step)
        self.token_ids.append(draw.token)
        if draw.near_tie:
            self.near_ties.append(step)
        closed = self._advance(few, state, draw.token)
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

    def _cut_now(self) -> Cut:
        """Which tokens may be written now."""
        return self._always if self._mask is None else self._mask.cut(self._state, min(self._left, NEVER) - 1)

    def _few(self, top: Top) -> Top | None:
        """The greatest legal logits: as many as are wanted, or all there are; None when `top` does not show them."""
        cut = self._cut
        if cut.holds_legal:
            return _sorted_out(self._row, cut.ids) if 0 < cut.ids.shape[0] <= LOOKED_UP_MAX else None
        illegal, size = cut.illegal, self._index.size  # a model may have rows that no token of the tokenizer's has
        places = [at for at, token in enumerate(top.ids) if token < size and token not in illegal]
        if len(places) < len(top.ids):
            top = Top(top.values[places], [top.ids[at] for at in places])
        sampling = self._plan.sampling
        wanted = sampling.top_k if sampling.temperature_milli else 2
        return top if 0 < wanted <= len(top.ids) else None

    def _advance(self, few: Top | None, state: State, token: int) -> tuple[str, ...]:
        """Follow the tags over `token`; note a branch point. The tags it closed."""
        if self._mask is None:
            return ()
        walk = self._mask.walk(state, token)
        assert not walk.illegal, "the mask let an illegal token through"
        self._state = walk.state
        if state or walk.state or walk.closed:
            is_all = few is not None and state and self._cut.holds_legal
            self._note_choice(self._mask, state, *(self._weighed(few) if few and is_all else self._weighed_all(state)))
        return walk.closed

    def _weighed(self, few: Top) -> tuple[Iterable[tuple[int, int]], int]:
        """Each legal token with its weight, and the sum of all weights, where `few` are all that is legal."""
        weights = weights_of(few.values, float(few.values[0]), self._temperature_milli()).tolist()
        return zip(few.ids, weights, strict=True), sum(weights)

    def _weighed_all(self, state: State) -> tuple[Iterable[tuple[int, int]], int]:
        """The same for a whole row: inside a tag of all that is legal, outside of what may open one."""
        legal = self.legal
        weights = weights_of(legal, float(legal.max()), self._temperature_milli())
        candidates = np.flatnonzero(legal > -np.inf) if state else np.asarray(self._index.opening, dtype=np.int64)
        return zip(candidates.tolist(), weights[candidates].tolist(), strict=True), int(weights.sum())

    def _temperature_milli(self) -> int:
        return self._plan.sampling.temperature_milli or _SHARES_TEMPERATURE_MILLI

    def _note_choice(self, mask: TagMask, state: State, weighed: Iterable[tuple[int, int]], total: int) -> None:
        """Record what the legal continuations weighed, when there was more than one."""
        shares: dict[str, int] = {}
        for token, weight in weighed:
            name = mask.label(state, token) if weight > 0 else None
            if name is not None:
                shares[name] = shares.get(name, 0) + weight
        if not state or len(shares) > 1:
            ppm = {name: weight * 1_000_000 // total for name, weight in sorted(shares.items())}
            self.choices.append(Choice(len(self.token_ids) - 1, ppm))


def _sorted_out(row: Logits, ids: Integers) -> Top:
    """These tokens' logits as a `Top`: by lists, for few sort sooner so, and nothing lets go of the interpreter."""
    values = row[ids]
    numbers = values.tolist()
    order = sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True)  # equals stay in the order of their ids
    return Top(values[order], ids[order].tolist())
