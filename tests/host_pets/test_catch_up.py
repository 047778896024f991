"""A pet that is late by days catches up beside the loop: everyone else is answered, and a stop does not wait for it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from host_pets.house import DAY_MS, HOUR_MS, Owner, open_house
from tokenling.host import catch_up
from tokenling.host import dispatch_rules as rules

PATIENCE_S = 10


class Held:
    """A rule whose first call goes on when `let_go` is set: in the loop's own thread that would be never."""

    def __init__(self, rule: Callable[..., Any]) -> None:
        self._rule = rule
        self.begun = trio.Event()
        self.let_go = threading.Event()
        self.in_time: list[bool] = []

    def __call__(self, *arguments: Any) -> Any:
        if self.in_time:
            return self._rule(*arguments)  # only the first one has days to live
        trio.from_thread.run_sync(self.begun.set)
        self.in_time.append(self.let_go.wait(PATIENCE_S))
        return self._rule(*arguments)


async def look(owner: Owner) -> object:
    return await owner.look()


async def say(owner: Owner) -> object:
    return await owner.say("still there?")


async def park(owner: Owner) -> object:
    return await owner.park()


async def be_driven(owner: Owner) -> object:
    return await owner.house.settle()


@pytest.mark.parametrize(
    ("rule", "act"), [("glimpse", look), ("obey", say), ("live", park), ("live", be_driven)], ids=str
)
async def test_the_loop_turns_while_a_late_pet_catches_up(tmp_path, monkeypatch, rule, act) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        held = Held(getattr(rules, rule))
        monkeypatch.setattr(rules, rule, held)
        house.wall.ms += 9 * DAY_MS
        async with trio.open_nursery() as nursery:
            nursery.start_soon(act, owner)
            with trio.fail_after(PATIENCE_S):
                await held.begun.wait()
            held.let_go.set()
    assert held.in_time[0], "the loop went on beside the rule and set it free"


async def test_a_stop_does_not_wait_for_a_pet_that_catches_up_and_commits_nothing_of_it(tmp_path, monkeypatch) -> None:
    held = Held(rules.live)
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        stored = await owner.stored()
        monkeypatch.setattr(rules, "live", held)
        house.wall.ms += 9 * DAY_MS
        house.pets.executor.clock.run_due()
        with trio.fail_after(PATIENCE_S):
            await held.begun.wait()
            house.pets.close()
            await house.pets.executor.quiet()
        assert not held.in_time, "the rule is still at it"
        assert await owner.stored() == stored
        held.let_go.set()


async def test_a_gap_lived_in_a_thread_leaves_the_same_save_as_one_lived_in_the_loop(tmp_path, monkeypatch) -> None:
    async def lived(folder: Path) -> bytes:
        async with open_house(folder) as house:
            owner = await Owner(house, pet_id="0b8f2c7e-4a55-4d21-9c3e-6f1b2a3c4d5e").move_in()
            await house.pass_ms(3 * DAY_MS)
            await owner.say("hello again")
            await house.pass_ms(20 * HOUR_MS)
            save = (await owner.stored()).save
            assert isinstance(save, bytes)
            return save

    beside = await lived(tmp_path / "thread")
    monkeypatch.setattr(catch_up, "IN_LOOP_GAP_MS_MAX", 500 * DAY_MS)
    assert await lived(tmp_path / "loop") == beside
