"""Time: how a state lives from one minute to the next.

`advance` cuts time into spans within which nothing but meters changes, lives each span in one loop, and lets what is
due at its last tick happen. Whether something happens at a tick depends on the state and that tick alone, so any split
of an advance gives the same state.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tokenling.engine import balance
from tokenling.engine.body import asleep_minutes, awake_minutes, kept_up_ticks, pace_of
from tokenling.engine.bounds import (
    CLOCK_SLACK_MS,
    GAP_TICKS_MAX,
    LATE_SLOTS_MAX,
    LOOK_AHEAD_TICKS_MAX,
    MINUTES_OF_DAY,
    TICK_MS,
    TIME_MS_MAX,
    TIME_MS_MIN,
)
from tokenling.engine.journal import counted, with_effect, with_event
from tokenling.engine.jsonvalue import JsonObject
from tokenling.engine.records import replace
from tokenling.engine.saves import EFFECT, day_of_date, value_of
from tokenling.engine.sky import season_on, weather_at
from tokenling.engine.state import Body, Owed, State, Want
from tokenling.engine.turns import Turn, answered, ask, diary_minute, next_slot_tick, pending_turn, slot_ticks
from tokenling.engine.zones import local_minute, same_offset_until

DIARY_KINDS = frozenset(
    ("hatched", "grew", "habit", "talked", "fed", "washed", "tucked", "stroked", "accepted", "declined", "caught",
     "did", "went", "found", "remembered", "named", "moved_house", "new_brain")
)  # fmt: skip
"""Events that make a day worth a page."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a function of the engine gives back: the new state, what is new for the page, and the turn now due."""

    state: State
    effects: tuple[JsonObject, ...]
    notices: tuple[JsonObject, ...]
    turn: Turn | None


def step_of(before: State, after: State, notices: tuple[JsonObject, ...] = ()) -> Step:
    """The step from one state to another; its effects are those with ids that the first did not know."""
    fresh = tuple(value_of(EFFECT, effect) for effect in after.effects if effect.id >= before.next_effect)
    return Step(after, fresh, notices, pending_turn(after))


def advance(state: State, now_ms: int) -> Step:
    """The pet lives until `now_ms`, or until a turn is due: then that turn is in the step, and time waits for it.

    A clock behind the body clock re-bases it (notice `clock_rebased`); a gap over 400 days is partly quiet time
    (notice `quiet_time`). Raises `ValueError` for a time outside 2000 to 2199.
    """
    check_time(now_ms)
    before = state
    state, notices = _settled(state, now_ms)
    until = now_ms // TICK_MS
    while True:
        turn = pending_turn(state)
        if turn is not None and turn.kind == "idle" and not _is_lived(state, until):
            state = _slot_passed(state)
        elif turn is not None or state.tick >= until:
            return step_of(before, state, notices)
        else:
            state = live_span(state, until)


def check_time(now_ms: int) -> None:
    """Raise `ValueError` for a time that no clock of this pet may show."""
    if not TIME_MS_MIN <= now_ms <= TIME_MS_MAX - MINUTES_OF_DAY * TICK_MS:
        raise ValueError(f"now_ms is {now_ms}, expected an instant from 2000 to 2199")


def due_ms(state: State) -> int:
    """When the next turn is due or something visible changes, at the latest three hours after the body clock."""
    turn = pending_turn(state)
    if turn is not None:
        return turn.at_ms
    shown = _shown(state)
    last = min(state.tick + LOOK_AHEAD_TICKS_MAX, TIME_MS_MAX // TICK_MS - MINUTES_OF_DAY)
    while state.tick < last:
        state = live_span(state, last)
        turn = pending_turn(state)
        if turn is not None:
            return turn.at_ms
        if _shown(state) != shown:
            break
    return state.body_clock_ms


def _shown(state: State) -> tuple[object, ...]:
    """What an owner sees beside ticking meters."""
    return (
        state.stage, state.asleep, state.tucked, state.place, state.feeling, state.weather, state.season, state.want,
        state.offer, state.game, state.next_effect, state.events,
    )  # fmt: skip


# --- the clock -----------------------------------------------------------------------------------------------


def _settled(state: State, now_ms: int) -> tuple[State, tuple[JsonObject, ...]]:
    """The state on a clock that can go on: re-based when behind, moved on in closed form when far ahead."""
    if now_ms < state.body_clock_ms - CLOCK_SLACK_MS:
        notice: JsonObject = {"kind": "clock_rebased", "fromMs": state.body_clock_ms, "toMs": now_ms}
        return rebased(state, now_ms), (notice,)
    quiet = now_ms // TICK_MS - state.tick - GAP_TICKS_MAX
    turn = pending_turn(state)
    if quiet <= 0 or (turn is not None and turn.kind != "idle"):
        return state, ()
    to_ms = state.body_clock_ms + quiet * TICK_MS
    notice = {"kind": "quiet_time", "fromMs": state.body_clock_ms, "toMs": to_ms}
    state = rebased(state, to_ms)
    state = replace(state, quiet_minutes=counted(state.quiet_minutes, quiet))
    return with_event(state, "quiet", to_ms), (notice,)


def rebased(state: State, now_ms: int) -> State:
    """The same pet on another clock: nothing is replayed, deadlines keep their distance."""
    clock_ms = now_ms // TICK_MS * TICK_MS
    shift = clock_ms - state.body_clock_ms

    def moved(at_ms: int) -> int:
        return min(TIME_MS_MAX, max(TIME_MS_MIN, at_ms + shift))

    day = local_minute(state.hosting.time_zone, clock_ms // TICK_MS) // MINUTES_OF_DAY
    offer, game, asked, after, owed = state.offer, state.game, state.asked, state.asked_next, state.owed
    return replace(
        state,
        body_clock_ms=clock_ms,
        offer=offer and replace(offer, at_ms=moved(offer.at_ms), expires_ms=moved(offer.expires_ms)),
        game=game and replace(game, started_ms=moved(game.started_ms), expires_ms=moved(game.expires_ms)),
        asked=asked and replace(asked, at_ms=moved(asked.at_ms)),
        asked_next=after and replace(after, at_ms=moved(after.at_ms)),
        owed=owed and replace(owed, at_ms=moved(owed.at_ms)),
        diary_day=min(state.diary_day, day),
        diary_since_ms=min(state.diary_since_ms, clock_ms),
        slot_ms=clock_ms,
        slot_day=min(state.slot_day, day),
        owner_ms=moved(state.owner_ms),
        want_ms=moved(state.want_ms) if state.want_ms else 0,
        care_ms=moved(state.care_ms) if state.care_ms else 0,
        stroke_ms=moved(state.stroke_ms) if state.stroke_ms else 0,
    )


# --- late life -----------------------------------------------------------------------------------------------


def _is_lived(state: State, until: int) -> bool:
    """Whether a due idle slot gets its turn: one of the last 48 slots, or the first of its local date."""
    length = slot_ticks(state.chatter)
    if until // length - state.tick // length < LATE_SLOTS_MAX:
        return True
    return local_minute(state.hosting.time_zone, state.tick) // MINUTES_OF_DAY > state.slot_day


def _slot_passed(state: State) -> State:
    state = replace(state, slot_ms=state.body_clock_ms, quiet_slots=counted(state.quiet_slots))
    return with_event(state, "quiet", state.body_clock_ms)


def lived_past_page(state: State, now_ms: int) -> tuple[State, tuple[JsonObject, ...]]:
    """The pet at `now_ms` with its late diary page still owed: an owner is here now and acts on the body of now.

    Idle slots on the way pass as they do when an owner comes. A date that passes meanwhile gets no page of its own:
    its events belong to the next one. A page whose day is forgotten by now, or over 400 days gone, is given up.
    """
    until = now_ms // TICK_MS
    notices: tuple[JsonObject, ...] = ()
    if state.tick >= until:
        return state, notices
    if until - state.tick > GAP_TICKS_MAX:
        state, notices = _settled(_page_given_up(state), now_ms)
    while True:
        turn = pending_turn(replace(state, owed=None))
        if turn is not None and turn.kind == "idle":
            state = answered(state, turn) if _is_lived(state, until) else _slot_passed(state)
        elif turn is not None or state.tick >= until:
            break
        else:
            state = live_span(state, until)
    if state.owed is not None and not _worth_a_page(state, state.owed.at_ms):
        state = _page_given_up(state)
    return state, notices


def _page_given_up(state: State) -> State:
    turn = pending_turn(state)
    assert turn is not None
    assert turn.kind == "diary", "a page that is late is due before anything else"
    return answered(state, turn)


# --- one span ------------------------------------------------------------------------------------------------


def live_span(state: State, until: int) -> State:
    """The state after the next span: to `until`, or to the first tick at which more than meters may change."""
    first = state.tick + 1
    local = local_minute(state.hosting.time_zone, first)
    if local // 60 != state.local_hour:
        state = _entered_hour(state, first, local)
        until = first  # what a new hour changes is visible at its first minute: `due_ms` wants to see it
    last = min(until, _span_end(state, first, local))
    kept_up = kept_up_ticks(state, first)
    if kept_up > 0:
        last = min(last, first + kept_up - 1)
    body = state.body
    meters = (
        body.fullness, body.energy, body.mood, body.hygiene, body.warmth, body.bond, state.disturbance,
    )  # fmt: skip
    pace = pace_of(state, local // 60 % 24, kept_up=kept_up > 0)
    if state.asleep:
        meters, reached, flipped = asleep_minutes(meters, first, last, pace, state.pet_seed)
    else:
        meters, reached, flipped = awake_minutes(meters, first, last, pace)
    fullness, energy, mood, hygiene, warmth, bond, disturbance = meters
    state = replace(
        state,
        body=Body(fullness, energy, mood, hygiene, warmth, bond, body.extra),
        disturbance=disturbance,
        body_clock_ms=reached * TICK_MS,
        minutes_lived=counted(state.minutes_lived, reached - state.tick),
    )
    if flipped:
        state = woken(state, state.body_clock_ms) if state.asleep else asleep_now(state, state.body_clock_ms)
    return _happened(state)


def _span_end(state: State, first: int, local: int) -> int:
    """The last tick that surely differs from `first` in meters only."""
    ends = [first + 59 - local % 60, same_offset_until(state.hosting.time_zone, first)]
    slot = next_slot_tick(state, first - 1)
    if slot is not None:
        ends.append(slot)
    if state.offer is not None:
        ends.append(_tick_at(state.offer.expires_ms))
    if state.game is not None:
        ends.append(_tick_at(state.game.expires_ms))
    if state.asked is not None:
        ends.append(state.asked.at_ms // TICK_MS)
    if state.stage != "adult":
        ends.append(first - 1 + _growth_left(state))
    if local // MINUTES_OF_DAY > state.diary_day and state.owed is None:
        ends.append(first + diary_minute(state.pet_seed) - local % MINUTES_OF_DAY)
    return max(first, min(ends))


def _tick_at(at_ms: int) -> int:
    """The first tick that is not before an instant."""
    return -(-at_ms // TICK_MS)


def _growth_left(state: State) -> int:
    """Minutes until the next stage, when no more care comes."""
    if state.stage == "egg":
        return balance.HATCH_MINUTES - state.minutes_lived
    need = balance.GROWTH_CHILD if state.stage == "hatchling" else balance.GROWTH_ADULT
    return need - state.minutes_lived - state.care * balance.GROWTH_PER_CARE


# --- what happens --------------------------------------------------------------------------------------------


def _entered_hour(state: State, tick: int, local: int) -> State:
    """A new local hour: the sky moves on, and the pet may ask for something."""
    hour = local // 60
    weather = weather_at(state.weather_seed, hour)
    if weather != state.weather and weather in ("snow", "storm"):
        state = with_event(state, "weather", tick * TICK_MS, weather)
    state = replace(state, local_hour=hour, weather=weather, season=season_on(hour // 24))
    return _wanting(state, tick * TICK_MS)


def _wanting(state: State, at_ms: int) -> State:
    away_minutes = (at_ms - state.owner_ms) // TICK_MS
    if (
        state.asleep
        or state.want is not None
        or at_ms - state.want_ms < balance.WANT_EVERY_MINUTES * TICK_MS
        or away_minutes >= balance.WANTS_END_AFTER_MINUTES
    ):
        return state
    lacking = (
        ("food", state.body.fullness),
        ("wash", state.body.hygiene),
        ("warmth", state.body.warmth),
        ("company", 0 if away_minutes >= balance.COMPANY_AFTER_MINUTES else balance.WANT_BELOW["company"]),
    )
    kind = next((kind for kind, held in lacking if held < balance.WANT_BELOW[kind]), None)
    if kind is None:
        return state
    state = replace(state, want=Want(kind, at_ms), want_ms=at_ms)
    return with_effect(state, "want", at_ms, kind)


def asleep_now(state: State, at_ms: int) -> State:
    """The pet fallen asleep, in its nest."""
    state = replace(state, asleep=True, place="nest", feeling="sleepy", want=None, disturbance=0)
    return with_effect(with_event(state, "slept", at_ms), "sleep", at_ms)


def woken(state: State, at_ms: int) -> State:
    """The pet awake again."""
    state = replace(state, asleep=False, tucked=False, feeling="calm", disturbance=0)
    return with_effect(with_event(state, "woke", at_ms), "wake", at_ms)


def hatched(state: State, at_ms: int) -> State:
    """The egg hatched: the pet is awake and curious."""
    state = replace(state, stage="hatchling", asleep=False, feeling="curious")
    return with_effect(with_event(state, "hatched", at_ms), "hatch", at_ms)


def _happened(state: State) -> State:
    for rule in _RULES:
        state = rule(state, state.body_clock_ms)
    return state


def grown(state: State, at_ms: int) -> State:
    """The next stage, once minutes and care suffice."""
    if state.stage == "adult" or _growth_left(state) > 0:
        return state
    if state.stage == "egg":
        return ask(hatched(state, at_ms), "hatch", at_ms)
    stage = "child" if state.stage == "hatchling" else "adult"
    state = replace(state, stage=stage)
    return with_effect(with_event(state, "grew", at_ms, stage), "grow", at_ms, stage)


def _offer_over(state: State, at_ms: int) -> State:
    offer = state.offer
    if offer is None or offer.expires_ms > at_ms:
        return state
    state = replace(state, offer=None)
    return with_effect(with_event(state, "expired", at_ms, offer.kind), "expire", at_ms, offer.kind)


def _game_over(state: State, at_ms: int) -> State:
    if state.game is None or state.game.expires_ms > at_ms:
        return state
    state = replace(state, game=None)
    return with_effect(with_event(state, "game_expired", at_ms), "game_expire", at_ms)


def offer_put(state: State, at_ms: int) -> State:
    """An offer that waited for a sleeper, put to the pet once it is awake."""
    if state.offer is None or state.offer.asked or state.asleep or state.asked is not None:
        return state
    state = replace(state, offer=replace(state.offer, asked=True))
    return ask(state, "offer", at_ms, state.offer.item if state.offer else "")


def _page_decided(state: State, at_ms: int) -> State:
    """At the pet's own minute of a local day: whether the day gets a page."""
    day, minute = divmod(local_minute(state.hosting.time_zone, at_ms // TICK_MS), MINUTES_OF_DAY)
    if day <= state.diary_day or minute < diary_minute(state.pet_seed) or state.owed is not None:
        return state
    state = replace(state, diary_day=day)
    if day_of_date(state, day) or not _worth_a_page(state, at_ms):
        return replace(state, diary_since_ms=max(at_ms, state.diary_since_ms))
    return replace(state, owed=Owed(day, at_ms, state.context_revision))


def _worth_a_page(state: State, at_ms: int) -> bool:
    """Whether anything since the last page, up to an instant, is something to write of."""
    return any(event.kind in DIARY_KINDS and state.diary_since_ms < event.at_ms <= at_ms for event in state.events)


_RULES: tuple[Callable[[State, int], State], ...] = (grown, _offer_over, _game_over, offer_put, _page_decided)
