"""A brain on a real lane answers the host's turns; a cancelled turn leaves the lane ready for the next."""

from pathlib import Path

import pytest
import trio
from runtime.tiny_brain import make_brain

from host_pets.house import Owner, new_save, open_house
from tokenling import engine
from tokenling.engine.request import GenerationRequest
from tokenling.host.generator import BrainGenerator
from tokenling.runtime import open_brain, open_lane, verify

REQUEST = GenerationRequest(
    "Pip is small.", ("Owner: hello Pip",), "Pip:", "line", ("[eat]",), {}, 24, 40, 850, 920, 512, 7
)


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> BrainGenerator:
    brain = open_brain(make_brain(tmp_path_factory.mktemp("brain")))
    return BrainGenerator(brain, open_lane(brain))


async def test_the_same_request_gets_the_same_words_and_a_receipt_that_proves_them(generator: BrainGenerator) -> None:
    first = await generator.generate(REQUEST, turn_id="r1")
    again = await generator.generate(REQUEST, turn_id="r1")
    assert first.reply == again.reply
    assert first.reply.text
    assert "identical" == verify(first.receipt, generator._brain).kind


async def test_a_cancelled_turn_leaves_the_lane_as_it_was(generator: BrainGenerator) -> None:
    expected = await generator.generate(REQUEST, turn_id="r1")
    for deadline_s in (0.0, 0.001, 0.003, 0.01):
        with trio.move_on_after(deadline_s):
            await generator.generate(REQUEST, turn_id="r1")
        assert expected.reply == (await generator.generate(REQUEST, turn_id="r1")).reply


async def test_a_generator_tells_what_its_brain_is(generator: BrainGenerator) -> None:
    told = (generator.brain_id, generator.features, generator.prompt_version, generator.provider)
    assert ("tiny-0", ("tags",), engine.PROMPT_VERSION, "CPUExecutionProvider") == told


async def test_a_pet_lives_on_a_real_lane(tmp_path: Path, generator: BrainGenerator) -> None:
    async with open_house(tmp_path, generators=[generator]) as house:
        owner = await Owner(house).move_in(new_save(house.wall, brain_id="tiny-0", chatter=0))
        await owner.say("hello")
        await house.settle()
        (receipt,) = await owner.receipts()
        assert any("hello" in line for line in receipt["request"]["lines"])
