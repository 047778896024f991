"""Clients that vanish in the middle of a commit, and fifty that ask for the same thing at once."""

import threading
from pathlib import Path

import httpx
import pytest
import trio
from crash_home import Owner, Wish
from failing_house import FailingHouse, failing_house

CROWD = 50
PATIENCE_S = 20.0


class Gate:
    """A disk that stops at its next sync, in the middle of a commit, until it is opened."""

    def __init__(self, house: FailingHouse) -> None:
        self._order = house.order
        self._before = house.order.hold
        self.opened = threading.Event()
        self.reached = threading.Event()

    def close(self) -> None:
        self.opened.clear()
        self.reached.clear()
        self._order.hold = self._stop

    def open(self) -> None:
        self._order.hold = self._before
        self.opened.set()

    def _stop(self, kind: str) -> None:
        if kind == "sync":
            self.reached.set()
            self.opened.wait(PATIENCE_S)


async def move_in(house: FailingHouse) -> Owner:
    owner = Owner()
    for kind in ("prepare", "activate"):
        wish = owner.wish(kind)
        answer = await house.send(owner, wish)
        assert answer.is_success
        owner.told(wish, answer.json())
    return owner


async def send_and_vanish(house: FailingHouse, owner: Owner, wish: Wish, gate: Gate) -> None:
    """The connection is cut while the commit of the wish is on its way to the disk."""
    gate.close()
    async with trio.open_nursery() as nursery:

        async def send() -> None:
            async with httpx.AsyncClient(base_url=house.client.base_url, timeout=60, trust_env=False) as client:
                headers = {"Authorization": f"Bearer {owner.key}"}
                await client.request(wish.method, wish.path, json=wish.body, headers=headers)

        nursery.start_soon(send)
        assert await trio.to_thread.run_sync(gate.reached.wait, PATIENCE_S)
        nursery.cancel_scope.cancel()
    await trio.testing.wait_all_tasks_blocked(0.01)  # the host has seen that the client is gone
    gate.open()


async def settled_view(house: FailingHouse, owner: Owner) -> dict:
    """The view once the pet thinks no more."""
    etag = ""
    with trio.fail_after(PATIENCE_S):
        while True:
            headers = {"Authorization": f"Bearer {owner.key}"} | ({"If-None-Match": etag} if etag else {})
            answer = await house.client.get(owner.path, params={"wait": 5} if etag else None, headers=headers)
            if answer.status_code == 200:
                view, etag = answer.json(), answer.headers["ETag"]
                if not view["thinking"] and view["save"]["chat"][-1]["who"] == "pet":
                    return view


@pytest.mark.parametrize("kind", ["say", "care", "park"])
async def test_a_client_that_vanishes_in_a_commit_finds_it_whole_and_its_repeat_replayed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with failing_house(tmp_path, monkeypatch) as house:
        owner = await move_in(house)
        gate = Gate(house)
        wish = owner.wish(kind)
        await send_and_vanish(house, owner, wish, gate)
        view = (await house.view(owner)).json()
        assert [wish.text] * (kind == "say") == [
            line["text"] for line in view["save"]["chat"] if line["who"] == "owner"
        ]
        assert ("parked" if kind == "park" else "active") == view["status"]
        repeated = await house.send(owner, wish)
        assert (200, True) == (repeated.status_code, repeated.json()["replayed"])


async def test_a_pet_answers_an_owner_who_vanished_while_the_words_were_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with failing_house(tmp_path, monkeypatch) as house:
        owner = await move_in(house)
        await send_and_vanish(house, owner, owner.wish("say"), Gate(house))
        view = await settled_view(house, owner)
        assert ["owner", "pet"] == [line["who"] for line in view["save"]["chat"]][-2:]


async def test_fifty_identical_operations_at_once_have_one_effect_and_one_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with failing_house(tmp_path, monkeypatch) as house:
        owner = await move_in(house)
        for kind in ("say", "park", "activate", "say"):
            wish, answers = owner.wish(kind), []

            async def send(wish: Wish = wish, answers: list[httpx.Response] = answers) -> None:
                answers.append(await house.send(owner, wish))

            async with trio.open_nursery() as nursery:
                for _ in range(CROWD):
                    nursery.start_soon(send)
            assert [200] * CROWD == [answer.status_code for answer in answers]
            bodies = [answer.json() for answer in answers]
            assert 1 == len([body for body in bodies if not body["replayed"]])
            assert 1 == len({answer.content.partition(b",")[2] for answer in answers}), "but for `replayed`, one body"
            owner.wishes.append(wish)
            owner.told(wish, bodies[0])
        view = await settled_view(house, owner)
        said = [line["text"] for line in view["save"]["chat"] if line["who"] == "owner"]
        assert [wish.text for wish in owner.wishes if wish.text] == said
