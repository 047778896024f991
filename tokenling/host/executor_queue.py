"""The turns that wait for a lane, and the router that hands them out.

A pet has at most one job here (`put` asserts it), so the queue is bounded by the number of pets. Which job a free lane
takes, and whether it does better to wait, `routing` decides anew at each change; a running job is never pushed aside.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from tokenling.engine.request import GenerationRequest
from tokenling.host.ports import Generated
from tokenling.host.routing import Device, Estimates, Running, TurnKind, Waiting, WorkerView, next_for, shape_of

LOOK_AGAIN_S = 1.0
"""While turns wait beside a free lane the plan is made anew this often: it changes with time alone (a promotion, a run
that is overdue)."""
NO_WORKER = "no_worker"


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
    `barred` names the workers that lost it.
    """

    def __init__(self, pet_id: str, turn_id: str, kind: TurnKind, request: GenerationRequest, since_s: float) -> None:
        self.pet_id = pet_id
        self.turn_id = turn_id
        self.kind = kind
        self.request = request
        self.since_s = since_s
        self.shape = shape_of(kind, request)
        self.barred: frozenset[str] = frozenset()
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
    """Where the lanes of a worker find work, and where they say what became of it."""

    async def take(self, worker: str) -> Job: ...
    def finished(self, worker: str, job: Job, *, took_s: float | None) -> None: ...
    def lost(self, worker: str, job: Job) -> None: ...


@dataclass(slots=True)
class _Bench:
    """A worker as the router knows it: what runs there since when, and how long turns take there."""

    name: str
    device: Device
    lanes: int
    estimates: Estimates
    running: dict[str, Running]
    serves: bool = True

    def view(self) -> WorkerView:
        return WorkerView(self.name, self.device, self.lanes, tuple(self.running.values()), self.estimates)


class Router:
    """The jobs of all pets that wait for a lane, and the workers that may run them (`name, device, lanes` each)."""

    def __init__(self, workers: Sequence[tuple[str, Device, int]] = (("cpu", "cpu", 1),)) -> None:
        self._benches = {name: _Bench(name, device, lanes, Estimates(), {}) for name, device, lanes in workers}
        self._waiting: dict[str, Job] = {}
        self._lanes = trio.lowlevel.ParkingLot()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def lanes(self) -> int:
        """Turns that can run at once."""
        return sum(bench.lanes for bench in self._benches.values())

    @property
    def taken(self) -> int:
        """Turns that a lane has taken and not ended."""
        return sum(len(bench.running) for bench in self._benches.values())

    def serves(self, worker: str) -> bool:
        """Whether the worker still takes turns."""
        return self._benches[worker].serves

    def estimates_of(self, worker: str) -> Estimates:
        """How long turns take there: for tests and the curious."""
        return self._benches[worker].estimates

    def put(self, job: Job) -> None:
        """Add a job and let the free lanes look."""
        assert job.pet_id not in self._waiting, "a pet has one generation at a time"
        self._waiting[job.pet_id] = job
        self._lanes.unpark_all()

    async def take(self, worker: str) -> Job:
        """Wait for the next job of this worker's and mark it as running. A worker that lost a turn waits for ever."""
        while True:
            job = self._next(worker)
            if job is not None:
                return self._start(worker, job)
            with trio.move_on_after(LOOK_AGAIN_S if self._waiting and self.serves(worker) else float("inf")):
                await self._lanes.park()

    def _next(self, worker: str) -> Job | None:
        if not self._waiting or not self.serves(worker):
            return None
        jobs = list(self._waiting.values())
        views = [bench.view() for bench in self._benches.values() if bench.serves]
        waiting = [Waiting(job.shape, job.since_s, job.barred) for job in jobs]
        index = next_for(worker, views, waiting, trio.current_time())
        return None if index is None else jobs[index]

    def _start(self, worker: str, job: Job) -> Job:
        del self._waiting[job.pet_id]
        job.state = JobState.RUNNING
        self._benches[worker].running[job.pet_id] = Running(job.shape, trio.current_time())
        return job

    def finished(self, worker: str, job: Job, *, took_s: float | None) -> None:
        """A lane is free again. `took_s` is None unless the turn ran whole: only such turns teach an estimate."""
        bench = self._benches[worker]
        bench.running.pop(job.pet_id, None)
        if took_s is not None:
            bench.estimates = bench.estimates.with_sample(job.shape, took_s)
        self._lanes.unpark_all()

    def lost(self, worker: str, job: Job) -> None:
        """The worker failed under this job: it serves no more, and the job waits again, for another, once."""
        bench = self._benches[worker]
        bench.serves = False
        bench.running.pop(job.pet_id, None)
        job.barred |= {worker}
        if job.unwanted:
            job.resolve(Cancelled())
        elif any(other.serves and name not in job.barred for name, other in self._benches.items()):
            job.state, job.scope = JobState.WAITING, trio.CancelScope()
            self._waiting[job.pet_id] = job
        else:
            job.resolve(Failed(NO_WORKER))
        self._lanes.unpark_all()

    def cancel(self, job: Job) -> None:
        """Stop a job: one that waits is done at once, a running one as soon as its lane let go of it."""
        job.unwanted = True
        if job.state is JobState.WAITING:
            del self._waiting[job.pet_id]
            job.resolve(Cancelled())
            self._lanes.unpark_all()
        elif job.state is JobState.RUNNING:
            job.scope.cancel()
