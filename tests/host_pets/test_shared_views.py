"""Polls that wake together share one view, and none is shown a state that is over."""

from dataclasses import replace

import pytest
import trio

from host_pets.house import Owner, open_house
from tokenling.host import dispatch_rules as rules
from tokenling.host.dispatch import VIEW_SHARED_MS, Seen
from tokenling.host.envelopes import View
from tokenling.protocol import Record, Status

RECORD = Record(
    pet_id="0b8f2c7e-4a55-4d21-9c3e-6f1b2a3c4d5e",
    key_hash=bytes(32),
    status=Status.ACTIVE,
    epoch=1,
    revision=2,
    brain_id="b",
    save=b"{}",
    device_id=None,
    error=None,
    prepared_at_ms=1,
    changed_at_ms=1,
)
SEEN = Seen(RECORD, False, 1000, View(b"{}", '"a"'))


@pytest.mark.parametrize(
    ("record", "thinking", "now_ms", "shared"),
    [
        (RECORD, False, 1000, True),
        (RECORD, False, 1000 + VIEW_SHARED_MS, True),
        (RECORD, False, 1001 + VIEW_SHARED_MS, False),
        (RECORD, False, 999, False),
        (RECORD, True, 1000, False),
        (replace(RECORD, revision=3), False, 1000, False),
    ],
)
def test_a_view_is_shared_while_record_and_thinking_are_the_same_and_for_a_moment(record, thinking, now_ms, shared):
    assert shared == SEEN.still_shows(record, thinking, now_ms)


async def test_a_view_that_took_long_to_make_is_shared_by_those_who_waited_for_it(tmp_path, monkeypatch):
    async with open_house(tmp_path) as house:
        owner = await Owner(house).move_in()
        await house.settle()
        made = []

        def glimpse_slowly(state, save, now_ms, glimpse=rules.glimpse):
            made.append(now_ms)
            house.wall.ms += 10 * VIEW_SHARED_MS
            return glimpse(state, save, now_ms)

        monkeypatch.setattr(rules, "glimpse", glimpse_slowly)
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(owner.look)
    assert len(made) == 1
