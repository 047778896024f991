"""`GET /metrics` on a second, loopback address: counts and times in Prometheus's text format, version 0.0.4.

Labels come from closed lists (methods, route templates, statuses, worker names): no pet, key or word can be one. The
format is a few lines of text, so it is written here; a client library would bring its own registry, threads and
process-wide state for them.
"""

import contextlib
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from tokenling import __version__
from tokenling.host.condition import Condition
from tokenling.host.errors import ApiError
from tokenling.host.shell import Doors
from tokenling.host.tallies import BUCKETS_S
from tokenling.store import Counts, Statistics, Store, StoreFailed

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
ROUTE = "/metrics"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with its samples: labels to value."""

    name: str
    kind: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]
    suffixes: tuple[str, ...] = ()

    def text(self) -> str:
        suffixes = self.suffixes or ("",) * len(self.samples)
        lines = [f"# HELP {self.name} {self.help}", f"# TYPE {self.name} {self.kind}"]
        for (labels, value), suffix in zip(self.samples, suffixes, strict=True):
            lines.append(f"{self.name}{suffix}{_shown(labels)} {value:.17g}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers come from."""

    doors: Doors
    store: Store
    condition: Condition
    connections: Callable[[], int]
    free_bytes: Callable[[], int]


class Metrics:
    """The ASGI application of the second address, behind a shell of its own."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._started_s = time.time()

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http", "the shell passes nothing else on"
        if scope["path"] != ROUTE or scope["query_string"]:
            raise ApiError(404, "unknown_route", "Metrics are at /metrics.")
        if scope["method"] != "GET":
            raise ApiError(405, "method_not_allowed", "Metrics are read with GET.")
        scope["state"]["route"] = ROUTE
        body = (await self.page()).encode()
        headers = [(b"content-type", CONTENT_TYPE), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def page(self) -> str:
        """Everything that is known now. What the store does not tell while it fails is left out."""
        try:
            counts = await self._sources.store.counts()
        except StoreFailed:
            counts = None
        return "".join(family.text() for family in self._families(counts))

    def _families(self, counts: Counts | None) -> Iterable[Family]:
        yield from _answered(self._sources.doors)
        yield from _now(self._sources)
        yield from _stored(self._sources.store.statistics())
        if counts is not None:
            by_status = tuple(({"status": str(status)}, held) for status, held in counts.by_status.items())
            yield Family("tokenling_pets", "gauge", "Pets held, by status.", by_status)
        yield gauge("process_start_time_seconds", "When the process started.", self._started_s)
        yield from _process()


def gauge(name: str, text: str, value: float, **labels: str) -> Family:
    return Family(name, "gauge", text, ((labels, value),))


def counter(name: str, text: str, value: float) -> Family:
    return Family(name, "counter", text, (({}, value),))


def _answered(doors: Doors) -> Iterable[Family]:
    tallies = doors.tallies
    answers = tuple(
        ({"method": method, "route": route, "status": str(status)}, count)
        for (method, route, status), count in sorted(tallies.answers.items())
    )
    yield Family("tokenling_requests_total", "counter", "Requests answered; status 0: the client left.", answers)
    samples: list[tuple[Mapping[str, str], float]] = []
    suffixes: list[str] = []
    for route, held in sorted(tallies.in_bucket.items()):
        reached = 0
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), held, strict=True):
            reached += count
            samples.append(({"route": route, "le": bound}, reached))
        samples += [({"route": route}, tallies.seconds[route]), ({"route": route}, reached)]
        suffixes += ["_bucket"] * len(held) + ["_sum", "_count"]
    text = "How long answers took, long-polls included."
    yield Family("tokenling_request_seconds", "histogram", text, tuple(samples), tuple(suffixes))


def _now(sources: Sources) -> Iterable[Family]:
    health = sources.condition()
    yield gauge("tokenling_ready", "1 while health says ready.", health.ready)
    yield gauge("tokenling_info", "Always 1; the release is its label.", 1, version=__version__)
    yield gauge("tokenling_connections", "Open connections.", sources.connections())
    yield gauge("tokenling_requests_in_flight", "Requests under way, long-polls apart.", sources.doors.in_flight.now)
    yield gauge("tokenling_requests_parked", "Long-polls that wait.", sources.doors.waits.parked)
    with contextlib.suppress(OSError):  # health says disk_unreadable
        yield gauge("tokenling_disk_free_bytes", "What may still be written beside the database.", sources.free_bytes())
    workers = tuple(
        ({"worker": worker.name, "provider": worker.provider, "state": worker.state}, 1.0) for worker in health.workers
    )
    yield Family("tokenling_worker", "gauge", "1 for the state that a worker is in.", workers)


def _stored(done: Statistics) -> Iterable[Family]:
    yield counter("tokenling_store_writes_total", "Changes that were asked for.", done.writes)
    yield counter("tokenling_store_reads_total", "Reads that were asked for.", done.reads)
    yield counter("tokenling_store_commits_total", "Transactions that reached the disk.", done.commits)
    yield counter("tokenling_store_failed_commits_total", "Transactions that did not.", done.failed_commits)
    yield gauge("tokenling_store_queued", "Calls that wait for the store.", done.queued)


def _process() -> Iterable[Family]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield counter("process_cpu_seconds_total", "Processor time of this process.", used.ru_utime + used.ru_stime)
    yield gauge("process_max_resident_memory_bytes", "The most memory this process has held.", used.ru_maxrss * 1024)


def _shown(labels: Mapping[str, str]) -> str:
    """The labels in braces, escaped as the format asks."""
    if not labels:
        return ""
    escape = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{value.translate(escape)}"' for name, value in labels.items()) + "}"
