"""Bounds from both sides, where a fault that is off by one was not noticed by other tests (docs/engine.md)."""

import pytest
from engine_scenes import MINUTE, NOON, awake

from tokenling.engine import CommandRefused, balance, new_pet, parse_command
from tokenling.engine.body import Pace, asleep_minutes
from tokenling.engine.bounds import BRAIN_ID_MAX, METER_MAX, SEED_MAX
from tokenling.engine.commands import GAME_ID_MAX
from tokenling.engine.draws import WAKE_BLOCK_TICKS, wake_draws
from tokenling.engine.journal import with_event


def test_a_game_id_may_be_as_long_as_its_bound_and_no_longer() -> None:
    parse_command({"kind": "game", "gameId": "g" * GAME_ID_MAX, "score": 1})
    for wrong in ("", "g" * (GAME_ID_MAX + 1)):
        with pytest.raises(CommandRefused) as raised:
            parse_command({"kind": "game", "gameId": wrong, "score": 1})
        assert (raised.value.code, raised.value.path) == ("out_of_range", "/gameId")


@pytest.mark.parametrize(
    ("pet", "weather", "brain", "path"),
    [
        (0, 0, 0, ""),
        (1, 0, 0, "/petSeed"),
        (0, 1, 0, "/weatherSeed"),
        (0, 0, 1, "/brainId"),
    ],
)
def test_seeds_and_ids_may_be_as_long_as_their_bounds_and_no_longer(
    pet: int, weather: int, brain: int, path: str
) -> None:
    def born() -> None:
        new_pet(
            pet_seed="p" * (SEED_MAX + pet),
            name="Pip",
            time_zone="Etc/UTC",
            brain_id="b" * (BRAIN_ID_MAX + brain),
            weather_seed="w" * (SEED_MAX + weather),
            now_ms=NOON,
        )

    if not path:
        born()
        return
    with pytest.raises(CommandRefused) as raised:
        born()
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("later_ms", "counts"),
    [
        (0, [2]),
        (balance.MERGE_MINUTES * MINUTE - 1, [2]),
        (balance.MERGE_MINUTES * MINUTE, [1, 1]),
        (-1, [1, 1]),
    ],
)
def test_equal_events_are_one_from_the_same_instant_until_half_an_hour(later_ms: int, counts: list[int]) -> None:
    state = with_event(awake(), "fed", NOON, "plum")
    state = with_event(state, "fed", NOON + later_ms, "plum")
    assert [event.n for event in state.events if event.kind == "fed"] == counts


def test_a_tired_sleeper_wakes_by_disturbance_alone() -> None:
    pace = Pace(0, 0, 0, 0, 0, 0, 600_000, 0, METER_MAX, 100)
    tick, drawn = next(
        (block * WAKE_BLOCK_TICKS + at, drawn)
        for block in range(100)
        for at, drawn in enumerate(wake_draws("seed", block))
        if 1000 < drawn < 100_000
    )
    enough = -(-(drawn + 1) * METER_MAX // balance.WAKE_DISTURBED)
    for disturbance, woke in ((enough, True), (enough - 1, False)):
        meters = (500_000, 500_000, 500_000, 500_000, 600_000, 400_000, disturbance)
        assert asleep_minutes(meters, tick, tick, pace, "seed")[2] is woke
