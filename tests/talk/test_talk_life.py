"""The terminal's executor: every step kept before the next, missed time lived as it would have been."""

from itertools import pairwise

import pytest
from talk_scenes import DAY, HOUR, MINUTE, NOON, Heard, Script, egg

from tokenling.cli.save_view import view_of
from tokenling.cli.talk_life import Life
from tokenling.engine import CommandRefused, advance, body_clock_ms, dump_save, load_save, parse_command, pending_turn


def life(words=None, state=None):
    saves = []
    screen = Heard(saves)
    return Life(state or egg(), words or Script(), screen, saves.append), screen, saves


def say(text="hello"):
    return parse_command({"kind": "say", "text": text})


def lines_of(state):
    return [(line.text("who"), line.text("text")) for line in view_of(state).all("chat")]


def test_words_are_answered_by_the_brain():
    pet, screen, _ = life(Script("[happy] Good to see you."))
    pet.act(say("hello you"), NOON)
    assert [("owner", "hello you"), ("pet", "Good to see you.")] == lines_of(pet.state)
    assert "Owner: hello you" in pet._words.requests[-1].lines
    assert "Good to see you." == screen.calls[-1][2]


def test_each_step_is_kept_before_it_is_told():
    pet, screen, saves = life()
    pet.act(say(), NOON)
    pet.catch_up(NOON + 3 * HOUR)
    told = [call for call in screen.calls if call[0] == "replied"]
    assert len(told) >= 3
    assert all(call[3] > before[3] for before, call in pairwise(told))
    assert dump_save(pet.state) == saves[-1]
    assert len(set(saves)) == len(saves)


def test_a_crash_while_a_turn_is_written_loses_that_turn_and_nothing_before_it():
    class Crash(Exception):
        pass

    class Crashing(Script):
        def write(self, request, on_piece):
            raise Crash

    pet, _, saves = life(Crashing())
    with pytest.raises(Crash):
        pet.act(say("do not lose this"), NOON)
    state = load_save(saves[-1])
    assert [("owner", "do not lose this")] == lines_of(state)
    after, _, _ = life(state=state)
    after.catch_up(NOON + MINUTE)
    assert ["owner", "pet"] == [who for who, _ in lines_of(after.state)][:2]


def test_time_missed_is_lived_to_the_same_bytes_as_time_attended():
    late, _, _ = life()
    late.act(say(), NOON)
    late.catch_up(NOON + DAY)
    live, _, _ = life()
    live.act(say(), NOON)
    for minute in range(7, 24 * 60, 7):
        live.live(NOON + minute * MINUTE)
    live.live(NOON + DAY)
    assert dump_save(live.state) == dump_save(late.state)


def test_missed_time_is_told_from_nothing_to_all_of_it():
    pet, screen, _ = life()
    pet.act(say(), NOON)
    pet.catch_up(NOON + DAY)
    lived = [call[1] for call in screen.calls if call[0] == "lived"]
    assert ("catching up", 1440) in screen.calls
    assert sorted(lived) == lived
    assert 1440 == lived[-1]
    assert ("caught up",) == screen.calls[-1]


def test_a_short_while_needs_no_bar():
    pet, screen, _ = life()
    pet.catch_up(NOON + 9 * MINUTE)
    assert NOON + 9 * MINUTE == body_clock_ms(pet.state)
    assert not [call for call in screen.calls if call[0] == "catching up"]


def test_an_owner_who_comes_ends_idle_turns_and_no_other():
    pet, _, _ = life()
    pet.act(say(), NOON)
    asked = len(pet._words.requests)
    at_ms = NOON
    while pending_turn(pet.state) is None:  # to an idle turn that is due and not yet answered
        at_ms += MINUTE
        pet.state = advance(pet.state, at_ms).state
    assert "idle" == pending_turn(pet.state).kind
    pet.act(say("I am back"), at_ms)
    assert asked + 1 == len(pet._words.requests)
    assert "Owner: I am back" in pet._words.requests[-1].lines


@pytest.mark.parametrize(("hours", "greetings"), [(0, 0), (4, 0), (6, 1), (24 * 9 + 2, 1)])
def test_after_a_long_absence_the_pet_speaks_first(hours, greetings):
    pet, _, _ = life(Script("[happy] There you are!"))
    pet.act(parse_command({"kind": "settings", "chatter": 0}), NOON)
    pet.act(say("see you"), NOON + MINUTE)
    back_ms = NOON + MINUTE + hours * HOUR
    pet.catch_up(back_ms)
    asked, settings = len(pet._words.requests), view_of(pet.state).number("chatter")
    pet.arrive(back_ms)
    mine = pet._words.requests[asked:]
    assert greetings == len(mine) == sum("(Owner is back.)" in request.lines for request in mine)
    assert settings == view_of(pet.state).number("chatter")
    pet.arrive(back_ms + MINUTE)
    assert greetings == len(pet._words.requests) - asked


def test_a_sleeper_is_not_woken_to_greet():
    pet, _, _ = life(Script("Mm."))
    pet.act(say(), NOON)
    pet.catch_up(NOON + 14 * HOUR)
    assert view_of(pet.state).flag("asleep")
    asked = len(pet._words.requests)
    pet.arrive(NOON + 14 * HOUR)
    assert asked == len(pet._words.requests)


def test_a_turn_without_words_substitutes_nothing_and_life_goes_on():
    pet, screen, saves = life(Script("half a sent", fail_with="not_finite"))
    pet.act(say("hello"), NOON)
    assert 1 == pet.failures
    assert [("owner", "hello")] == lines_of(pet.state)
    assert ("failed", "reactive", "not_finite") == screen.calls[-1]
    assert dump_save(pet.state) == saves[-1]
    pet._words.fail_with = None
    pet.act(say("again"), NOON + MINUTE)
    assert 3 == len(lines_of(pet.state))


def test_what_the_engine_refuses_is_not_done():
    pet, _, saves = life()
    pet.act(say(), NOON)
    before, count = dump_save(pet.state), len(saves)
    with pytest.raises(CommandRefused):
        pet.act(parse_command({"kind": "game", "gameId": "none", "score": 3}), NOON)
    assert (before, count) == (dump_save(pet.state), len(saves))


def test_a_clock_that_went_back_is_told_and_loses_nothing():
    pet, screen, _ = life()
    pet.act(say(), NOON)
    pet.catch_up(NOON + 3 * HOUR)
    lines = lines_of(pet.state)
    pet.live(NOON)
    assert ["clock_rebased"] in [call[2] for call in screen.calls if call[0] == "happened"]
    assert lines == lines_of(pet.state)
