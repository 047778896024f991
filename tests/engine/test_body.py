"""The loops of the body at their edges, by hand."""

from dataclasses import replace

import pytest

from tokenling.engine import balance
from tokenling.engine.body import Meters, Pace, asleep_minutes, awake_minutes, wake_chance_ppm
from tokenling.engine.bounds import METER_MAX
from tokenling.engine.draws import wake_draws

PACE = Pace(
    fullness=800, energy=700, hygiene=300, mood=1000, bond=8, warmth=1500,
    warmth_target=600_000, sleep_below=120_000, wake_above=METER_MAX, wake_percent=100,
)  # fmt: skip
EVEN: Meters = (500_000, 500_000, 500_000, 500_000, 600_000, 400_000, 0)


def one_minute(meters: Meters, pace: Pace = PACE) -> tuple[Meters, bool]:
    after, reached, flipped = awake_minutes(meters, 100, 100, pace)
    assert reached == 100
    return after, flipped


def changed(**named: int) -> Meters:
    names = ("fullness", "energy", "mood", "hygiene", "warmth", "bond", "disturbance")
    values = [named.get(name, value) for name, value in zip(names, EVEN, strict=True)]
    return values[0], values[1], values[2], values[3], values[4], values[5], values[6]


def test_a_minute_awake_by_hand() -> None:
    after, flipped = one_minute(EVEN)
    mean = (499_200 + 499_700 + 600_000 + 399_992) // 4
    assert after == (499_200, 499_300, mean, 499_700, 600_000, 399_992, 0)
    assert not flipped


def test_a_minute_asleep_by_hand() -> None:
    after, reached, woke = asleep_minutes(EVEN, 7, 7, PACE, "s")
    mean = (499_200 + 499_700 + 600_000 + 399_992) // 4
    assert after == (499_200, 500_700, mean, 499_700, 600_000, 399_992, 0)
    assert (reached, woke) == (7, False)


@pytest.mark.parametrize(
    ("before", "after"), [(200_001, 199_201), (200_000, 199_800), (40_100, 40_000), (40_300, 40_100), (40_000, 40_000)]
)
def test_a_low_meter_sinks_at_a_quarter_of_its_rate_and_stops_at_the_floor(before: int, after: int) -> None:
    assert one_minute(changed(fullness=before))[0][0] == after


@pytest.mark.parametrize(("before", "after"), [(100_001, 99_993), (100_000, 100_000), (99_993, 99_993)])
def test_a_bond_ends_at_its_floor(before: int, after: int) -> None:
    assert one_minute(changed(bond=before))[0][5] == after
    assert asleep_minutes(changed(bond=before), 1, 1, PACE, "s")[0][5] == after


@pytest.mark.parametrize(
    ("before", "after"), [(600_000, 600_000), (599_000, 600_000), (598_499, 599_999), (601_501, 600_001)]
)
def test_warmth_moves_towards_what_the_room_gives(before: int, after: int) -> None:
    assert one_minute(changed(warmth=before))[0][4] == after
    assert asleep_minutes(changed(warmth=before), 1, 1, PACE, "s")[0][4] == after


@pytest.mark.parametrize(("energy", "falls_asleep"), [(120_174, True), (120_175, False)])
def test_sleep_comes_below_the_mark_of_the_hour_not_at_it(energy: int, falls_asleep: bool) -> None:
    assert one_minute(changed(energy=energy))[1] is falls_asleep


def test_energy_ends_at_the_top_and_disturbance_fades_in_sleep() -> None:
    after, _, _ = asleep_minutes(changed(energy=METER_MAX - 1, disturbance=30_000), 1, 1, PACE, "quiet seed")
    assert (after[1], after[6]) == (METER_MAX, 10_000)
    again, _, _ = asleep_minutes(after, 2, 2, PACE, "quiet seed")
    assert again[6] == 0


def test_a_sleeper_wakes_at_the_first_tick_whose_draw_is_below_its_chance() -> None:
    pace = replace(PACE, wake_above=0, energy=0)
    chance = 500_000 * balance.WAKE_SLOPE // METER_MAX
    drawn = [wake_draws("s", tick // 8)[tick % 8] for tick in range(400)]
    first = next(tick for tick, value in enumerate(drawn) if value < chance)
    assert asleep_minutes(EVEN, 0, 399, pace, "s")[1:] == (first, True)
    tucked = next(tick for tick, value in enumerate(drawn) if value < chance // 2)
    assert asleep_minutes(EVEN, 0, 399, replace(pace, wake_percent=50), "s")[1:] == (tucked, True)


@pytest.mark.parametrize(
    ("energy", "hour", "disturbance", "tucked", "chance"),
    [
        (METER_MAX, 2, 0, False, 2_700),
        (METER_MAX, 9, 0, False, 54_000),
        (METER_MAX, 9, 0, True, 27_000),
        (400_000, 9, 0, False, 0),
        (300_000, 2, 500_000, False, 60_000),
        (METER_MAX, 9, METER_MAX, False, 174_000),
    ],
)
def test_the_wake_formula_by_hand(energy: int, hour: int, disturbance: int, tucked: bool, chance: int) -> None:
    assert chance == wake_chance_ppm(energy, hour, disturbance, tucked=tucked)
