"""Late life is the same life: an executor that was away ends in the bytes of one that never stopped."""

from dataclasses import replace

from engine_scenes import DAY, HOUR, MINUTE, NOON, awake, do, keyed, live, live_often, offer, quietly, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import State, Turn, advance, apply_reply, dump_save, load_save, pending_turn, skip_turn
from tokenling.engine.bounds import LATE_SLOTS_MAX
from tokenling.engine.zones import date_text, local_minute


def every(step_ms: int, span_ms: int) -> list[int]:
    return list(range(NOON + step_ms, NOON + span_ms + 1, step_ms))


def turns_of(state: State, to_ms: int) -> tuple[State, list[Turn]]:
    turns: list[Turn] = []
    step = advance(state, to_ms)
    while step.turn is not None:
        turns.append(step.turn)
        step = advance(apply_reply(step.state, step.turn, keyed(step.state, step.turn)).state, to_ms)
    return step.state, turns


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from("abcdefghijkl"),
    st.sampled_from((1, 2)),
    st.lists(st.integers(NOON, NOON + DAY - 1), max_size=8),
)
def test_a_day_lived_late_ends_in_the_bytes_of_a_day_lived_live(seed: str, chatter: int, stops: list[int]) -> None:
    state = awake(seed=seed, chatter=chatter)
    at_once = live(state, NOON + DAY - HOUR)
    live_state = live_often(state, [*sorted(stop for stop in stops if stop < NOON + DAY - HOUR), NOON + DAY - HOUR])
    assert dump_save(live_state) == dump_save(at_once)


def test_a_host_down_from_noon_to_evening_makes_no_difference_even_across_a_save() -> None:
    state = awake(chatter=2)
    always_up = live_often(state, every(MINUTE, DAY - HOUR))
    down = load_save(dump_save(live(state, NOON + HOUR)))
    down = load_save(dump_save(live(down, NOON + 9 * HOUR)))
    assert dump_save(live(down, NOON + DAY - HOUR)) == dump_save(always_up)
    assert any(line.turn.startswith("i") for line in always_up.chat)
    assert [page.date for page in always_up.diary] == ["2026-06-11"]


def test_a_stored_state_that_stands_at_a_turn_goes_on_as_if_it_had_not() -> None:
    state = awake(chatter=2)
    standing = advance(state, NOON + 3 * HOUR)
    assert standing.turn is not None
    again = load_save(dump_save(standing.state))
    assert pending_turn(again) == standing.turn
    assert dump_save(live(again, NOON + 12 * HOUR)) == dump_save(live(state, NOON + 12 * HOUR))


def test_ten_days_away_are_lived_as_the_last_slots_and_one_a_date_with_its_page() -> None:
    _, turns = turns_of(awake(chatter=2), NOON + 10 * DAY)
    idle = [turn for turn in turns if turn.kind == "idle"]
    late_from = NOON + 10 * DAY - LATE_SLOTS_MAX * 30 * MINUTE
    early = [turn for turn in idle if turn.at_ms < late_from - 30 * MINUTE]
    dates = [date_text(local_minute("Europe/Berlin", turn.at_ms // MINUTE) // 1440) for turn in early]
    assert len(set(dates)) == len(dates)
    assert len(dates) in {9, 10}
    assert len(idle) - len(early) > 20
    pages = [turn.id for turn in turns if turn.kind == "diary"]
    assert len(set(pages)) == len(pages)
    assert 5 <= len(pages) <= 10  # a date on which nothing happened has none


def test_what_is_skipped_by_rule_is_kept_as_quiet_time() -> None:
    state, _ = turns_of(awake(chatter=2), NOON + 10 * DAY)
    assert state.quiet_slots > 150
    assert sum(event.n for event in state.events if event.kind == "quiet") <= state.quiet_slots


def test_chatter_sets_how_many_slots_a_waking_hour_has() -> None:
    for chatter in (1, 2, 4):
        state = replace(awake(chatter=chatter), stage="adult")
        _, turns = turns_of(state, NOON + 6 * HOUR)
        assert len([turn for turn in turns if turn.kind == "idle"]) in range(5 * chatter, 6 * chatter + 1)
    assert turns_of(awake(chatter=0), NOON + 6 * HOUR)[1] == []


def test_a_sleeper_has_no_idle_turns() -> None:
    state = awake(chatter=4)
    seen: list[bool] = []
    step = advance(state, NOON + DAY)
    while step.turn is not None:
        if step.turn.kind == "idle":
            seen.append(step.state.asleep)
        step = advance(skip_turn(step.state, step.turn, "owner_came").state, NOON + DAY)
    assert seen
    assert not any(seen)


def test_turns_are_functions_of_the_state_alone() -> None:
    state = do(awake(), say("hi"), NOON + 1).state
    turn = pending_turn(state)
    assert turn == pending_turn(load_save(dump_save(state)))
    assert turn is not None
    assert 0 <= turn.seed < 2**53
    assert turn.seed != (pending_turn(do(state, say("hi"), NOON + 2).state) or turn).seed


def test_a_reply_is_applied_at_the_turns_own_time() -> None:
    state = do(awake(), say("hi"), NOON + 7).state
    turn = pending_turn(state)
    assert turn is not None
    late = advance(state, NOON + 5 * HOUR)
    assert late.turn == turn
    after = apply_reply(late.state, turn, keyed(late.state, turn)).state
    assert after.body_clock_ms == NOON
    assert [effect.at_ms for effect in after.effects if effect.kind == "speak"][-1:] in ([], [NOON + 7])


def test_an_offer_to_a_sleeper_waits_and_is_put_when_it_wakes() -> None:
    state = replace(awake(), asleep=True, body=replace(awake().body, energy=500_000))
    state = do(state, offer("gift", "shell"), NOON).state
    assert pending_turn(state) is None
    step = advance(state, NOON + 3 * HOUR)
    assert step.turn is not None
    assert step.turn.kind == "reactive"
    assert not step.state.asleep
    assert step.turn.at_ms == step.state.body_clock_ms > NOON


def test_an_offer_that_a_sleeper_never_sees_expires() -> None:
    state = replace(awake(at_ms=NOON + 12 * HOUR), asleep=True)
    state = replace(state, body=replace(state.body, energy=200_000))
    state = do(state, offer("gift", "shell"), NOON + 12 * HOUR).state
    after = quietly(state, NOON + 16 * HOUR)
    assert after.asleep
    assert after.offer is None
    assert [event.kind for event in after.events][-1] == "expired"
