"""Local days, daylight shifts, weather and words for the time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from engine_scenes import DAY, HOUR, MINUTE, awake, care, do, live, quietly
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.engine import State, advance, apply_reply, dump_save
from tokenling.engine.contract import words_for
from tokenling.engine.lists import DAY_PARTS, SEASONS, WEATHERS
from tokenling.engine.sky import clock_words, day_part, season_on, weather_at
from tokenling.engine.zones import date_text, local_minute, same_offset_until, zone, zone_keys


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()) * 1000


SHIFTS = [
    ("Europe/Berlin", at(2026, 3, 28, 12), "a skipped hour"),
    ("Europe/Berlin", at(2026, 10, 24, 12), "a repeated hour"),
    ("Australia/Lord_Howe", at(2026, 4, 3, 12), "a repeated half hour"),
    ("Australia/Lord_Howe", at(2026, 10, 2, 12), "a skipped half hour"),
    ("America/Santiago", at(2026, 9, 5, 12), "no midnight"),
    ("America/Havana", at(2026, 10, 31, 12), "two midnights"),
    ("Asia/Kathmandu", at(2026, 5, 1, 12), "no shift, three quarters of an hour"),
]


def fed_daily(state: State, start_ms: int, days: int) -> State:
    for day in range(days):
        noon_ms = start_ms + day * DAY + HOUR
        state = do(quietly_but_pages(state, noon_ms), care("feed"), noon_ms).state
    return quietly_but_pages(state, start_ms + days * DAY)


def quietly_but_pages(state: State, to_ms: int) -> State:
    return live(state, to_ms, lambda _, turn: words_for("days", turn) if turn.kind != "diary" else WRITTEN)


WRITTEN = words_for("days", advance(do(awake(), care("feed"), at(2026, 6, 11, 10)).state, at(2026, 6, 11, 10)).turn)  # type: ignore[arg-type]
WRITTEN = replace(WRITTEN, text="A day.")


@pytest.mark.parametrize(("key", "start_ms", "what"), SHIFTS)
def test_each_local_date_gets_exactly_one_page_across(key: str, start_ms: int, what: str) -> None:
    state = fed_daily(awake(zone=key, at_ms=start_ms), start_ms, 5)
    dates = [page.date for page in state.diary]
    first = datetime.fromtimestamp(start_ms // 1000, tz=ZoneInfo(key)).date()
    expected = [(first + timedelta(days=day)).isoformat() for day in range(6)]
    assert dates == expected[: len(dates)] or dates == expected[1 : len(dates) + 1], what
    assert len(dates) in {5, 6}


@pytest.mark.parametrize(("key", "start_ms", "what"), SHIFTS)
def test_a_shift_splits_nothing(key: str, start_ms: int, what: str) -> None:
    state = awake(zone=key, at_ms=start_ms)
    once = quietly(state, start_ms + 2 * DAY)
    often = state
    for step in range(1, 2 * 24 * 12 + 1):
        often = quietly(often, start_ms + step * 5 * MINUTE)
    assert dump_save(once) == dump_save(often), what


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(zone_keys())), st.integers(at(2000, 1, 1) // MINUTE, at(2199, 12, 30) // MINUTE))
def test_local_time_is_what_the_zone_says(key: str, tick: int) -> None:
    local = datetime.fromtimestamp(tick * 60, tz=UTC).astimezone(zone(key)).replace(tzinfo=None)
    assert (local - datetime(1970, 1, 1)) // timedelta(minutes=1) == local_minute(key, tick)  # noqa: DTZ001 - local
    end = same_offset_until(key, tick)
    assert local_minute(key, end) - end == local_minute(key, tick) - tick


def test_zone_data_is_the_pinned_package_not_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    zone.cache_clear()
    monkeypatch.setattr("zoneinfo.TZPATH", ("/nonexistent",))
    assert zone("Europe/Berlin").key == "Europe/Berlin"
    assert local_minute("Europe/Berlin", at(2026, 7, 1) // MINUTE) - at(2026, 7, 1) // MINUTE == 120


def test_weather_is_a_draw_over_seed_date_and_hour() -> None:
    hour = at(2026, 6, 11, 9) // HOUR
    seen = {weather_at("sky", hour + block) for block in range(0, 24 * 60, 3)}
    assert seen <= set(WEATHERS)
    assert len(seen) >= 5
    assert weather_at("sky", hour) == weather_at("sky", hour + 1) == weather_at("sky", hour + 2)
    assert [weather_at("a", hour + 3 * n) for n in range(40)] != [weather_at("b", hour + 3 * n) for n in range(40)]
    assert "snow" not in {weather_at("sky", at(2026, 7, 1) // HOUR + n) for n in range(24 * 40)}


def test_seasons_follow_the_date() -> None:
    days = {season: at(2026, month, 15) // DAY for season, month in zip(SEASONS, (1, 4, 7, 10), strict=True)}
    assert {season: season_on(day) for season, day in days.items()} == {season: season for season in SEASONS}


def test_every_hour_has_a_part_of_the_day() -> None:
    assert {day_part(hour) for hour in range(24)} == set(DAY_PARTS)


@pytest.mark.parametrize(
    ("minute", "words"),
    [
        (0, "twelve at night"),
        (5 * 60 + 50, "a quarter to six in the morning"),
        (12 * 60 + 14, "twelve around noon"),
        (19 * 60 + 30, "half past seven in the evening"),
        (19 * 60 + 29, "a quarter past seven in the evening"),
        (23 * 60 + 59, "a quarter to twelve at night"),
    ],
)
def test_the_clock_in_words(minute: int, words: str) -> None:
    assert words == clock_words(minute)


def test_moving_west_over_midnight_writes_no_date_twice() -> None:
    start_ms = at(2026, 6, 11, 10)
    state = do(awake(zone="Pacific/Auckland", at_ms=start_ms), care("feed"), start_ms).state
    state = quietly_but_pages(state, start_ms + DAY)
    state = do(state, {"kind": "settings", "timeZone": "Pacific/Honolulu"}, start_ms + DAY).state
    for day in range(1, 4):
        morning_ms = start_ms + day * DAY + HOUR
        state = quietly_but_pages(do(state, care("feed"), morning_ms).state, morning_ms + 19 * HOUR)
    dates = [page.date for page in state.diary]
    assert len(set(dates)) == len(dates)
    assert len(dates) >= 2


def test_a_page_already_written_for_a_date_is_never_owed_again() -> None:
    start_ms = at(2026, 6, 11, 10)
    state = quietly_but_pages(do(awake(at_ms=start_ms), care("feed"), start_ms).state, start_ms + 12 * HOUR)
    assert [page.date for page in state.diary] == ["2026-06-11"]
    back = advance(state, start_ms).state
    again = quietly_but_pages(do(back, care("feed"), start_ms + HOUR).state, start_ms + 12 * HOUR)
    assert [page.date for page in again.diary] == ["2026-06-11"]
    assert date_text(0) == "1970-01-01"


def test_most_nights_are_slept_through() -> None:
    state = replace(awake(chatter=0), stage="adult")
    start_ms = state.body_clock_ms
    night = sum(quietly(state, start_ms + day * DAY + 14 * HOUR).asleep for day in range(1, 15))
    noon = sum(quietly(state, start_ms + day * DAY).asleep for day in range(1, 15))
    assert night >= 13
    assert noon <= 3
    step = advance(state, start_ms + HOUR)
    assert step.turn is None or apply_reply(step.state, step.turn, WRITTEN)
