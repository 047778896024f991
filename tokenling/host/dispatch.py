"""The pets that this process has in memory, and the one way to change one.

A `Resident` is a lock, the record that was committed last, and the engine's state of that record's save. Memory is a
cache of the committed row and never more: `Dispatch.commit` writes first, fenced by epoch and revision, and only then
lets memory, waiting polls and the caller see the new record.

Only active pets whose owners are here stay in memory: until a while after the last of them left, within bounds. One
that lives by itself is here for its turn. Any other comes back from its row, unchanged.
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
from tokenling.store import LivePet, Store

WARM_MAX = 1024
"""Active pets whose records and states stay in memory: as many owners as are here at once (a guess)."""
WARM_BYTES_MAX = 32 * 1024 * 1024
"""Of their saves; a state takes about four times its save's bytes beside it (measured), so 160 MiB in all."""
WARM_S = 60.0
"""How long a pet stays in memory when its owner has gone or says nothing: three times the 20 s between two words."""
LOOKED_AT_ONCE = 32
"""Saves read at once in the first look round: 32 of 1 MiB are what memory has to spare."""
NO_KEY_HASH = bytes(KEY_HASH_BYTES)
"""Stands in for the key hash of a pet that is not there, so that telling it costs the same comparison."""

VIEW_SHARED_MS = 250
"""For this long polls that wake together get the same view, `serverTime` included: the save is made once for them."""

log = structlog.stdlib.get_logger(__name__)


class Thought(NamedTuple):
    """A turn that is being thought about: its job, and what it was asked of.

    That is the record of `epoch` and `revision`, lived on to `state` at `asked_ms`; only with its reply is that stored.
    """

    turn: Turn
    epoch: int
    revision: int
    state: State
    asked_ms: int
    job: Job


class Retry(NamedTuple):
    """A turn that failed: how often in a row, when, and when it is tried again."""

    turn_id: str
    tries: int
    failed_ms: int
    at_ms: int

    def rests(self, now_ms: int) -> bool:
        """Whether it is not tried yet. A clock that was set back to before the failure says nothing of the pause, and
        the pet would keep silent until that clock has come as far again."""
        return self.failed_ms <= now_ms < self.at_ms


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

    `record` is None while the pet is cold; `owned_s` is when its owner was here last, on Trio's clock, None for one
    that came to memory by itself. The rest belongs to the executor and is never stored: after a restart it begins
    afresh. `summoned`: an owner's change has made a turn due, and the driver is on its way to it.
    """

    def __init__(self, pet_id: str) -> None:
        self.pet_id = pet_id
        self.lock = trio.Lock()
        self.visitors = 0
        self.owned_s: float | None = None
        self.record: Record | None = None
        self.state: State | None = None
        self.thought: Thought | None = None
        self.summoned = False
        self.failures = 0
        self.retry: Retry | None = None
        self.waiting_since: dict[str, float] = {}
        self.changed = trio.Event()
        self.seen: Seen | None = None

    @property
    def thinking(self) -> bool:
        """Whether a generation of this pet is queued, running, or about to be committed."""
        return self.thought is not None or self.summoned

    def tell(self) -> None:
        """Let every waiting poll look again."""
        self.changed.set()
        self.changed = trio.Event()

    def calm(self) -> None:
        """Forget what the executor remembers of a life that is over."""
        self.failures = 0
        self.retry = None
        self.waiting_since.clear()


class Dispatch:
    """The residents, and the store behind them."""

    def __init__(
        self, store: Store, brain_id: str, *, warm_max: int = WARM_MAX, warm_bytes_max: int = WARM_BYTES_MAX
    ) -> None:
        self.catch_up = CatchUp()
        self._store = store
        self._brain_id = brain_id
        self._warm_max = warm_max
        self._warm_bytes_max = warm_bytes_max
        self._warm_bytes = 0
        self._residents: dict[str, Resident] = {}
        self._warm: OrderedDict[str, Resident] = OrderedDict()

    def __len__(self) -> int:
        return len(self._residents)

    @property
    def warm(self) -> int:
        """How many records are in memory."""
        return len(self._warm)

    @property
    def warm_bytes(self) -> int:
        """How many bytes their saves have."""
        return self._warm_bytes

    def residents(self) -> Sequence[Resident]:
        """Every pet that something in this process holds on to."""
        return tuple(self._residents.values())

    @contextmanager
    def visit(self, pet_id: str, *, owner: bool = True) -> Iterator[Resident]:
        """The resident, kept in the table as long as anyone visits it. Only for pets that are known to exist.

        A pet that no `owner` visited leaves memory when the visit ends.
        """
        pet = self._residents.get(pet_id)
        if pet is None:
            pet = self._residents[pet_id] = Resident(pet_id)
        pet.visitors += 1
        if owner:
            pet.owned_s = trio.current_time()
            if pet_id in self._warm:
                self._warm.move_to_end(pet_id)
        try:
            yield pet
        finally:
            pet.visitors -= 1
            self._let_go(pet)

    def _let_go(self, pet: Resident) -> None:
        if pet.visitors == 0:
            pet.seen = None
            if pet.owned_s is None:
                self._forget(pet)
        if pet.visitors == 0 and pet.record is None and pet.failures == 0:
            self._residents.pop(pet.pet_id, None)

    def cool_idle(self) -> None:
        """Let go of the pets whose owners have not been here for a while. Looks at those and one more."""
        gone_s = trio.current_time() - WARM_S
        while self._warm:
            pet = next(iter(self._warm.values()))
            if pet.owned_s is None or pet.owned_s > gone_s:
                return  # the one that was visited longest ago, or one that lives its turn and then leaves by itself
            self._chill(pet)

    async def live_pets(self, after: int) -> Sequence[LivePet]:
        """The next active pets behind the place `after`, for the first look round; none: that was all."""
        return await self._store.live_pets(self._brain_id, after=after, most=LOOKED_AT_ONCE)

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
        self._forget(pet)
        pet.record = record
        pet.state = state
        self._warm[pet.pet_id] = pet
        self._warm_bytes += len(record.save)
        while len(self._warm) > self._warm_max or (self._warm_bytes > self._warm_bytes_max and len(self._warm) > 1):
            self._chill(next(iter(self._warm.values())))

    def _chill(self, pet: Resident) -> None:
        self._forget(pet)
        self._let_go(pet)

    def _forget(self, pet: Resident) -> None:
        """Take what the store holds anyway out of the table of those in memory."""
        if self._warm.pop(pet.pet_id, None) is not None and pet.record is not None:
            self._warm_bytes -= len(pet.record.save)
        pet.record = pet.state = None
