"""Which turn is due, who replaces it, and which replies are too late."""

from dataclasses import replace

import pytest
from engine_scenes import HOUR, MINUTE, NOON, answered, awake, care, do, keyed, live, offer, reply, say

from tokenling.engine import (
    StaleTurn,
    State,
    Turn,
    TurnsPending,
    advance,
    apply_reply,
    build_request,
    context_revision_of,
    pending_turn,
    skip_turn,
)


def due(state: State) -> Turn:
    turn = pending_turn(state)
    assert turn is not None
    return turn


def at_diary() -> State:
    """A state whose diary page is due, and nothing before it."""
    state = live(do(awake(), care("feed"), NOON + MINUTE).state, NOON + 2 * MINUTE)
    state = advance(state, NOON + 12 * HOUR).state
    assert due(state).kind == "diary"
    return state


def at_idle() -> State:
    state = advance(awake(chatter=4), NOON + HOUR).state
    assert due(state).kind == "idle"
    return state


def test_saying_something_owes_a_reply_at_that_instant() -> None:
    state = do(awake(), say(), NOON + 1234).state
    assert (due(state).kind, due(state).at_ms, due(state).unstoppable) == ("reactive", NOON + 1234, False)
    assert due(state).context_revision == context_revision_of(state)


@pytest.mark.parametrize("command", [say(), offer("toy"), {"kind": "settings", "name": "Momo"}])
def test_words_offers_names_and_settings_move_the_context(command: dict[str, str]) -> None:
    state = awake()
    assert context_revision_of(do(state, command, NOON + 1).state) == context_revision_of(state) + 1


@pytest.mark.parametrize("action", ["feed", "wash", "tuck", "stroke", "lamp"])
def test_care_never_moves_the_context_and_leaves_a_due_reply_due(action: str) -> None:
    state = do(awake(), say(), NOON + 1).state
    after = do(state, care(action), NOON + 2).state
    assert context_revision_of(after) == context_revision_of(state)
    assert due(after) == due(state)


def test_a_new_context_replaces_the_due_reply_and_the_third_is_unstoppable() -> None:
    first = do(awake(), say("one"), NOON + 1).state
    second = do(first, say("two"), NOON + 2).state
    third = do(second, say("three"), NOON + 3).state
    assert [due(state).unstoppable for state in (first, second, third)] == [False, False, True]
    assert len({due(state).id for state in (first, second, third)}) == 3
    with pytest.raises(StaleTurn):
        apply_reply(third, due(first), reply("late"))


def test_an_unstoppable_turn_commits_under_any_context_and_the_later_words_are_answered_next() -> None:
    state = awake()
    for number in range(1, 4):
        state = do(state, say(f"word {number}"), NOON + number).state
    running = due(state)
    moved = do(state, say("word 4"), NOON + 4).state
    moved = do(moved, {"kind": "settings", "chatter": 1}, NOON + 5).state
    assert due(moved) == running
    assert running.context_revision < context_revision_of(moved)
    after = apply_reply(moved, running, reply("to the third")).state
    assert due(after).at_ms == NOON + 4
    assert not due(after).unstoppable
    assert due(after).context_revision == context_revision_of(after)
    done = apply_reply(after, due(after), reply("to the fourth")).state
    assert pending_turn(done) is None
    assert [line.text for line in done.chat if line.who == "pet"] == ["to the third", "to the fourth"]


def test_settings_replace_a_due_reply_too_with_its_cue_kept() -> None:
    state = do(awake(), care("feed"), NOON + 1).state
    before = due(state)
    after = do(state, {"kind": "settings", "name": "Momo"}, NOON + 2).state
    assert due(after).id != before.id
    assert due(after).context_revision == context_revision_of(after)
    assert "(Owner feeds Momo:" in build_request(after, due(after)).lines[-1]


def test_an_idle_turn_stands_in_a_commands_way_until_it_is_skipped() -> None:
    state = at_idle()
    with pytest.raises(TurnsPending) as raised:
        do(state, say(), state.body_clock_ms + 1)
    assert raised.value.turn_id == due(state).id
    step = skip_turn(state, due(state), "owner_came")
    assert step.turn is None
    after = do(step.state, say(), state.body_clock_ms + 1).state
    assert due(after).kind == "reactive"


def test_an_idle_turn_is_skipped_once_and_stays_skipped() -> None:
    state = at_idle()
    turn = due(state)
    skipped = skip_turn(state, turn, "failed").state
    with pytest.raises(StaleTurn):
        skip_turn(skipped, turn, "failed")
    with pytest.raises(StaleTurn):
        apply_reply(skipped, turn, reply("late"))


def test_no_idle_words_come_in_the_minute_of_a_reply() -> None:
    state = at_idle()
    turn = due(state)
    said = do(skip_turn(state, turn, "owner_came").state, say(), turn.at_ms + 5).state
    assert pending_turn(answered(said, "hello")) is None


def test_idle_slots_pass_silently_while_a_newer_word_waits() -> None:
    state = do(awake(chatter=4), say("one"), NOON + 1).state
    after = do(state, say("two"), NOON + 3 * HOUR).state
    assert due(after).kind == "reactive"
    assert due(after).at_ms == NOON + 3 * HOUR
    assert after.body_clock_ms == NOON + 3 * HOUR


def test_a_due_diary_page_does_not_stand_in_a_commands_way() -> None:
    state = at_diary()
    page = due(state)
    now_ms = page.at_ms + 10 * MINUTE
    cared = do(state, care("wash"), now_ms).state
    assert due(cared) == page
    said = do(state, say("good night"), now_ms).state
    assert due(said).kind == "diary"
    assert due(said).id != page.id
    assert due(said).context_revision == context_revision_of(said)
    written = advance(apply_reply(said, due(said), reply("A day.")).state, now_ms)
    assert written.turn is not None
    assert (written.turn.kind, written.turn.at_ms) == ("reactive", now_ms)
    assert written.turn.context_revision == context_revision_of(written.state)


def test_a_diary_page_replaced_twice_is_unstoppable() -> None:
    state = at_diary()
    now_ms = due(state).at_ms
    for number in range(1, 3):
        state = do(state, say(str(number)), now_ms + number).state
    page = due(state)
    assert (page.kind, page.unstoppable) == ("diary", True)
    assert due(do(state, say("again"), now_ms + 9).state) == page


def test_a_reply_ends_its_replacements_in_a_row() -> None:
    state = do(do(awake(), say("1"), NOON + 1).state, say("2"), NOON + 2).state
    state = answered(state, "yes")
    state = do(do(state, say("3"), NOON + 3).state, say("4"), NOON + 4).state
    assert not due(state).unstoppable


def test_a_turn_of_another_state_is_stale() -> None:
    state = do(awake(), say(), NOON + 1).state
    for wrong in (
        replace(due(state), id="r999"),
        replace(due(state), seed=1),
        replace(due(state), context_revision=99),
        replace(due(state), kind="idle"),
    ):
        with pytest.raises(StaleTurn):
            apply_reply(state, wrong, reply("x"))
    with pytest.raises(StaleTurn):
        apply_reply(awake(), due(state), reply("x"))


def test_a_request_for_a_page_that_is_written_already_is_stale() -> None:
    state = at_diary()
    turn = due(state)
    after = apply_reply(state, turn, reply("A day.")).state
    with pytest.raises(StaleTurn):
        build_request(after, turn)


def test_an_unknown_reason_to_skip_is_a_mistake_of_the_caller() -> None:
    state = at_idle()
    with pytest.raises(ValueError, match="owner_came"):
        skip_turn(state, due(state), "because")


def test_a_skipped_diary_page_is_not_asked_for_again_that_day() -> None:
    state = at_diary()
    after = skip_turn(state, due(state), "failed").state
    assert pending_turn(live(after, state.body_clock_ms + 3 * HOUR, keyed)) is None
    assert after.diary == ()
