"""An owner who comes while a diary page is late acts on the pet of now; the page stays that of its own evening."""

from dataclasses import replace
from time import process_time

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, awake, care, do, keyed, live, offer, reply, say
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import (
    State,
    advance,
    apply_reply,
    build_request,
    dump_save,
    load_save,
    pending_turn,
    skip_turn,
)
from tokenling.engine.bounds import GAP_TICKS_MAX, TICK_MS
from tokenling.engine.jsonvalue import JsonValue
from tokenling.engine.state import Asked, Event

ACTS: tuple[JsonValue, ...] = (care("feed"), care("wash"), care("tuck"), care("stroke"), care("lamp"), offer("toy"))


def at_page(seed: str = "fern", chatter: int = 2) -> State:
    """A pet at its page of the first evening, days before now."""
    state = do(awake(seed=seed, chatter=chatter), care("feed"), NOON + MINUTE).state
    step = advance(state, NOON + DAY)
    while step.turn is not None and step.turn.kind != "diary":
        step = advance(apply_reply(step.state, step.turn, keyed(step.state, step.turn)).state, NOON + DAY)
    assert step.turn is not None
    return step.state


def page_ms(state: State) -> int:
    turn = pending_turn(state)
    assert turn is not None
    assert turn.kind == "diary"
    return turn.at_ms


def without_page(state: State, now_ms: int) -> State:
    """The same pet when the page was given up at its time, and idle turns because the owner came."""
    step = advance(state, now_ms)
    while step.turn is not None:
        reason = "stopped" if step.turn.kind == "diary" else "owner_came"
        step = advance(skip_turn(step.state, step.turn, reason).state, now_ms)
    return step.state


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from("abcdefghijkl"),
    st.sampled_from((0, 1, 2, 4)),
    st.integers(0, 23 * HOUR),
    st.sampled_from(ACTS),
)
def test_the_owners_act_does_what_it_does_without_a_late_page(
    seed: str, chatter: int, late_ms: int, act: JsonValue
) -> None:
    state = at_page(seed, chatter)
    now_ms = page_ms(state) + late_ms
    late = do(state, act, now_ms).state
    page = pending_turn(late)
    if late_ms < MINUTE:  # nothing to live on to: what is due in this minute stays due after the page
        assert late.body_clock_ms == state.body_clock_ms
        return
    plain = do(without_page(state, now_ms), act, now_ms).state
    if page is not None and page.kind == "diary":
        late = skip_turn(late, page, "stopped").state
    assert replace(late, asked=plain.asked, asked_count=plain.asked_count, cancels=0) == plain


@pytest.mark.parametrize("days", [1, 3, 20])
def test_a_meal_during_a_late_page_is_in_the_body_of_now(days: int) -> None:
    state = at_page()
    now_ms = page_ms(state) + days * DAY
    fed = do(state, care("feed"), now_ms).state
    assert fed.body_clock_ms == now_ms // TICK_MS * TICK_MS
    assert page_ms(fed) == page_ms(state)
    after = live(fed, now_ms, lambda _state, _turn: reply("Yum."))
    assert after.body.fullness == fed.body.fullness > 300_000
    assert [event.at_ms for event in fed.events] == sorted(event.at_ms for event in fed.events)
    assert load_save(dump_save(fed)) == fed


def test_a_late_page_tells_of_its_own_evening() -> None:
    state = at_page()
    on_time = pending_turn(state)
    assert on_time is not None
    now_ms = on_time.at_ms + 3 * DAY
    fed = do(state, care("feed"), now_ms).state
    turn = pending_turn(fed)
    assert turn == on_time
    asked, was_asked = build_request(fed, turn), build_request(state, turn)
    assert (asked.lines, asked.seed) == (was_asked.lines, was_asked.seed)
    lately = [line for line in asked.header.split("\n") if line.startswith("Lately")]
    assert lately == [line for line in was_asked.header.split("\n") if line.startswith("Lately")]
    written = apply_reply(fed, turn, reply("A day.")).state
    assert [(page.date, page.at_ms) for page in written.diary] == [("2026-06-11", on_time.at_ms)]
    answer = pending_turn(written)
    assert answer is not None
    assert (answer.kind, answer.at_ms) == ("reactive", now_ms)


def test_dates_that_pass_get_no_page_and_the_next_page_tells_of_them() -> None:
    state = at_page(chatter=0)
    page = page_ms(state)
    state = do(state, care("wash"), page + DAY + 2 * HOUR).state
    state = do(state, care("stroke"), page + 3 * DAY - 4 * HOUR).state
    after = live(state, page + 3 * DAY + HOUR, lambda _state, _turn: reply("A day."))
    assert [written.date for written in after.diary] == ["2026-06-11", "2026-06-14"]


def test_an_evening_that_is_not_over_still_gets_its_page() -> None:
    state = at_page(chatter=0)
    now_ms = page_ms(state) + DAY + HOUR
    after = live(do(state, care("wash"), now_ms).state, now_ms + HOUR, lambda _state, _turn: reply("A day."))
    assert [written.date for written in after.diary] == ["2026-06-11", "2026-06-12"]


def test_whether_an_offer_waits_for_a_sleeper_is_read_from_the_pet_of_now() -> None:
    state = at_page(chatter=0)
    for hours in range(1, 40):
        now_ms = page_ms(state) + hours * HOUR
        offered = do(state, offer("gift", "shell"), now_ms).state
        assert offered.asleep == without_page(state, now_ms).asleep
        assert offered.offer is not None
        assert (offered.offer.asked, offered.offer.at_ms) == (not offered.asleep, now_ms)


def test_the_body_waits_at_a_reply_that_is_owed_as_it_always_does() -> None:
    state = at_page(chatter=0)
    first_ms = page_ms(state) + 2 * HOUR
    said = do(state, say(), first_ms).state
    fed = do(said, care("feed"), first_ms + 3 * HOUR).state
    assert fed.body_clock_ms == first_ms // TICK_MS * TICK_MS
    assert fed.owed == said.owed
    assert fed.asked == said.asked


def test_a_page_over_four_hundred_days_late_is_given_up() -> None:
    state = at_page()
    now_ms = page_ms(state) + (GAP_TICKS_MAX + 10) * TICK_MS
    step = do(state, care("feed"), now_ms)
    assert [notice["kind"] for notice in step.notices] == ["quiet_time"]
    assert step.state.quiet_minutes == 10
    assert step.state.owed is None
    assert step.state.body_clock_ms == now_ms // TICK_MS * TICK_MS


def test_a_forged_word_of_another_century_costs_no_century_of_minutes() -> None:
    """A page and, 150 years behind it, a word to answer: no save may make a command run for hours."""
    state = replace(at_page(), asked=Asked(1, NOON + 150 * 365 * DAY, 0, "stroke"))
    began = process_time()
    step = do(state, care("feed"), NOON + 160 * 365 * DAY)
    assert process_time() - began < 15
    assert [notice["kind"] for notice in step.notices] == ["quiet_time"]


@pytest.mark.parametrize(("left", "owed"), [(1, True), (0, False)])
def test_a_page_whose_day_is_forgotten_is_given_up(left: int, owed: bool) -> None:
    state = at_page(chatter=0)
    then = page_ms(state)
    day = tuple(Event("washed", then - HOUR) for _ in range(left))
    state = replace(state, events=(*day, Event("slept", then)), diary_since_ms=then - DAY)
    fed = do(state, care("feed"), then + 12 * HOUR).state
    assert (fed.owed is not None) == owed
    assert load_save(dump_save(fed)) == fed
