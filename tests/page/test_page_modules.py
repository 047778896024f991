"""Decisions of the page's own modules, in the browser that runs them."""

import pytest

MODULE = """async ([name, call, args]) => (await import(`/app/${name}`))[call](...args)"""


def ask(owner, name, call, *args):
    return owner.page.evaluate(MODULE, [name, call, list(args)])


def stamp(epoch, revision, at_ms):
    return {"epoch": epoch, "revision": revision, "atMs": at_ms}


ADDRESSES = {
    "https://pets.example/": True,
    "http://127.0.0.1:8460/": True,
    "http://127.1.2.3/": True,
    "http://localhost:8460/": True,
    "http://[::1]:8460/": True,
    "http://192.168.0.7:8460/": False,
    "http://127.0.0.1.evil.example/": False,
    "http://localhost.evil.example/": False,
    "file:///tmp/index.html": False,
}


def test_a_key_travels_over_https_or_inside_this_machine_only(guest):
    judge = """async (urls) => {
      const { isPrivate } = await import("/app/api.js");
      return Object.fromEntries(urls.map((url) => [url, isPrivate(new URL(url))]));
    }"""
    assert guest.page.evaluate(judge, list(ADDRESSES)) == ADDRESSES


@pytest.mark.parametrize(
    ("older", "a", "b"),
    [
        (True, stamp(1, 9, 9), stamp(2, 1, 1)),
        (True, stamp(2, 1, 9), stamp(2, 2, 1)),
        (True, stamp(2, 2, 1), stamp(2, 2, 2)),
        (False, stamp(2, 2, 2), stamp(2, 2, 2)),
        (False, stamp(3, 1, 1), stamp(2, 9, 9)),
    ],
)
def test_snapshots_are_ordered_by_epoch_revision_and_clock(guest, older, a, b):
    assert older is ask(guest, "records.js", "isOlder", a, b)


def test_checkpoints_are_three_and_reach_back_hours(guest):
    hour = 3_600_000
    kept = None
    for minute in range(0, 60 * 7, 10):
        kept = ask(guest, "records.js", "withCheckpoint", kept, {**stamp(1, minute, minute * 60_000), "save": {}})
    ages = [round((410 * 60_000 - one["atMs"]) / hour, 1) for one in kept["checkpoints"]]
    assert len(ages) == 3
    assert ages[0] == 0
    assert ages[1] < ages[2]
    assert 1 <= ages[2] <= 2


def test_an_older_snapshot_never_replaces_a_checkpoint(guest):
    kept = {"v": 1, "checkpoints": [{**stamp(2, 5, 100), "save": {"n": 1}}]}
    assert kept == ask(guest, "records.js", "withCheckpoint", kept, {**stamp(1, 9, 200), "save": {"n": 2}})


def test_the_ball_is_caught_inside_the_ring_only(guest):
    caught = [ask(guest, "catch.js", "isCaught", x / 100) for x in (0, 40, 50, 52, 62, 72, 74, 99)]
    assert caught == [False, False, False, True, True, True, False, False]
