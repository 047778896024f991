"""The app's own decisions in the simulated world: two pages, a host, and everything that can go wrong between them."""

from typing import Any

import pytest
from sim_app import AppPage, can_run
from sim_ledger import Broken
from sim_store import ModelStore
from sim_world import run_life

STEPS = 1000
LIVES = 12
SABOTAGED_LIVES_MAX = 200

pytestmark = pytest.mark.skipif(not can_run(), reason="the app's decisions need node and the app's packages")


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_life_that_the_app_decides_keeps_every_invariant(seed: int) -> None:
    run_life(seed, STEPS, ModelStore(), AppPage)


class ForgetsStops(AppPage):
    """Recovers without a stop: the host's copy lives on."""

    def _decide(self, act: str, **given: Any) -> Any:
        then = super()._decide(act, **given)
        if act == "recover":
            self.row = {**self.row, "stops": []}
            self._decide("look", answer={"status": 404})
        return then


class OverwritesItself(AppPage):
    """Takes the host's save for its own whenever it looks around."""

    def _decide(self, act: str, **given: Any) -> Any:
        if act == "look" and given["answer"].get("save"):
            newest = {**self.row["kept"]["checkpoints"][0], "save": given["answer"]["save"]}
            self.row = {**self.row, "kept": {"v": 1, "checkpoints": [newest]}}
        return super()._decide(act, **given)


@pytest.mark.parametrize(
    ("page", "checker"), [(ForgetsStops, "OneExecutor"), (OverwritesItself, "LocalProgressIsKept")]
)
def test_a_sabotaged_page_is_noticed(page: type[AppPage], checker: str) -> None:
    with pytest.raises(Broken, match=checker):
        run_lives(page)


def run_lives(page: type[AppPage]) -> None:
    for seed in range(SABOTAGED_LIVES_MAX):
        run_life(seed, STEPS, ModelStore(), page)
