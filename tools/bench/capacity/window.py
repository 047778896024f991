"""One window of traffic against a real host, measured from outside."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenling.host.due_line import places_for
from tools.bench.capacity.profile import Sampling
from tools.bench.capacity.served import Metrics, Served, Usage, machine_s, usage_of
from tools.bench.capacity.traffic import turns_per_s

SETTLE_S = 60.0
"""From the first owner until the window: what became due while the database was written and the host started is lived,
owners' keys are known, caches are filled."""
LINGER_S = 4.0
"""The owners stay beyond the window, so that none leaves it in a rush."""
LOOK_ROUND_S_MAX = 600.0
ON_THEIR_WAY = 40
"""Pets that are being lived stand neither on the clock nor in the line: owners', and those that have a place."""
IDLE_LATE_S_MAX = 1800.0
"""Twice the interval of a pet with four idle turns an hour."""
WITHIN_2_S_MIN = 0.95
KEPT_UP_MIN = 0.97
"""Turns done for turns asked: below this a backlog grows, and its lateness is only a matter of time."""


@dataclass(frozen=True, slots=True)
class Look:
    """The host at one moment."""

    usage: Usage
    metrics: Metrics
    machine_s: float
    at_ms: int


def look(host: Served) -> Look:
    metrics = host.metrics()
    return Look(host.usage(), metrics, machine_s(), time.time_ns() // 1_000_000)


@dataclass(frozen=True, slots=True)
class Window:
    """What happened between two looks, and what the owners say of it."""

    pets: int
    as_of: int
    before: Look
    after: Look
    owners: Mapping[str, object]
    owners_cpu_s: float
    rooms: Mapping[str, float] | None = None

    @property
    def seconds(self) -> float:
        return self.after.usage.at_s - self.before.usage.at_s

    def grew(self, name: str) -> float:
        return self.after.metrics.get(name, 0.0) - self.before.metrics.get(name, 0.0)

    def turns(self, kind: str) -> int:
        return round(self.grew(f'tokenling_turn_seconds_count{{kind="{kind}"}}'))

    def turns_within(self, kind: str, bound: str) -> int:
        return round(self.grew(f'tokenling_turn_seconds_bucket{{kind="{kind}",le="{bound}"}}'))

    @property
    def turns_done(self) -> int:
        return sum(map(self.turns, ("idle", "reactive", "diary")))

    @property
    def turns_per_s(self) -> float:
        return self.turns_done / self.seconds

    def figures(self) -> dict[str, object]:
        """Everything, as numbers for people and machines."""
        asked, store_s = turns_per_s(self.as_of), self.grew("tokenling_store_cpu_seconds_total")
        threads_s = self.after.usage.threads_s - self.before.usage.threads_s
        loop_s = self.after.usage.loop_s - self.before.usage.loop_s
        machine, commits = self.after.machine_s - self.before.machine_s, self.grew("tokenling_store_commits_total")
        reactive, idle = self.turns("reactive"), self.turns("idle")
        written = self.after.usage.written_bytes - self.before.usage.written_bytes
        return {
            "pets": self.pets,
            "asOf": self.as_of,
            "seconds": round(self.seconds, 1),
            "turnsPerS": round(self.turns_per_s, 2),
            "askedPerS": round(sum(asked.values()), 2),
            "turns": {kind: self.turns(kind) for kind in ("reactive", "idle", "diary")},
            "reactiveWithin2s": _share(self.turns_within("reactive", "2.0"), reactive),
            "idleWithin60s": _share(self.turns_within("idle", "60.0"), idle),
            "idleLaterThan1800s": idle - self.turns_within("idle", "1800.0"),
            "due": [self.before.metrics.get("tokenling_pets_due", 0), self.after.metrics.get("tokenling_pets_due", 0)],
            "cancelled": round(self.grew("tokenling_turns_cancelled_total")),
            "failed": round(self.grew("tokenling_turns_failed_total")),
            "requestsPerS": round(self._requests() / self.seconds, 1),
            "cpu": {
                "brain": round((threads_s - store_s) / self.seconds, 3),
                "store": round(store_s / self.seconds, 3),
                "loop": round(loop_s / self.seconds, 3),
                "owners": round(self.owners_cpu_s / self.seconds, 3),
                "others": round((machine - threads_s - loop_s - self.owners_cpu_s) / self.seconds, 3),
            },
            "cpuMsPerTurn": round((threads_s + loop_s) * 1000 / max(1, self.turns_done), 2),
            "rooms": self.rooms,
            "commitsPerS": round(commits / self.seconds, 1),
            "writesPerCommit": round(self.grew("tokenling_store_writes_total") / commits, 2) if commits else None,
            "largestGroup": round(self.after.metrics.get("tokenling_store_largest_group", 0)),
            "writtenMiBPerS": round(written / 2**20 / self.seconds, 2),
            "residentMiB": round(self.after.usage.resident_bytes / 2**20, 1),
            "inMemory": round(self.after.metrics.get("tokenling_pets_in_memory", 0)),
            "owners": dict(self.owners),
        }

    def _requests(self) -> float:
        return sum(self.grew(name) for name in self.after.metrics if name.startswith("tokenling_requests_total"))

    def kept(self) -> bool:
        """Whether this many pets were carried as promised."""
        within = self.owners.get("within2s")
        asked = sum(turns_per_s(self.as_of).values())
        late = self.turns("idle") - self.turns_within("idle", "1800.0")
        backlog = self.after.metrics.get("tokenling_pets_due", 0) - self.before.metrics.get("tokenling_pets_due", 0)
        return (
            isinstance(within, float)
            and within >= WITHIN_2_S_MIN
            and late == 0
            and backlog <= (1 - KEPT_UP_MIN) * asked * self.seconds
        )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


@dataclass(frozen=True, slots=True)
class Plan:
    """How a window is measured. `as_of`: as many owners come as of a population of so many."""

    pets: int
    seconds: float
    settle_s: float = SETTLE_S
    as_of: int | None = None
    profile: bool = False


def measure(host: Served, plan: Plan) -> Window:
    """Let owners come, wait until it has settled, and measure; the owners stay to the end."""
    as_of = plan.as_of or plan.pets
    arguments = [plan.pets, plan.settle_s + plan.seconds + LINGER_S, "--settle", plan.settle_s, "--as-of", as_of]
    command = [sys.executable, "-m", "tools.bench.capacity.owners", host.address, *map(str, arguments)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owners:
        try:
            _wait_until(began + plan.settle_s)
            before, owners_before = look(host), usage_of(owners.pid)
            sampling = Sampling(host.pid, plan.seconds) if plan.profile else None
            _wait_until(began + plan.settle_s + plan.seconds)
            after, owners_after = look(host), usage_of(owners.pid)
            assert owners.stdout is not None
            said = json.loads(owners.stdout.read())
        except BaseException:
            owners.kill()
            raise
    spent = owners_after.loop_s + owners_after.threads_s - owners_before.loop_s - owners_before.threads_s
    return Window(plan.pets, as_of, before, after, said, spent, None if sampling is None else sampling.shares())


def wait_until_looked_round(host: Served, pets: int, turns_at_once: int) -> float:
    """Seconds until every active pet is on the clock, or in the line."""
    on_their_way = ON_THEIR_WAY + places_for(turns_at_once)
    began = time.monotonic()
    while time.monotonic() - began < LOOK_ROUND_S_MAX:
        metrics = host.metrics()
        if metrics["tokenling_pets_scheduled"] + metrics["tokenling_pets_due"] >= pets - on_their_way:
            break
        time.sleep(0.5)
    return time.monotonic() - began


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def asked_in(database: Path, began_ms: int, ended_ms: int, most: int) -> list[bytes]:
    """The turn receipts of a window, at most so many, evenly taken: what the bare brain runs."""
    import apsw

    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = connection.execute(
            "SELECT receipt FROM turn_receipts WHERE made_at_ms BETWEEN ? AND ? ORDER BY made_at_ms",
            (began_ms, ended_ms),
        ).fetchall()
    finally:
        connection.close()
    receipts = [receipt for (receipt,) in found if isinstance(receipt, bytes)]
    return receipts[:: max(1, len(receipts) // most)][:most]
