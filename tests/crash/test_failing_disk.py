"""Every call to the disk in one workload fails, once and for good: the host says so, keeps its word, and recovers."""

from pathlib import Path

import apsw
import httpx
import pytest
from crash_home import Owner, Wish
from failing_house import FailingHouse, failing_house

CALLS_MAX = 400
PLAN = ("prepare", "activate", "say", "park", "delete")


def answer_of(owner: Owner, wish: Wish, body: dict[str, object] | None) -> None:
    owner.wishes.append(wish)
    owner.told(wish, body or {})


async def live(house: FailingHouse, *, lasting: bool) -> int:
    """One pet's short life; each wish that meets the fault is repeated once the fault is over. How many met it."""
    owner, met = Owner(), 0
    for kind in PLAN:
        wish = owner.wish(kind)
        answer = await house.send(owner, wish)
        wish_met = answer.status_code == 503
        if wish_met:
            met += 1
            await check_unavailable(house, answer, lasting=lasting)
            house.order.at = 0
            answer = await house.send(owner, wish)
            if kind == "delete" and answer.status_code == 404:
                answer_of(owner, wish, None)  # it was kept after all
                continue
            assert (await house.client.get("/api/health")).status_code == 200, "it recovered with its first commit"
        assert answer.status_code in {200, 201, 204}, (kind, answer.status_code, answer.text)
        answer_of(owner, wish, answer.json() if answer.content else None)
        if kind == "park" or (kind != "delete" and wish_met):
            await check_told(house, owner)
    assert (await house.view(owner)).status_code == 404
    again = await house.send(owner, owner.wish("prepare"))
    assert (410, "pet_deleted") == (again.status_code, again.json()["code"])
    return met


async def check_unavailable(house: FailingHouse, answer: httpx.Response, *, lasting: bool) -> None:
    assert answer.json()["code"] == "unavailable"
    assert int(answer.headers["Retry-After"]) >= 1
    if lasting:
        health = await house.client.get("/api/health")
        assert (503, ["store_failing"]) == (health.status_code, health.json()["reasons"])


async def check_told(house: FailingHouse, owner: Owner) -> None:
    seen = (await house.view(owner)).json()
    assert (seen["epoch"], seen["revision"]) >= (owner.epoch, owner.revision)
    said = [line["text"] for line in seen["save"]["chat"] if line["who"] == "owner"]
    assert [wish.text for wish in owner.wishes if wish.text] == said


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for_good"])
@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "short"])
async def test_whichever_call_fails_the_host_says_503_keeps_its_word_and_recovers(
    kind: str, lasting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with failing_house(tmp_path, monkeypatch) as house:
        refused = 0
        for at in range(1, CALLS_MAX):
            house.order.give(at, kind, lasting=lasting)
            refused += await live(house, lasting=lasting)
            if not house.order.struck:
                break
        else:
            raise AssertionError("the workload never ended")
        assert at > 30, "the disk was hardly used"
        assert refused >= at // 2, "most failures are an owner's to hear of"
    connection = apsw.Connection(str(tmp_path / "pets.sqlite"))
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()


async def test_while_the_disk_fails_reading_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with failing_house(tmp_path, monkeypatch) as house:
        owner = Owner()
        for kind in ("prepare", "activate"):
            wish = owner.wish(kind)
            answer_of(owner, wish, (await house.send(owner, wish)).json())
        house.order.give(1, "EIO", lasting=True)
        for _ in range(3):
            assert (await house.send(owner, owner.wish("say"))).status_code == 503
            assert (await house.view(owner)).status_code == 200
        assert (await house.client.get("/api/health")).json()["reasons"] == ["store_failing"]
