"""The app's own decisions in the simulated world: two pages, a host, and everything that can go wrong between them."""

import pytest
from sim_app import AppPage, can_run
from sim_store import ModelStore
from sim_world import run_life

STEPS = 1000
LIVES = 12

pytestmark = pytest.mark.skipif(not can_run(), reason="the app's decisions need node and the app's packages")


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_life_that_the_app_decides_keeps_every_invariant(seed: int) -> None:
    run_life(seed, STEPS, ModelStore(), AppPage)
