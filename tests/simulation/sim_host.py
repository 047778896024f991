"""The simulated host: the real protocol over a store, in steps between which anything may happen.

A request is a generator that stops wherever the real host awaits. Unlike the real one it holds no lock on a pet: what
keeps two decisions apart here is the protocol's and the store's fence alone. `kill` drops every generator.
"""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass

from sim_ledger import Commit, Ledger
from sim_store import SimulatedStore
from sim_values import Answer, Request, context_of, key_hash, with_mark

from tokenling.protocol import (
    PREPARED_KEPT_MS,
    Activate,
    Apply,
    ChangeKey,
    Decision,
    Delete,
    Event,
    Held,
    KeepReplaced,
    Live,
    OwnerOperation,
    Park,
    Prepare,
    Quarantine,
    Record,
    Refused,
    Replay,
    Status,
    decide,
)
from tokenling.store import FailureCode, StaleWrite, StoreFailed

DECISIONS_MAX = 3
BRAIN = "scripted-1"

Work = Generator[None, None, Answer | None]


@dataclass(slots=True)
class Task:
    """A request or a piece of pet life under way; `request` None: nobody waits for an answer."""

    work: Work
    request: Request | None


@dataclass(frozen=True, slots=True)
class Thought:
    """A turn that the brain thinks about: it is answered, if at all, under the epoch and context it was asked in."""

    pet_id: str
    epoch: int
    context: int


class Host:
    """One host process, over a store that survives it."""

    def __init__(self, store: SimulatedStore, ledger: Ledger, chance: random.Random) -> None:
        self.store = store
        self.alive = True
        self.now_ms = 1_800_000_000_000
        self.disk_fails = 0.0
        self.tasks: list[Task] = []
        self.thoughts: list[Thought] = []
        self._ledger = ledger
        self._chance = chance
        self._marks = 0

    # The process.

    def kill(self) -> None:
        """SIGKILL: what is committed stays, all else is gone."""
        self.alive = False
        self.tasks.clear()
        self.thoughts.clear()

    def start(self) -> None:
        self.store.reopen()
        self.alive = True
        self._ledger.check_store(self.store)

    def receive(self, request: Request) -> None:
        self.tasks.append(Task(self._serve(request), request))

    def run_step(self) -> tuple[Request, Answer] | None:
        """One stretch of one task; the answer if it was the last."""
        task = self._chance.choice(self.tasks)
        try:
            next(task.work)
        except StopIteration as end:
            self.tasks.remove(task)
            return None if task.request is None else (task.request, end.value)
        return None

    # Owners' requests, in the order of docs/protocol.md.

    def _serve(self, request: Request) -> Work:
        for _ in range(DECISIONS_MAX):
            try:
                answer = yield from self._attempt(request)
            except Refused as refused:
                status = "" if refused.pet_status is None else refused.pet_status.value
                return Answer(refused.http_status, refused.code.value, refused.epoch or 0, 0, status)
            except StaleWrite:
                continue
            except StoreFailed:
                return Answer(503, "unavailable")
            return answer
        return Answer(503, "unavailable")

    def _attempt(self, request: Request) -> Generator[None, None, Answer]:
        held = self.store.load(request.pet_id)
        yield
        if request.kind == "prepare":
            return (yield from self._prepare(held, request))
        if not isinstance(held, Record) or held.key_hash != key_hash(request.key):
            return Answer(404, "not_found")
        if request.kind == "view":
            return Answer.of(held)
        event = self._event(held, request)
        found = None
        if isinstance(event, OwnerOperation):
            found = self.store.find_operation(request.pet_id, request.operation_id)
            yield
        decided = decide(held, event, found=found, now_ms=self.now_ms)
        if isinstance(decided, Replay):
            kept = decided.stored.answer
            assert kept is not None, "fewer operations than full answers in a simulated epoch"
            return Answer.again(kept)
        yield
        answer = Answer(204) if decided.record is None else Answer.of(decided.record)
        self._commit(request.pet_id, held, event, decided, answer.kept(), request)
        yield
        return answer

    def _prepare(self, held: Held, request: Request) -> Generator[None, None, Answer]:
        event = Prepare(request.pet_id, key_hash(request.key), BRAIN, request.save, self.store.occupancy())
        yield
        decided = decide(held, event, now_ms=self.now_ms)
        assert isinstance(decided, Decision)
        assert decided.record is not None
        if decided.created:
            self._commit(request.pet_id, held, event, decided, b"", request)
            yield
        return Answer.of(decided.record, 201 if decided.created else 200)

    def _event(self, record: Record, request: Request) -> Event:
        match request.kind:
            case "activate":
                return Activate(request.operation, request.sender, BRAIN, request.save, request.takeover)
            case "park":
                lived = with_mark(record.save, self._mark("h")) if record.status is Status.ACTIVE else None
                return Park(request.operation, request.sender, lived)
            case "command":
                return Apply(request.operation, with_mark(record.save, request.wish))
            case "key":
                return ChangeKey(request.operation, key_hash(request.wish))
        assert request.kind == "delete"
        return Delete()

    def _commit(
        self, pet_id: str, held: Held, event: Event, decided: Decision, answer: bytes, request: Request | None = None
    ) -> None:
        """All of it is kept or nothing, or the disk fails and nobody knows."""
        fails = self._chance.random() < self.disk_fails
        if fails and self._chance.random() < 0.5:
            raise StoreFailed(FailureCode.IO)
        self.store.carry_out(pet_id, decided.answered(answer))
        decided_on = held if isinstance(held, Record) else None
        replaced = next((effect.save for effect in decided.effects if isinstance(effect, KeepReplaced)), None)
        self._ledger.committed(Commit(pet_id, event, decided_on, decided.record, request, replaced))
        if fails:
            raise StoreFailed(FailureCode.IO)

    # The executor.

    def live(self, pet_id: str) -> None:
        """Begin to live a while."""
        self.tasks.append(Task(self._live(pet_id, lambda record: with_mark(record.save, self._mark("h"))), None))

    def think(self, pet_id: str) -> None:
        """Put a turn to the brain; it answers when it likes."""
        held = self.store.load(pet_id)
        if isinstance(held, Record) and held.status is Status.ACTIVE:
            self.thoughts.append(Thought(pet_id, held.epoch, context_of(held.save)))

    def hear(self, thought: Thought) -> None:
        """The brain answers."""
        self.thoughts.remove(thought)

        def heard(record: Record) -> bytes | None:
            if (record.epoch, context_of(record.save)) != (thought.epoch, thought.context):
                return None
            return with_mark(record.save, self._mark(f"t{thought.epoch}."))

        self.tasks.append(Task(self._live(thought.pet_id, heard), None))

    def break_rules(self, pet_id: str) -> None:
        """The pet's own rules raise."""
        self.tasks.append(Task(self._live(pet_id, None), None))

    def _live(self, pet_id: str, rule: Callable[[Record], bytes | None] | None) -> Work:
        read = self.store.load(pet_id)
        yield
        if not isinstance(read, Record) or read.status is not Status.ACTIVE:
            return None
        save = b"" if rule is None else rule(read)
        if save is None:
            return None
        event: Live | Quarantine = (
            Quarantine(read.epoch, read.revision, "KeyError") if rule is None else Live(read.epoch, read.revision, save)
        )
        yield
        # half of the time what was read is old by now: there only the store's fence is left
        held = read if self._chance.random() < 0.5 else self.store.load(pet_id)
        try:
            self._commit(pet_id, held, event, decide(held, event, now_ms=self.now_ms), b"")
        except (Refused, StaleWrite, StoreFailed):
            return None
        return None

    def keep_house(self) -> None:
        """Prepared pets that waited a day go.

        Not while a request is under way: an id that expires and is prepared again between a request's look and its
        commit has the same epoch and revision as before. In the real host the pet's lock keeps these apart.
        """
        if self.tasks:
            return
        before_ms = self.now_ms - PREPARED_KEPT_MS
        self.store.expire_prepared(before_ms)
        self._ledger.expired(before_ms)

    def _mark(self, kind: str) -> str:
        self._marks += 1
        return f"{kind}{self._marks}"
