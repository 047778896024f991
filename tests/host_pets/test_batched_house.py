"""A host whose lanes batch: owners who talk at once are answered as they would be one by one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from runtime.tiny_brain import make_brain

from host_pets.house import House, Owner, chat_of, new_save, open_house
from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.preview import preview_settings
from tokenling.host.plan import HostBrain
from tokenling.runtime import open_brain, verify

OWNERS = 12


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> HostBrain:
    settings = preview_settings(0, tmp_path_factory.mktemp("state"))
    return load_brain(replace(settings, cpu_lanes=2, batch_rows=4))


async def moved_in(house: House, number: int) -> Owner:
    save = new_save(house.wall, seed=f"otter-{number}", brain_id=SHIPPED_BRAIN, chatter=0)
    return await Owner(house).move_in(save)


def test_a_lane_that_batches_gives_the_router_a_place_for_each_row(batched: HostBrain) -> None:
    assert 2 * 4 == len(batched.generators)
    assert () == batched.remarks


async def test_owners_who_talk_at_once_get_one_reply_each_and_receipts_that_prove_it(
    tmp_path: Path, batched: HostBrain
) -> None:
    brain = open_brain(shipped_brain_dir())
    async with open_house(tmp_path, generators=batched.generators) as house:
        owners = [await moved_in(house, number) for number in range(OWNERS)]
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                for owner in owners:
                    nursery.start_soon(owner.say, "are you hungry?")
            await house.settle()
        for owner in owners:
            assert 2 == len(chat_of(await owner.see(), "pet"))
            kinds = [verify(json.dumps(receipt).encode(), brain).kind for receipt in await owner.receipts()]
            assert ["identical"] * 2 == kinds
        (cpu,) = house.pets.health().workers
        assert (2 * OWNERS, 0, "ready") == (cpu.turns.whole, cpu.turns.failed, cpu.state)


async def test_an_owner_who_speaks_into_a_batched_turn_stops_hers_alone(tmp_path: Path, batched: HostBrain) -> None:
    async with open_house(tmp_path, generators=batched.generators) as house:
        owners = [await moved_in(house, number) for number in range(4)]
        async with trio.open_nursery() as nursery:
            for owner in owners:
                nursery.start_soon(owner.say, "tell me a long story about the sea")
        await owners[0].say("no, about the moon")
        await house.settle()
        replies = [len(chat_of(await owner.see(), "pet")) for owner in owners]
        assert [1, 1, 1] == replies[1:]
        assert 1 <= replies[0] <= 2, "the first line had its answer before the second came, or both have one"


async def test_a_host_stops_at_once_while_its_lanes_batch(tmp_path: Path, batched: HostBrain) -> None:
    async with open_house(tmp_path, generators=batched.generators) as house:
        owners = [await moved_in(house, number) for number in range(8)]
        async with trio.open_nursery() as nursery:
            for owner in owners:
                nursery.start_soon(owner.say, "hello")
        began = trio.current_time()
    assert trio.current_time() - began < 1.4


def test_a_graph_that_cannot_batch_is_told_and_its_lanes_write_one_turn_at_a_time(tmp_path: Path) -> None:
    directory = make_brain(tmp_path / "tiny")
    settings = replace(preview_settings(0, tmp_path), model_dir=directory, cpu_lanes=2, batch_rows=4)
    brain = load_brain(settings)
    assert 2 == len(brain.generators)
    (remark,) = brain.remarks
    assert remark.startswith("each CPU lane writes one turn at a time: ")
    assert "rows_unsupported" in remark
    shutil.rmtree(directory)
