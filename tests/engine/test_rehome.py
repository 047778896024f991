"""Moving house: no time is replayed, nothing that was due is lost."""

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, awake, do, kinds, live, offer, quietly, say

from tokenling.engine import CommandRefused, State, Step, body_clock_ms, hosting_of, pending_turn, rehome
from tokenling.engine.sky import weather_at


def moved(
    state: State,
    now_ms: int,
    *,
    mode: str = "remote",
    zone: str = "Europe/Berlin",
    brain: str = "b2",
    seed: str | None = None,
) -> Step:
    return rehome(state, mode=mode, time_zone=zone, brain_id=brain, now_ms=now_ms, weather_seed=seed)


@pytest.mark.parametrize("away_ms", [-3 * DAY, -MINUTE, 0, HOUR, 30 * DAY])
def test_no_time_is_replayed(away_ms: int) -> None:
    state = live(awake(chatter=2), NOON + 6 * HOUR)
    step = moved(state, NOON + 6 * HOUR + away_ms)
    assert body_clock_ms(step.state) == NOON + 6 * HOUR + away_ms
    assert step.state.body == state.body
    assert step.state.minutes_lived == state.minutes_lived
    assert step.turn is None


def test_the_new_house_is_written_and_told() -> None:
    after = moved(awake(), NOON, zone="Asia/Tokyo").state
    hosting = hosting_of(after)
    assert (hosting.mode, hosting.brain_id, hosting.time_zone) == ("remote", "b2", "Asia/Tokyo")
    assert kinds(after)[-2:] == ["moved_house", "new_brain"]


def test_the_same_house_and_brain_is_no_event() -> None:
    state = awake()
    assert kinds(moved(state, NOON, mode="local", brain="sprout-0").state) == kinds(state)


def test_a_due_turn_stays_due_in_the_new_context() -> None:
    state = do(awake(), say(), NOON + 5).state
    step = moved(state, NOON + 2 * DAY)
    assert step.turn is not None
    assert (step.turn.kind, step.turn.at_ms) == ("reactive", NOON + 2 * DAY + 5)
    assert step.turn.context_revision == step.state.context_revision == state.context_revision + 1


def test_deadlines_keep_their_distance() -> None:
    state = quietly(do(awake(), offer("toy", "ball"), NOON).state, NOON + HOUR)
    after = moved(state, NOON + 10 * DAY).state
    assert state.offer is not None
    assert after.offer is not None
    assert after.offer.expires_ms - body_clock_ms(after) == state.offer.expires_ms - body_clock_ms(state)


def test_a_host_gives_its_own_weather_or_leaves_the_pets() -> None:
    state = awake()
    assert moved(state, NOON).state.weather_seed == state.weather_seed
    after = quietly(moved(state, NOON, seed="the host's own sky").state, NOON + 2 * HOUR)
    assert after.weather_seed == "the host's own sky"
    assert after.weather == weather_at("the host's own sky", after.local_hour)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"mode": "cloud"}, "/mode"),
        ({"zone": "Mars/Base"}, "/timeZone"),
        ({"brain": "a b"}, "/brainId"),
        ({"seed": "a\nb"}, "/weatherSeed"),
        ({"seed": "x" * 65}, "/weatherSeed"),
    ],
)
def test_a_house_that_no_save_may_hold_is_refused(change: dict[str, str], path: str) -> None:
    with pytest.raises(CommandRefused) as raised:
        moved(awake(), NOON, **change)
    assert raised.value.path == path


def test_a_pending_idle_turn_does_not_move_along() -> None:
    state = live(awake(chatter=4), NOON + HOUR)
    assert pending_turn(moved(state, NOON + 5 * DAY).state) is None
