"""Season, weather and the parts of a day: draws over (weather seed, local date, hour)."""

from functools import lru_cache

from tokenling.engine.balance import DAY_PART_BY_HOUR, SEASON_BY_MONTH, WEATHER_HOURS, WEATHER_WEIGHTS
from tokenling.engine.draws import draw
from tokenling.engine.lists import SEASONS, WEATHERS
from tokenling.engine.zones import date_text, month_of

HOUR_WORDS = ("twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")


@lru_cache(maxsize=1024)
def season_on(day: int) -> str:
    """The season of a local day number."""
    return SEASONS[SEASON_BY_MONTH[month_of(day) - 1]]


@lru_cache(maxsize=1024)
def weather_at(weather_seed: str, local_hour: int) -> str:
    """The weather of a local hour (hours since 1970 on the local calendar); it stays for three hours at least."""
    day, hour = divmod(local_hour, 24)
    weights = WEATHER_WEIGHTS[season_on(day)]
    block = hour // WEATHER_HOURS * WEATHER_HOURS
    left = draw(weather_seed, "weather", f"{date_text(day)}T{block}", sum(weights))
    at = 0
    while left >= weights[at]:
        left -= weights[at]
        at += 1
    return WEATHERS[at]


def day_part(hour: int) -> str:
    """The part of the day that a local hour (0 to 23) lies in."""
    return DAY_PART_BY_HOUR[hour]


def clock_words(minute_of_day: int) -> str:
    """Local time in words, to the quarter: 1170 is "half past seven in the evening"."""
    hour, minute = divmod(minute_of_day, 60)
    quarter = minute // 15
    named = HOUR_WORDS[(hour + quarter // 3) % 12]
    lead = ("", "a quarter past ", "half past ", "a quarter to ")[quarter]
    part = day_part(hour)
    when = {"night": "at night", "dawn": "in the morning", "noon": "around noon"}.get(part, f"in the {part}")
    return f"{lead}{named} {when}"
