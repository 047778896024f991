"""What a diary page keeps of its day: the most telling thing that happened since the last page."""

from dataclasses import replace

import pytest
from engine_scenes import HOUR, MINUTE, NOON, awake, live, reply

from tokenling.engine.keepsakes import keepsake_of
from tokenling.engine.lists import ACTIONS, GIFTS, PLACES, SEASONS
from tokenling.engine.state import Event, Owed, State

EVENING = NOON + 8 * HOUR
DAY = 20_615


def evening(*events: Event) -> State:
    """A page owed at eight, after these events since noon."""
    return replace(awake(), events=events, diary_since_ms=NOON, owed=Owed(DAY, EVENING, 0))


def at(kind: str, item: str = "", n: int = 1, minutes: int = 60) -> Event:
    return Event(kind, NOON + minutes * MINUTE, item, n)


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (at("accepted", "shell"), "the shell"),
        (at("caught", n=7), "the score of 7"),
        (at("weather", "snow"), "a snowflake"),
        (at("weather", "storm"), "the sound of thunder"),
        (at("fed", "plum"), "a crumb of plum"),
        (at("went", "pond"), "a smooth stone from the pond"),
        (at("did", "draw"), "a little drawing"),
        (at("did", "nap"), "a blade of grass"),
        (at("accepted", "kite"), "a blade of grass"),
        (at("talked"), "a blade of grass"),
    ],
)
def test_a_keepsake_is_of_what_happened(event: Event, kept: str) -> None:
    assert kept == keepsake_of(evening(event))


def test_the_most_telling_thing_is_kept_whatever_came_last() -> None:
    telling = [at("accepted", "acorn", minutes=1), at("caught", n=3, minutes=2), at("weather", "snow", minutes=3),
               at("fed", "soup", minutes=4), at("went", "attic", minutes=5), at("did", "sing", minutes=6)]  # fmt: skip
    expected = ["the acorn", "the score of 3", "a snowflake", "a crumb of soup", "a thread from the attic",
                "the end of a song"]  # fmt: skip
    assert expected == [keepsake_of(evening(*telling[first:])) for first in range(len(telling))]


@pytest.mark.parametrize(("minutes", "kept"), [(0, "a blade of grass"), (1, "a crumb of nut"), (480, "a crumb of nut")])
def test_a_keepsake_is_of_the_time_since_the_last_page(minutes: int, kept: str) -> None:
    assert kept == keepsake_of(evening(at("fed", "nut", minutes=minutes)))


def test_what_came_after_the_pages_evening_is_not_its_keepsake() -> None:
    assert "a blade of grass" == keepsake_of(evening(at("fed", "nut", minutes=481)))


def test_among_equals_the_day_decides() -> None:
    meals = tuple(at("fed", food, minutes=10 + n) for n, food in enumerate(("plum", "soup", "nut", "bread")))
    state = evening(*meals)
    kept = {keepsake_of(replace(state, owed=Owed(day, EVENING, 0))) for day in range(DAY, DAY + 40)}
    assert {"a crumb of plum", "a crumb of soup", "a crumb of nut", "a crumb of bread"} == kept


@pytest.mark.parametrize("place", PLACES)
def test_every_place_leaves_something(place: str) -> None:
    assert place in keepsake_of(evening(at("went", place)))


@pytest.mark.parametrize("gift", GIFTS)
def test_every_gift_is_kept(gift: str) -> None:
    assert f"the {gift}" == keepsake_of(evening(at("accepted", gift)))


def test_a_day_with_nothing_to_keep_keeps_its_season() -> None:
    seasons = {keepsake_of(replace(evening(), season=season)) for season in SEASONS}
    assert len(SEASONS) == len(seasons)
    nothing = {keepsake_of(evening(at("did", action))) for action in ACTIONS}
    assert {"a blade of grass"} < nothing


def test_every_page_of_a_life_has_a_keepsake() -> None:
    state = live(awake(chatter=2), NOON + 10 * 24 * HOUR, lambda _, __: reply("[go garden][sing] La la."))
    assert 10 == len(state.diary)
    assert all(page.keepsake for page in state.diary)
