"""A pet through random days: owners who repeat and vanish, brains that fail, hosts that restart. Nothing is lost twice.

One seed is one run. A failing run prints its seed and its steps.
"""

import hashlib
import random
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from host_pets.house import HOUR_MS, MINUTE_MS, House, Owner, ScriptedBrain, Wall, new_save, open_house, words_of
from tokenling.engine.request import GenerationRequest

STEPS = 60
LANES = 3


def moody(turn_id: str, request: GenerationRequest) -> str | Exception:
    """Words, nothing or an exception, as the turn's id has it."""
    luck = hashlib.sha256(f"luck {turn_id}".encode()).digest()[0] % 10
    return ValueError("words") if luck == 0 else "" if luck == 1 else words_of(turn_id, request)


class Life:
    """One pet, its owner, and what the owner has been told."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a schedule, not a secret
        self.brain = ScriptedBrain(moody, stubborn=seed % 3 == 0)
        self.wall = Wall()
        self.steps: list[str] = []
        self.sayings = 0
        self.told: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, str] = {}
        self.high = (0, 0)
        self.owner: Owner

    @property
    def house(self) -> House:
        return self.owner.house

    async def say(self) -> None:
        self.sayings += 1
        operation_id, text = str(uuid.uuid4()), f"word {self.sayings}"
        self.tried[operation_id] = text
        self.told[operation_id] = await self.owner.say(text, operation_id=operation_id)

    async def repeat(self) -> None:
        """Send an operation of this epoch again: with its answer known the answer is the same, else it happens now."""
        known = [one for one in self.tried if one not in self.told or self.told[one]["epoch"] == self.owner.epoch]
        if not known:
            return
        operation_id = self.random.choice(known)
        answer = await self.owner.say(self.tried[operation_id], operation_id=operation_id)
        before = self.told.setdefault(operation_id, answer)
        assert {**before, "replayed": answer["replayed"]} == answer

    async def vanish(self) -> None:
        """Say something and go away somewhere on the way."""
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.say)
                for _ in range(self.random.randrange(12)):
                    await trio.lowlevel.checkpoint()
                scope.cancel()

    async def crowd(self) -> None:
        """Several things at once."""
        async with trio.open_nursery() as nursery:
            for work in self.random.choices([self.say, self.repeat, self.look, self.care, self.vanish], k=4):
                nursery.start_soon(work)

    async def care(self) -> None:
        await self.owner.command({"kind": "care", "action": self.random.choice(["stroke", "lamp", "tuck"])})

    async def look(self) -> None:
        await self.owner.see()

    async def wait(self) -> None:
        self.brain.gate.set()
        await self.house.pass_ms(self.random.choice([MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS]))

    async def think(self) -> None:
        """Let the brain begin and leave it thinking."""
        self.brain.close_gate()
        self.house.pets.executor.clock.run_due()
        await trio.testing.wait_all_tasks_blocked(0.001)

    async def move(self) -> None:
        """Park and come back: what was tried and not told is stale from here on."""
        parked = await self.owner.park()
        self.owner.epoch = parked["epoch"]
        await self.owner.activate((await self.owner.stored()).save)
        said = {line["text"] for line in parked["save"]["chat"] if line["who"] == "owner"}
        self.tried = {one: text for one, text in self.tried.items() if one in self.told or text in said}
        self.told.update({one: {"epoch": 0} for one, text in self.tried.items() if one not in self.told})

    async def step(self) -> None:
        work: Callable[[], Awaitable[None]] = self.random.choice(
            [self.say, self.say, self.repeat, self.vanish, self.crowd, self.care, self.look, self.wait, self.think]
            + [self.move] * (self.random.random() < 0.3)
        )
        self.steps.append(work.__name__)
        await work()
        record = await self.owner.stored()
        assert self.high <= (record.epoch, record.revision)
        self.high = (record.epoch, record.revision)

    async def check(self) -> None:
        """Everything the owner was told is in the chat once, in order; every turn spoke at most once."""
        self.brain.gate.set()
        await self.house.settle()
        chat = (await self.owner.see())["save"]["chat"]
        said = [line["text"] for line in chat if line["who"] == "owner"]
        assert len(said) == len(set(said))
        told = {self.tried[one] for one in self.told}
        assert told <= set(said) <= set(self.tried.values())
        turns = [line["turn"] for line in chat if line["who"] == "pet"]
        assert len(turns) == len(set(turns))
        assert self.brain.most <= 1


@pytest.mark.parametrize("seed", range(12))
async def test_random_days_lose_nothing_and_do_nothing_twice(tmp_path: Path, seed: int) -> None:
    life = Life(seed)
    try:
        for _restart in range(3):
            async with open_house(tmp_path, wall=life.wall, brain=life.brain, lanes=LANES, warm_max=1) as house:
                if not hasattr(life, "owner"):
                    life.owner = await Owner(house).move_in(new_save(life.wall))
                life.owner.house = house
                for _ in range(STEPS // 3):
                    await life.step()
                await life.check()
                if not life.brain.stubborn:
                    life.brain.close_gate()  # the restart comes in the middle of a generation
                await life.say()
            life.steps.append("restart")
    except BaseException as error:
        error.add_note(f"seed {seed}: {' '.join(life.steps)}")
        raise
