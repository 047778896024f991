"""The executor: pets live on their own time, turn by turn, with no request from anyone.

A pet that is due gets a *driver*, one task that advances it, puts its due turn to a lane, waits, commits the reply with
what was lived before it, and goes on until nothing is due; then the clock has the pet again. One driver a pet, so one
generation a pet. Whatever an owner does meanwhile goes through the pet's lock; `reconsider` then cancels a turn that
the change made stale, and the driver goes on with what took its place.

A pet that its owner wakes is driven at once. One that is due by itself waits in a line (`due_line.py`), has a place for
one turn and then goes to the line's end, so that none starves another.

Nothing here is stored. After a restart the committed rows say which turns are due; they are lived late, in order.
"""

from collections.abc import Callable
from functools import partial

import structlog
import trio

from tokenling import engine
from tokenling.engine import State, Turn
from tokenling.host import dispatch_rules as rules
from tokenling.host.catch_up import IN_LOOP_GAP_MS_MAX
from tokenling.host.clock import Clock
from tokenling.host.dispatch import Dispatch, Resident, Retry, Thought
from tokenling.host.dispatch_faults import RulesFailed
from tokenling.host.due_line import DueLine, places_for
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Router
from tokenling.host.ports import Generated
from tokenling.host.tallies import TurnTallies
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

    def __init__(self, dispatch: Dispatch, queue: Router, now_ms: Callable[[], int], *, lanes: int = 1) -> None:
        self.clock = Clock(now_ms, self._fall_due)
        self.turns = TurnTallies()
        self._dispatch = dispatch
        self._queue = queue
        self._now_ms = now_ms
        self._line = DueLine(places_for(lanes))
        self._nursery: trio.Nursery | None = None
        self._driven: set[str] = set()
        self._looked_round = False
        self._quiet = trio.Event()

    @property
    def due(self) -> int:
        """How many pets are due and wait."""
        return len(self._line)

    @property
    def scheduled(self) -> int:
        """How many pets have a time at which they are due."""
        return len(self.clock)

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the clock and the drivers until cancelled. A commit under way is finished first."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self.clock.run)
            nursery.start_soon(self._look_round)
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None  # here and not behind it: a nursery that has ended takes no task any more

    def wake(self, pet_id: str) -> None:
        """See to it that the pet has a driver now, for somebody waits. One that has one does the due work before it
        ends, and counts as waited for from here on."""
        if self._nursery is None:
            return
        self._line.leave(pet_id)
        if pet_id not in self._driven:
            self._start(pet_id)
        self._live_next()

    def _fall_due(self, pet_id: str) -> None:
        """The pet is due by itself: it is lived when its place in the line comes."""
        if self._nursery is not None and pet_id not in self._driven:
            self._line.join(pet_id)
            self._live_next()

    def _live_next(self) -> None:
        while self._nursery is not None and (pet_id := self._line.next()) is not None:
            self._start(pet_id)

    def _start(self, pet_id: str) -> None:
        assert self._nursery is not None, "the executor serves"
        self._driven.add(pet_id)
        self._nursery.start_soon(self._drive, pet_id)

    async def quiet(self) -> None:
        """Wait until no pet has a driver or waits for one: nothing is due and nothing is being thought about."""
        while self._driven or self._line or not self._looked_round:
            await self._quiet.wait()

    async def _look_round(self) -> None:
        """Put every active pet on the clock: their saves are read some at a time, and none is kept."""
        after, found = 0, True
        while found:
            try:
                pets = await self._dispatch.live_pets(after)
            except StoreFailed as failure:
                if failure.code not in PASSING_FAILURES:
                    raise
                await trio.sleep(BACK_OFF_FIRST_MS / 1000)
                continue
            began_s = trio.current_time()
            for pet in pets:
                self._first_look(pet.pet_id, pet.save)
                after = pet.pet
                await trio.lowlevel.checkpoint()  # a save takes milliseconds to read, and owners are here by now
            if self._driven:  # and the lanes want half of the time
                await trio.sleep(trio.current_time() - began_s)
            found = bool(pets)
        self._looked_round = True
        self._note_quiet()

    def _first_look(self, pet_id: str, save: bytes) -> None:
        if pet_id in self._driven or pet_id in self.clock:
            return  # its owner was here sooner
        try:
            due_ms = rules.wake_ms(rules.load_stored(save))
        except RulesFailed:
            due_ms = 0  # its driver meets the same fault and quarantines it
        if due_ms <= self._now_ms():
            self._fall_due(pet_id)
        else:
            self.clock.schedule(pet_id, due_ms)

    def reconsider(self, pet: Resident, state: State) -> None:
        """After an owner's change: stop a generation that it made stale, and look at what is due now.

        A turn that the change has made due counts as thought about from here on, so that who waits learns of the change
        and of the thinking in one answer.
        """
        try:
            wanted = pet.thought is None or rules.still_wanted(state, pet.thought.turn)
            pet.summoned = rules.owes(state)
        except RulesFailed:
            wanted = False  # the driver meets the same fault and quarantines the pet
        if pet.thought is not None and not wanted:
            self._queue.cancel(pet.thought.job)
        self.wake(pet.pet_id)

    def release(self, pet: Resident) -> None:
        """The pet lives here no more: cancel its generation and take it off the clock."""
        self.clock.forget(pet.pet_id)
        self._line.leave(pet.pet_id)
        pet.calm()
        pet.summoned = False
        if pet.thought is not None:
            self._queue.cancel(pet.thought.job)

    async def _drive(self, pet_id: str) -> None:
        outcome: Outcome | None = None
        try:
            with self._dispatch.visit(pet_id, owner=False) as pet:
                while True:
                    async with pet.lock:
                        thought = await self._step(pet, outcome)
                    if thought is None:
                        return  # no checkpoint since the lock: whoever changes the pet next wakes it anew
                    outcome = await thought.job.outcome()
        finally:
            self._driven.discard(pet_id)
            self._line.ended(pet_id)
            self._live_next()
            self._note_quiet()

    def _note_quiet(self) -> None:
        if not self._driven and not self._line:
            self._quiet.set()
            self._quiet = trio.Event()

    async def _step(self, pet: Resident, outcome: Outcome | None) -> Thought | None:
        """Settle the outcome of the last turn, then live on to the next; None when there is nothing to wait for."""
        before, last = pet.thinking, pet.thought
        try:
            try:
                if outcome is not None and last is not None:
                    await self._settle(pet, last, outcome)
                pet.thought = await self._think(pet, yields=outcome is not None)
            except RulesFailed as fault:
                await self._quarantine(pet, fault)
        except StaleWrite:
            self._look_again(pet, 0)  # whoever wrote the row has the word; the next look begins with it
        except StoreFailed as failure:
            if failure.code not in PASSING_FAILURES:
                raise
            log.error("the store failed a pet", code=failure.code, number=failure.number)
            self._look_again(pet, BACK_OFF_FIRST_MS)
        pet.summoned = False
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
                self.turns.cancelled += 1
            case Failed(reason):
                await self._fail(pet, record, thought, reason)
            case Generated() if not outcome.reply.text.strip():
                await self._fail(pet, record, thought, EMPTY)
            case Generated():
                await self._commit_reply(pet, record, thought, outcome)

    def _state_at(self, pet: Resident, record: Record, thought: Thought) -> State:
        """The record's state, lived on to the turn that was thought about.

        What was lived before a turn is not committed before its reply. When the row was written meanwhile (a key, a
        stroke), its state is lived on anew, up to the same instant: as far as that goes the rules give the same again.
        """
        if record.revision == thought.revision:
            return thought.state
        state = self._dispatch.state_of(pet, record)
        return rules.live(state, thought.asked_ms).state if rules.gap_ms(state, thought.asked_ms) > 0 else state

    async def _commit_reply(self, pet: Resident, record: Record, thought: Thought, generated: Generated) -> None:
        turn = thought.turn
        try:
            step = rules.hear(self._state_at(pet, record, thought), turn, generated.reply)
        except engine.StaleTurn:
            return
        pet.calm()
        receipt = generated.receipt if len(generated.receipt) <= TURN_RECEIPT_BYTES_MAX else None
        await self._commit_life(pet, record, step.state, receipt)
        self.turns.committed(turn.kind, max(0, self._now_ms() - turn.at_ms) / 1000)
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

    async def _fail(self, pet: Resident, record: Record, thought: Thought, reason: str) -> None:
        turn = thought.turn
        tries = 1 + (pet.retry.tries if pet.retry is not None and pet.retry.turn_id == turn.id else 0)
        pet.failures += 1
        self.turns.failed += 1
        wait_ms, now = back_off_ms(pet.failures), self._now_ms()
        pet.retry = Retry(turn.id, tries, now, now + wait_ms)
        pet.waiting_since.clear()
        log.warning("a turn failed", kind=turn.kind, reason=reason, tries=tries, again_in_ms=wait_ms)
        state = self._state_at(pet, record, thought)
        if tries >= (EMPTY_TRIES_MAX if reason == EMPTY else TRIES_MAX):
            try:
                state = rules.give_up(state, turn).state
            except engine.StaleTurn:
                return
        if await self._commit_life(pet, record, state) is not record:
            pet.tell()

    async def _think(self, pet: Resident, *, yields: bool) -> Thought | None:
        """Live up to now and put the due turn to the lanes; without one, put the pet on the clock.

        A pet that had its turn `yields` to those in the line, unless somebody waits for it.
        """
        record = await self._dispatch.load(pet)
        if not isinstance(record, Record) or record.status is not Status.ACTIVE:
            self.clock.forget(pet.pet_id)
            return None
        state, now = self._dispatch.state_of(pet, record), self._now_ms()
        if yields and self._goes_back(pet, state, now):
            return None
        ahead = rules.is_ahead(state, now)
        step = await self._dispatch.catch_up.run(state, record.save, now, partial(rules.live, state, now))
        if step.turn is None and not ahead and (due_ms := rules.wake_ms(state)) > now:
            self.clock.schedule(pet.pet_id, due_ms)  # nothing to see has happened: the minutes are lived later
            return None
        if step.turn is None or ahead or rules.gap_ms(state, now) > IN_LOOP_GAP_MS_MAX:
            lived = await self._commit_life(pet, record, step.state)
            if lived is not record:
                pet.tell()
            record = lived
        if step.turn is None:
            self.clock.schedule(pet.pet_id, max(rules.wake_ms(step.state), now + LOOK_AGAIN_MS))
            return None
        return self._put(pet, record, step.state, step.turn, now)

    def _goes_back(self, pet: Resident, state: State, now_ms: int) -> bool:
        """Whether a pet that has had its turn is done for now: it is not due, or others wait for its place."""
        due_ms = rules.wake_ms(state)
        if due_ms > now_ms and not rules.is_ahead(state, now_ms):
            self.clock.schedule(pet.pet_id, due_ms)
            return True
        if self._line.must_yield(pet.pet_id):
            self._line.join(pet.pet_id)
            return True
        return False

    def _put(self, pet: Resident, record: Record, state: State, turn: Turn, now_ms: int) -> Thought | None:
        if pet.retry is not None and pet.retry.turn_id == turn.id and pet.retry.rests(now_ms):
            self.clock.schedule(pet.pet_id, pet.retry.at_ms)
            return None
        since = pet.waiting_since.setdefault(turn.kind, trio.current_time())
        job = Job(pet.pet_id, turn.id, turn.kind, rules.ask(state, turn), since)
        self._queue.put(job)
        return Thought(turn, record.epoch, record.revision, state, now_ms, job)

    async def _quarantine(self, pet: Resident, fault: RulesFailed) -> None:
        pet.thought = None
        self.release(pet)
        record = await self._dispatch.load(pet)
        if isinstance(record, Record) and record.status is Status.ACTIVE:
            await self._dispatch.quarantine(pet, record, fault, self._now_ms())
        pet.tell()
