"""`GET /metrics` on a second, loopback address: counts and times in Prometheus's text format, version 0.0.4.

Labels come from closed lists (methods, route templates, statuses, worker names): no pet, key or word can be one. The
numbers are kept where they arise (`tallies.py`, the store) and become families when somebody asks, so the client
library's own registry, HTTP server and locks have no part in a request.
"""

import contextlib
import resource
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tokenling import __version__
from tokenling.host.condition import Condition
from tokenling.host.envelopes import Health
from tokenling.host.errors import ApiError
from tokenling.host.shell import Doors
from tokenling.host.tallies import BUCKETS_S, TURN_BUCKETS_S, Life
from tokenling.store import Counts, Statistics, Store, StoreFailed

ROUTE = "/metrics"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers come from."""

    doors: Doors
    store: Store
    condition: Condition
    connections: Callable[[], int]
    free_bytes: Callable[[], int]
    life: Callable[[], Life]


class Metrics:
    """The ASGI application of the second address, behind a shell of its own."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._process = ProcessCollector(registry=None)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http", "the shell passes nothing else on"
        if scope["path"] != ROUTE or scope["query_string"]:
            raise ApiError(404, "unknown_route", "Metrics are at /metrics.")
        if scope["method"] != "GET":
            raise ApiError(405, "method_not_allowed", "Metrics are read with GET.")
        scope["state"]["route"] = ROUTE
        body = await self.page()
        headers = [
            (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode()),
            (b"content-length", b"%d" % len(body)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def page(self) -> bytes:
        """Everything that is known now. What the store does not tell while it fails is left out."""
        try:
            counts = await self._sources.store.counts()
        except StoreFailed:
            counts = None
        return generate_latest(_Snapshot(tuple(self._families(counts))))

    def _families(self, counts: Counts | None) -> Iterable[Metric]:
        yield from _answered(self._sources.doors)
        yield from _now(self._sources)
        life = self._sources.life()
        yield from _lived(life)
        yield from _stored(self._sources.store.statistics())
        if counts is not None:
            pets = GaugeMetricFamily("tokenling_pets", "Pets held, by status.", labels=["status"])
            for status, held in counts.by_status.items():
                pets.add_metric([str(status)], held)
            yield pets
        yield from self._process.collect()
        what = "The most memory this process has held."
        yield GaugeMetricFamily("process_max_resident_memory_bytes", what, max_resident_bytes())
        if life.brain_pid is not None:
            yield from brain_families(life.brain_pid)


def max_resident_bytes() -> int:
    """The most memory that this program has held. Linux's `ru_maxrss` begins with what the process held before `exec`,
    that is, with the memory of whoever started the host; so its own high-water mark is read where there is one."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def brain_families(pid: int, *, proc: str = "/proc") -> Iterable[Metric]:
    """What the system says of the brain's own process; nothing when it ends meanwhile."""
    collector = ProcessCollector(namespace="tokenling_brain", pid=lambda: pid, proc=proc, registry=None)
    try:
        return collector.collect()
    except UnboundLocalError:  # the library's: the limits of a process that is just gone are an empty file
        return ()


class _Snapshot(Collector):
    """Families that were made already: what the library writes out needs a collector, not a registry."""

    def __init__(self, families: tuple[Metric, ...]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _answered(doors: Doors) -> Iterable[Metric]:
    tallies = doors.tallies
    text = "Requests answered; status 0: the client left."
    answers = CounterMetricFamily("tokenling_requests", text, labels=["method", "route", "status"])
    for (method, route, status), count in sorted(tallies.answers.items()):
        answers.add_metric([method, route, str(status)], count)
    yield answers
    took = HistogramMetricFamily(
        "tokenling_request_seconds", "How long answers took, long-polls included.", labels=["route"]
    )
    for route, held in sorted(tallies.in_bucket.items()):
        took.add_metric([route], _reached(BUCKETS_S, held), tallies.seconds[route])
    yield took


def _reached(bounds_s: Sequence[float], held: Sequence[int]) -> list[tuple[str, int]]:
    """Buckets as the format wants them: how many took up to each bound."""
    return list(zip((*map(str, bounds_s), "+Inf"), accumulate(held), strict=True))


def _lived(life: Life) -> Iterable[Metric]:
    turns = HistogramMetricFamily(
        "tokenling_turn_seconds", "From when a turn was due until its reply was on disk.", labels=["kind"]
    )
    for kind, held in sorted(life.turns.in_bucket.items()):
        turns.add_metric([kind], _reached(TURN_BUCKETS_S, held), life.turns.seconds[kind])
    yield turns
    yield CounterMetricFamily("tokenling_turns_failed", "Generations that gave nothing.", life.turns.failed)
    text = "Generations that were stopped since the owner did something."
    yield CounterMetricFamily("tokenling_turns_cancelled", text, life.turns.cancelled)
    yield GaugeMetricFamily("tokenling_pets_due", "Pets that are due and wait to be lived.", life.due)
    yield GaugeMetricFamily("tokenling_pets_scheduled", "Pets that know when they will be due.", life.scheduled)
    yield GaugeMetricFamily("tokenling_pets_in_memory", "Pets whose save is in memory.", life.in_memory)
    text = "How often the brain's own process was started again."
    yield CounterMetricFamily("tokenling_brain_restarts", text, life.brain_restarts)


def _now(sources: Sources) -> Iterable[Metric]:
    health, doors = sources.condition(), sources.doors
    yield GaugeMetricFamily("tokenling_ready", "1 while health says ready.", health.ready)
    yield InfoMetricFamily("tokenling", "Always 1; the release is its label.", {"version": __version__})
    yield GaugeMetricFamily("tokenling_connections", "Open connections.", sources.connections())
    text = "Requests under way, long-polls apart."
    yield GaugeMetricFamily("tokenling_requests_in_flight", text, doors.in_flight.now)
    yield GaugeMetricFamily("tokenling_requests_parked", "Long-polls that wait.", doors.waits.parked)
    with contextlib.suppress(OSError):  # health says disk_unreadable
        text = "What may still be written beside the database."
        yield GaugeMetricFamily("tokenling_disk_free_bytes", text, sources.free_bytes())
    workers = GaugeMetricFamily(
        "tokenling_worker", "1 for the state that a worker is in.", labels=["worker", "provider", "state"]
    )
    for worker in health.workers:
        workers.add_metric([worker.name, worker.provider, worker.state], 1)
    yield workers
    yield from _turns(health)


def _turns(health: Health) -> Iterable[Metric]:
    text = "Turns that a worker took, by how they ended; lost: the worker failed, and another took the turn."
    ended = CounterMetricFamily("tokenling_worker_turns", text, labels=["worker", "outcome"])
    for worker in health.workers:
        for outcome in ("whole", "cancelled", "failed", "lost"):
            ended.add_metric([worker.name, outcome], getattr(worker.turns, outcome))
    yield ended
    text = "Turns that wait for a lane, or for the brain's process while it is started again."
    yield GaugeMetricFamily("tokenling_turns_waiting", text, health.turns_waiting)


def _stored(done: Statistics) -> Iterable[Metric]:
    yield CounterMetricFamily("tokenling_store_writes", "Changes that were asked for.", done.writes)
    yield CounterMetricFamily("tokenling_store_reads", "Reads that were asked for.", done.reads)
    yield CounterMetricFamily("tokenling_store_commits", "Transactions that reached the disk.", done.commits)
    yield CounterMetricFamily("tokenling_store_failed_commits", "Transactions that did not.", done.failed_commits)
    text = "Processor time of its thread."
    yield CounterMetricFamily("tokenling_store_cpu_seconds", text, done.cpu_s)
    text = "Changes in the largest transaction so far."
    yield GaugeMetricFamily("tokenling_store_largest_group", text, done.largest_group)
    yield GaugeMetricFamily("tokenling_store_queued", "Calls that wait for the store.", done.queued)
