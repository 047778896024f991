"""Company at night: whoever talks with a pet does not lose it to sleep in the middle of a sentence."""

from dataclasses import replace

import pytest
from engine_scenes import HOUR, MINUTE, NOON, answered, awake, care, do, say
from engine_scenes import quietly as lived

from tokenling.engine import State
from tokenling.engine import balance as b

MIDNIGHT = NOON + 12 * HOUR


def at_midnight(energy: int) -> State:
    """An untucked pet awake at midnight whom nobody has visited for a day."""
    state = awake(at_ms=MIDNIGHT)
    return replace(state, body=replace(state.body, energy=energy), owner_ms=MIDNIGHT - 24 * HOUR)


def talked(state: State, at_ms: int) -> State:
    return answered(do(state, say("hello"), at_ms).state, "Hello!")


@pytest.mark.parametrize(("energy", "asleep"), [(900_000, True), (990_000, False)])
def test_alone_at_midnight_it_sleeps_unless_it_is_fresh(energy: int, asleep: bool) -> None:
    assert asleep == lived(at_midnight(energy), MIDNIGHT + MINUTE).asleep


def test_with_company_it_stays_awake_and_nods_off_a_quarter_of_an_hour_after() -> None:
    state = talked(at_midnight(900_000), MIDNIGHT)
    assert not lived(state, MIDNIGHT + (b.KEPT_UP_MINUTES - 1) * MINUTE).asleep
    assert lived(state, MIDNIGHT + b.KEPT_UP_MINUTES * MINUTE).asleep


def test_each_word_begins_the_quarter_of_an_hour_anew() -> None:
    state = at_midnight(900_000)
    for minute in range(0, 60, 10):
        state = talked(lived(state, MIDNIGHT + minute * MINUTE), MIDNIGHT + minute * MINUTE)
    assert not state.asleep


def test_a_weary_pet_falls_asleep_in_company_too() -> None:
    state = talked(at_midnight(b.KEPT_UP_SLEEP_BELOW), MIDNIGHT)
    assert lived(state, MIDNIGHT + 2 * MINUTE).asleep


def test_a_tucked_pet_is_not_kept_up() -> None:
    state = answered(do(at_midnight(900_000), care("tuck"), MIDNIGHT).state, "Night.")
    assert lived(state, MIDNIGHT + 2 * MINUTE).asleep
