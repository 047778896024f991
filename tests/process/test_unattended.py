"""A pet that nobody looks at lives on. Its home was started before all other process tests (conftest.py)."""

import sqlite3
import time
from contextlib import closing

from home_process import Owner

TURN_S_MAX = 180.0
"""Until it is due, over a minute from the start of the room, and for a turn of the shipped brain on a busy machine."""


def test_a_pet_does_something_of_its_own_while_nobody_asks(unattended):
    await_a_turn(unattended.home.state / "pets.sqlite")  # no request of anyone's
    with Owner(unattended.home, pet_id=unattended.pet_id, key=unattended.key) as owner:
        receipts = owner.receipts()
        assert len(receipts) >= 1, "a turn ran before anyone looked"
        view = owner.view()
        assert view["revision"] > unattended.revision
        assert view["save"]["slotMs"] >= unattended.due_ms
    assert unattended.home.stop()[0] == 0


def await_a_turn(path):
    """Until the database of the running host holds a turn's receipt."""
    until = time.monotonic() + TURN_S_MAX
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        while not database.execute("SELECT count(*) FROM turn_receipts").fetchone()[0]:
            assert time.monotonic() < until, "no turn ran while nobody asked"
            time.sleep(0.2)
