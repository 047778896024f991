"""Which turn is due, as a function of the state alone.

A reactive turn is owed while `asked` is set, a diary page while `owed` is; the body does not live past either. An idle
turn is due while the clock stands on a slot of its own that is not done. The earliest comes first.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tokenling.engine.balance import DIARY_MINUTE, DIARY_SPREAD
from tokenling.engine.bounds import CANCELS_MAX, INTEGER_MAX, MINUTES_OF_DAY, TICK_MS
from tokenling.engine.draws import draw
from tokenling.engine.journal import counted
from tokenling.engine.records import replace
from tokenling.engine.state import Asked, State
from tokenling.engine.zones import date_text, local_minute

TurnKind = Literal["reactive", "idle", "diary"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that the model is asked. Two turns with the same id are the same turn."""

    id: str
    kind: TurnKind
    at_ms: int
    seed: int
    context_revision: int
    unstoppable: bool


def _turn(state: State, turn_id: str, kind: TurnKind, at_ms: int, revision: int, *, unstoppable: bool) -> Turn:
    seed = draw(state.pet_seed, "turn", turn_id, INTEGER_MAX + 1)
    return Turn(turn_id, kind, at_ms, seed, revision, unstoppable)


def pending_turn(state: State) -> Turn | None:
    """What `advance` would stop at now, without advancing."""
    asked = state.asked
    owed = state.owed
    if asked is not None and asked.at_ms // TICK_MS <= state.tick and (owed is None or asked.at_ms <= owed.at_ms):
        return _turn(
            state, f"r{asked.number}", "reactive", asked.at_ms, asked.revision,
            unstoppable=state.cancels >= CANCELS_MAX,
        )  # fmt: skip
    if owed is not None:
        return _turn(
            state, f"d{date_text(owed.day)}.{owed.revision}", "diary", owed.at_ms, owed.revision,
            unstoppable=state.cancels >= CANCELS_MAX,
        )  # fmt: skip
    if slot_due(state):
        at_ms = state.body_clock_ms
        slot = state.tick // slot_ticks(state.chatter)
        return _turn(state, f"i{state.chatter}.{slot}", "idle", at_ms, state.context_revision, unstoppable=False)
    return None


# --- slots of its own time -----------------------------------------------------------------------------------


def slot_ticks(chatter: int) -> int:
    """How many ticks one idle slot spans."""
    return 60 // chatter


@lru_cache(maxsize=4096)
def slot_tick(pet_seed: str, chatter: int, slot: int) -> int:
    """The tick within a slot at which its idle turn stands."""
    length = slot_ticks(chatter)
    return slot * length + draw(pet_seed, "slot", f"{chatter}.{slot}", length)


def next_slot_tick(state: State, after: int) -> int | None:
    """The first idle slot's tick later than a tick; None for a pet without chatter."""
    if state.chatter == 0:
        return None
    slot = (after + 1) // slot_ticks(state.chatter)
    tick = slot_tick(state.pet_seed, state.chatter, slot)
    return tick if tick > after else slot_tick(state.pet_seed, state.chatter, slot + 1)


def slot_due(state: State) -> bool:
    """Whether the clock stands on an idle slot that is not done, with the pet awake and nobody waiting for it."""
    if state.chatter == 0 or state.asleep or state.slot_ms >= state.body_clock_ms or state.asked is not None:
        return False
    tick = state.tick
    return slot_tick(state.pet_seed, state.chatter, tick // slot_ticks(state.chatter)) == tick


# --- what the owner asks for ---------------------------------------------------------------------------------


def ask(state: State, cue: str, at_ms: int, item: str = "", n: int = 0) -> State:
    """A reactive turn owed for a cue; one that is owed already stays as it is."""
    if state.asked is not None:
        return state
    asked = Asked(counted(state.asked_count), at_ms, state.context_revision, cue, item, n)
    return replace(state, asked=asked, asked_count=asked.number)


def ask_anew(state: State, cue: str, at_ms: int, item: str = "") -> State:
    """A reactive turn owed for a new cue in a new context, instead of an older one unless that is unstoppable.

    To be called before the context moves: see `moved_context`.
    """
    asked = Asked(counted(state.asked_count), at_ms, counted(state.context_revision), cue, item)
    state = replace(state, asked_count=asked.number)
    running = pending_turn(state)
    if running is not None and running.kind == "reactive" and running.unstoppable:
        return replace(state, asked_next=asked)
    return replace(state, asked=asked)


def moved_context(state: State, before: State) -> State:
    """The state under the next context revision.

    The turn that was due `before` is replaced, at most twice in a row: an unstoppable one stays as it is.
    """
    running = pending_turn(before)
    kind = running.kind if running is not None else "idle"
    stays = running is not None and running.unstoppable
    revision = counted(state.context_revision)
    state = replace(state, context_revision=revision)
    if kind != "idle" and not stays:
        state = replace(state, cancels=state.cancels + 1)
    if state.asked is not None and state.asked.revision != revision and not (kind == "reactive" and stays):
        number = counted(state.asked_count)
        state = replace(state, asked=replace(state.asked, number=number, revision=revision), asked_count=number)
    if state.owed is not None and not (kind == "diary" and stays):
        state = replace(state, owed=replace(state.owed, revision=revision))
    return state


def answered(state: State, turn: Turn) -> State:
    """The state after a turn is done, whatever came of it."""
    if turn.kind == "reactive":
        following = state.asked_next
        if following is not None:
            following = replace(following, revision=state.context_revision)
        slot_ms = max(state.slot_ms, state.body_clock_ms)  # no idle words in the minute of a reply
        return replace(state, asked=following, asked_next=None, cancels=0, slot_ms=slot_ms)
    if turn.kind == "diary":
        return replace(state, owed=None, cancels=0, diary_since_ms=max(turn.at_ms, state.diary_since_ms))
    day = local_minute(state.hosting.time_zone, state.tick) // MINUTES_OF_DAY
    return replace(state, slot_ms=state.body_clock_ms, slot_day=max(day, state.slot_day))


# --- the diary -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def diary_minute(pet_seed: str) -> int:
    """The local minute of the day at which this pet writes its page."""
    return DIARY_MINUTE + draw(pet_seed, "diary", "minute", DIARY_SPREAD)
