"""Time: any split is the same time, and the fast loops do what a naive minute does."""

from dataclasses import replace

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, asleep, awake, do, egg, live, offer, quietly, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import State, advance, apply_reply, due_ms, dump_save, pending_turn, skip_turn
from tokenling.engine import balance as b
from tokenling.engine.body import wake_chance_ppm
from tokenling.engine.bounds import GAP_TICKS_MAX, METER_MAX, TICK_MS, TIME_MS_MAX
from tokenling.engine.character import percent
from tokenling.engine.contract import words_for
from tokenling.engine.draws import wake_draws
from tokenling.engine.life import _RULES, _entered_hour, asleep_now, woken
from tokenling.engine.lists import STAGES
from tokenling.engine.sky import day_part
from tokenling.engine.zones import offset_minutes

ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu", "Etc/UTC")


def naive_rate(state: State, name: str, awake_rates: tuple[int, ...], asleep_rates: tuple[int, ...]) -> int:
    rates = asleep_rates if state.asleep else awake_rates
    share = 100 if name == "energy" and state.asleep else percent(state.character.traits, name)
    return rates[STAGES.index(state.stage)] * share // 100 // 60


def naive_sink(value: int, step: int) -> int:
    return max(b.METER_FLOOR, value - (step if value > b.SLOW_BELOW else step // 4))


def naive_towards(value: int, target: int, step: int) -> int:
    return min(target, value + step) if value < target else max(target, value - step)


def naive_minute(state: State) -> State:
    """One tick the slow way: every rule asked every minute, every chance computed, no spans, no caches."""
    tick = state.tick + 1
    local = tick + offset_minutes(state.hosting.time_zone, tick)
    if local // 60 != state.local_hour:
        state = _entered_hour(state, tick, local)
    hour = local // 60 % 24
    flipped = False
    if state.stage != "egg":
        body, was = state.body, state.disturbance
        fullness = naive_sink(body.fullness, naive_rate(state, "fullness", b.FULLNESS_AWAKE, b.FULLNESS_ASLEEP))
        energy_step = naive_rate(state, "energy", b.ENERGY_AWAKE, b.ENERGY_ASLEEP)
        energy = min(METER_MAX, body.energy + energy_step) if state.asleep else naive_sink(body.energy, energy_step)
        hygiene = naive_sink(body.hygiene, naive_rate(state, "hygiene", b.HYGIENE_AWAKE, b.HYGIENE_ASLEEP))
        target = b.WARMTH_BY_SEASON[state.season] + b.WARMTH_BY_WEATHER[state.weather] + b.WARMTH_BY_PLACE[state.place]
        target += b.WARMTH_LAMP if state.lamp else 0
        target += b.WARMTH_TUCKED if state.tucked else 0
        target += b.WARMTH_NIGHT if day_part(hour) == "night" else 0
        warmth = naive_towards(body.warmth, min(METER_MAX, max(b.METER_FLOOR, target)), b.WARMTH_PACE // 60)
        bond = body.bond - b.BOND_LOSS // 60 if body.bond > b.BOND_FLOOR else body.bond
        pace = b.SLEEPING_MOOD_PACE if state.asleep else b.MOOD_PACE
        pace = pace * percent(state.character.traits, "mood") // 100 // 60
        mood = naive_towards(body.mood, (fullness + hygiene + warmth + bond) // 4, pace)
        if state.asleep:
            chance = wake_chance_ppm(energy, hour, was, tucked=state.tucked)
            flipped = wake_draws(state.pet_seed, tick // 8)[tick % 8] < chance
        else:
            company = not state.tucked and tick < state.owner_ms // TICK_MS + b.KEPT_UP_MINUTES
            mark = b.SLEEP_BELOW_BY_HOUR[hour]
            flipped = state.game is None and energy < (min(mark, b.KEPT_UP_SLEEP_BELOW) if company else mark)
        body = replace(body, fullness=fullness, energy=energy, mood=mood, hygiene=hygiene, warmth=warmth, bond=bond)
        fading = state.asleep and not flipped
        state = replace(state, body=body, disturbance=max(0, was - b.DISTURB_FADE) if fading else was)
    state = replace(state, body_clock_ms=tick * TICK_MS, minutes_lived=state.minutes_lived + 1)
    if flipped:
        state = woken(state, tick * TICK_MS) if state.asleep else asleep_now(state, tick * TICK_MS)
    for rule in _RULES:
        state = rule(state, state.body_clock_ms)
    return state


def naive_live(state: State, to_ms: int) -> State:
    while True:
        turn = pending_turn(state)
        if turn is not None:
            state = apply_reply(state, turn, words_for("tests", turn)).state
        elif state.tick >= to_ms // TICK_MS:
            return state
        else:
            state = naive_minute(state)


@st.composite
def lives(draw: st.DrawFn) -> State:
    """A pet somewhere in its life: any zone, season, chatter, body, asleep or not, an offer out or not."""
    start_ms = NOON + draw(st.integers(0, 365 * 24 * 4)) * 15 * MINUTE
    state = awake(seed=draw(st.sampled_from("abcdefgh")), zone=draw(st.sampled_from(ZONES)), at_ms=start_ms)
    state = replace(
        state,
        chatter=draw(st.sampled_from((0, 1, 2, 4))),
        stage=draw(st.sampled_from(STAGES[1:])),
        body=replace(
            state.body,
            energy=draw(st.integers(40_000, METER_MAX)),
            fullness=draw(st.integers(40_000, METER_MAX)),
            hygiene=draw(st.integers(40_000, METER_MAX)),
        ),
        lamp=draw(st.booleans()),
        snacks=draw(st.integers(0, 3)),
    )
    if draw(st.booleans()):
        state = replace(asleep(state), tucked=draw(st.booleans()), disturbance=draw(st.integers(0, METER_MAX)))
    if draw(st.booleans()):
        state = do(state, offer(draw(st.sampled_from(("food", "toy", "gift", "catch")))), start_ms).state
    return state


@settings(max_examples=40, deadline=None)
@given(lives(), st.lists(st.integers(1, 30 * HOUR), max_size=6), st.integers(1, 30 * HOUR))
def test_any_split_of_an_advance_gives_the_same_bytes(state: State, cuts_ms: list[int], span_ms: int) -> None:
    end_ms = state.body_clock_ms + span_ms
    once = quietly(replace(state, chatter=0), end_ms)
    split = replace(state, chatter=0)
    for cut_ms in sorted(cut for cut in cuts_ms if cut < span_ms):
        split = quietly(split, state.body_clock_ms + cut_ms)
    assert dump_save(once) == dump_save(quietly(split, end_ms))


@settings(max_examples=25, deadline=None)
@given(lives(), st.integers(1, 11 * 60 + 45))
def test_spans_agree_with_a_naive_minute_by_minute_life(state: State, minutes: int) -> None:
    # within 48 slots at the highest chatter: a naive life skips none by rule
    end_ms = state.body_clock_ms + minutes * MINUTE
    assert dump_save(naive_live(state, end_ms)) == dump_save(live(state, end_ms))


@settings(max_examples=40, deadline=None)
@given(lives(), st.integers(1, 400))
def test_nothing_visible_changes_before_it_is_due(state: State, minutes: int) -> None:
    state = quietly(state, state.body_clock_ms + minutes * MINUTE)
    due = due_ms(state)
    assert due > state.body_clock_ms
    before = advance(state, due - MINUTE)
    assert before.turn is None
    assert before.effects == ()
    assert (before.state.weather, before.state.events, before.state.asleep) == (
        state.weather,
        state.events,
        state.asleep,
    )


def test_within_a_minute_nothing_moves() -> None:
    state = awake()
    assert dump_save(state) == dump_save(advance(state, NOON + MINUTE - 1).state)


def test_due_looks_three_hours_ahead_at_most() -> None:
    state = quietly(replace(awake(), stage="adult"), NOON + HOUR)
    for _ in range(40):
        assert state.body_clock_ms < due_ms(state) <= state.body_clock_ms + 3 * HOUR
        state = quietly(state, due_ms(state))


def test_a_clock_behind_re_bases_and_replays_nothing() -> None:
    state = do(quietly(awake(chatter=2), NOON + 5 * HOUR), offer("toy", "ball"), NOON + 5 * HOUR).state
    state = skip_turn(state, pending_turn(state) or pytest.fail("asked"), "stopped").state
    step = advance(state, NOON)
    assert [notice["kind"] for notice in step.notices] == ["clock_rebased"]
    assert step.state.body_clock_ms == NOON
    assert step.state.body == state.body
    assert step.state.events == state.events
    assert step.turn is None
    assert step.state.offer is not None
    assert state.offer is not None
    assert step.state.offer.expires_ms == state.offer.expires_ms - 5 * HOUR


@pytest.mark.parametrize("behind_ms", [1, MINUTE, 5 * MINUTE])
def test_a_clock_that_jitters_stands_still(behind_ms: int) -> None:
    state = quietly(awake(), NOON + HOUR)
    step = advance(state, NOON + HOUR - behind_ms)
    assert step.notices == ()
    assert dump_save(step.state) == dump_save(state)


def test_a_gap_over_400_days_is_partly_quiet_time() -> None:
    state = awake()
    end_ms = NOON + 500 * DAY
    step = advance(state, end_ms)
    assert step.notices == ({"kind": "quiet_time", "fromMs": NOON, "toMs": NOON + 100 * DAY},)
    after = quietly(step.state, end_ms)
    assert after.quiet_minutes == 100 * 24 * 60
    assert after.minutes_lived == GAP_TICKS_MAX
    assert after.body_clock_ms == end_ms


def test_a_gap_of_exactly_400_days_is_lived() -> None:
    assert advance(awake(), NOON + 400 * DAY).notices == ()


@pytest.mark.parametrize("now_ms", [-1, 0, 946_684_799_999, TIME_MS_MAX, 2**53])
def test_a_time_that_no_clock_shows_is_refused(now_ms: int) -> None:
    with pytest.raises(ValueError, match="2000"):
        advance(awake(), now_ms)


def test_a_pet_lives_until_the_last_instant() -> None:
    last_ms = TIME_MS_MAX - DAY
    state = awake(at_ms=last_ms - 2 * DAY)
    assert quietly(state, last_ms).body_clock_ms == last_ms
    assert due_ms(quietly(state, last_ms)) == last_ms


def test_an_egg_that_nobody_touches_hatches_by_itself_and_speaks() -> None:
    step = advance(egg(), NOON + HOUR)
    assert step.state.body_clock_ms == NOON + b.HATCH_MINUTES * MINUTE
    assert step.state.stage == "hatchling"
    assert [effect["kind"] for effect in step.effects] == ["hatch"]
    assert step.turn is not None
    assert step.turn.kind == "reactive"


def test_growth_needs_time_or_care() -> None:
    alone = quietly(awake(), NOON + b.GROWTH_CHILD * MINUTE)
    assert alone.stage == "child"
    assert alone.events[-1].kind != "hatchling"
    cared = awake()
    for hour in range(1, 30):
        cared = quietly(cared, NOON + hour * HOUR)
        cared = quietly(do(cared, say(), NOON + hour * HOUR).state, NOON + hour * HOUR)
        cared = quietly(do(cared, {"kind": "care", "action": "wash"}, NOON + hour * HOUR).state, NOON + hour * HOUR)
    assert cared.stage == "child"
    assert cared.minutes_lived < b.GROWTH_CHILD
