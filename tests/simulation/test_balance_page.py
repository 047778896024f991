"""docs/balance.md shows the integers that the engine lives by, and figures that its own lives gave."""

import struct
from functools import cache

import pytest

from tokenling.engine import balance
from tools.simulate_life.figures import figures_of
from tools.simulate_life.owners import ABSENT, ATTENTIVE, BUSY, OWNERS, START_MS
from tools.simulate_life.page import IMAGES, PAGE, drawn, integers, simulated
from tools.simulate_life.words import scripted

IMAGE_BYTES_MAX = 150_000


@cache
def lives():
    return simulated(scripted)


def test_the_page_is_what_the_engine_and_its_lives_say():
    assert drawn(PAGE.read_text(), lives()) == PAGE.read_text()


def test_every_integer_of_the_balance_is_on_the_page():
    table = integers()
    names = [name for name in vars(balance) if name.isupper() and not name.startswith("_")]
    assert len(names) > 50
    assert [] == [name for name in names if f"| `{name}` |" not in table]


@pytest.mark.parametrize("owner", [ATTENTIVE, BUSY, ABSENT], ids=lambda owner: owner.name)
def test_each_plot_is_a_picture_that_is_shown_and_small(owner):
    path = IMAGES / f"balance-{owner.name}.png"
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) <= IMAGE_BYTES_MAX
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 800
    assert height >= 600
    assert f"](images/{path.name})" in PAGE.read_text()


def test_a_pet_asks_two_or_three_times_a_day_at_most_four():
    assert 2 <= figures_of(lives()["busy"]).asks_a_day <= 3.5
    assert figures_of(lives()["attentive"]).asks_a_day <= 3
    assert max(figures_of(lives()[owner.name]).asks_most for owner in OWNERS) <= 4


def test_an_absent_owner_is_not_called_after_three_days():
    for life in lives()["absent"]:
        last_visit = max(at_ms for at_ms in life.visits if at_ms < START_MS + 3 * 86_400_000)
        calls = [at_ms for at_ms, _ in life.wants if last_visit < at_ms < last_visit + 10 * 86_400_000]
        assert calls
        assert max(calls) <= last_visit + 3 * 86_400_000


def test_each_day_of_a_life_has_its_page():
    for owner in OWNERS:
        assert (len(owner.days), len(owner.days)) == figures_of(lives()[owner.name]).pages
