"""A worker: lanes that take turns from the queue and answer them, one at a time each.

A generator that raises fails its turn, not the host: the error is logged by its class and frames, without its message,
which may quote a prompt. A CUDA worker is expendable: when a turn fails there for another reason than the turn itself,
the worker serves no more and the turn waits for the CPU, once. The CPU's worker never ends by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog
import trio

from tokenling.host.envelopes import TurnCounts, WorkerHealth
from tokenling.host.executor_queue import Cancelled, Failed, Job, Outcome, Queue, Router
from tokenling.host.faults import shown_frames
from tokenling.host.ports import Generated, Generator, Gpu, LaneBroke, TurnRefused
from tokenling.host.routing import Device

GENERATION_S_MAX = 120.0
"""A turn on a lane for longer than this has failed: some hundred times a turn of the shipped brain (a guess)."""
GENERATION_LOOKS = 12
"""In so many parts the time is let pass. A process that was stopped as a whole (a paused container, a machine that was
moved) uses up one of them, however long that was: no lane has failed then, and no GPU is given up for it."""
CUDA_PROVIDER = "CUDAExecutionProvider"
"""What health calls a GPU that did not start: nobody is there to ask."""

log = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class _Watched:
    """A job on a lane: since when, and how many looks it has lived through."""

    began_s: float
    looks: int = 0


@dataclass(frozen=True, slots=True)
class LaneLost:
    """The lane failed, not the turn; `reason` names a class or a bound."""

    reason: str


class Serving(Protocol):
    """A worker as the service sees it."""

    def health(self) -> WorkerHealth: ...
    async def run(self) -> None: ...


def workers_of(cpu: Sequence[Generator], gpu: Gpu | None) -> tuple[Router, tuple[Serving, ...]]:
    """The workers of a host and the router between them. A GPU that did not start is shown and gets no turn."""
    lanes: dict[str, tuple[Device, Sequence[Generator]]] = {"cpu": ("cpu", cpu)}
    if gpu is not None and gpu.generators:
        lanes["cuda"] = ("cuda", gpu.generators)
    router = Router([(name, device, len(generators)) for name, (device, generators) in lanes.items()])
    workers: list[Serving] = [
        Worker(name, generators, router, device=device) for name, (device, generators) in lanes.items()
    ]
    if gpu is not None and gpu.failure:
        log.error("the GPU did not start; the CPU serves", worker="cuda", reason=gpu.failure)
        workers.append(NotStarted("cuda", CUDA_PROVIDER))
    return router, tuple(workers)


class NotStarted:
    """A worker that was asked for and is not there."""

    def __init__(self, name: str, provider: str) -> None:
        self._health = WorkerHealth(name, provider, "failed")

    def health(self) -> WorkerHealth:
        """That it failed."""
        return self._health

    async def run(self) -> None:
        """Nothing to do."""


class Worker:
    """One lane for each generator. The generators of a worker share a brain and a provider."""

    def __init__(self, name: str, generators: Sequence[Generator], queue: Queue, *, device: Device = "cpu") -> None:
        assert generators, "a worker has a lane"
        self.name = name
        self.device = device
        self._generators = tuple(generators)
        self._queue = queue
        self._lost = False
        self._turns = TurnCounts()
        self._running: dict[Job, _Watched] = {}
        self._watching = False

    def health(self) -> WorkerHealth:
        """What health shows of this worker."""
        busy = len(self._running) == len(self._generators)
        state = "disabled" if self._lost else "busy" if busy else "ready"
        return WorkerHealth(self.name, self._generators[0].provider, state, self._turns)

    async def run(self) -> None:
        """Serve until cancelled, or lost. A lost lane is not torn down: nobody knows what state its driver is in."""
        async with trio.open_nursery() as watchers:
            async with trio.open_nursery() as lanes:
                for generator in self._generators:
                    lanes.start_soon(self._run_lane, generator, watchers)
            watchers.cancel_scope.cancel()

    async def _run_lane(self, generator: Generator, watchers: trio.Nursery) -> None:
        while not self._lost:
            job = await self._queue.take(self.name)
            if not self._watching:
                self._watching = True
                watchers.start_soon(self._end_in_time)
            began_s = trio.current_time()
            self._running[job] = _Watched(began_s)
            try:
                outcome = await answer(generator, job)
            finally:
                del self._running[job]
            self._settle(job, outcome, began_s)

    async def _end_in_time(self) -> None:
        """Stop jobs that have run for `GENERATION_S_MAX` of this process's own time. One task for all of them, which
        stays until a look finds none: one for each turn would be one more to start and to cancel."""
        while self._running:
            await trio.sleep(GENERATION_S_MAX / GENERATION_LOOKS)
            for job, watched in self._running.items():
                watched.looks += 1
                if watched.looks >= GENERATION_LOOKS and trio.current_time() - watched.began_s >= GENERATION_S_MAX:
                    job.scope.cancel()
        self._watching = False

    def _settle(self, job: Job, outcome: Outcome | LaneLost, began_s: float) -> None:
        if isinstance(outcome, LaneLost) and self.device != "cpu":
            self._lost = True
            self._turns = replace(self._turns, lost=self._turns.lost + 1)
            log.error("a worker is lost; its turns go on elsewhere", worker=self.name, reason=outcome.reason)
            self._queue.lost(self.name, job)
            return
        whole = isinstance(outcome, Generated) and not job.unwanted
        self._queue.finished(self.name, job, took_s=trio.current_time() - began_s if whole else None)
        job.resolve(Failed(outcome.reason) if isinstance(outcome, LaneLost) else outcome)
        self._count("whole" if whole else "cancelled" if job.unwanted else "failed")

    def _count(self, outcome: str) -> None:
        self._turns = replace(self._turns, **{outcome: getattr(self._turns, outcome) + 1})


async def answer(generator: Generator, job: Job) -> Outcome | LaneLost:
    """The outcome of one job. Cancelling `job.scope` makes it `Cancelled` where the turn is unwanted, else the lane has
    taken too long. Only the lane's own cancellation raises."""
    try:
        with job.scope:
            return await generator.generate(job.request, turn_id=job.turn_id)
    except TurnRefused as refused:
        log.warning("a turn was refused", code=refused.code)
        return Failed(refused.code)
    except LaneBroke as broke:  # logged where it happened
        log.warning("a lane failed", reason=broke.reason)
        return LaneLost(broke.reason)
    except Exception as error:
        # outside the scope, so that a group that holds a cancellation is split by trio before it gets here
        log.warning("generation failed", frames=shown_frames(error))
        return LaneLost(type(error).__name__)
    except BaseExceptionGroup as group:
        stopped, failure = group.split(trio.Cancelled)
        if stopped is None or not isinstance(failure, Exception):
            raise
        # the host stops, and the lane failed at that moment: a clean stop stays one
        log.warning("generation failed", frames=shown_frames(failure))
        raise stopped from None
    return Cancelled() if job.unwanted else LaneLost("timeout")
