"""What a life leaves behind: chat lines, events, effects, feelings. Each list keeps its newest members."""

from tokenling.engine.balance import MERGE_MINUTES, METER_FLOOR
from tokenling.engine.bounds import CHAT_MAX, COUNT_MAX, EFFECTS_MAX, EVENTS_MAX, METER_MAX, TICK_MS, TREASURES_MAX
from tokenling.engine.records import replace
from tokenling.engine.state import Body, ChatLine, Effect, Event, State

MERGED = frozenset(("talked", "stroked", "lamp", "fed", "washed", "did", "quiet", "found"))
"""Kinds that a busy owner or a long night would flood the list with."""


def with_event(state: State, kind: str, at_ms: int, item: str = "", n: int = 1) -> State:
    """The event at the end of the list; an equal one just before it is counted up instead."""
    last = state.events[-1] if state.events else None
    if (
        last is not None
        and kind in MERGED
        and (last.kind, last.item) == (kind, item)
        and (kind == "quiet" or 0 <= at_ms - last.at_ms < MERGE_MINUTES * TICK_MS)
    ):
        merged = replace(last, n=counted(last.n, n))
        return replace(state, events=(*state.events[:-1], merged))
    events = (*state.events, Event(kind, at_ms, item, n))
    return replace(state, events=events[-EVENTS_MAX:])


def with_effect(state: State, kind: str, at_ms: int, item: str = "", n: int = 0) -> State:
    """The effect with the next id at the end of the list."""
    if state.next_effect >= COUNT_MAX:
        return state  # only a forged save gets here
    effects = (*state.effects, Effect(state.next_effect, kind, at_ms, item, n))
    return replace(state, effects=effects[-EFFECTS_MAX:], next_effect=state.next_effect + 1)


def with_line(state: State, who: str, text: str, at_ms: int, turn: str = "") -> State:
    """The chat line at the end of the list."""
    return replace(state, chat=(*state.chat, ChatLine(who, text, at_ms, turn))[-CHAT_MAX:])


def with_treasure(state: State, item: str) -> State:
    """A toy or gift that the pet keeps; one it has already comes to the front."""
    kept = (*(held for held in state.treasures if held != item), item)
    return replace(state, treasures=kept[-TREASURES_MAX:])


def counted(count: int, more: int = 1) -> int:
    """A counter after more, saturated: only a forged save gets near its end."""
    return min(count + more, COUNT_MAX)


def meter(value: int) -> int:
    """A meter after a change, within its ends."""
    return min(METER_MAX, max(METER_FLOOR, value))


def changed(
    body: Body, *, fullness: int = 0, energy: int = 0, mood: int = 0, hygiene: int = 0, warmth: int = 0, bond: int = 0
) -> Body:
    """The body after gains and losses; the nearer the bond is to its end, the less it gains."""
    return replace(
        body,
        fullness=meter(body.fullness + fullness),
        energy=meter(body.energy + energy),
        mood=meter(body.mood + mood),
        hygiene=meter(body.hygiene + hygiene),
        warmth=meter(body.warmth + warmth),
        bond=meter(body.bond + bond * (METER_MAX - body.bond) // METER_MAX),
    )
