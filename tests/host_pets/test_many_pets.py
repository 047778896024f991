"""Many pets in one house: they are lived some at a time, in order, and are in memory only while somebody needs them."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from host_pets.house import (
    HOUR_MS,
    MINUTE_MS,
    NOON_MS,
    House,
    Owner,
    ScriptedBrain,
    Wall,
    chat_of,
    new_save,
    open_house,
)
from tokenling import engine
from tokenling.engine.request import GenerationRequest
from tokenling.host.due_line import PLACES_MIN
from tokenling.host.errors import ApiError
from tokenling.protocol import Record, Status

STROKE = {"kind": "care", "action": "stroke"}
IDLE_MS = 3 * HOUR_MS
"""Long enough for every pet of normal chatter to have idle turns due at noon."""


async def town(house: House, pets: int, **changes: object) -> list[Owner]:
    """So many pets, each with a name of its own, with nothing due and their owners gone."""
    owners = []
    for number in range(pets):
        save = new_save(house.wall, seed=f"seed-{number % 4}", name=f"Pip{number}", petSeed=f"pet{number}", **changes)
        owners.append(await Owner(house).move_in(save))
    await house.settle()
    house.brain.asked.clear()
    leave(house)
    return owners


def leave(house: House) -> None:
    """Every owner has been gone for long."""
    for pet in house.pets.dispatch.residents():
        pet.owned_s = float("-inf")
    house.pets.dispatch.cool_idle()


def name_of(request: GenerationRequest) -> str:
    return request.prefix.removesuffix(":")


async def blocked(house: House, until: Callable[[], bool]) -> None:
    with trio.fail_after(10):
        while not until():
            await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked(0.05)


async def test_of_many_due_pets_some_are_lived_and_the_rest_wait_as_ids(tmp_path: Path) -> None:
    pets = PLACES_MIN + 20
    async with open_house(tmp_path, pets_max=pets) as house:
        owners = await town(house, pets)
        house.brain.close_gate()
        house.wall.ms += IDLE_MS
        house.pets.executor.clock.run_due()
        await blocked(house, lambda: bool(house.brain.running))
        assert 20 == house.pets.executor.due
        assert PLACES_MIN == len(house.pets.dispatch.residents())
        assert house.pets.dispatch.warm <= PLACES_MIN
        house.brain.gate.set()
        await house.settle()
        assert 0 == house.pets.executor.due
        assert {f"Pip{number}" for number in range(pets)} == {name_of(request) for _, request in house.brain.asked}
        assert 0 == house.pets.dispatch.warm
        assert {house.wall.ms} == {(await owner.see())["save"]["bodyClockMs"] for owner in owners}


async def test_a_pet_that_missed_much_goes_to_the_lines_end_after_each_turn(tmp_path: Path) -> None:
    pets = PLACES_MIN + 6
    async with open_house(tmp_path, pets_max=pets) as house:
        await town(house, pets)
        await house.pass_ms(2 * IDLE_MS)
        asked = [name_of(request) for _, request in house.brain.asked]
        nth = [asked[:at].count(name) for at, name in enumerate(asked)]
        assert 3 * pets < len(asked)
        assert pets == nth.count(0)
        assert max(at for at, turn in enumerate(nth) if turn == 0) < nth.index(2)  # none has its third turn before


async def test_an_owner_does_not_wait_behind_the_line(tmp_path: Path) -> None:
    pets = PLACES_MIN + 20
    async with open_house(tmp_path, pets_max=pets) as house:
        owners = await town(house, pets)
        house.brain.close_gate()
        house.wall.ms += IDLE_MS
        house.pets.executor.clock.run_due()
        await blocked(house, lambda: bool(house.brain.running))
        last = owners[-1]  # its pet is due too, and waits in the line
        await last.say("are you there?")
        house.brain.gate.set()
        with trio.fail_after(10):
            while not any(turn_id.startswith("r") for turn_id in house.brain.turn_ids):
                await trio.lowlevel.checkpoint()
        assert [turn_id[0] for turn_id in house.brain.turn_ids].index("r") <= 2
        await house.settle()
        assert 1 == len(chat_of(await last.see(), "owner"))


async def test_an_owner_who_comes_frees_the_place_of_the_pet(tmp_path: Path) -> None:
    pets = PLACES_MIN + 2
    async with open_house(tmp_path, pets_max=pets) as house:
        owners = await town(house, pets)
        house.brain.close_gate()
        house.wall.ms += IDLE_MS
        house.pets.executor.clock.run_due()
        await blocked(house, lambda: bool(house.brain.running))
        lived = {pet.pet_id for pet in house.pets.dispatch.residents()}
        await next(owner for owner in owners if owner.pet_id in lived).say("hello")
        await blocked(house, lambda: house.pets.executor.due == 1)
        house.brain.gate.set()
        await house.settle()


async def test_what_is_lived_before_a_turn_is_committed_with_its_reply(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        (owner,) = await town(house, 1)
        before, writes = await owner.stored(), house.store.statistics().writes
        house.brain.close_gate()
        house.wall.ms += 40 * MINUTE_MS
        await house.begin()
        assert before == await owner.stored()
        house.brain.gate.set()
        await house.settle()
        turns = len(house.brain.asked)
        assert turns + 1 >= house.store.statistics().writes - writes >= turns >= 1
        after = await owner.stored()
        assert after.revision > before.revision
        assert after.save != before.save


async def key_changes(owner: Owner) -> None:
    new = bytes(32)
    await owner.change_key(new)
    owner.key_hash = new


async def strokes(owner: Owner) -> None:
    await owner.command(STROKE)


@pytest.mark.parametrize(
    ("words", "meanwhile"),
    [(None, key_changes), ("hello", key_changes), ("hello", strokes)],
    ids=["a key, an idle turn", "a key, a reply", "a stroke, a reply"],
)
async def test_a_turn_is_applied_to_the_row_that_was_written_meanwhile(
    tmp_path: Path, words: str | None, meanwhile: Callable[[Owner], Awaitable[None]]
) -> None:
    async with open_house(tmp_path) as house:
        (owner,) = await town(house, 1, **({} if words is None else {"chatter": 0}))
        house.brain.close_gate()
        if words is None:
            house.wall.ms += 40 * MINUTE_MS
        else:
            await owner.say(words)
        await house.begin()
        await meanwhile(owner)
        written = (await owner.stored()).revision
        (turn_id,) = house.brain.turn_ids
        house.brain.gate.set()
        await house.settle()
        assert 1 == house.brain.turn_ids.count(turn_id)
        seen = await owner.see()
        assert 1 == [line.get("turn") for line in seen["save"]["chat"]].count(turn_id)
        assert written < (await owner.stored()).revision


async def test_a_failed_turn_leaves_what_was_lived_before_it_on_disk(tmp_path: Path) -> None:
    def fail(turn_id: str, request: GenerationRequest) -> Exception:
        return ValueError("no words")

    async with open_house(tmp_path, brain=ScriptedBrain()) as house:
        (owner,) = await town(house, 1)
        house.brain.script = fail
        await house.pass_ms(IDLE_MS)
        stored, (turn_id,) = await owner.stored(), house.brain.turn_ids
        turn = engine.pending_turn(engine.load_save(stored.save))
        assert turn is not None
        assert (turn_id, turn.at_ms // MINUTE_MS * MINUTE_MS) == (turn.id, json.loads(stored.save)["bodyClockMs"])


async def test_a_poll_learns_of_the_words_and_of_the_thinking_in_one_answer(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        (owner,) = await town(house, 1, chatter=0)
        first = await owner.look()
        assert first is not None
        house.brain.close_gate()
        shown: list[tuple[bool, int]] = []

        async def watch() -> None:
            etag = first.etag
            while len(shown) < 2:
                view = await owner.look(etag=etag, wait_s=10)
                assert view is not None
                etag, seen = view.etag, json.loads(view.body)
                shown.append((seen["thinking"], len(seen["save"]["chat"])))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await trio.testing.wait_all_tasks_blocked()
            lines = len(json.loads(first.body)["save"]["chat"])
            await owner.say("hello")
            await house.begin()
            await blocked(house, lambda: len(shown) == 1)
            house.brain.gate.set()
        assert [(True, lines + 1), (False, lines + 2)] == shown


async def test_a_started_house_puts_every_active_pet_on_the_clock_and_keeps_no_save(tmp_path: Path) -> None:
    wall = Wall()
    async with open_house(tmp_path, wall=wall, pets_max=80) as house:
        owners = await town(house, 70)
        for owner in owners[:3]:
            await owner.park()
    async with open_house(tmp_path, wall=wall, pets_max=80) as house:
        await house.settle()
        assert (0, 0) == (house.pets.dispatch.warm, len(house.pets.dispatch))
        scheduled = {owner.pet_id for owner in owners if owner.pet_id in house.pets.executor.clock}
        assert {owner.pet_id for owner in owners[3:]} == scheduled


async def test_a_pet_leaves_memory_when_its_owner_has_been_gone_for_a_while(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        (owner,) = await town(house, 1, chatter=0)
        await owner.command(STROKE)
        await house.settle()
        house.pets.dispatch.cool_idle()
        assert 1 == house.pets.dispatch.warm
        leave(house)
        assert (0, 0, 0) == (house.pets.dispatch.warm, house.pets.dispatch.warm_bytes, len(house.pets.dispatch))


async def test_saves_in_memory_have_a_bound_in_bytes(tmp_path: Path) -> None:
    save_bytes = len(new_save(Wall()))
    async with open_house(tmp_path, warm_bytes_max=4 * save_bytes) as house:
        owners = await town(house, 8, chatter=0)
        for owner in owners:
            await owner.command(STROKE)
        await house.settle()
        assert 2 <= house.pets.dispatch.warm < 8
        assert house.pets.dispatch.warm_bytes <= 4 * save_bytes


def ill(state: engine.State, now_ms: int, advance: Callable[..., engine.Step] = engine.advance) -> engine.Step:
    if state.name == "Ill":
        raise KeyError("a fault of the rules")
    return advance(state, now_ms)


async def spend(owner: Owner, hour: int) -> None:
    """An owner looks, does something, and polls for what comes of it."""
    view = await owner.look()
    assert view is not None
    try:
        await owner.command({"kind": "say", "text": f"word {hour}"} if hour % 2 else STROKE)
    except ApiError as refused:
        assert "not_active" == refused.code  # noqa: PT017 - the one that is ill
    await owner.look(etag=view.etag, wait_s=1)


def owners_of(house: House) -> list[Owner]:
    """Four owners whose names and keys are the same in every house."""
    ids = [f"0b8f2c7e-4a55-4d21-9c3e-6f1b2a3c4d5{number}" for number in range(4)]
    return [Owner(house, pet_id=pet_id, key_hash=bytes([n]) * 32) for n, pet_id in enumerate(ids)]


async def life(folder: Path, *, cold: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Status, bytes]]:
    """An eventful day of four pets; `cold` sends all of them out of memory behind every step of it."""
    await trio.Path(folder).mkdir()
    wall, brain = Wall(NOON_MS), ScriptedBrain()

    async def settle(house: House) -> None:
        await house.settle()
        if cold:
            leave(house)

    async with open_house(folder, wall=wall, brain=brain) as house:
        for number, owner in enumerate(owners_of(house)):
            await owner.move_in(new_save(wall, seed=f"s{number}", name="Ill" if number == 3 else f"Pip{number}"))
    for hour in range(6):  # each hour ends with the house stopped in the middle of what it thinks about
        async with open_house(folder, wall=wall, brain=brain) as house:
            owners = owners_of(house)
            await settle(house)
            if hour == 3:
                monkeypatch.setattr(engine, "advance", ill)
            for owner in owners if hour > 2 else owners[:3]:
                await spend(owner, hour)
                await settle(house)
            wall.ms += HOUR_MS
            await settle(house)
            brain.close_gate()
            await owners[hour % 3].say("good night")
            await house.begin()
        brain.gate.set()
    monkeypatch.undo()
    async with open_house(folder, wall=wall, brain=brain) as house:
        owners = owners_of(house)
        await settle(house)
        await owners[0].park()
        found = [await owner.stored() for owner in owners]
    return {record.pet_id: (record.status, record.save) for record in found if isinstance(record, Record)}


async def test_a_life_out_of_memory_ends_in_the_bytes_of_one_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm = await life(tmp_path / "warm", cold=False, monkeypatch=monkeypatch)
    cold = await life(tmp_path / "cold", cold=True, monkeypatch=monkeypatch)
    assert warm == cold
    statuses = sorted(status for status, _ in warm.values())
    assert [Status.ACTIVE, Status.ACTIVE, Status.PARKED, Status.QUARANTINED] == statuses
