"""Looking at a pet: a view changes nothing, its tag moves with what is seen, a waiting poll wakes."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from host_pets.house import HOUR_MS, MINUTE_MS, Owner, new_save, open_house
from tokenling.host.envelopes import View

MEMBERS = ["id", "status", "epoch", "revision", "save", "effects", "game", "thinking", "error", "serverTime"]


async def look(owner: Owner) -> View:
    view = await owner.look()
    assert view is not None
    return view


async def test_a_view_has_exactly_the_members_of_the_contract(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        seen = await owner.see()
        assert MEMBERS == list(seen)
        assert (owner.pet_id, "active", 1, house.wall.ms) == (
            seen["id"],
            seen["status"],
            seen["epoch"],
            seen["serverTime"],
        )


async def test_a_view_shows_the_pet_as_it_is_now_and_changes_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        stored = await owner.stored()
        house.wall.ms += 20 * MINUTE_MS
        seen = await owner.see()
        assert house.wall.ms // MINUTE_MS * MINUTE_MS == seen["save"]["bodyClockMs"]
        assert stored.revision == seen["revision"]
        assert stored == await owner.stored()
        assert json.loads(stored.save)["bodyClockMs"] < seen["save"]["bodyClockMs"]


@pytest.mark.parametrize("status", ["prepared", "parked"])
async def test_a_pet_that_does_not_live_here_is_shown_as_stored(tmp_path: Path, status: str) -> None:
    async with open_house(tmp_path) as house:
        owner = Owner(house)
        await owner.prepare(new_save(house.wall))
        if status == "parked":
            await owner.park()
        house.wall.ms += HOUR_MS
        seen = await owner.see()
        assert (status, json.loads((await owner.stored()).save)) == (seen["status"], seen["save"])


async def test_the_tag_stays_while_only_meters_tick(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        first = await look(owner)
        house.wall.ms += 1000
        assert first.etag == (await look(owner)).etag
        assert None is await owner.look(etag=first.etag)


async def test_the_tag_is_the_same_after_a_restart(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        before = (await look(owner)).etag
    async with open_house(tmp_path) as house:
        owner.house = house
        await house.settle()
        assert before == (await look(owner)).etag


async def test_the_tag_moves_with_every_visible_change(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        shown: dict[str, dict[str, Any]] = {}
        for _ in range(8 * 60):
            await house.pass_ms(MINUTE_MS)
            view = await look(owner)
            body = json.loads(view.body)
            for ticking in ("serverTime", "revision"):
                body.pop(ticking)
            for ticking in ("body", "bodyClockMs", "minutesLived", "disturbance", "localHour"):
                body["save"].pop(ticking)
            first = shown.setdefault(view.etag, body)
            assert [] == [name for name in body["save"] if body["save"][name] != first["save"].get(name)]
            assert first == body
        assert len(shown) > 10


async def test_thinking_is_seen_from_the_command_until_the_reply_and_not_after(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        house.brain.close_gate()
        await owner.say("hello")
        await house.begin()
        before = await look(owner)
        assert json.loads(before.body)["thinking"] is True
        answered: list[View | None] = []

        async def poll() -> None:
            answered.append(await owner.look(etag=before.etag, wait_s=50))

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(poll)
                await trio.testing.wait_all_tasks_blocked(0.01)
                assert [] == answered
                house.wall.ms += 4 * HOUR_MS  # so that there is more to commit behind the reply
                house.brain.gate.set()
        assert answered[0] is not None
        seen = json.loads(answered[0].body)
        assert seen["thinking"] is False
        assert "pet" == seen["save"]["chat"][-1]["who"]
        await house.settle()


async def test_a_poll_wakes_on_what_another_device_did(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        first, answered = await look(owner), []

        async def poll() -> None:
            answered.append(await owner.look(etag=first.etag, wait_s=50))

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(poll)
                await trio.testing.wait_all_tasks_blocked(0.01)
                await owner.command({"kind": "care", "action": "lamp"})
        assert 5 == len(answered)
        assert all(view is not None and view.etag != first.etag for view in answered)


async def test_a_poll_for_a_parked_pet_ends_with_the_parked_record(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        first, answered = await look(owner), []

        async def poll() -> None:
            answered.append(await owner.look(etag=first.etag, wait_s=50))

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(poll)
                await trio.testing.wait_all_tasks_blocked(0.01)
                await owner.park()
        assert "parked" == json.loads(answered[0].body)["status"]


async def test_a_poll_without_news_ends_at_its_time(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in(new_save(house.wall, chatter=0))
        await house.settle()
        first, began = await look(owner), trio.current_time()
        assert None is await owner.look(etag=first.etag, wait_s=1)
        assert 1 <= trio.current_time() - began < 3


async def test_every_parked_poll_is_answered_at_once_when_the_host_stops(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        owners = [await Owner(house).move_in(new_save(house.wall, chatter=0)) for _ in range(3)]
        parked = await Owner(house).move_in()
        await house.settle()
        await parked.park()
        owners.append(parked)
        tags = [(await look(owner)).etag for owner in owners]
        answered: list[View | None] = []

        async def poll(owner: Owner, etag: str) -> None:
            answered.append(await owner.look(etag=etag, wait_s=50))

        with trio.fail_after(2):
            async with trio.open_nursery() as nursery:
                for owner, etag in zip(owners, tags, strict=True):
                    nursery.start_soon(poll, owner, etag)
                await trio.testing.wait_all_tasks_blocked(0.01)
                house.pets.close()
        assert [None] * 4 == answered
