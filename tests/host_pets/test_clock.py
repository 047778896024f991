"""The clock wakes pets when they are due, whatever the wall clock does."""

from collections.abc import Callable

import trio
from trio.testing import MockClock

from tokenling.host.clock import REREAD_S, SET_BACK_MS, SLACK_ENTRIES, Clock


class Wall:
    """A wall clock that follows Trio's mock clock, and can be set."""

    def __init__(self) -> None:
        self.offset_ms = 1_000_000_000_000

    def __call__(self) -> int:
        return self.offset_ms + round(trio.current_time() * 1000)


async def run_for(clock: Clock, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await clock.run()


def clock_and_wakes(now_ms: Callable[[], int]) -> tuple[Clock, list[str]]:
    woken: list[str] = []
    return Clock(now_ms, woken.append), woken


async def test_pets_wake_in_the_order_of_their_due_times(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    for pet_id, after_ms in (("late", 9000), ("soon", 1000), ("past", -5000)):
        clock.schedule(pet_id, wall() + after_ms)
    await run_for(clock, 10)
    assert ["past", "soon", "late"] == woken


async def test_a_pet_is_not_woken_before_it_is_due(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    clock.schedule("pet", wall() + 5000)
    await run_for(clock, 4.9)
    assert [] == woken


async def test_a_new_time_replaces_the_old_one(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    clock.schedule("later", wall() + 1000)
    clock.schedule("later", wall() + 60_000)
    clock.schedule("sooner", wall() + 60_000)
    clock.schedule("sooner", wall() + 1000)
    await run_for(clock, 30)
    assert ["sooner"] == woken


async def test_a_forgotten_pet_is_not_woken(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    clock.schedule("pet", wall() + 1000)
    clock.forget("pet")
    await run_for(clock, 60)
    assert [] == woken


async def test_a_sooner_time_cuts_a_running_wait_short(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clock.run)
        await trio.sleep(1)
        clock.schedule("pet", wall() + 500)
        await trio.sleep(0.6)
        assert ["pet"] == woken
        nursery.cancel_scope.cancel()


async def test_a_wall_clock_set_forward_is_noticed_within_thirty_seconds(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    clock.schedule("pet", wall() + 3_600_000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clock.run)
        await trio.sleep(1)
        wall.offset_ms += 3_600_000
        await trio.sleep(REREAD_S)
        assert ["pet"] == woken
        nursery.cancel_scope.cancel()


async def test_a_wall_clock_set_back_wakes_every_pet_once(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, woken = clock_and_wakes(wall)
    clock.schedule("one", wall() + 3_600_000)
    clock.schedule("two", wall() + 7_200_000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clock.run)
        await trio.sleep(1)
        wall.offset_ms -= 10 * SET_BACK_MS
        await trio.sleep(2 * REREAD_S)
        assert ["one", "two"] == sorted(woken)
        nursery.cancel_scope.cancel()


def test_the_heap_stays_within_its_bound_when_one_pet_is_scheduled_without_end() -> None:
    clock, _woken = clock_and_wakes(lambda: 0)
    for due in range(10_000):
        clock.schedule("pet", 10_000 - due)
    assert len(clock._heap) <= 2 + SLACK_ENTRIES


def test_run_due_tells_how_long_to_sleep() -> None:
    clock, _woken = clock_and_wakes(lambda: 1000)
    assert REREAD_S == clock.run_due()
    clock.schedule("pet", 3500)
    assert 2.5 == clock.run_due()
    clock.schedule("pet", 10_000_000)
    assert REREAD_S == clock.run_due()
