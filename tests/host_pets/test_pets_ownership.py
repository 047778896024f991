"""One pet, one life: who may change a pet, and what a repeated or concurrent wish does."""

import hashlib
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from host_pets.house import (
    BRAIN_ID,
    DAY_MS,
    Owner,
    ScriptedBrain,
    Wall,
    chat_of,
    new_save,
    open_house,
)
from tokenling.host.dispatch_faults import BrainInUse, PromptVersionRefused, UnfitName, WallClockRefused
from tokenling.host.errors import ApiError
from tokenling.host.pets import LARGE_SAVE_BYTES, Pets, PetsSettings, prepared_for
from tokenling.protocol import PREPARED_KEPT_MS, Status, Tombstone
from tokenling.runtime import PROMPT_VERSION_UNKNOWN
from tokenling.store import StaleWrite, open_store

STROKE = {"kind": "care", "action": "stroke"}


async def refused(code: str, work) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    assert code == caught.value.code
    return caught.value


async def test_a_pet_is_prepared_once_and_never_overwritten(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        save = new_save(house.wall)
        first, again = await owner.prepare(save), await owner.prepare(new_save(house.wall, name="Other"))
        assert (True, "prepared", 1, 1) == (first.created, first.status, first.epoch, first.revision)
        assert replace(first, created=False) == again
        assert "Pip" == (await owner.see())["save"]["name"]


async def test_preparing_a_living_pet_again_tells_its_status(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        again = await owner.prepare(new_save(house.wall))
        assert (False, "active") == (again.created, again.status)


async def test_an_id_belongs_to_the_key_that_prepared_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        await owner.prepare(new_save(house.wall))
        await refused("id_taken", Owner(house, pet_id=owner.pet_id).prepare(new_save(house.wall)))


async def test_an_unknown_pet_and_a_wrong_key_are_refused_alike(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        stranger, nobody = Owner(house, pet_id=owner.pet_id), Owner(house)
        told = []
        for who in (stranger, nobody):
            for work in (who.see(), who.say("hi"), who.park(), who.change_key(b"k" * 32), who.delete(), who.receipts()):
                error = await refused("not_found", work)
                told.append((error.status, error.detail, dict(error.fields)))
        assert [told[0]] * 12 == told
        assert 404 == told[0][0]


async def test_a_wrong_key_costs_one_lookup_whether_the_pet_exists_or_not(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        for who in (Owner(house, pet_id=owner.pet_id), Owner(house)):
            before = house.store.statistics().reads
            await refused("not_found", who.see())
            assert 1 == house.store.statistics().reads - before


async def test_strangers_leave_nothing_in_memory(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for _ in range(20):
            await refused("not_found", Owner(house).say("hi"))
        assert 0 == len(house.pets.dispatch)


async def test_activation_keeps_the_epoch_and_parking_adds_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        save = new_save(house.wall)
        await owner.prepare(save)
        active = await owner.activate(save)
        await house.settle()
        parked = await owner.park()
        assert ("active", 1) == (active["status"], active["epoch"])
        assert ("parked", 2) == (parked["status"], parked["epoch"])
        assert owner.device_id == parked["destinationDeviceId"]
        assert parked["save"] == (await owner.see())["save"]


async def test_a_retried_park_is_answered_with_the_parked_record(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        operation_id = str(uuid.uuid4())
        first = await owner.park(operation_id=operation_id)
        again = await owner.park(operation_id=operation_id)
        assert {**first, "replayed": True} == again
        assert 2 == (await owner.stored()).epoch


async def test_parking_fences_a_prepared_pet(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        save = new_save(house.wall)
        await owner.prepare(save)
        await owner.park()
        error = await refused("stale_epoch", owner.activate(save))
        assert {"epoch": 2, "petStatus": "parked"} == dict(error.fields)


async def test_only_the_destination_device_resumes_unless_it_takes_over(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        home = await owner.park()
        other = Owner(house, pet_id=owner.pet_id, key_hash=owner.key_hash, epoch=2)
        mine = new_save(house.wall, name="Mine")
        await refused("other_device", other.activate(mine))
        await other.activate(mine, takeover=True)
        assert "Mine" == (await other.see())["save"]["name"]
        (kept,) = await house.store.replaced_saves(owner.pet_id)
        assert home["save"]["name"].encode() in kept.save


async def test_a_command_of_an_older_epoch_is_stale_and_told_the_current_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        parked = await owner.park()
        owner.epoch = parked["epoch"]
        await owner.activate(new_save(house.wall))
        owner.epoch = 1
        error = await refused("stale_epoch", owner.say("hi"))
        assert {"epoch": 2, "petStatus": "active"} == dict(error.fields)


@pytest.mark.parametrize("status", ["prepared", "parked"])
async def test_a_command_needs_an_active_pet(tmp_path: Path, status: str) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        await owner.prepare(new_save(house.wall))
        if status == "parked":
            owner.epoch = (await owner.park())["epoch"]
        error = await refused("not_active", owner.say("hi"))
        assert status == error.fields["petStatus"]


async def test_fifty_equal_commands_at_once_have_one_effect(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        house.brain.close_gate()
        operation_id, told = str(uuid.uuid4()), []

        async def send() -> None:
            told.append(await owner.say("once", operation_id=operation_id))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(send)
        assert 1 == sum(not answer["replayed"] for answer in told)
        assert 1 == len({(answer["epoch"], answer["revision"]) for answer in told})
        assert ["once"] == chat_of(await owner.see(), "owner")


async def test_an_operation_id_stands_for_one_body(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        operation_id = str(uuid.uuid4())
        await owner.say("one", operation_id=operation_id)
        await refused("operation_reused", owner.say("two", operation_id=operation_id))
        assert ["one"] == chat_of(await owner.see(), "owner")


async def test_a_repeat_is_answered_before_the_rules_are_asked_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        operation_id = str(uuid.uuid4())
        first = await owner.command(STROKE, operation_id=operation_id)
        parked = await owner.park()
        again = await owner.command(STROKE, operation_id=operation_id)
        assert {**first, "replayed": True} == again
        assert parked["revision"] == (await owner.stored()).revision


async def test_a_refused_command_is_not_stored_and_changes_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        before, operation_id = await owner.stored(), str(uuid.uuid4())
        error = await refused("invalid_command", owner.command({"kind": "say"}, operation_id=operation_id))
        assert "/text" == error.fields["path"]
        await refused("invalid_command", owner.command({"kind": "game", "gameId": "none", "score": 3}))
        assert before == await owner.stored()
        assert None is await house.store.find_operation(owner.pet_id, operation_id)


async def test_a_client_that_goes_away_leaves_nothing_or_a_whole_commit(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        house.brain.close_gate()
        for checkpoints in range(12):
            operation_id = str(uuid.uuid4())
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lambda operation=operation_id: owner.command(STROKE, operation_id=operation))
                    for _ in range(checkpoints):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            stored = await owner.stored()
            seen = await owner.see()
            found = await house.store.find_operation(owner.pet_id, operation_id)
            assert stored.revision == seen["revision"]
            assert found is None or found.result_revision <= stored.revision
            assert found is not None or (await owner.command(STROKE, operation_id=operation_id))["replayed"] is False


async def test_what_a_client_said_before_it_went_away_is_answered_all_the_same(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        carry_out, client = house.store.carry_out, trio.CancelScope()

        async def go_away_while_it_is_committed(pet_id, effects) -> None:
            client.cancel()
            await carry_out(pet_id, effects)
            await trio.lowlevel.checkpoint()

        house.store.carry_out = go_away_while_it_is_committed  # type: ignore[method-assign]
        with client:
            await owner.say("hello")
        assert client.cancel_called
        with trio.fail_after(5):
            await house.pets.executor.quiet()
        assert ["owner", "pet"] == [line["who"] for line in (await owner.see())["save"]["chat"]]


async def test_a_command_that_waited_while_the_key_was_changed_is_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        outcome = []

        async def say_with_the_old_key() -> None:
            outcome.append(await refused("not_found", owner.say("hello")))

        async with trio.open_nursery() as nursery:
            with house.pets.dispatch.visit(owner.pet_id) as pet:
                async with pet.lock:
                    nursery.start_soon(owner.change_key, hashlib.sha256(b"new").digest())
                    await trio.testing.wait_all_tasks_blocked(0.01)
                    nursery.start_soon(say_with_the_old_key)
                    await trio.testing.wait_all_tasks_blocked(0.01)
        assert 1 == len(outcome)


async def test_a_changed_key_locks_the_old_one_out_and_its_polls(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        view = await owner.look()
        assert view is not None
        new, operation_id, outcome = hashlib.sha256(b"new").digest(), str(uuid.uuid4()), []

        async def poll() -> None:
            outcome.append(await refused("not_found", owner.look(etag=view.etag, wait_s=50)))

        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(poll)
                await trio.testing.wait_all_tasks_blocked()
                await owner.change_key(new, operation_id=operation_id)
        await refused("not_found", owner.see())
        owner.key_hash = new
        assert "active" == (await owner.see())["status"]
        assert (await owner.change_key(new, operation_id=operation_id))["replayed"]
        assert 1 == len(outcome)


async def test_a_deleted_pet_leaves_a_tombstone_and_never_comes_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await owner.delete()
        assert isinstance(await owner.stored(), Tombstone)
        await refused("not_found", owner.see())
        await refused("not_found", owner.delete())
        await refused("pet_deleted", owner.prepare(new_save(house.wall)))
        await house.pass_ms(DAY_MS)
        assert isinstance(await owner.stored(), Tombstone)
        assert 0 == len(house.pets.dispatch)


async def test_the_host_holds_no_more_pets_than_it_may(tmp_path: Path) -> None:
    async with open_house(tmp_path, pets_max=2, prepared_max=9) as house:
        owners = [Owner(house) for _ in range(6)]
        told: list[str] = []

        async def knock(owner: Owner) -> None:
            try:
                told.append((await owner.prepare(new_save(house.wall))).status)
            except ApiError as error:
                told.append(error.code)

        async with trio.open_nursery() as nursery:
            for owner in owners:
                nursery.start_soon(knock, owner)
        assert ["host_full"] * 4 + ["prepared"] * 2 == sorted(told)
        assert 2 == (await house.store.counts()).pets


async def test_prepared_pets_have_a_bound_of_their_own(tmp_path: Path) -> None:
    async with open_house(tmp_path, pets_max=9, prepared_max=1) as house:
        first = await Owner(house).move_in()
        await Owner(house).prepare(new_save(house.wall))
        waits = await refused("host_full", Owner(house).prepare(new_save(house.wall)))
        assert waits.retry_after_s is not None, "the threshold is free again as soon as that one is activated"
        assert "active" == (await first.see())["status"]


async def test_a_house_that_is_full_of_pets_promises_no_room_soon(tmp_path: Path) -> None:
    async with open_house(tmp_path, pets_max=1, prepared_max=1) as house:
        await Owner(house).prepare(new_save(house.wall))
        final = await refused("host_full", Owner(house).prepare(new_save(house.wall)))
        assert final.retry_after_s is None


async def test_a_prepared_pet_that_nobody_activates_expires(tmp_path: Path) -> None:
    wall = Wall()
    async with open_house(tmp_path, wall=wall) as house:
        forgotten, living = Owner(house), await Owner(house).move_in()
        await forgotten.prepare(new_save(wall))
    wall.ms += PREPARED_KEPT_MS + 1
    async with open_house(tmp_path, wall=wall) as house:
        living.house = forgotten.house = house
        with trio.fail_after(5):
            while (await forgotten.stored()) is not None:
                await trio.lowlevel.checkpoint()
        assert "active" == (await living.see())["status"]


async def test_a_save_for_another_brain_is_refused_and_nothing_is_held(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        other = new_save(house.wall, brain_id="other-1")
        error = await refused("brain_mismatch", owner.prepare(other))
        assert {"brainId": BRAIN_ID} == dict(error.fields)
        assert None is await owner.stored()
        await owner.prepare(new_save(house.wall))
        await refused("brain_mismatch", owner.activate(other))
        assert Status.PREPARED is (await owner.stored()).status


async def test_a_save_without_a_brain_takes_the_hosts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, brain_id=""))
        seen = await owner.see()
        assert {"mode": "remote", "brainId": BRAIN_ID, "timeZone": "Europe/Berlin"} == seen["save"]["hosting"]


async def test_a_wrong_save_is_refused_with_the_path_of_its_first_wrong_field(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        error = await refused("invalid_save", owner.prepare(new_save(house.wall, name=7)))
        assert "/name" == error.fields["path"]
        await owner.prepare(new_save(house.wall))
        await refused("invalid_save", owner.activate(b"[]"))
        assert Status.PREPARED is (await owner.stored()).status


async def test_a_save_grown_large_moves_in_whole_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        chat = [{"who": "owner", "text": "ä" * 400, "atMs": house.wall()} for _ in range(200)]
        save = new_save(house.wall, chat=chat, chatter=0)
        assert len(save) > LARGE_SAVE_BYTES
        owner = Owner(house)
        error = await refused("invalid_save", owner.prepare(save[:-1]))
        assert "" == error.fields["path"]
        await owner.move_in(save)
        assert chat == (await owner.see())["save"]["chat"]


async def test_a_brain_that_does_not_say_its_prompts_is_taken_at_the_operators_word(tmp_path: Path) -> None:
    async with open_house(tmp_path, brain=ScriptedBrain(prompt_version=PROMPT_VERSION_UNKNOWN)) as house:
        assert house.pets.health().ready


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"brain_id": "b" * 65}, "brainId"),
        ({"brain_id": "ümlaut"}, "brainId"),
        ({"weather_seed": "a\nb"}, "weatherSeed"),
    ],
)
async def test_a_name_that_no_save_could_hold_refuses_the_start(tmp_path: Path, names, told: str) -> None:
    brain = ScriptedBrain(brain_id=names.get("brain_id", BRAIN_ID))
    settings = PetsSettings(weather_seed=names.get("weather_seed"))
    async with open_store(tmp_path / "pets.sqlite", now_ms=Wall()()) as store:
        with pytest.raises(UnfitName, match=told):
            await Pets(store, [brain], now_ms=Wall(), settings=settings).start()


async def test_a_prompt_version_that_the_engine_does_not_build_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(PromptVersionRefused, match="prompt version 99"):
        async with open_house(tmp_path, brain=ScriptedBrain(prompt_version=99)):
            raise AssertionError("the house does not open")


async def test_pets_of_another_brain_keep_the_host_from_starting_and_stay_as_they_are(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        active, prepared, parked = [Owner(house) for _ in range(3)]
        await active.move_in()
        await prepared.prepare(new_save(house.wall))
        await (await parked.move_in()).park()
        await house.settle()
        before = [await owner.stored() for owner in (active, prepared, parked)]
    async with open_store(tmp_path / "pets.sqlite", now_ms=Wall()()) as store:
        pets = Pets(store, [ScriptedBrain(brain_id="next-1")], now_ms=Wall())
        told = r"^2 active .* than next-1: scripted-1 \(2\).*--from OLD --to next-1"
        with pytest.raises(BrainInUse, match=told) as caught:
            await pets.start()
        assert (2, {BRAIN_ID: 2}) == (caught.value.pets, caught.value.others)
        assert before == [await store.load(owner.pet_id) for owner in (active, prepared, parked)]
        await Pets(store, [ScriptedBrain()], now_ms=Wall()).start()


@pytest.mark.parametrize("now_ms", [0, -1, 2**60])
async def test_a_wall_clock_that_is_plainly_wrong_refuses_the_start(tmp_path: Path, now_ms: int) -> None:
    async with open_store(tmp_path / "pets.sqlite", now_ms=Wall()()) as store:
        with pytest.raises(WallClockRefused):
            await Pets(store, [ScriptedBrain()], now_ms=lambda: now_ms).start()


async def test_a_write_that_somebody_else_won_is_decided_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        carry_out, lost = house.store.carry_out, []

        async def lose_once(pet_id, effects) -> None:
            if not lost:
                lost.append(pet_id)
                raise StaleWrite
            await carry_out(pet_id, effects)

        monkeypatch.setattr(house.store, "carry_out", lose_once)
        await owner.command(STROKE)
        assert [owner.pet_id] == lost


async def test_a_stopping_host_takes_no_change_and_says_so(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        assert house.pets.health().ready
        house.pets.close()
        for work in (owner.say("hi"), owner.park(), owner.delete(), owner.prepare(new_save(house.wall))):
            assert 503 == (await refused("draining", work)).status
        health = house.pets.health()
        assert (False, ("draining",)) == (health.ready, health.reasons)


async def test_pets_leave_memory_and_come_back_unchanged(tmp_path: Path) -> None:
    async with open_house(tmp_path, warm_max=2) as house:
        owners = [await Owner(house).move_in(new_save(house.wall, seed=f"seed-{n}", chatter=0)) for n in range(6)]
        await house.settle()
        assert 2 == house.pets.dispatch.warm
        first = [(await owner.stored(), (await owner.see())["save"]) for owner in owners]
        again = [(await owner.stored(), (await owner.see())["save"]) for owner in owners]
        assert first == again
        assert 2 == house.pets.dispatch.warm
        for owner in owners:
            await owner.park()
        assert (0, 0) == (house.pets.dispatch.warm, len(house.pets.dispatch))


@pytest.mark.parametrize(("pets_max", "prepared"), [(1, 16), (64, 16), (10_000, 2_500)])
def test_a_quarter_of_a_hosts_pets_may_wait_to_be_activated(pets_max: int, prepared: int) -> None:
    assert prepared == prepared_for(pets_max)
