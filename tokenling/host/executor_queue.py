"""The turns that wait for a lane, and who goes next.

A pet has at most one job here (`put` asserts it), so the queue is bounded by the number of pets. Order: what the owner
did goes first, then first come, first served; background work that has waited `PROMOTE_AFTER_S` moves ahead of both
(design section 5). A running job is never pushed aside for that.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import trio

from tokenling.engine.request import GenerationRequest
from tokenling.host.ports import Generated

TurnKind = Literal["reactive", "idle", "diary"]

PROMOTE_AFTER_S = 30.0
"""How long background work waits before it moves ahead of new reactive work (the seed's figure)."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The generation gave nothing to apply; `reason` names a class or a bound, never what was said."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The generation was stopped because its turn was no longer wanted."""


Outcome = Generated | Failed | Cancelled


class JobState(enum.Enum):
    """Waiting in the queue, running on a lane, done with an outcome."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


class Job:
    """One turn of one pet on its way through a lane.

    `since_s` is when this pet's work of this kind began to wait, on Trio's clock: it outlives a replaced request.
    """

    def __init__(self, pet_id: str, turn_id: str, kind: TurnKind, request: GenerationRequest, since_s: float) -> None:
        self.pet_id = pet_id
        self.turn_id = turn_id
        self.kind = kind
        self.request = request
        self.since_s = since_s
        self.state = JobState.WAITING
        self.scope = trio.CancelScope()
        self.unwanted = False
        self._outcome: Outcome = Cancelled()
        self._done = trio.Event()

    def resolve(self, outcome: Outcome) -> None:
        """Set the outcome, once. An unwanted turn's reply is dropped here, so that no late one can be applied."""
        assert self.state is not JobState.DONE, "a job is resolved once"
        self.state = JobState.DONE
        self._outcome = Cancelled() if self.unwanted else outcome
        self._done.set()

    async def outcome(self) -> Outcome:
        """Wait for the outcome."""
        await self._done.wait()
        return self._outcome


class Queue(Protocol):
    """Where a lane finds work. The router of several workers takes this place."""

    async def take(self) -> Job: ...


class TurnQueue:
    """The jobs of all pets that wait for a lane."""

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._lanes = trio.lowlevel.ParkingLot()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        """Add a job and wake a lane for it."""
        assert job.pet_id not in self._waiting, "a pet has one generation at a time"
        self._waiting[job.pet_id] = job
        self._lanes.unpark()

    async def take(self) -> Job:
        """Wait for the next job and mark it as running."""
        while not self._waiting:
            await self._lanes.park()
        jobs = list(self._waiting.values())
        job = jobs[next_of(jobs, trio.current_time())]
        del self._waiting[job.pet_id]
        job.state = JobState.RUNNING
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job: one that waits is done at once, a running one as soon as its lane let go of it."""
        job.unwanted = True
        if job.state is JobState.WAITING:
            del self._waiting[job.pet_id]
            job.resolve(Cancelled())
        elif job.state is JobState.RUNNING:
            job.scope.cancel()


def next_of(waiting: Sequence[Job], now_s: float) -> int:
    """The index of the job that goes next; `waiting` is in order of arrival.

    A scan, not a heap: the list holds at most one job a pet, and a scan of a thousand costs less than one token.
    """

    def rank(index: int) -> tuple[int, float]:
        job = waiting[index]
        if job.kind == "reactive":
            return (1, index)
        return (0, job.since_s) if now_s - job.since_s >= PROMOTE_AFTER_S else (2, job.since_s)

    return min(range(len(waiting)), key=rank)
