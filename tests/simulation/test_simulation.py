"""Two pages, a host and everything that can go wrong between them: whatever the dice choose, the invariants hold.

Each life is a seed; a life that breaks an invariant tells its seed and its last steps. `campaign.py` runs more of them.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sim_host
from sim_browser import Browser
from sim_ledger import Broken
from sim_store import ModelStore, RealStore
from sim_values import Answer
from sim_world import World, run_life

from tokenling.protocol import BuryRecord, Decision, Effect, Record, StoredOperation, WriteRecord, decide

STEPS = 1000
MODEL_LIVES, REAL_LIVES = 60, 20
SABOTAGED_LIVES_MAX = 400


@pytest.mark.parametrize("seed", range(MODEL_LIVES))
def test_a_life_keeps_every_invariant(seed: int) -> None:
    run_life(seed, STEPS, ModelStore())


@pytest.mark.parametrize("seed", range(REAL_LIVES))
def test_a_life_on_the_real_store_keeps_every_invariant(seed: int, tmp_path: Path) -> None:
    run_life(seed, STEPS, RealStore(tmp_path))


def test_the_real_store_and_its_model_lead_to_the_same_life(tmp_path: Path) -> None:
    real, model = run_life(7, STEPS, RealStore(tmp_path)), run_life(7, STEPS, ModelStore())
    assert real.trace == model.trace
    assert real.ledger.records == model.ledger.records


def test_a_seed_is_one_life() -> None:
    one, again = run_life(11, STEPS, ModelStore()), run_life(11, STEPS, ModelStore())
    assert (one.trace, one.ledger.records) == (again.trace, again.ledger.records)
    assert one.ledger.commits > 0


def test_the_default_lives_pass_through_every_kind_of_event() -> None:
    seen: set[str] = set()
    for seed in range(MODEL_LIVES):
        seen |= run_life(seed, STEPS, ModelStore()).ledger.kinds
    assert {"Prepare", "Activate", "Park", "Apply", "Live", "Quarantine", "ChangeKey", "Delete", "Restore"} == seen


# Each invariant can fail: a sabotaged part, and the checker that must name it.


class NoFence(ModelStore):
    """Writes whatever it is given."""

    def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if hasattr(effect, "expect_epoch") and hasattr(effect, "record"):
                self._held[pet_id] = effect.record
            else:
                self._carry_out(pet_id, effect)


class NoReceipts(ModelStore):
    """Forgets what was asked of it."""

    def find_operation(self, pet_id: str, operation_id: str) -> StoredOperation | None:
        return None


class LosesTheLast(ModelStore):
    """Acknowledges before the disk has it: a crash takes the last change."""

    def carry_out(self, pet_id: str, effects: tuple[Effect, ...]) -> None:
        self._last = (pet_id, self._held.get(pet_id))
        super().carry_out(pet_id, effects)

    def reopen(self) -> None:
        pet_id, before = getattr(self, "_last", ("", None))
        if before is not None:
            self._held[pet_id] = before


class NoTombstone(ModelStore):
    """Forgets a deleted pet altogether."""

    def _carry_out(self, pet_id: str, effect: Effect) -> None:
        if isinstance(effect, BuryRecord):
            self._held.pop(pet_id, None)
            self._operations.pop(pet_id, None)
        else:
            super()._carry_out(pet_id, effect)


def park_without_a_new_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    wrap_decision(monkeypatch, lambda decided, held: replace(decided, epoch=held.epoch))


def skip_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    wrap_decision(monkeypatch, lambda decided, held: replace(decided, revision=held.revision + 2))


def wrap_decision(monkeypatch: pytest.MonkeyPatch, change: Callable[[Record, Record], Record]) -> None:
    """Let the host carry out decisions whose record `change` has made another."""

    @functools.wraps(decide)
    def changed(held: object, event: object, **rest: object) -> object:
        decided = decide(held, event, **rest)
        if not isinstance(decided, Decision) or not isinstance(held, Record) or decided.record in {None, held}:
            return decided
        record = change(decided.record, held)
        effects = tuple(
            replace(effect, record=record) if isinstance(effect, WriteRecord) else effect for effect in decided.effects
        )
        return replace(decided, record=record, effects=effects)

    monkeypatch.setattr(sim_host, "decide", changed)


def run_while_moving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "running", property(lambda page: page.disk.mode == "local"))


def let_a_stop_overwrite(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Browser._stop_answered

    def overwritten(page: Browser, stop: object, answer: Answer) -> None:
        if answer.status == 200:
            page.write(replace(page.disk, save=answer.save))
        answered(page, stop, answer)

    monkeypatch.setattr(Browser, "_stop_answered", overwritten)


def never_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "retry", lambda page: None)


def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    pass


@pytest.mark.parametrize(
    ("broken", "store", "sabotage"),
    [
        ("FencedWritesAreRefused", NoFence, untouched),
        ("NothingIsAppliedTwice", NoReceipts, untouched),
        ("NothingAcknowledgedIsLost", LosesTheLast, untouched),
        ("DeletionIsFinal", NoTombstone, untouched),
        ("RevisionsAndEpochsNeverGoBack", ModelStore, park_without_a_new_epoch),
        ("RevisionsAndEpochsNeverGoBack", ModelStore, skip_a_revision),
        ("OneExecutor", ModelStore, run_while_moving),
        ("LocalProgressIsKept", ModelStore, let_a_stop_overwrite),
        ("WhenFaultsStopAllSettles", ModelStore, never_repeat),
    ],
)
def test_each_invariant_is_broken_by_its_own_sabotage_and_the_seed_is_told(
    broken: str, store: type[ModelStore], sabotage: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch)
    found: dict[str, tuple[int, Broken]] = {}
    for seed in range(SABOTAGED_LIVES_MAX):
        try:
            run_life(seed, STEPS, store())
        except Broken as error:
            found.setdefault(str(error).partition(":")[0], (seed, error))
        if broken in found:
            break
    assert broken in found, f"{broken} did not notice: {sorted(found)}"
    seed, error = found[broken]
    assert error.__notes__[0].startswith(f"seed {seed}, weather"), error.__notes__


def test_a_world_without_faults_loses_no_message() -> None:
    world = World(3, ModelStore())
    world.calm = True
    world.pages[0].move_out()
    world._drain()
    assert ("remote", "active") == (world.pages[0].disk.mode, world.pages[0].status)
