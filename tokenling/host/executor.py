"""The executor: pets live on their own time, turn by turn, with no request from anyone.

A pet that is due gets a *driver*, one task that advances it, commits what changed, puts its due turn to a lane, waits,
commits the reply, and goes on until nothing is due; then the clock has the pet again. One driver a pet, so one
generation a pet. Whatever an owner does meanwhile goes through the pet's lock; `reconsider` then cancels a turn that
the change made stale, and the driver goes on with what took its place.

Nothing here is stored. After a restart the committed rows say which turns are due; they are lived late, in order, each
pet with one job in the queue at a time, so that none starves another.
"""

from collections.abc import Callable
from functools import partial

import structlog
import trio

from tokenling import engine
from tokenling.engine import State, Turn
from tokenling.host import dispatch_rules as rules
from tokenling.host.clock import Clock
from tokenling.host.dispatch import Dispatch, Resident, Retry, Thought
from tokenling.host.dispatch_faults import RulesFailed
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Router
from tokenling.host.ports import Generated
from tokenling.protocol import TURN_RECEIPT_BYTES_MAX, Decision, Live, Record, Status, decide
from tokenling.store import FailureCode, StaleWrite, StoreFailed

BACK_OFF_FIRST_MS = 30_000
BACK_OFF_MAX_MS = 30 * 60_000
"""A failed generation is tried again after 30 s, then twice as long each time, up to 30 min (design section 3)."""
TRIES_MAX = 8
"""A turn that failed so often, over more than an hour, ends without words: its seed is its own, so the same brain would
fail on it again, and a pet must not stand still for ever (a guess)."""
EMPTY_TRIES_MAX = 2
"""The same for an empty reply: the same request and seed give the same tokens, and the second try is the proof."""
LOOK_AGAIN_MS = 1000
"""A pet that has just been lived up to now is not looked at again before that: no rule can make the clock spin."""
EMPTY = "empty"
PASSING_FAILURES = frozenset({FailureCode.FULL, FailureCode.IO, FailureCode.LOCKED, FailureCode.MOVED})
"""Failures below the store that an operator or time mends while the host runs on; any other ends the process."""

log = structlog.stdlib.get_logger(__name__)


def back_off_ms(failures: int) -> int:
    """How long to wait after so many failures in a row: 30 s, 60 s, … 30 min."""
    assert failures >= 1, "nothing has failed"
    return min(BACK_OFF_FIRST_MS << min(failures - 1, 16), BACK_OFF_MAX_MS)


class Executor:
    """Drives the pets that are due. `serve` runs until it is cancelled; the other methods are synchronous."""

    def __init__(self, dispatch: Dispatch, queue: Router, now_ms: Callable[[], int]) -> None:
        self.clock = Clock(now_ms, self.wake)
        self._dispatch = dispatch
        self._queue = queue
        self._now_ms = now_ms
        self._nursery: trio.Nursery | None = None
        self._driven: set[str] = set()
        self._quiet = trio.Event()

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the clock and the drivers until cancelled. A commit under way is finished first."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self.clock.run)
                task_status.started()
        finally:
            self._nursery = None

    def wake(self, pet_id: str) -> None:
        """See to it that the pet has a driver. One that has does the due work before it ends."""
        if self._nursery is None or pet_id in self._driven:
            return
        self._driven.add(pet_id)
        self._nursery.start_soon(self._drive, pet_id)

    async def quiet(self) -> None:
        """Wait until no pet has a driver: nothing is due and nothing is being thought about."""
        while self._driven:
            await self._quiet.wait()

    def reconsider(self, pet: Resident, state: State) -> None:
        """After an owner's change: stop a generation that it made stale, and look at what is due now."""
        try:
            wanted = pet.thought is None or rules.still_wanted(state, pet.thought.turn)
        except RulesFailed:
            wanted = False  # the driver meets the same fault and quarantines the pet
        if pet.thought is not None and not wanted:
            self._queue.cancel(pet.thought.job)
        self.wake(pet.pet_id)

    def release(self, pet: Resident) -> None:
        """The pet lives here no more: cancel its generation and take it off the clock."""
        self.clock.forget(pet.pet_id)
        pet.calm()
        if pet.thought is not None:
            self._queue.cancel(pet.thought.job)

    async def _drive(self, pet_id: str) -> None:
        outcome: Outcome | None = None
        try:
            with self._dispatch.visit(pet_id) as pet:
                while True:
                    async with pet.lock:
                        thought = await self._step(pet, outcome)
                    if thought is None:
                        return  # no checkpoint since the lock: whoever changes the pet next wakes it anew
                    outcome = await thought.job.outcome()
        finally:
            self._driven.discard(pet_id)
            if not self._driven:
                self._quiet.set()
                self._quiet = trio.Event()

    async def _step(self, pet: Resident, outcome: Outcome | None) -> Thought | None:
        """Settle the outcome of the last turn, then live on to the next; None when there is nothing to wait for."""
        before, last = pet.thinking, pet.thought
        try:
            try:
                if outcome is not None and last is not None:
                    await self._settle(pet, last, outcome)
                pet.thought = await self._think(pet)
            except RulesFailed as fault:
                await self._quarantine(pet, fault)
        except StaleWrite:
            self._look_again(pet, 0)  # whoever wrote the row has the word; the next look begins with it
        except StoreFailed as failure:
            if failure.code not in PASSING_FAILURES:
                raise
            log.error("the store failed a pet", code=failure.code, number=failure.number)
            self._look_again(pet, BACK_OFF_FIRST_MS)
        if pet.thinking != before:
            pet.tell()
        return pet.thought

    def _look_again(self, pet: Resident, after_ms: int) -> None:
        pet.thought = None
        self.clock.schedule(pet.pet_id, self._now_ms() + after_ms)

    async def _settle(self, pet: Resident, thought: Thought, outcome: Outcome) -> None:
        record = await self._dispatch.load(pet)
        if not isinstance(record, Record) or record.status is not Status.ACTIVE or record.epoch != thought.epoch:
            return
        match outcome:
            case Cancelled():
                return
            case Failed(reason):
                await self._fail(pet, record, thought.turn, reason)
            case Generated() if not outcome.reply.text.strip():
                await self._fail(pet, record, thought.turn, EMPTY)
            case Generated():
                await self._commit_reply(pet, record, thought.turn, outcome)

    async def _commit_reply(self, pet: Resident, record: Record, turn: Turn, generated: Generated) -> None:
        try:
            step = rules.hear(self._dispatch.state_of(pet, record), turn, generated.reply)
        except engine.StaleTurn:
            return
        pet.calm()
        receipt = generated.receipt if len(generated.receipt) <= TURN_RECEIPT_BYTES_MAX else None
        await self._commit_life(pet, record, step.state, receipt)
        pet.tell()

    async def _commit_life(self, pet: Resident, record: Record, state: State, receipt: bytes | None = None) -> Record:
        event = Live(record.epoch, record.revision, rules.dump(state), receipt)
        if event.save == record.save and receipt is None:
            return record
        decision = decide(record, event, now_ms=self._now_ms())
        assert isinstance(decision, Decision), "a life has no operation id"
        assert decision.record is not None, "a life goes on"
        await self._dispatch.commit(pet, decision, state)
        return decision.record

    async def _fail(self, pet: Resident, record: Record, turn: Turn, reason: str) -> None:
        tries = 1 + (pet.retry.tries if pet.retry is not None and pet.retry.turn_id == turn.id else 0)
        pet.failures += 1
        wait_ms = back_off_ms(pet.failures)
        pet.retry = Retry(turn.id, tries, self._now_ms() + wait_ms)
        pet.waiting_since.clear()
        log.warning("a turn failed", kind=turn.kind, reason=reason, tries=tries, again_in_ms=wait_ms)
        if tries >= (EMPTY_TRIES_MAX if reason == EMPTY else TRIES_MAX):
            try:
                step = rules.give_up(self._dispatch.state_of(pet, record), turn)
            except engine.StaleTurn:
                return
            await self._commit_life(pet, record, step.state)
            pet.tell()

    async def _think(self, pet: Resident) -> Thought | None:
        """Live up to now and put the due turn to the lanes; without one, put the pet on the clock."""
        record = await self._dispatch.load(pet)
        if not isinstance(record, Record) or record.status is not Status.ACTIVE:
            self.clock.forget(pet.pet_id)
            return None
        state, now = self._dispatch.state_of(pet, record), self._now_ms()
        if rules.wake_ms(state) > now and not rules.is_ahead(state, now):
            self.clock.schedule(pet.pet_id, rules.wake_ms(state))
            return None
        step = await self._dispatch.catch_up.run(state, record.save, now, partial(rules.live, state, now))
        lived = await self._commit_life(pet, record, step.state)
        if lived is not record:
            pet.tell()
        if step.turn is None:
            self.clock.schedule(pet.pet_id, max(rules.wake_ms(step.state), now + LOOK_AGAIN_MS))
            return None
        return self._put(pet, lived, step.state, step.turn)

    def _put(self, pet: Resident, record: Record, state: State, turn: Turn) -> Thought | None:
        if pet.retry is not None and pet.retry.turn_id == turn.id and pet.retry.at_ms > self._now_ms():
            self.clock.schedule(pet.pet_id, pet.retry.at_ms)
            return None
        since = pet.waiting_since.setdefault(turn.kind, trio.current_time())
        job = Job(pet.pet_id, turn.id, turn.kind, rules.ask(state, turn), since)
        self._queue.put(job)
        return Thought(turn, record.epoch, job)

    async def _quarantine(self, pet: Resident, fault: RulesFailed) -> None:
        pet.thought = None
        self.release(pet)
        record = await self._dispatch.load(pet)
        if isinstance(record, Record) and record.status is Status.ACTIVE:
            await self._dispatch.quarantine(pet, record, fault, self._now_ms())
        pet.tell()
