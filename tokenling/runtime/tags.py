"""Which tokens keep closed tags legal: an automaton over bytes, run over each token's own bytes.

Outside a tag everything may be written but a `[` that could not become a legal tag. Inside one only what continues a
legal tag, to its `]`. A token may hold text before `[` and after `]`, several tags, or half a character: all is
judged byte by byte. Each state knows the fewest tokens that close it, and a token is legal only while the budget left
behind it covers that: an open tag can always close.

A state is a set of positions, one for each tag that is still possible: `(tag, at, points, owed)`, `at` bytes of the
tag's literal part read, then (in free text) `points` code points begun, and the UTF-8 bytes still owed, if any.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tokenling.engine.request import FREE_TAG_CODE_POINTS_MAX, FREE_TAG_MARK
from tokenling.runtime.errors import GenerationRefused
from tokenling.runtime.sampling import Integers, Logits
from tokenling.runtime.tokenizer import TokenTable

Owed: TypeAlias = tuple[int, int, int]
"""UTF-8 continuation bytes still owed: how many, and the least and greatest value of the next one."""
Position: TypeAlias = tuple[int, int, int, Owed | None]
State: TypeAlias = tuple[Position, ...]
Costs: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int16]]

MaskKey: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]
"""The tags, and the lengths of the answers to those that are lookups."""

OUTSIDE: State = ()
NEVER = 32_767
"""The cost of a token that is not legal, and of a tag that cannot be spelled: more than any budget."""
TAGS_MAX = 512
"""A guess: ten times what a request of the engine lists."""
TAG_BYTES_MAX = 256
"""A guess: the longest literal tag is a tenth of it."""
MASKS_MAX = 8
"""Masks that a lane keeps from turn to turn. A life of 300 turns asked for 59 sets of tags, and 8 kept ones
answered 170 of the turns. A mask takes some 100 KB for 2,048 text tokens, some 3 MB for 49,152."""
STATES_MAX = 256
"""Cost arrays that one mask keeps: a guess, five times what a turn meets."""
WALKS_MAX = 4096
"""Walks that one mask keeps, of a few hundred bytes each."""
_OPEN, _CLOSE, _NEWLINE, _RETURN = b"[]\n\r"
_FORBIDDEN = frozenset((_OPEN, _CLOSE, _NEWLINE, _RETURN))
_TAIL = (0x80, 0xBF)


def utf8_owed(lead: int) -> Owed | None:
    """What a lead byte owes (Unicode 15, table 3-7), None for ASCII. Raises `ValueError` for no lead byte."""
    if lead < 0x80:
        return None
    if not 0xC2 <= lead <= 0xF4:
        raise ValueError("not a lead byte")
    special = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
    return 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3, *special.get(lead, _TAIL)


@dataclass(frozen=True, slots=True)
class Tag:
    """One legal tag: its literal bytes, and whether free text follows them before the `]`."""

    text: str
    literal: bytes
    free: bool


def parse_tag(text: str) -> Tag:
    """`[eat]` or `[remember …]`. Raises `GenerationRefused` for anything else."""
    free = text.endswith(FREE_TAG_MARK + "]")
    inner = text[1 : -len(FREE_TAG_MARK) - 1] if free else text[1:-1]
    literal = ("[" + inner if free else text).encode("utf-8", errors="surrogatepass")
    shaped = text.startswith("[") and text.endswith("]") and not set(inner) & set("[]\n\r" + FREE_TAG_MARK)
    if not shaped or not inner or len(literal) > TAG_BYTES_MAX:
        raise GenerationRefused("tag_malformed", "tags", f"a tag of {len(text)} characters", "[words] or [words …]")
    return Tag(text, literal, free)


@dataclass(frozen=True, slots=True)
class SortedTokens:
    """A vocabulary's tokens by what they mean to tags. `plain_points[id]` is -1 for a token that is no plain text."""

    id_of: Mapping[bytes, int]
    by_first: Mapping[int, Sequence[int]]
    opening: Sequence[int]
    mixed: Sequence[int]
    plain_points: Costs
    points_max: int
    """The most code points that one token can add."""
    has_one_point: bool
    """Whether some token adds exactly one code point."""
    has_tails: bool
    """Whether every continuation byte is a token of its own."""


class TokenIndex:
    """A tokenizer's tokens, sorted by what they mean to tags once somebody asks: a run without tags never does, and a
    quarter of a million tokens take a quarter of a second."""

    def __init__(self, table: TokenTable) -> None:
        self.bytes_of = table.bytes_of
        self.size = len(table.bytes_of)
        self.missing = [token for token, data in enumerate(table.bytes_of) if data is None]
        self._spelling: dict[bytes, tuple[int, ...]] = {}
        self.masks: dict[MaskKey, TagMask] = {}

    @cached_property
    def sorted(self) -> SortedTokens:
        """The tokens by their meaning."""
        id_of: dict[bytes, int] = {}
        by_first: dict[int, list[int]] = {}
        opening, mixed = [], []
        points = np.full(self.size, -1, dtype=np.int16)
        for token, data in enumerate(self.bytes_of):
            if not data:
                continue
            id_of.setdefault(data, token)
            by_first.setdefault(data[0], []).append(token)
            if _OPEN in data:
                opening.append(token)
            if plain := plain_text(data):
                points[token] = len(plain)
            else:
                mixed.append(token)
        odd = max((len(self.bytes_of[token] or b"") for token in mixed), default=1)
        return SortedTokens(
            id_of=id_of,
            by_first=by_first,
            opening=opening,
            mixed=mixed,
            plain_points=points,
            points_max=max(odd, int(points.max(initial=1))),
            has_one_point=bool((points == 1).any()),
            has_tails=all(bytes((byte,)) in id_of for byte in range(0x80, 0xC0)),
        )

    @property
    def id_of(self) -> Mapping[bytes, int]:
        """The first id that writes these bytes."""
        return self.sorted.id_of

    @property
    def opening(self) -> Sequence[int]:
        """The ids that hold an opening bracket."""
        return self.sorted.opening

    def spelling(self, literal: bytes) -> tuple[int, ...]:
        """For each place in `literal`, the fewest tokens that spell the rest; `NEVER` where none do."""
        known = self._spelling.get(literal)
        if known is None:
            known = self._spelling[literal] = self._shortest(literal)
        return known

    def _shortest(self, literal: bytes) -> tuple[int, ...]:
        end = len(literal)
        least = [NEVER] * end + [0]
        for at in range(end - 1, -1, -1):
            steps = [least[to] + 1 for to in range(at + 1, end + 1) if literal[at:to] in self.sorted.id_of]
            least[at] = min([*steps, NEVER])
        return tuple(least)


def plain_text(data: bytes) -> str:
    """The text of bytes that may stand whole in a tag's free text, else an empty one."""
    if _FORBIDDEN.intersection(data):
        return ""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a token leads: the state behind it and the tags it closed; `illegal` when it breaks one."""

    state: State
    closed: tuple[str, ...] = ()
    illegal: bool = False


_BROKEN = Walk(OUTSIDE, illegal=True)
_PLAIN = Walk(OUTSIDE)
_ILLEGAL = np.float32(-np.inf)


@dataclass(slots=True)
class Cut:
    """Which tokens may be written, as the shorter of two lists: the legal ids, or those that are not."""

    ids: Integers
    holds_legal: bool
    _illegal: frozenset[int] | None = None

    @property
    def illegal(self) -> frozenset[int]:
        """The ids that may not be written, of a cut that lists those."""
        assert not self.holds_legal
        if self._illegal is None:
            self._illegal = frozenset(self.ids.tolist())
        return self._illegal

    def over(self, logits: Logits, into: Logits) -> Logits:
        """`logits` with -inf for every illegal token: written to `into`, or themselves when all are legal."""
        if self.holds_legal:
            into.fill(_ILLEGAL)
            into[self.ids] = logits[self.ids]
            return into
        if not self.ids.shape[0]:
            return logits
        into[:] = logits
        into[self.ids] = _ILLEGAL
        return into


def cut_of(legal: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Cut:
    """The cut that lets the tokens of `legal` through."""
    holds_legal = 2 * int(legal.sum()) < legal.shape[0]
    return Cut(np.flatnonzero(legal if holds_legal else ~legal), holds_legal)


@dataclass(slots=True)
class TagMask:
    """A set of legal tags. `insertion_tokens` gives a lookup tag's answer length: it must fit behind it,
    and nothing may follow the tag in its own token."""

    index: TokenIndex
    tags: tuple[Tag, ...]
    insertion_tokens: Mapping[str, int]
    _costs: dict[State, Costs] = field(default_factory=dict)
    _cuts: dict[tuple[State, int], Cut] = field(default_factory=dict)
    _dearest_of: dict[State, int] = field(default_factory=dict)
    _walks: dict[tuple[State, int], Walk] = field(default_factory=dict)

    def walk(self, state: State, token: int) -> Walk:
        """The effect of one token. Plain text outside of tags, most of what is written, needs no place here."""
        data = self.index.bytes_of[token]
        if not state and data and _OPEN not in data:
            return _PLAIN
        known = self._walks.get((state, token))
        if known is None:
            if len(self._walks) >= WALKS_MAX:
                self._walks.clear()
            known = self._walks[(state, token)] = self._walk(state, data)
        return known

    def _walk(self, state: State, data: bytes | None) -> Walk:
        if not data:
            # a special token writes nothing: harmless outside, but inside it would only burn the budget
            return _BROKEN if state or data is None else Walk(OUTSIDE)
        closed: list[str] = []
        for at, byte in enumerate(data):
            if not state:
                if byte == _OPEN:
                    state = tuple((tag, 1, 0, None) for tag in range(len(self.tags)))
                    if not state:
                        return _BROKEN
                continue
            if byte == _CLOSE:
                name = self._closes(state)
                if name is None or (name in self.insertion_tokens and at + 1 < len(data)):
                    return _BROKEN
                closed.append(name)
                state = OUTSIDE
                continue
            state = self._step(state, byte)
            if not state:
                return _BROKEN
        return Walk(state, tuple(closed))

    def _closes(self, state: State) -> str | None:
        """The tag that a `]` completes here; a literal one before a free one."""
        done = [self.tags[tag] for tag, at, points, owed in state if self._is_done(tag, at, points, owed)]
        return min(done, key=lambda tag: tag.free).text if done else None

    def _is_done(self, tag: int, at: int, points: int, owed: Owed | None) -> bool:
        known = self.tags[tag]
        if known.free:
            return at == len(known.literal) and points > 0 and owed is None
        return at == len(known.literal) - 1

    def _step(self, state: State, byte: int) -> State:
        """The positions that one byte inside a tag leaves possible."""
        moved = (self._move(position, byte) for position in state)
        return tuple(position for position in moved if position is not None)

    def _move(self, position: Position, byte: int) -> Position | None:
        tag, at, points, owed = position
        literal = self.tags[tag].literal
        if at < len(literal):
            return (tag, at + 1, points, owed) if literal[at] == byte else None
        if owed is not None:
            count, low, high = owed
            return (tag, at, points, (count - 1, *_TAIL) if count > 1 else None) if low <= byte <= high else None
        if byte in _FORBIDDEN or points >= FREE_TAG_CODE_POINTS_MAX:
            return None
        try:
            return (tag, at, points + 1, utf8_owed(byte))
        except ValueError:
            return None

    def closing_cost(self, state: State) -> int:
        """The fewest tokens that close the state, a lookup's answer included; 0 outside."""
        return min((self._position_cost(position) for position in state), default=0)

    def _position_cost(self, position: Position) -> int:
        tag, at, points, owed = position
        known = self.tags[tag]
        if not known.free:
            return min(NEVER, self.index.spelling(known.literal)[at] + self.insertion_tokens.get(known.text, 0))
        close = 1 if b"]" in self.index.id_of else NEVER
        if owed is not None:
            return owed[0] + close if self.index.sorted.has_tails else NEVER
        if points == 0:
            text = 1 if self.index.sorted.has_one_point else NEVER
            return min(NEVER, self.index.spelling(known.literal)[at] + text + close)
        return close

    def costs(self, state: State) -> Costs:
        """For each token the fewest tokens that must follow it, `NEVER` for an illegal one."""
        key = self._class_of(state)
        known = self._costs.get(key)
        if known is None:
            if len(self._costs) >= STATES_MAX:
                for kept in (self._costs, self._cuts, self._dearest_of):
                    kept.clear()
            known = self._costs[key] = self._outside_costs() if not key else self._inside_costs(key)
        return known

    def cut(self, state: State, room: int) -> Cut:
        """Which tokens may be written while `room` more may follow."""
        costs = self.costs(state)
        # far from the budget's end what is legal does not change: one cut for all of it
        key = (self._class_of(state), min(room, self._dearest(state)))
        known = self._cuts.get(key)
        if known is None:
            known = self._cuts[key] = cut_of(costs <= key[1])
        return known

    def _dearest(self, state: State) -> int:
        """The greatest cost of a legal token."""
        key = self._class_of(state)
        known = self._dearest_of.get(key)
        if known is None:
            costs = self.costs(state)
            known = self._dearest_of[key] = int(costs[costs < NEVER].max(initial=0))
        return known

    def _class_of(self, state: State) -> State:
        """States that mask alike share one mask: free text far from its bound."""
        far = FREE_TAG_CODE_POINTS_MAX - self.index.sorted.points_max
        return tuple((tag, at, 1 if 1 <= points <= far else points, owed) for tag, at, points, owed in state)

    def _outside_costs(self) -> Costs:
        costs = np.zeros(self.index.size, dtype=np.int16)
        costs[self.index.missing] = NEVER
        for token in self.index.opening:
            costs[token] = self._token_cost(OUTSIDE, token)
        return costs

    def _inside_costs(self, state: State) -> Costs:
        costs = np.full(self.index.size, NEVER, dtype=np.int16)
        for points in self._free_points(state):
            plain = self.index.sorted.plain_points
            costs[(plain > 0) & (plain <= FREE_TAG_CODE_POINTS_MAX - points)] = 1
        for token in self._candidates(state):
            costs[token] = self._token_cost(state, token)
        return costs

    def _free_points(self, state: State) -> list[int]:
        """The code points already written, for each position at a character's border in free text."""
        return [points for tag, at, points, owed in state if at == len(self.tags[tag].literal) and owed is None]

    def _candidates(self, state: State) -> Iterator[int]:
        """The tokens that must be walked: those that start with a byte some literal waits for, and the odd ones."""
        waiting = {self.tags[tag].literal[at] for tag, at, _, _ in state if at < len(self.tags[tag].literal)}
        for byte in waiting:
            yield from self.index.sorted.by_first.get(byte, ())
        if len(waiting) < len(state):
            yield from self.index.sorted.mixed

    def _token_cost(self, state: State, token: int) -> int:
        walk = self._walk(state, self.index.bytes_of[token])
        if walk.illegal:
            return NEVER
        lookups = sum(self.insertion_tokens.get(name, 0) for name in walk.closed)
        return min(NEVER, self.closing_cost(walk.state) + lookups)

    def label(self, state: State, token: int) -> str | None:
        """Which tag a token writes or continues, for the eye: a tag, or what the tags left open have in common."""
        walk = self.walk(state, token)
        if walk.closed:
            return walk.closed[0]
        if not walk.state:
            return None
        names = [self.tags[position[0]].text for position in walk.state]
        return names[0] if len(names) == 1 else _common_beginning(names)


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def make_mask(index: TokenIndex, tags: Sequence[str], insertion_tokens: Mapping[str, int]) -> TagMask:
    """The mask of these tags, kept from an earlier turn or new: what it answers is a function of its tags alone.

    Raises `GenerationRefused` for a tag of another shape, or too many of them.
    """
    if len(tags) > TAGS_MAX:
        raise GenerationRefused("tags_too_many", "tags", f"{len(tags)} tags", f"at most {TAGS_MAX}")
    key = (tuple(dict.fromkeys(tags)), tuple(sorted(insertion_tokens.items())))
    mask = index.masks.pop(key, None) or TagMask(
        index, tuple(parse_tag(text) for text in key[0]), dict(insertion_tokens)
    )  # fmt: skip
    if len(index.masks) >= MASKS_MAX:
        del index.masks[next(iter(index.masks))]  # the one that was wanted longest ago
    index.masks[key] = mask
    return mask
