"""`kill -9` at named and at random points of a real host on a real file: what was told is so, and happens once.

`python tests/crash/kill_campaign.py --state FILE` runs more of the random ones, by hand.
"""

import os
import random
import threading
from pathlib import Path

import apsw
import pytest
from crash_home import Home, Owner, Zygote, home

WISHES_MAX = 40
PARTED_LOOKED_AT = 5
"""Deleted pets looked at after each kill; all of them after the last."""
POINTS = {
    "in_a_write": (1, 4, 15),
    "before_the_commit": (1, 2, 5, 9),
    "after_the_commit_before_the_reply": (1, 2, 4, 7),
    "in_a_checkpoint": (1, 3, 8),
}
"""Killing points while owners ask for things, and before which call of the kind each: 14 kills."""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def assert_whole(state: Path) -> None:
    connection = apsw.Connection(str(state / "pets.sqlite"))
    try:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        assert connection.execute("PRAGMA foreign_key_check").get is None
    finally:
        connection.close()


def check_after(zygote: Zygote, state: Path, *owners: Owner, **order: object) -> None:
    """The next start finds all that was told, and the file is whole."""
    with home(zygote, state, **order) as again:
        assert again.address is not None
        for owner in owners:
            owner.check(again.address)
        assert again.stop() == 0
    assert_whole(state)


@pytest.mark.parametrize(("point", "nth"), [(point, nth) for point, nths in POINTS.items() for nth in nths])
def test_a_kill_at_a_named_point_loses_nothing_told_and_repeats_nothing(
    point: str, nth: int, zygote: Zygote, state: Path
) -> None:
    with home(zygote, state) as first:
        assert first.address is not None
        owner = Owner()
        assert owner.live(first.address, 4)
        assert first.stop() == 0
    with home(zygote, state, point=point, nth=nth) as dying:
        if dying.address is not None:
            owner.live(dying.address, WISHES_MAX)
        assert dying.wait() == -9, "the point was never reached"
    check_after(zygote, state, owner)


@pytest.mark.parametrize("nth", [1, 3, 6])
def test_a_kill_in_a_migration_leaves_the_old_schema_or_the_new_one(nth: int, zygote: Zygote, state: Path) -> None:
    with home(zygote, state) as first:
        assert first.address is not None
        owner = Owner()
        owner.live(first.address, 4)
        first.kill()
        first.wait()
    with home(zygote, state, point="in_a_migration", nth=nth) as dying:
        assert dying.wait() == -9, "the point was never reached"
    check_after(zygote, state, owner, next_schema=True)


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_a_kill_in_shutdown_loses_nothing(nth: int, zygote: Zygote, state: Path) -> None:
    with home(zygote, state, point="in_shutdown", nth=nth) as dying:
        assert dying.address is not None
        owner, parting = Owner(), Owner()
        parting.live(dying.address, 2)
        parting.ask(dying.address, parting.wish("delete"))
        owner.live(dying.address, 5)
        assert dying.stop() == -9, "the point was never reached"
    check_after(zygote, state, owner, parting)


def live_until_killed(dying: Home, owners: list[Owner], dice: random.Random) -> None:
    """Owners ask, and after a random while the host is gone."""
    after_s = dice.uniform(0.0, 0.12)
    timer = threading.Timer(after_s, dying.kill)
    timer.start()
    try:
        if dying.address is not None:
            threads = [threading.Thread(target=owner.live, args=(dying.address, WISHES_MAX)) for owner in owners]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        timer.join()
    assert dying.wait() == -9


def random_life(zygote: Zygote, state: Path, kills: int, seed: int, *, drop: bool) -> None:
    """One state directory through so many kills; each time a pet is deleted and a new one moves in."""
    dice = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    owners = [Owner(), Owner()]
    parted: list[Owner] = []
    for number in range(kills):
        order = {"dice": seed + number} if drop else {}
        with home(zygote, state, **order) as dying:
            live_until_killed(dying, owners, dice)
        with home(zygote, state) as again:
            assert again.address is not None
            looked_at = parted if number == kills - 1 else dice.sample(parted, min(len(parted), PARTED_LOOKED_AT))
            for owner in (*owners, *looked_at):
                owner.check(again.address)
            leaving = owners.pop(0)
            if leaving.wishes:
                leaving.ask(again.address, leaving.wish("delete"))
                parted.append(leaving)
            owners.append(Owner())
            again.kill()
            again.wait()
        assert_whole(state)


@pytest.fixture
def seed() -> int:
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    return seed


def test_kills_at_random_moments_lose_nothing_told(zygote: Zygote, state: Path, seed: int) -> None:
    random_life(zygote, state, 10, seed, drop=False)


def test_a_disk_that_drops_what_was_not_synced_loses_nothing_told(zygote: Zygote, state: Path, seed: int) -> None:
    random_life(zygote, state, 20, seed, drop=True)
