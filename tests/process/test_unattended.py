"""A pet that nobody looks at lives on. Its home was started before all other process tests (conftest.py)."""

import time

from home_process import Owner
from saves import now_ms

SETTLED_MS = 4_000
"""A turn of the shipped brain, on a loaded machine."""


def test_a_pet_does_something_of_its_own_while_nobody_asks(unattended):
    wait_ms = unattended.due_ms + SETTLED_MS - now_ms()
    time.sleep(max(0, wait_ms) / 1000)  # no request of anyone's: there is nothing to wait on
    with Owner(unattended.home, pet_id=unattended.pet_id, key=unattended.key) as owner:
        receipts = owner.receipts()
        assert len(receipts) >= 1, "a turn ran before anyone looked"
        view = owner.view()
        assert view["revision"] > unattended.revision
        assert view["save"]["slotMs"] >= unattended.due_ms
    assert unattended.home.stop()[0] == 0
