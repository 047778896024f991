"""The pets that this process has in memory, and the one way to change one.

A `Resident` is a lock, the record that was committed last, and the engine's state of that record's save. Memory is a
cache of the committed row and never more: `Dispatch.commit` writes first, fenced by epoch and revision, and only then
lets memory, waiting polls and the caller see the new record. Only active pets stay in memory, at most `warm_max`; any
other comes back from its row, unchanged.
"""

import hmac
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import structlog
import trio

from tokenling.engine import State, Turn
from tokenling.host import dispatch_rules as rules
from tokenling.host.catch_up import CatchUp
from tokenling.host.dispatch_faults import RulesFailed, error_of
from tokenling.host.envelopes import View
from tokenling.host.executor_queue import Job
from tokenling.protocol import (
    KEY_HASH_BYTES,
    Decision,
    Effect,
    Held,
    Quarantine,
    Record,
    Status,
    decide,
)
from tokenling.store import Store

WARM_MAX = 64
"""Active pets whose records and states stay in memory: the default number of pets; 50 KB of save each as a rule."""
NO_KEY_HASH = bytes(KEY_HASH_BYTES)
"""Stands in for the key hash of a pet that is not there, so that telling it costs the same comparison."""

VIEW_SHARED_MS = 250
"""For this long polls that wake together get the same view, `serverTime` included: the save is made once for them."""

log = structlog.stdlib.get_logger(__name__)


class Thought:
    """A turn that is being thought about: its job, and the epoch that its reply is committed under."""

    __slots__ = ("epoch", "job", "turn")

    def __init__(self, turn: Turn, epoch: int, job: Job) -> None:
        self.turn = turn
        self.epoch = epoch
        self.job = job


class Retry(NamedTuple):
    """A turn that failed: how often in a row, and when it is tried again."""

    turn_id: str
    tries: int
    at_ms: int


class Seen(NamedTuple):
    """A view that was made just now: polls that wake together share it."""

    record: Record
    thinking: bool
    at_ms: int
    view: View

    def still_shows(self, record: Record, thinking: bool, now_ms: int) -> bool:
        """Whether the pet's state is the same, and the time nearly."""
        recent = 0 <= now_ms - self.at_ms <= VIEW_SHARED_MS
        return recent and self.record is record and self.thinking == thinking


class Resident:
    """One pet as this process knows it. Whoever changes anything here holds `lock`.

    `record` is None while the pet is cold. `thought`, `failures` and `retry` belong to the executor and are never
    stored: after a restart they begin afresh.
    """

    def __init__(self, pet_id: str) -> None:
        self.pet_id = pet_id
        self.lock = trio.Lock()
        self.visitors = 0
        self.record: Record | None = None
        self.state: State | None = None
        self.thought: Thought | None = None
        self.failures = 0
        self.retry: Retry | None = None
        self.waiting_since: dict[str, float] = {}
        self.changed = trio.Event()
        self.seen: Seen | None = None

    @property
    def thinking(self) -> bool:
        """Whether a generation of this pet is queued, running, or about to be committed."""
        return self.thought is not None

    def tell(self) -> None:
        """Let every waiting poll look again."""
        self.changed.set()
        self.changed = trio.Event()

    def cool(self) -> None:
        """Forget what the store holds anyway."""
        self.record = None
        self.state = None

    def calm(self) -> None:
        """Forget what the executor remembers of a life that is over."""
        self.failures = 0
        self.retry = None
        self.waiting_since.clear()


class Dispatch:
    """The residents, and the store behind them."""

    def __init__(self, store: Store, *, warm_max: int = WARM_MAX) -> None:
        self.catch_up = CatchUp()
        self._store = store
        self._warm_max = warm_max
        self._residents: dict[str, Resident] = {}
        self._warm: OrderedDict[str, Resident] = OrderedDict()

    def __len__(self) -> int:
        return len(self._residents)

    @property
    def warm(self) -> int:
        """How many records are in memory."""
        return len(self._warm)

    def residents(self) -> Sequence[Resident]:
        """Every pet that something in this process holds on to."""
        return tuple(self._residents.values())

    @contextmanager
    def visit(self, pet_id: str) -> Iterator[Resident]:
        """The resident, kept in the table as long as anyone visits it. Only for pets that are known to exist."""
        pet = self._residents.get(pet_id)
        if pet is None:
            pet = self._residents[pet_id] = Resident(pet_id)
        pet.visitors += 1
        try:
            yield pet
        finally:
            pet.visitors -= 1
            self._let_go(pet)

    def _let_go(self, pet: Resident) -> None:
        if pet.visitors == 0:
            pet.seen = None
        if pet.visitors == 0 and pet.record is None and pet.failures == 0:
            self._residents.pop(pet.pet_id, None)

    async def known(self, pet_id: str, key_hash: bytes) -> Record | None:
        """The record if the key is its own, else None.

        A pet that is not there and a key that does not fit take the same path, whatever is in memory: one lookup of a
        key hash in the store and one comparison in constant time, on top of the hash of the key.
        """
        pet = self._residents.get(pet_id)
        warm = None if pet is None else pet.record
        if warm is not None and hmac.compare_digest(warm.key_hash, key_hash):
            return warm
        found = await self._store.key_hash(pet_id)
        if warm is None and hmac.compare_digest(found or NO_KEY_HASH, key_hash):
            held = await self._store.load(pet_id)
            return held if isinstance(held, Record) and held.key_hash == key_hash else None
        return None

    async def load(self, pet: Resident) -> Held:
        """What is committed of the pet, from memory if it is warm."""
        assert pet.lock.locked(), "a pet is loaded by the holder of its lock"
        if pet.record is not None:
            self._warm.move_to_end(pet.pet_id)
            return pet.record
        held = await self._store.load(pet.pet_id)
        if isinstance(held, Record):
            self._adopt(pet, held, None)
        return held

    def state_of(self, pet: Resident, record: Record) -> State:
        """The engine's state of the committed save; raises `RulesFailed`."""
        if pet.record is not record or pet.state is None:
            state = rules.load_stored(record.save)
            if pet.record is not record:
                return state
            pet.state = state
        return pet.state

    async def commit(
        self, pet: Resident, decision: Decision, state: State | None = None, effects: tuple[Effect, ...] | None = None
    ) -> None:
        """Carry a decision out. Afterwards it is on disk and in memory; waiting polls are told by the caller.

        A cancellation that comes meanwhile is seen by the caller's next checkpoint: what is committed is in memory,
        too. Raises the store's `StaleWrite` if the row is not the one that was decided upon; the next `load` reads it.
        """
        assert pet.lock.locked(), "a pet is changed by the holder of its lock"
        with trio.CancelScope(shield=True):
            try:
                await self._store.carry_out(pet.pet_id, decision.effects if effects is None else effects)
            except BaseException:
                self._chill(pet)  # whether it was committed is unknown: the row says
                raise
            self._adopt(pet, decision.record, state)

    async def quarantine(self, pet: Resident, record: Record, fault: RulesFailed, now_ms: int) -> Record:
        """Stop the pet whose rules failed, and no other. Returns the record as committed."""
        cause = fault.__cause__ or fault
        log.error("a pet was quarantined", frames=error_of(cause))
        decision = decide(record, Quarantine(record.epoch, record.revision, error_of(cause)), now_ms=now_ms)
        assert isinstance(decision, Decision), "a quarantine has no operation id"
        assert decision.record is not None, "a quarantined pet is kept"
        await self.commit(pet, decision)
        pet.calm()
        return decision.record

    def _adopt(self, pet: Resident, record: Record | None, state: State | None) -> None:
        if record is None or record.status is not Status.ACTIVE:
            self._chill(pet)
            return
        pet.record = record
        pet.state = state
        self._warm[pet.pet_id] = pet
        self._warm.move_to_end(pet.pet_id)
        while len(self._warm) > self._warm_max:
            coldest = next(iter(self._warm.values()))
            self._chill(coldest)

    def _chill(self, pet: Resident) -> None:
        self._warm.pop(pet.pet_id, None)
        pet.cool()
        self._let_go(pet)
