"""Pets live on their own time: turns without a client, one at a time, late if need be, only while they are wanted."""

import json
from collections.abc import Container
from pathlib import Path

import pytest
import trio

from host_pets.house import (
    DAY_MS,
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
from tokenling.host.errors import ApiError
from tokenling.host.executor import (
    BACK_OFF_FIRST_MS,
    BACK_OFF_MAX_MS,
    EMPTY_TRIES_MAX,
    PASSING_FAILURES,
    TRIES_MAX,
    back_off_ms,
)
from tokenling.host.pets import Pets, PetsSettings
from tokenling.protocol import SAVE_BYTES_MAX, TURN_RECEIPTS_MAX, Record, Status, Tombstone
from tokenling.store import FailureCode, StaleWrite, StoreFailed, open_store

STROKE = {"kind": "care", "action": "stroke"}


async def woken(house: House, owner: Owner) -> Owner:
    """The pet after its first words, with nothing due."""
    await house.settle()
    house.brain.asked.clear()
    return owner


async def stopped(house: House) -> None:
    """The brain has let go of what it was thinking about, with its gate still closed."""
    with trio.fail_after(5):
        while house.brain.running:
            await trio.lowlevel.checkpoint()
    assert 1 == len(house.brain.cancelled)


def failing(turn_id: str, request: GenerationRequest) -> Exception:
    return ValueError("words of an owner")


async def live_on(house: House, until_ms: int) -> None:
    """Wall time passes, as it does, a minute at a time."""
    while house.wall.ms < until_ms:
        await house.pass_ms(min(MINUTE_MS, until_ms - house.wall.ms))


async def test_a_reply_to_the_owner_is_the_brains_own(tmp_path: Path) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(lambda turn, request: "good day to you")) as house:
        owner = await woken(house, await Owner(house).move_in())
        await owner.say("hello there")
        await house.settle()
        assert ["good day to you"] == chat_of(await owner.see(), "pet")[-1:]
        (_turn_id, request), *_more = house.brain.asked
        assert any("hello there" in line for line in request.lines)
        assert {"turn": house.brain.turn_ids[0]} == (await owner.receipts())[-1]


async def test_idle_turns_happen_without_any_client(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        await live_on(house, NOON_MS + 3 * HOUR_MS)
        idle = [turn_id for turn_id in house.brain.turn_ids if turn_id.startswith("i")]
        assert 4 <= len(idle) <= 7
        assert len(idle) == len(set(idle))
        assert len(idle) <= len(await owner.receipts())


async def day_of(folder: Path, *, down: Container[int]) -> tuple[bytes, list[str]]:
    """A day from 8 to 21 o'clock (UTC), its executor down in some hours: the save that ends it, and its turns."""
    await trio.Path(folder).mkdir()
    wall, brain = Wall(NOON_MS - 4 * HOUR_MS), ScriptedBrain()
    async with open_house(folder, wall=wall, brain=brain) as house:
        owner = await Owner(house).move_in()
    for hour in range(8, 21):
        if hour in down:
            wall.ms += HOUR_MS
            continue
        async with open_house(folder, wall=wall, brain=brain) as house:
            owner.house = house
            await live_on(house, wall.ms + HOUR_MS)
            await owner.see()
    async with open_house(folder, wall=wall, brain=brain) as house:
        owner.house = house
        await house.settle()
        await owner.park()
        return (await owner.stored()).save, brain.turn_ids


async def test_a_day_with_the_executor_down_ends_in_the_bytes_of_one_that_never_stopped(tmp_path: Path) -> None:
    live, live_turns = await day_of(tmp_path / "live", down=())
    late, late_turns = await day_of(tmp_path / "late", down=range(12, 21))
    odd, odd_turns = await day_of(tmp_path / "odd", down=(9, 13, 14, 18))
    assert live == late == odd
    assert live_turns == late_turns == odd_turns
    assert {"i", "d"} <= {turn_id[0] for turn_id in live_turns}


async def test_a_long_absence_is_lived_late_up_to_the_cap(tmp_path: Path) -> None:
    wall = Wall()
    async with open_house(tmp_path, wall=wall) as house:
        owner = await woken(house, await Owner(house).move_in())
    wall.ms += 5 * DAY_MS
    async with open_house(tmp_path, wall=wall) as house:
        owner.house = house
        with trio.fail_after(30):
            await house.settle()
        idle = [turn_id for turn_id in house.brain.turn_ids if turn_id.startswith("i")]
        assert 0 < len(idle) <= 48 + 5
        assert wall.ms // MINUTE_MS * MINUTE_MS == (await owner.see())["save"]["bodyClockMs"]


async def test_a_pet_has_one_generation_at_a_time_however_many_lanes_there_are(tmp_path: Path) -> None:
    async with open_house(tmp_path, lanes=4) as house:
        owner = await Owner(house).move_in()
        house.brain.close_gate()
        for number in range(4):
            await owner.say(f"hello {number}")
        await house.begin()
        house.brain.gate.set()
        await house.settle()
        assert 1 == house.brain.most


async def test_pets_think_beside_each_other_and_each_for_itself(tmp_path: Path) -> None:
    def pet_of(request: GenerationRequest) -> str:
        return request.prefix.removesuffix(":")

    async with open_house(tmp_path, lanes=3) as house:
        names = ("Ann", "Ben", "Cat", "Dan")
        owners = [await Owner(house).move_in(new_save(house.wall, seed=name, name=name, chatter=0)) for name in names]
        await house.settle()
        house.brain.asked.clear()
        house.brain.most = 0
        house.brain.close_gate()
        for text in ("one", "two"):
            for owner in owners:
                await owner.say(text)
        with trio.fail_after(5):
            while house.brain.running < 3:
                await trio.lowlevel.checkpoint()
        house.brain.gate.set()
        await house.settle()
        assert 3 == house.brain.most
        asked = [pet_of(request) for _turn_id, request in house.brain.asked]
        assert set(names) == set(asked)
        for owner, name in zip(owners, names, strict=True):
            said = chat_of(await owner.see(), "pet")
            assert asked.count(name) - len(said) == sum(name == pet_of(request) for request in house.brain.dropped)


async def test_what_an_owner_says_cancels_the_stale_generation_twice_and_the_third_run_stands(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        runs = []
        for number in range(3):
            house.brain.close_gate()
            await owner.say(f"word {number}")
            await house.begin()
            runs.append(house.brain.turn_ids[-1])
        assert runs[:2] == house.brain.cancelled
        await owner.say("word 3")
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert runs[:2] == house.brain.cancelled
        house.brain.gate.set()
        await house.settle()
        assert [*runs, house.brain.turn_ids[-1]] == house.brain.turn_ids
        assert 4 == len(set(house.brain.turn_ids))
        lines = (await owner.see())["save"]["chat"]
        assert [runs[2], house.brain.turn_ids[-1]] == [line.get("turn") for line in lines if line["who"] == "pet"][-2:]


async def test_care_does_not_disturb_a_running_answer(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        (turn_id,) = house.brain.turn_ids
        await owner.command(STROKE)
        house.brain.gate.set()
        await house.settle()
        assert [] == house.brain.cancelled
        assert turn_id in [line.get("turn") for line in (await owner.see())["save"]["chat"]]


async def test_a_command_skips_the_idle_turn_that_is_being_thought_about(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        while not house.brain.asked:
            house.wall.ms += MINUTE_MS
            house.pets.executor.clock.run_due()
            await trio.testing.wait_all_tasks_blocked(0.005)
        (idle,) = house.brain.turn_ids
        assert idle.startswith("i")
        await owner.command(STROKE)
        house.brain.gate.set()
        await house.settle()
        assert [idle] == house.brain.cancelled
        assert idle not in [line.get("turn") for line in (await owner.see())["save"]["chat"]]
        assert 1 == house.brain.turn_ids.count(idle)


@pytest.mark.parametrize("stubborn", [False, True], ids=["cancellable", "late reply"])
async def test_parking_while_it_thinks_drops_the_reply(tmp_path: Path, stubborn: bool) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(stubborn=stubborn)) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        parked = await owner.park()
        if not stubborn:
            await stopped(house)
        house.brain.gate.set()
        await house.settle()
        stored = await owner.stored()
        assert (Status.PARKED, parked["revision"]) == (stored.status, stored.revision)
        assert parked["save"] == json.loads(stored.save)
        assert not (await owner.see())["thinking"]
        await house.pass_ms(DAY_MS)
        assert stored == await owner.stored()


@pytest.mark.parametrize("stubborn", [False, True], ids=["cancellable", "late reply"])
async def test_deleting_while_it_thinks_leaves_the_tombstone(tmp_path: Path, stubborn: bool) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(stubborn=stubborn)) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        await owner.delete()
        if not stubborn:
            await stopped(house)
        house.brain.gate.set()
        await house.settle()
        assert isinstance(await owner.stored(), Tombstone)
        assert (0, 0) == (len(house.pets.dispatch), house.pets.dispatch.warm)


async def test_a_reply_of_the_epoch_before_is_dropped(tmp_path: Path) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(stubborn=True)) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        (old,) = house.brain.turn_ids
        parked = await owner.park()
        owner.epoch = parked["epoch"]
        await owner.activate(json.dumps({**parked["save"], "chatter": 0}).encode())
        house.brain.gate.set()
        await house.settle()
        seen = await owner.see()
        assert "active" == seen["status"]
        # the turn is still owed: it is run again, under the new epoch, once
        assert 2 == house.brain.turn_ids.count(old)
        assert 1 == [line.get("turn") for line in seen["save"]["chat"]].count(old)


async def test_a_restart_in_the_middle_of_a_generation_runs_the_turn_again_once(tmp_path: Path) -> None:
    wall, brain = Wall(), ScriptedBrain()
    async with open_house(tmp_path, wall=wall, brain=brain) as house:
        owner = await woken(house, await Owner(house).move_in())
        brain.close_gate()
        said = await owner.say("hello")
        await house.begin()
        (turn_id,) = brain.turn_ids
    brain.gate.set()
    wall.ms += 3 * MINUTE_MS
    async with open_house(tmp_path, wall=wall, brain=brain) as house:
        owner.house = house
        stored = await owner.stored()
        assert (1, said["revision"]) == (stored.epoch, stored.revision)
        await house.settle()
        seen = await owner.see()
        assert [turn_id, turn_id] == brain.turn_ids
        assert 1 == [line.get("turn") for line in seen["save"]["chat"]].count(turn_id)


async def test_a_failed_generation_is_tried_again_later_and_later_and_nothing_is_said_for_it(tmp_path: Path) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(failing)) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await owner.say("hello")
        await house.settle()
        before, tries = await owner.stored(), []
        for failures in range(1, TRIES_MAX - 1):
            tries.append(len(house.brain.asked))
            assert not (await owner.see())["thinking"]
            await house.pass_ms(back_off_ms(failures) - 1)
            assert tries[-1] == len(house.brain.asked)
            await house.pass_ms(1)
        assert list(range(1, TRIES_MAX - 1)) == tries
        assert before.save == (await owner.stored()).save
        house.brain.script = lambda turn_id, request: "at last"
        await house.pass_ms(BACK_OFF_MAX_MS)
        assert ["at last"] == chat_of(await owner.see(), "pet")[-1:]
        house.brain.script = failing
        await owner.say("and now?")
        await house.settle()
        asked = len(house.brain.asked)
        await house.pass_ms(BACK_OFF_FIRST_MS)
        assert asked + 1 == len(house.brain.asked)


@pytest.mark.parametrize(
    ("script", "tries"),
    [(lambda turn, request: ValueError("words"), TRIES_MAX), (lambda turn, request: "  ", EMPTY_TRIES_MAX)],
    ids=["raised", "empty"],
)
async def test_a_turn_that_fails_for_good_ends_without_words_and_the_pet_lives_on(
    tmp_path: Path, script, tries: int
) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(script)) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await owner.say("hello")
        await house.settle()
        for failures in range(1, tries):
            assert failures == len(house.brain.asked)
            await house.pass_ms(back_off_ms(failures))
        assert [house.brain.turn_ids[0]] * tries == house.brain.turn_ids[:tries]
        seen = await owner.see()
        assert [] == chat_of(seen, "pet")
        assert "asked" not in seen["save"]
        await house.pass_ms(BACK_OFF_MAX_MS)
        assert seen["save"]["minutesLived"] < (await owner.see())["save"]["minutesLived"]
        assert tries == house.brain.turn_ids.count(house.brain.turn_ids[0])


async def test_new_words_are_tried_at_once_although_the_last_turn_failed(tmp_path: Path) -> None:
    def fail(turn_id, request):
        return "" if len(house.brain.asked) == 1 else "here I am"

    async with open_house(tmp_path, brain=ScriptedBrain(fail)) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await owner.say("hello")
        await house.settle()
        assert 1 == len(house.brain.asked)
        await owner.say("are you there?")
        await house.settle()
        assert ["here I am"] == chat_of(await owner.see(), "pet")


def test_back_off_doubles_from_thirty_seconds_to_thirty_minutes() -> None:
    waits = [back_off_ms(failures) // 1000 for failures in range(1, 10)]
    assert [30, 60, 120, 240, 480, 960, 1800, 1800, 1800] == waits
    assert (BACK_OFF_FIRST_MS, BACK_OFF_MAX_MS) == (back_off_ms(1), back_off_ms(10**6))


async def test_one_pets_lost_day_does_not_keep_another_owner_waiting(tmp_path: Path) -> None:
    wall, brain = Wall(), ScriptedBrain()
    async with open_house(tmp_path, wall=wall, brain=brain) as house:
        lost = await Owner(house).move_in(new_save(wall, seed="lost"))
        other = await Owner(house).move_in(new_save(wall, seed="other", chatter=0))
        await house.settle()
    wall.ms += 20 * HOUR_MS
    brain.asked.clear()
    brain.close_gate()
    async with open_house(tmp_path, wall=wall, brain=brain) as house:
        lost.house = other.house = house
        await house.begin()
        await other.say("hello")
        brain.gate.set()
        await house.settle()
        kinds = [turn_id[0] for turn_id in brain.turn_ids]
        assert kinds.count("i") > 10
        assert kinds.index("r") <= 4


@pytest.mark.parametrize("where", ["advance", "apply_command", "build_request", "apply_reply", "due_ms", "dump_save"])
async def test_a_pet_whose_rules_raise_is_quarantined_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async with open_house(tmp_path) as house:
        ill = await Owner(house).move_in(new_save(house.wall, name="Ill"))
        well = await Owner(house).move_in(new_save(house.wall, name="Well"))
        await house.settle()
        rule = getattr(engine, where)

        def broken(state, *args, **kwargs):
            if state.name == "Ill":
                raise KeyError("words of an owner")
            return rule(state, *args, **kwargs)

        monkeypatch.setattr(engine, where, broken)
        try:
            await ill.say("hello")
        except ApiError as error:
            assert ("not_active", "quarantined") == (error.code, error.fields["petStatus"])  # noqa: PT017
        await house.settle()
        seen, stored = await ill.see(), await ill.stored()
        assert (Status.QUARANTINED, "quarantined") == (stored.status, seen["status"])
        assert seen["error"].startswith("KeyError < ")
        assert "words" not in seen["error"]
        assert json.loads(stored.save) == seen["save"]
        await well.say("hello")
        await house.settle()
        assert "active" == (await well.see())["status"]
        monkeypatch.undo()
        assert "parked" == (await ill.park())["status"]
        await ill.delete()
        assert isinstance(await ill.stored(), Tombstone)


async def test_rules_that_fail_on_a_running_turn_cancel_it_and_keep_what_the_owner_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        await owner.say("one")
        await house.begin()
        monkeypatch.setattr(engine, "pending_turn", lambda state: {}[state.name])
        assert not (await owner.say("two"))["replayed"]
        await stopped(house)
        monkeypatch.undo()
        house.brain.gate.set()
        await house.settle()
        assert ["one", "two"] == chat_of(await owner.see(), "owner")


async def test_a_row_that_cannot_be_read_quarantines_its_pet_and_the_host_starts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        ill, well = await Owner(house).move_in(), await Owner(house).move_in()
        await house.settle()
        record = await ill.stored()
        assert isinstance(record, Record)
    import apsw

    database = apsw.Connection(str(tmp_path / "pets.sqlite"))
    database.execute("UPDATE pets SET save = CAST('{}' AS BLOB) WHERE pet_id = ?", (ill.pet_id,))
    database.close()
    async with open_house(tmp_path) as house:
        ill.house = well.house = house
        await house.settle()
        assert ["quarantined", "active"] == [(await ill.see())["status"], (await well.see())["status"]]


async def test_the_turn_receipts_of_the_last_fifty_turns_are_the_owners(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        for number in range(TURN_RECEIPTS_MAX + 5):
            await owner.say(f"hello {number}")
            await house.settle()
        assert house.brain.turn_ids[-TURN_RECEIPTS_MAX:] == [receipt["turn"] for receipt in await owner.receipts()]


async def test_a_wall_clock_set_back_rebases_the_pet_and_loses_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        await owner.say("before")
        await house.settle()
        await house.pass_ms(-2 * DAY_MS)
        saved = json.loads((await owner.stored()).save)
        assert house.wall.ms // MINUTE_MS * MINUTE_MS == saved["bodyClockMs"]
        assert "before" in chat_of({"save": saved}, "owner")
        await live_on(house, house.wall.ms + 2 * HOUR_MS)
        assert house.brain.turn_ids


async def test_a_failed_turn_does_not_wait_for_a_wall_clock_that_was_set_back(tmp_path: Path) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(failing)) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await owner.say("hello")
        await house.settle()
        house.brain.script = lambda turn_id, request: "still here"
        await house.pass_ms(-2 * DAY_MS)
        await house.pass_ms(BACK_OFF_FIRST_MS)
        assert ["still here"] == chat_of(await owner.see(), "pet")


async def test_close_cancels_turns_and_keeps_what_was_committed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        house.brain.close_gate()
        said = await owner.say("hello")
        await house.begin()
        with trio.fail_after(2):
            house.pets.close()
            while house.brain.running:
                await trio.lowlevel.checkpoint()
        assert said["revision"] == (await owner.stored()).revision
        assert 1 == len(house.brain.cancelled)


def failing_once(house: House, code: FailureCode, *, after: bool) -> list[str]:
    """The next write below the store fails, before or after it reached the disk; returns the pets it happened to."""
    carry_out, hit = house.store.carry_out, []

    async def broken(pet_id: str, effects) -> None:
        if hit:
            return await carry_out(pet_id, effects)
        hit.append(pet_id)
        if after:
            await carry_out(pet_id, effects)
        raise StoreFailed(code)

    house.store.carry_out = broken  # type: ignore[method-assign]
    return hit


@pytest.mark.parametrize("after", [False, True], ids=["nothing was written", "it was written all the same"])
async def test_a_failing_store_leaves_the_operation_to_be_repeated(tmp_path: Path, after: bool) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        hit = failing_once(house, FailureCode.FULL, after=after)
        with pytest.raises(ApiError) as caught:
            await owner.say("hello", operation_id="8f3c6a7e-0000-4000-8000-000000000001")
        assert (503, "unavailable") == (caught.value.status, caught.value.code)
        answer = await owner.say("hello", operation_id="8f3c6a7e-0000-4000-8000-000000000001")
        assert after is answer["replayed"]
        await house.settle()
        assert ["hello"] == chat_of(await owner.see(), "owner")
        assert [owner.pet_id] == hit


@pytest.mark.parametrize("code", sorted(PASSING_FAILURES))
async def test_a_reply_that_the_store_could_not_take_is_had_again_later(tmp_path: Path, code: FailureCode) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in(new_save(house.wall, chatter=0)))
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        failing_once(house, code, after=False)
        house.brain.gate.set()
        await house.settle()
        assert [] == chat_of(await owner.see(), "pet")
        await house.pass_ms(BACK_OFF_FIRST_MS)
        assert 1 == len(chat_of(await owner.see(), "pet"))
        assert 1 == len(set(house.brain.turn_ids))


async def test_a_store_that_cannot_go_on_ends_the_process(tmp_path: Path) -> None:
    async def live_until_it_fails() -> None:
        async with open_house(tmp_path) as house:
            owner = await woken(house, await Owner(house).move_in())
            house.brain.close_gate()
            await owner.say("hello")
            await house.begin()
            failing_once(house, FailureCode.CORRUPT, after=False)
            house.brain.gate.set()
            await house.settle()

    with pytest.raises(BaseExceptionGroup) as caught:
        await live_until_it_fails()
    assert caught.group_contains(StoreFailed)


async def test_a_reply_whose_row_was_written_by_somebody_else_is_had_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in(new_save(house.wall, chatter=0)))
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        carry_out, lost = house.store.carry_out, []

        async def lose_once(pet_id: str, effects) -> None:
            if not lost:
                lost.append(pet_id)
                raise StaleWrite
            await carry_out(pet_id, effects)

        house.store.carry_out = lose_once  # type: ignore[method-assign]
        house.brain.gate.set()
        await house.settle()
        await house.settle()
        assert 1 == len(chat_of(await owner.see(), "pet"))
        assert [owner.pet_id] == lost


async def test_a_pet_that_outgrows_its_bound_is_quarantined_before_the_store_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        monkeypatch.setattr(engine, "dump_save", lambda state: b" " * (SAVE_BYTES_MAX + 1))
        with pytest.raises(ApiError) as caught:
            await owner.say("hello")
        assert ("not_active", "quarantined") == (caught.value.code, caught.value.fields["petStatus"])
        assert Status.QUARANTINED is (await owner.stored()).status


async def test_a_pet_whose_rules_fail_at_the_door_goes_home_as_it_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path) as house:
        owner = await woken(house, await Owner(house).move_in())
        before = await owner.stored()
        monkeypatch.setattr(engine, "advance", lambda state, now_ms: {}[state.name])
        parked = await owner.park()
        assert ("parked", json.loads(before.save)) == (parked["status"], parked["save"])


async def test_a_pet_that_is_woken_at_any_moment_of_a_stop_is_no_fault(tmp_path: Path) -> None:
    """A command that is under way at a stop is done, and answered so: it wakes a pet that nobody drives any more."""
    async with open_store(tmp_path / "pets.sqlite", now_ms=NOON_MS) as store:
        executor = Pets(store, [ScriptedBrain()], now_ms=Wall(), settings=PetsSettings()).executor
        async with trio.open_nursery() as nursery:
            await nursery.start(executor.serve)
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                for _ in range(20):
                    executor.wake("nobody")
                    await trio.lowlevel.checkpoint()
