"""The store against a dictionary: whatever is done in whatever order, both hold the same."""

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio
from faulty_vfs import FaultyVFS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from store_cases import DEVICE, NOW_MS, OTHER_DEVICE, pet_id, prepare

from tokenling.protocol import (
    FULL_ANSWERS_MAX,
    REPLACED_KEPT_MS,
    REPLACED_MAX,
    TURN_RECEIPTS_MAX,
    Activate,
    Apply,
    BuryRecord,
    ChangeKey,
    Delete,
    DropRecord,
    Effect,
    Event,
    Expire,
    ForgetOperations,
    Held,
    KeepOperation,
    KeepReplaced,
    KeepTurnReceipt,
    Live,
    Operation,
    Park,
    Quarantine,
    Rebrain,
    Record,
    Refused,
    Replay,
    Restore,
    Status,
    StoredOperation,
    Tombstone,
    WriteRecord,
    decide,
    pet_digest,
)
from tokenling.store import StaleWrite, Store, open_store

PETS = 3
NAMES = [f"op-{number}" for number in range(4)]


@dataclass
class ModelPet:
    held: Held = None
    operations: dict[str, StoredOperation] = field(default_factory=dict)
    receipts: list[bytes] = field(default_factory=list)
    replaced: list[KeepReplaced] = field(default_factory=list)


class Model:
    """What the store promises, without SQL."""

    def __init__(self) -> None:
        self.pets = {pet_id(number): ModelPet() for number in range(PETS)}

    def carry_out(self, name: str, effects: tuple[Effect, ...]) -> bool:
        """False when the fence does not fit: then nothing is done."""
        pet = self.pets[name]
        if not all(self.fits(pet, effect) for effect in effects):
            return False
        for effect in effects:
            self.apply(pet, name, effect)
        return True

    def fits(self, pet: ModelPet, effect: Effect) -> bool:
        match effect:
            case WriteRecord(_, None):
                return pet.held is None
            case WriteRecord(_, epoch, revision) | DropRecord(epoch, revision):
                return isinstance(pet.held, Record) and (pet.held.epoch, pet.held.revision) == (epoch, revision)
        return True

    def apply(self, pet: ModelPet, name: str, effect: Effect) -> None:
        match effect:
            case WriteRecord(record):
                pet.held = record
            case KeepOperation(operation):
                pet.operations[operation.operation_id] = operation
            case ForgetOperations(before):
                pet.operations = {key: one for key, one in pet.operations.items() if one.epoch >= before}
            case KeepTurnReceipt(receipt):
                pet.receipts = [*pet.receipts, receipt][-TURN_RECEIPTS_MAX:]
            case KeepReplaced():
                pet.replaced = [*pet.replaced, effect][-REPLACED_MAX:]
            case BuryRecord():
                self.pets[name] = ModelPet(Tombstone(pet_digest(name)))
            case DropRecord():
                self.pets[name] = ModelPet()


@dataclass
class Run:
    """One run: the open store, the model beside it, and effects that were decided but come late."""

    path: Path
    store: Store
    model: Model = field(default_factory=Model)
    late: list[tuple[str, tuple[Effect, ...]]] = field(default_factory=list)
    now_ms: int = NOW_MS

    async def carry_out(self, name: str, effects: tuple[Effect, ...]) -> None:
        expected = self.model.carry_out(name, effects)
        try:
            await self.store.carry_out(name, effects)
        except StaleWrite:
            assert not expected
        else:
            assert expected or not effects

    async def check(self) -> None:
        for name, pet in self.model.pets.items():
            assert pet.held == await self.store.load(name)
            for operation in NAMES:
                assert pet.operations.get(operation) == await self.store.find_operation(name, operation)
            assert tuple(pet.receipts) == await self.store.turn_receipts(name)
            assert [one.save for one in pet.replaced] == [one.save for one in await self.store.replaced_saves(name)]
        counts = await self.store.counts()
        records = [pet.held for pet in self.model.pets.values() if isinstance(pet.held, Record)]
        assert counts.by_status == {status: sum(one.status is status for one in records) for status in Status}
        brains = {one.brain_id for one in records}
        assert counts.by_brain == {brain: sum(one.brain_id == brain for one in records) for brain in brains}
        for brain in brains:
            live = {(one.pet_id, one.save) for one in records if one.status is Status.ACTIVE and one.brain_id == brain}
            found = await self.store.live_pets(brain, most=len(records) + 1)
            assert live == {(pet.pet_id, pet.save) for pet in found}


Step = Callable[[Run], Awaitable[None]]


def event_of(kind: str, held: Held, *, number: int, name: str, device: str, save: bytes) -> Event:
    epoch, revision = (held.epoch, held.revision) if isinstance(held, Record) else (1, 1)
    sent = Operation(name, epoch, name.encode().ljust(32))
    return {
        "prepare": prepare(number, save),
        "activate": Activate(sent, device, "sprout-0", save, takeover=save.endswith(b"1")),
        "park": Park(sent, device, save),
        "apply": Apply(sent, save),
        "live": Live(epoch, revision, save, save[:5]),
        "quarantine": Quarantine(epoch, revision, "RuleError"),
        "change key": ChangeKey(sent, save[:1] * 32),
        "delete": Delete(),
        "expire": Expire(),
        "restore": Restore(),
        "rebrain": Rebrain("sprout-1", save),
    }[kind]


KINDS = ["prepare", "activate", "park", "apply", "live", "quarantine", "change key", "expire", "restore", "rebrain"]
SAVES = st.builds(
    lambda letter, size, end: letter * size + end,
    st.sampled_from([b"a", b"b", b"c"]),
    st.sampled_from([5, 100, 5000, 60_000]),
    st.sampled_from([b"0", b"1"]),
)


class StoreMachine(RuleBasedStateMachine):
    """Rules only collect steps; at the end one Trio run does them all, on a store and on the model."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    @rule(
        kind=st.sampled_from(KINDS * 3 + ["delete"]),
        number=st.integers(0, PETS - 1),
        name=st.sampled_from(NAMES),
        device=st.sampled_from([DEVICE, OTHER_DEVICE]),
        save=SAVES,
        later=st.booleans() | st.just(False),
    )
    def something_happens(self, *, kind: str, number: int, name: str, device: str, save: bytes, later: bool) -> None:
        async def step(run: Run) -> None:
            pet = run.model.pets[pet_id(number)]
            event = event_of(kind, pet.held, number=number, name=name, device=device, save=save)
            found = pet.operations.get(name) if hasattr(event, "operation") else None
            try:
                decision = decide(pet.held, event, found=found, now_ms=run.now_ms)
            except Refused:
                return
            if isinstance(decision, Replay):
                return
            effects = decision.answered(name.encode() * 50)
            if later:
                run.late.append((pet_id(number), effects))
            else:
                await run.carry_out(pet_id(number), effects)

        self.steps.append(step)

    @rule()
    def what_was_decided_earlier_arrives_late(self) -> None:
        async def step(run: Run) -> None:
            while run.late:
                await run.carry_out(*run.late.pop())

        self.steps.append(step)

    @rule(hours=st.sampled_from([0, 25, 200]))
    def the_host_tidies_up(self, hours: int) -> None:
        async def step(run: Run) -> None:
            run.now_ms += hours * 3_600_000
            before_ms = run.now_ms - 86_400_000
            for name, pet in run.model.pets.items():
                if isinstance(pet.held, Record):
                    if pet.held.status is Status.PREPARED and pet.held.prepared_at_ms < before_ms:
                        run.model.pets[name] = ModelPet()
                    limit = run.now_ms - REPLACED_KEPT_MS
                    pet.replaced = [one for one in pet.replaced if one.replaced_at_ms >= limit]
            await run.store.expire_prepared(before_ms)
            await run.store.purge_replaced(run.now_ms - REPLACED_KEPT_MS)

        self.steps.append(step)

    @rule(number=st.integers(0, PETS - 1))
    def the_operator_forgets_a_pet(self, number: int) -> None:
        async def step(run: Run) -> None:
            if isinstance(run.model.pets[pet_id(number)].held, Record):
                run.model.pets[pet_id(number)] = ModelPet(Tombstone(pet_digest(pet_id(number))))
                await run.store.forget(pet_digest(pet_id(number))[:12])

        self.steps.append(step)

    @rule()
    def a_backup_is_restored(self) -> None:
        async def step(run: Run) -> None:
            for name, pet in run.model.pets.items():
                if isinstance(pet.held, Record):
                    run.model.carry_out(name, decide(pet.held, Restore(), now_ms=run.now_ms).effects)
            await run.store.park_restored(run.now_ms)

        self.steps.append(step)

    @rule()
    def the_host_restarts(self) -> None:
        self.steps.append(restart)

    def teardown(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            trio.run(play, Path(directory) / "pets.sqlite", self.steps)


async def restart(run: Run) -> None:
    """Marks where `play` closes the store and opens it again."""


async def play(path: Path, steps: list[Step]) -> None:
    vfs = FaultyVFS(really=False)
    run: Run | None = None
    remaining = list(steps)
    while run is None or remaining:
        async with open_store(path, now_ms=run.now_ms if run else NOW_MS, vfs=vfs.vfs_name) as store:
            run = replace(run, store=store) if run else Run(path, store)
            if run.late or remaining != steps:
                limit = run.now_ms - REPLACED_KEPT_MS
                for pet in run.model.pets.values():
                    pet.replaced = [one for one in pet.replaced if one.replaced_at_ms >= limit]
            await run.check()
            while remaining:
                step = remaining.pop(0)
                if step is restart:
                    break
                await step(run)
            await run.check()


TestStoreAgainstModel = StoreMachine.TestCase
TestStoreAgainstModel.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_the_model_need_not_age_answers() -> None:
    """With so few names no answer is old enough to be dropped; test_store_calls covers that."""
    assert len(NAMES) < FULL_ANSWERS_MAX
