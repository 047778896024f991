"""The service behind the API: who may do what to which pet, and what they are answered.

Every method checks in the design's order: key, parse, operation receipt, epoch, state, apply. What follows from an
event is decided by `protocol.decide`; what a command does, by the engine; this module joins the two, commits through
`Dispatch`, and hands the pet to the `Executor`.
"""

import hmac
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

import structlog
import trio

from tokenling import engine
from tokenling.engine import Command, JsonValue, State, Step
from tokenling.host import dispatch_rules as rules
from tokenling.host import pets_answers as answers
from tokenling.host import pets_refusals as refusals
from tokenling.host.brain_process import BrainProcess
from tokenling.host.dispatch import WARM_BYTES_MAX, WARM_MAX, Dispatch, Resident, Seen
from tokenling.host.dispatch_faults import BrainInUse, PromptVersionRefused, RulesFailed, UnfitName, checked_clock
from tokenling.host.dispatch_rules import Glimpse
from tokenling.host.envelopes import Envelope, Health, KeyChange, Prepared, TransferRequest, View, WorkerHealth
from tokenling.host.executor import Executor
from tokenling.host.ports import Generator, Gpu
from tokenling.host.tallies import Life
from tokenling.host.worker import workers_of
from tokenling.protocol import (
    PREPARED_KEPT_MS,
    PREPARED_MAX,
    REPLACED_KEPT_MS,
    Activate,
    Apply,
    Ask,
    ChangeKey,
    Decision,
    Delete,
    Occupancy,
    Operation,
    OwnerOperation,
    Park,
    Prepare,
    Record,
    RefusalCode,
    Refused,
    Replay,
    Status,
    decide,
)
from tokenling.runtime import may_read_prompts
from tokenling.store import StaleWrite, Store, StoreFailed

Work: TypeAlias = Callable[[Resident, Record], Awaitable[bytes]]

PETS_MAX = 64
"""Pets held at once, parked ones included (the seed's default)."""
DECISIONS_MAX = 3
"""How often an owner's wish is decided anew when the row changed under it, which only maintenance can do."""
LARGE_SAVE_BYTES = 16_384
"""A larger upload is checked in a thread, one at a time: 99 KB of many small values took the loop 0.12 s."""
HOUSEKEEPING_S = 600.0
"""How often the store is looked through for what has waited too long: fine beside terms of a day and a week."""

COOLING_S = 15.0
"""How often pets leave memory whose owners have left: fine beside the minute that they stay."""

log = structlog.stdlib.get_logger(__name__)


def prepared_for(pets_max: int) -> int:
    """How many pets may wait to be activated on a host of so many: a quarter, as of the default 64."""
    return max(PREPARED_MAX, pets_max // 4)


@dataclass(frozen=True, slots=True)
class PetsSettings:
    """What the operator decides about pets. `weather_seed` None or "" leaves each pet its own weather."""

    pets_max: int = PETS_MAX
    prepared_max: int = PREPARED_MAX
    warm_max: int = WARM_MAX
    warm_bytes_max: int = WARM_BYTES_MAX
    weather_seed: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A save that an owner sent: the brain it selects, and the state and save that will live here."""

    brain_id: str
    state: State
    save: bytes


class Pets:
    """The pets of this host. `start`, then `serve` in the root nursery; `close` ends it.

    `generators` are the lanes of one brain on the CPU, `gpu` the same brain's on a GPU, `process` where they run when
    not here. `now_ms` is the wall clock in milliseconds since the epoch.
    """

    def __init__(
        self,
        store: Store,
        generators: Sequence[Generator],
        *,
        now_ms: Callable[[], int],
        settings: PetsSettings | None = None,
        gpu: Gpu | None = None,
        process: BrainProcess | None = None,
    ) -> None:
        self._settings = settings or PetsSettings()
        self._process = process
        self._store = store
        self._now_ms = checked_clock(now_ms)
        self._brain = generators[0]
        chosen = self._settings
        self.dispatch = Dispatch(
            store, self._brain.brain_id, warm_max=chosen.warm_max, warm_bytes_max=chosen.warm_bytes_max
        )
        self._queue, self._workers = workers_of(generators, gpu)
        self.executor = Executor(self.dispatch, self._queue, self._now_ms, lanes=self._queue.lanes)
        self._uploads = trio.CapacityLimiter(1)
        self._newcomers = trio.CapacityLimiter(1)
        self._serving = trio.CancelScope()
        self._closing = False
        self._started = False

    # Life and death of the service.

    async def start(self) -> None:
        """Refuse what this brain cannot run. Reads no save and changes nothing in the store."""
        if not may_read_prompts(self._brain.prompt_version, engine.PROMPT_VERSION):
            raise PromptVersionRefused(self._brain.brain_id, self._brain.prompt_version, engine.PROMPT_VERSION)
        self._check_names()
        hosted = (await self._store.counts()).hosted_by_brain
        others = {brain: pets for brain, pets in hosted.items() if brain != self._brain.brain_id and pets}
        if others:
            raise BrainInUse(self._brain.brain_id, others)
        self._started = True

    def _check_names(self) -> None:
        seed = self._settings.weather_seed or ""
        try:
            rules.check_house(brain_id=self._brain.brain_id, weather_seed=seed, now_ms=self._now_ms())
        except engine.CommandRefused as refused:
            raise UnfitName(refused.path) from None

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the clock, the executor and the workers until `close`. A commit under way is finished first."""
        assert self._started, "start comes before serve"
        if self._closing:
            task_status.started()
            return
        with self._serving:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.executor.serve)
                nursery.start_soon(self._keep_house)
                nursery.start_soon(self._keep_cool)
                for worker in self._workers:
                    nursery.start_soon(worker.run)
                task_status.started()

    def close(self) -> None:
        """Take no more, answer every waiting poll now, cancel the turns. `serve` returns when commits are done."""
        self._closing = True
        for pet in self.dispatch.residents():
            pet.tell()
        self._serving.cancel()

    def health(self) -> Health:
        """What the host can do now."""
        failing = self._store.failing
        reasons = (
            *(("draining",) if self._closing else ()),
            *(() if self._started else ("starting",)),
            *(() if failing is None else ("store_failing",)),
            *(("brain_down",) if self._is_brain_down else ()),
        )
        workers = tuple(self._shown(worker.health()) for worker in self._workers)
        waiting = len(self._queue) + (self._queue.taken if self._is_brain_down else 0)
        return Health(not reasons, reasons, workers, self._settings.pets_max, turns_waiting=waiting)

    @property
    def _is_brain_down(self) -> bool:
        """Whether its process is being started again: what the lanes have taken waits for the next one."""
        return self._process is not None and not self._process.is_up

    def _shown(self, worker: WorkerHealth) -> WorkerHealth:
        """A worker whose process is being started again has failed for now."""
        return replace(worker, state="failed") if self._is_brain_down and worker.state != "disabled" else worker

    def life(self) -> Life:
        """How the pets' own lives go, for the metrics."""
        life = Life(self.executor.turns, self.executor.due, self.executor.scheduled, self.dispatch.warm)
        brain = self._process
        return life if brain is None else replace(life, brain_restarts=brain.restarts, brain_pid=brain.pid)

    async def _keep_house(self) -> None:
        """Let go what has waited too long: pets that nobody activated, saves that a takeover replaced."""
        while True:
            now = self._now_ms()
            try:
                expired = await self._store.expire_prepared(now - PREPARED_KEPT_MS)
                purged = await self._store.purge_replaced(now - REPLACED_KEPT_MS)
            except StoreFailed as failure:
                log.warning("the house was not kept", code=failure.code)
            else:
                log.debug("the house was kept", expired=expired, purged=purged)
            await trio.sleep(HOUSEKEEPING_S)

    async def _keep_cool(self) -> None:
        """Let the pets out of memory whose owners have left: one timer for all of them."""
        while True:
            await trio.sleep(COOLING_S)
            self.dispatch.cool_idle()

    # Owners' requests.

    async def prepare(self, key_hash: bytes, pet_id: str, save: bytes) -> Prepared:
        """Hold an inactive save under a new id, or say what stands there when id and key are known already."""
        self._refuse_when_closing()
        upload = await self._received(save, lambda state: state, self._newcomers)
        with _translated(), self.dispatch.visit(pet_id) as pet:
            for _ in range(DECISIONS_MAX):
                async with pet.lock:
                    try:
                        return await self._prepare(pet, key_hash, upload)
                    except StaleWrite:
                        continue  # another pet took the last room
        raise refusals.contended()

    async def _prepare(self, pet: Resident, key_hash: bytes, upload: Upload) -> Prepared:
        held = await self.dispatch.load(pet)
        room = await self._occupancy()
        event = Prepare(pet.pet_id, key_hash, self._brain.brain_id, upload.save, room)
        try:
            decision = decide(held, event, now_ms=self._now_ms())
        except Refused as refused:
            if refused.code is RefusalCode.HOST_FULL and room.pets < room.pets_max:
                raise refusals.prepared_full() from None
            raise
        assert isinstance(decision, Decision), "preparing has no operation id"
        assert decision.record is not None, "preparing leaves a record"
        if decision.created:
            self._refuse_other_brain(upload)
            await self.dispatch.commit(pet, decision)
        record = decision.record
        return Prepared(decision.created, record.status.value, record.epoch, record.revision)

    async def view(self, pet_id: str, key_hash: bytes, *, etag: str | None, wait_s: int) -> View | None:
        """The pet as it is now, or None when its tag is still `etag` after `wait_s` seconds. Changes nothing."""
        deadline = trio.current_time() + wait_s
        with _translated():
            await self._known(pet_id, key_hash)
            with self.dispatch.visit(pet_id) as pet:
                while True:
                    changed = pet.changed  # taken before the look, so that no change falls between look and wait
                    record = await self._known(pet_id, key_hash)
                    if answers.etag_of(record, pet.thinking) != etag:
                        return await self._seen(pet, key_hash)
                    if self._closing or trio.current_time() >= deadline:
                        return None
                    with trio.move_on_at(deadline):
                        await changed.wait()

    async def _seen(self, pet: Resident, key_hash: bytes) -> View:
        async with pet.lock:
            record, now = await self._held(pet, key_hash), self._now_ms()
            if pet.seen is not None and pet.seen.still_shows(record, pet.thinking, now):
                return pet.seen.view
            glimpse = Glimpse(record.save, (), None)
            if record.status is Status.ACTIVE:
                try:
                    state = self.dispatch.state_of(pet, record)
                    look = partial(rules.glimpse, state, record.save, now)
                    glimpse = await self.dispatch.catch_up.run(state, record.save, now, look)
                except RulesFailed as fault:
                    record = await self._stop(pet, record, fault)
            body = answers.view_body(record, glimpse, thinking=pet.thinking, server_time_ms=now)
            view = View(body, answers.etag_of(record, pet.thinking))
            pet.seen = Seen(record, pet.thinking, self._now_ms(), view)  # those who waited meanwhile share it
            return view

    async def command(self, pet_id: str, key_hash: bytes, envelope: Envelope) -> bytes:
        """Apply an owner's command once, however often it is sent; returns the answer's JSON."""
        await self._knock(pet_id, key_hash)
        try:
            # the engine's JSON has no floats: it checks for them itself, as for all else
            command = engine.parse_command(cast("JsonValue", envelope.command))
        except engine.CommandRefused as refused:
            raise refusals.command_refused(refused) from None
        operation = Operation(envelope.operation_id, envelope.epoch, envelope.digest)

        async def obey(pet: Resident, record: Record) -> bytes:
            asked = await self._decide(record, Ask(operation))
            if isinstance(asked, Replay):
                return answers.repeated_answer(asked.stored)
            return await self._obey(pet, record, command, operation)

        return await self._change(pet_id, key_hash, obey)

    async def _obey(self, pet: Resident, record: Record, command: Command, operation: Operation) -> bytes:
        try:
            state, now = self.dispatch.state_of(pet, record), self._now_ms()

            def obeyed() -> tuple[Step, bytes]:
                step = rules.obey(state, command, now)
                return step, rules.dump(step.state)

            step, save = await self.dispatch.catch_up.run(state, record.save, now, obeyed)
        except engine.CommandRefused as refused:
            raise refusals.command_refused(refused) from None
        except RulesFailed as fault:
            stopped = await self._stop(pet, record, fault)
            raise Refused(RefusalCode.NOT_ACTIVE, stopped) from None
        decision = decide(record, Apply(operation, save), now_ms=self._now_ms())
        answer = answers.command_answer(operation.operation_id, _left(decision), step)
        await self._commit(pet, decision, answer, step.state)
        self.executor.reconsider(pet, step.state)
        return answer

    async def transfer(self, pet_id: str, key_hash: bytes, request: TransferRequest) -> bytes:
        """Activate the pet here with the save that is sent, or park it and answer its latest save."""
        await self._knock(pet_id, key_hash)
        operation = Operation(request.operation_id, request.epoch, request.digest)
        if request.to == "local":
            return await self._change(pet_id, key_hash, partial(self._park, operation, request.device_id))
        assert request.save is not None, "the HTTP layer lets no activation without a save pass"
        upload = await self._received(request.save, self._moved_in, self._uploads)
        event = Activate(operation, request.device_id, self._brain.brain_id, upload.save, request.takeover)
        return await self._change(pet_id, key_hash, partial(self._activate, event, upload))

    async def _activate(self, event: Activate, upload: Upload, pet: Resident, record: Record) -> bytes:
        decision = await self._decide(record, event)
        if isinstance(decision, Replay):
            return answers.repeated_answer(decision.stored)
        self._refuse_other_brain(upload)
        answer = answers.record_answer(event.operation.operation_id, _left(decision), with_save=False)
        await self._commit(pet, decision, answer, upload.state)
        self.executor.wake(pet.pet_id)
        return answer

    async def _park(self, operation: Operation, device_id: str, pet: Resident, record: Record) -> bytes:
        decision = await self._decide(record, Park(operation, device_id, await self._latest(pet, record)))
        if isinstance(decision, Replay):
            return answers.repeated_answer(decision.stored)
        answer = answers.record_answer(operation.operation_id, _left(decision), with_save=True)
        await self._commit(pet, decision, answer, None)
        self.executor.release(pet)
        return answer

    async def _latest(self, pet: Resident, record: Record) -> bytes | None:
        """The save of an active pet as it is now; None keeps the stored one, also where the rules fail on it."""
        if record.status is not Status.ACTIVE:
            return None
        try:
            state, now = self.dispatch.state_of(pet, record), self._now_ms()
            return await self.dispatch.catch_up.run(
                state, record.save, now, lambda: rules.dump(rules.live(state, now).state)
            )
        except RulesFailed:
            return None

    async def change_key(self, pet_id: str, key_hash: bytes, change: KeyChange) -> bytes:
        """Replace the access key; the old one is dead at once, its waiting polls included."""
        await self._knock(pet_id, key_hash)
        event = ChangeKey(Operation(change.operation_id, change.epoch, change.digest), change.new_key_hash)

        async def rekey(pet: Resident, record: Record) -> bytes:
            decision = await self._decide(record, event)
            if isinstance(decision, Replay):
                return answers.repeated_answer(decision.stored)
            answer = answers.key_answer(change.operation_id, _left(decision))
            await self._commit(pet, decision, answer, pet.state)
            return answer

        return await self._change(pet_id, key_hash, rekey)

    async def delete(self, pet_id: str, key_hash: bytes) -> None:
        """Remove everything of the pet but its tombstone; no late reply brings it back."""
        await self._knock(pet_id, key_hash)

        async def bury(pet: Resident, record: Record) -> bytes:
            decision = decide(record, Delete(), now_ms=self._now_ms())
            await self._commit(pet, decision, b"", None)
            self.executor.release(pet)
            return b""

        await self._change(pet_id, key_hash, bury)

    async def receipts(self, pet_id: str, key_hash: bytes) -> bytes:
        """The last turn receipts of the pet, with their requests and tokens: the owner's own."""
        with _translated():
            await self._known(pet_id, key_hash)
            return answers.receipts_answer(await self._store.turn_receipts(pet_id))

    # What they share.

    async def _knock(self, pet_id: str, key_hash: bytes) -> None:
        """The first checks of every change: the host takes more, and the key fits."""
        self._refuse_when_closing()
        with _translated():
            await self._known(pet_id, key_hash)

    async def _known(self, pet_id: str, key_hash: bytes) -> Record:
        record = await self.dispatch.known(pet_id, key_hash)
        if record is None:
            raise refusals.not_found()
        return record

    async def _held(self, pet: Resident, key_hash: bytes) -> Record:
        """What is committed, once more under the lock: pet and key may be gone since the first look."""
        held = await self.dispatch.load(pet)
        if not isinstance(held, Record) or not hmac.compare_digest(held.key_hash, key_hash):
            raise refusals.not_found()
        return held

    async def _change(self, pet_id: str, key_hash: bytes, work: Work) -> bytes:
        """Do `work` on the committed record, alone, and again if the row changed under it."""
        with _translated(), self.dispatch.visit(pet_id) as pet:
            for _ in range(DECISIONS_MAX):
                async with pet.lock:
                    record = await self._held(pet, key_hash)
                    try:
                        return await work(pet, record)
                    except StaleWrite:
                        continue
        raise refusals.contended()

    async def _decide(self, record: Record, event: OwnerOperation) -> Decision | Replay:
        found = await self._store.find_operation(record.pet_id, event.operation.operation_id)
        return decide(record, event, found=found, now_ms=self._now_ms())

    async def _commit(self, pet: Resident, decision: Decision | Replay, answer: bytes, state: State | None) -> None:
        assert isinstance(decision, Decision), "a repeat is answered, not committed"
        await self.dispatch.commit(pet, decision, state, decision.answered(answer))
        pet.tell()

    async def _stop(self, pet: Resident, record: Record, fault: RulesFailed) -> Record:
        self.executor.release(pet)
        stopped = await self.dispatch.quarantine(pet, record, fault, self._now_ms())
        pet.tell()
        return stopped

    async def _occupancy(self) -> Occupancy:
        counts, settings = await self._store.counts(), self._settings
        prepared = counts.by_status[Status.PREPARED]
        return Occupancy(counts.pets, settings.pets_max, prepared, settings.prepared_max)

    async def _received(self, save: bytes, settle: Callable[[State], State], place: trio.CapacityLimiter) -> Upload:
        """An uploaded save, checked whole, with the state that `settle` makes of it. Owners and newcomers, who may be
        anybody, each have a `place` of their own to wait for."""

        def receive() -> Upload:
            sent = rules.load_uploaded(save)
            state = settle(sent)
            return Upload(rules.brain_of(sent), state, rules.dump(state))

        try:
            if len(save) <= LARGE_SAVE_BYTES:
                return receive()
            return await trio.to_thread.run_sync(receive, limiter=place)
        except engine.SaveRefused as refused:
            raise refusals.save_refused(refused) from None
        except RulesFailed:
            raise refusals.save_broke_rules() from None

    def _moved_in(self, state: State) -> State:
        seed = self._settings.weather_seed or None
        return rules.move_in(state, brain_id=self._brain.brain_id, weather_seed=seed, now_ms=self._now_ms())

    def _refuse_when_closing(self) -> None:
        if self._closing:
            raise refusals.draining()

    def _refuse_other_brain(self, upload: Upload) -> None:
        """A save that has chosen no brain yet takes this host's."""
        if upload.brain_id not in {"", self._brain.brain_id}:
            raise refusals.brain_mismatch(self._brain.brain_id)


@contextmanager
def _translated() -> Iterator[None]:
    """Say what protocol and store refuse in the API's words."""
    try:
        yield
    except Refused as refused:
        raise refusals.protocol_refused(refused) from None
    except StaleWrite:
        raise refusals.contended() from None
    except StoreFailed as failure:
        log.error("the store failed", code=failure.code, number=failure.number)
        raise refusals.unavailable() from None


def _left(decision: Decision | Replay) -> Record:
    """The record that a decision leaves."""
    assert isinstance(decision, Decision), "a repeat leaves nothing new"
    assert decision.record is not None, "only a deletion leaves no record"
    return decision.record
