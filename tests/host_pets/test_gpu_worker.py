"""A CUDA worker that fails, at any moment, over real steps: no turn is lost, none is lived twice."""

import json
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
from runtime.tiny_brain import make_brain

from host_pets.failing_gpu import PATIENCE_S, StandIn
from host_pets.house import House, Owner, Wall, chat_of, new_save, open_house
from tokenling.host.executor import BACK_OFF_FIRST_MS
from tokenling.host.generator import BrainGenerator
from tokenling.host.ports import Gpu
from tokenling.runtime import Brain, open_brain, open_lane, verify


@pytest.fixture(scope="module")
def brain(tmp_path_factory: pytest.TempPathFactory) -> Brain:
    return open_brain(make_brain(tmp_path_factory.mktemp("brain")))


@pytest.fixture
def cpu(brain: Brain) -> BrainGenerator:
    return BrainGenerator(brain, open_lane(brain))


@pytest.fixture
def stand_in(brain: Brain) -> StandIn:
    return StandIn(brain)


async def moved_in(house: House) -> Owner:
    return await Owner(house).move_in(new_save(house.wall, brain_id="tiny-0", chatter=0))


def states(house: House) -> dict[str, str]:
    return {worker.name: worker.state for worker in house.pets.health().workers}


def lost_lines(logs: Any) -> int:
    return sum("worker is lost" in entry["event"] for entry in logs)


async def held_step(gpu: StandIn) -> None:
    """Wait until a step hangs on the device."""
    with trio.fail_after(PATIENCE_S):
        await trio.to_thread.run_sync(gpu.session.held.wait, PATIENCE_S)


async def test_a_gpu_that_did_not_start_is_shown_and_the_cpu_serves(tmp_path: Path, cpu: BrainGenerator) -> None:
    with structlog.testing.capture_logs() as logs:
        async with open_house(tmp_path, generators=[cpu], gpu=Gpu((), "no such device")) as house:
            assert {"cpu": "ready", "cuda": "failed"} == states(house)
            assert house.pets.health().ready
            owner = await moved_in(house)
            await owner.say("hello")
            await house.settle()
            assert 1 == len(chat_of(await owner.see(), "pet"))
    told = [entry for entry in logs if "did not start" in entry["event"]]
    assert [("cuda", "no such device", "error")] == [(e["worker"], e["reason"], e["log_level"]) for e in told]


async def test_a_gpu_serves_owners_while_it_is_well(tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn) -> None:
    async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("hello")
        await house.settle()
        assert 1 == len(stand_in.asked)
        (receipt,) = await owner.receipts()
        assert {"cpu": "ready", "cuda": "ready"} == states(house)
        assert receipt["outputTokens"] > 0
        assert 1 == house.pets.health().workers[1].turns.whole


@pytest.mark.parametrize("step", [1, 2, 9])
async def test_a_turn_that_a_gpu_loses_is_lived_once_on_the_cpu(
    tmp_path: Path, brain: Brain, cpu: BrainGenerator, stand_in: StandIn, step: int
) -> None:
    """In the prefill, behind it, amid decoding; the receipt names and proves what really ran."""
    stand_in.session.fail_at = step
    with structlog.testing.capture_logs() as logs:
        async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
            owner = await moved_in(house)
            for number in range(3):
                await owner.say(f"hello {number}")
                await house.settle()
            assert 3 == len(chat_of(await owner.see(), "pet"))
            assert {"cpu": "ready", "cuda": "disabled"} == states(house)
            assert house.pets.health().ready
            receipts = await owner.receipts()
            cpu_turns, gpu_turns = (worker.turns for worker in house.pets.health().workers)
    assert 1 == len(stand_in.asked), "a lost worker gets no second turn"
    assert (3, 1, 0) == (cpu_turns.whole, gpu_turns.lost, gpu_turns.whole)
    assert ["CPUExecutionProvider"] * 3 == [receipt["provider"] for receipt in receipts]
    assert ["identical"] * 3 == [verify(json.dumps(receipt).encode(), brain).kind for receipt in receipts]
    assert 1 == lost_lines(logs)
    assert "hello" not in repr(logs)


async def test_a_gpu_that_fails_while_its_turn_is_cancelled_answers_only_what_is_asked_now(
    tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn
) -> None:
    stand_in.session.hold_at = 3
    async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("first")
        await held_step(stand_in)
        stand_in.session.fail_at = 1  # the device is gone for good
        await owner.say("second")
        stand_in.session.let_go.set()
        await house.settle()
        seen = await owner.see()
        (receipt,) = await owner.receipts()
        assert {"cpu": "ready", "cuda": "disabled"} == states(house)
    assert ["first", "second"] == chat_of(seen, "owner")
    assert 1 == len(chat_of(seen, "pet")), "one reply, to both lines"
    assert "CPUExecutionProvider" == receipt["provider"]


async def test_a_gpu_and_then_the_cpu_failing_under_one_turn_leave_it_to_the_back_off(
    tmp_path: Path, brain: Brain, stand_in: StandIn
) -> None:
    """Requeued once, not for ever; and the turn is not lost: it comes again by itself."""
    weak = StandIn(brain)
    weak.session.fail_at = stand_in.session.fail_at = 2
    async with open_house(tmp_path, generators=[weak], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("hello")
        await house.settle()
        assert (1, 1) == (len(stand_in.asked), len(weak.asked))
        assert [] == chat_of(await owner.see(), "pet")
        assert {"cpu": "ready", "cuda": "disabled"} == states(house)
        weak.session.fail_at = None
        await house.pass_ms(BACK_OFF_FIRST_MS)
        assert 1 == len(chat_of(await owner.see(), "pet"))
        assert (1, 2) == (len(stand_in.asked), len(weak.asked))


async def test_a_pet_that_is_parked_while_its_gpu_dies_is_parked(
    tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn
) -> None:
    stand_in.session.hold_at = 3
    async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("hello")
        await held_step(stand_in)
        parked = await owner.park()
        stand_in.session.let_go.set()
        await house.settle()
        assert ("parked", []) == (parked["status"], chat_of({"save": parked["save"]}, "pet"))
        assert parked["save"] == json.loads((await owner.stored()).save)


async def test_a_pet_that_is_deleted_while_its_gpu_dies_does_not_come_back(
    tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn
) -> None:
    stand_in.session.hold_at = 3
    async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("hello")
        await held_step(stand_in)
        await owner.delete()
        stand_in.session.let_go.set()
        await house.settle()
        assert not hasattr(await owner.stored(), "save"), "a tombstone, nothing else"


async def test_a_host_that_stops_while_its_gpu_dies_stops_and_lives_the_turn_after_the_next_start(
    tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn
) -> None:
    stand_in.session.hold_at = 3
    wall = Wall()
    async with open_house(tmp_path, wall=wall, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owner = await moved_in(house)
        await owner.say("hello")
        await held_step(stand_in)
        house.pets.close()
        stand_in.session.let_go.set()
    async with open_house(tmp_path, wall=wall, generators=[cpu], gpu=Gpu((), "still gone")) as house:
        owner.house = house
        await house.settle()
        seen = await owner.see()
        assert (["hello"], 1) == (chat_of(seen, "owner"), len(chat_of(seen, "pet")))
        assert 1 == len(await owner.receipts())


async def test_many_owners_lose_a_gpu_and_each_gets_one_reply(
    tmp_path: Path, cpu: BrainGenerator, stand_in: StandIn
) -> None:
    stand_in.session.fail_at = 70
    async with open_house(tmp_path, generators=[cpu], gpu=Gpu((stand_in,))) as house:
        owners = [await moved_in(house) for _ in range(8)]
        async with trio.open_nursery() as nursery:
            for owner in owners:
                nursery.start_soon(owner.say, "hello")
        await house.settle()
        assert [1] * 8 == [len(chat_of(await owner.see(), "pet")) for owner in owners]
        cpu_turns, gpu_turns = (worker.turns for worker in house.pets.health().workers)
        assert (8, 1) == (cpu_turns.whole + gpu_turns.whole, gpu_turns.lost)
