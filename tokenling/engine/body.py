"""Minutes of a body: the inner loop of a life, in plain integers.

`Pace` holds what stays the same within an hour; the loops change six meters, one tick at a time, and stop after the
tick at which the pet falls asleep or wakes. They are the only hot code of the engine: locals, no calls (hence `if`
where `max` would read better), no draws while awake, one digest for eight ticks while asleep.
"""

from dataclasses import dataclass
from functools import lru_cache

from tokenling.engine import balance
from tokenling.engine.balance import HOUR, METER_FLOOR, SLOW_BELOW
from tokenling.engine.bounds import METER_MAX, TICK_MS
from tokenling.engine.character import percent
from tokenling.engine.draws import WAKE_BLOCK_TICKS, wake_draws
from tokenling.engine.lists import STAGES
from tokenling.engine.sky import day_part
from tokenling.engine.state import State

Meters = tuple[int, int, int, int, int, int, int]
"""fullness, energy, mood, hygiene, warmth, bond, disturbance."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Steps per tick and marks within one hour."""

    fullness: int
    energy: int
    hygiene: int
    mood: int
    bond: int
    warmth: int
    warmth_target: int
    sleep_below: int
    wake_above: int
    wake_percent: int


def _step(rate: int, percents: int) -> int:
    return rate * percents // 100 // HOUR


@lru_cache(maxsize=1024)
def _pace(
    *, stage: str, traits: tuple[str, ...], asleep: bool, hour: int, weather: str, season: str, place: str,
    lamp: bool, tucked: bool, playing: bool, kept_up: bool,
) -> Pace:  # fmt: skip
    at = STAGES.index(stage)
    if stage == "egg":
        return Pace(0, 0, 0, 0, 0, 0, METER_MAX, 0, METER_MAX, 0)
    target = balance.WARMTH_BY_SEASON[season] + balance.WARMTH_BY_WEATHER[weather] + balance.WARMTH_BY_PLACE[place]
    target += lamp * balance.WARMTH_LAMP + tucked * balance.WARMTH_TUCKED
    target += (day_part(hour) == "night") * balance.WARMTH_NIGHT
    fullness = (balance.FULLNESS_ASLEEP if asleep else balance.FULLNESS_AWAKE)[at]
    energy = (balance.ENERGY_ASLEEP if asleep else balance.ENERGY_AWAKE)[at]
    hygiene = (balance.HYGIENE_ASLEEP if asleep else balance.HYGIENE_AWAKE)[at]
    mood = balance.SLEEPING_MOOD_PACE if asleep else balance.MOOD_PACE
    return Pace(
        fullness=_step(fullness, percent(traits, "fullness")),
        energy=_step(energy, 100 if asleep else percent(traits, "energy")),
        hygiene=_step(hygiene, percent(traits, "hygiene")),
        mood=_step(mood, percent(traits, "mood")),
        bond=_step(balance.BOND_LOSS, 100),
        warmth=_step(balance.WARMTH_PACE, 100),
        warmth_target=min(METER_MAX, max(METER_FLOOR, target)),
        sleep_below=_sleep_below(hour, playing=playing, kept_up=kept_up),
        wake_above=balance.WAKE_ABOVE_BY_HOUR[hour],
        wake_percent=balance.WAKE_TUCKED_PERCENT if tucked else 100,
    )


def _sleep_below(hour: int, *, playing: bool, kept_up: bool) -> int:
    if playing:
        return 0
    mark = balance.SLEEP_BELOW_BY_HOUR[hour]
    return min(mark, balance.KEPT_UP_SLEEP_BELOW) if kept_up else mark


def kept_up_ticks(state: State, first: int) -> int:
    """For how many ticks from `first` on the owner's company keeps the pet from nodding off."""
    if state.tucked:
        return 0
    return max(0, state.owner_ms // TICK_MS + balance.KEPT_UP_MINUTES - first)


def pace_of(state: State, hour: int, *, kept_up: bool = False) -> Pace:
    """The pace of a state in a local hour (0 to 23); `kept_up`: see `kept_up_ticks`."""
    return _pace(
        stage=state.stage,
        traits=state.character.traits,
        asleep=state.asleep,
        hour=hour,
        weather=state.weather,
        season=state.season,
        place=state.place,
        lamp=state.lamp,
        tucked=state.tucked,
        playing=state.game is not None,
        kept_up=kept_up,
    )


def wake_chance_ppm(energy: int, hour: int, disturbance: int, *, tucked: bool = False) -> int:
    """The chance, in millionths, that a sleeper wakes within a tick."""
    rested = max(0, energy - balance.WAKE_ABOVE_BY_HOUR[hour]) * balance.WAKE_SLOPE // METER_MAX
    startled = disturbance * balance.WAKE_DISTURBED // METER_MAX
    chance = (rested + startled) * (balance.WAKE_TUCKED_PERCENT if tucked else 100) // 100
    return min(METER_MAX, chance)


def awake_minutes(meters: Meters, first: int, last: int, pace: Pace) -> tuple[Meters, int, bool]:
    """The meters after the ticks `first` to `last`, the last tick lived, and whether it fell asleep at it."""
    fullness, energy, mood, hygiene, warmth, bond, disturbance = meters
    fullness_step, energy_step, hygiene_step = pace.fullness, pace.energy, pace.hygiene
    fullness_slow, energy_slow, hygiene_slow = fullness_step // 4, energy_step // 4, hygiene_step // 4
    mood_step, bond_step, bond_floor = pace.mood, pace.bond, balance.BOND_FLOOR
    warmth_step, warmth_target, sleep_below = pace.warmth, pace.warmth_target, pace.sleep_below
    floor, slow = METER_FLOOR, SLOW_BELOW
    tick = first - 1
    for tick in range(first, last + 1):
        fullness -= fullness_step if fullness > slow else fullness_slow
        if fullness < floor:  # noqa: PLR1730 - a call costs a third of the loop
            fullness = floor
        energy -= energy_step if energy > slow else energy_slow
        if energy < floor:  # noqa: PLR1730 - a call costs a third of the loop
            energy = floor
        hygiene -= hygiene_step if hygiene > slow else hygiene_slow
        if hygiene < floor:  # noqa: PLR1730 - a call costs a third of the loop
            hygiene = floor
        gap = warmth_target - warmth
        warmth += gap if -warmth_step <= gap <= warmth_step else warmth_step if gap > 0 else -warmth_step
        if bond > bond_floor:
            bond -= bond_step
        gap = ((fullness + hygiene + warmth + bond) >> 2) - mood
        mood += gap if -mood_step <= gap <= mood_step else mood_step if gap > 0 else -mood_step
        if energy < sleep_below:
            return (fullness, energy, mood, hygiene, warmth, bond, disturbance), tick, True
    return (fullness, energy, mood, hygiene, warmth, bond, disturbance), tick, False


def asleep_minutes(meters: Meters, first: int, last: int, pace: Pace, seed: str) -> tuple[Meters, int, bool]:
    """The meters after the ticks `first` to `last`, the last tick lived, and whether it woke at it."""
    fullness, energy, mood, hygiene, warmth, bond, disturbance = meters
    fullness_step, energy_step, hygiene_step = pace.fullness, pace.energy, pace.hygiene
    fullness_slow, hygiene_slow = fullness_step // 4, hygiene_step // 4
    mood_step, bond_step, bond_floor = pace.mood, pace.bond, balance.BOND_FLOOR
    warmth_step, warmth_target = pace.warmth, pace.warmth_target
    wake_above, wake_percent = pace.wake_above, pace.wake_percent
    slope, disturbed, fade = balance.WAKE_SLOPE, balance.WAKE_DISTURBED, balance.DISTURB_FADE
    floor, slow, top = METER_FLOOR, SLOW_BELOW, METER_MAX
    drawn: tuple[int, ...] = ()
    block = -1
    tick = first - 1
    for tick in range(first, last + 1):
        fullness -= fullness_step if fullness > slow else fullness_slow
        if fullness < floor:  # noqa: PLR1730 - a call costs a third of the loop
            fullness = floor
        energy += energy_step
        if energy > top:  # noqa: PLR1730 - a call costs a third of the loop
            energy = top
        hygiene -= hygiene_step if hygiene > slow else hygiene_slow
        if hygiene < floor:  # noqa: PLR1730 - a call costs a third of the loop
            hygiene = floor
        gap = warmth_target - warmth
        warmth += gap if -warmth_step <= gap <= warmth_step else warmth_step if gap > 0 else -warmth_step
        if bond > bond_floor:
            bond -= bond_step
        gap = ((fullness + hygiene + warmth + bond) >> 2) - mood
        mood += gap if -mood_step <= gap <= mood_step else mood_step if gap > 0 else -mood_step
        if energy > wake_above or disturbance > 0:
            rested = (energy - wake_above) * slope // top if energy > wake_above else 0
            chance = (rested + disturbance * disturbed // top) * wake_percent // 100
            if tick // WAKE_BLOCK_TICKS != block:
                block = tick // WAKE_BLOCK_TICKS
                drawn = wake_draws(seed, block)
            if drawn[tick % WAKE_BLOCK_TICKS] < chance:
                return (fullness, energy, mood, hygiene, warmth, bond, disturbance), tick, True
            disturbance = disturbance - fade if disturbance > fade else 0
    return (fullness, energy, mood, hygiene, warmth, bond, disturbance), tick, False
