"""Many pets, nearly all parked: `python -m tools.bench.capacity.registered [--pets 10000] [--parked 95]`.

Writes the database through the protocol, starts a real `tokenling serve` over it and reads what the system says: how
long the start took, what the whole process holds in memory when it answers and when every active pet is on the clock,
and how long health, metrics and the stop take. Exits with 1 when a promise is broken.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tools.bench.capacity import population
from tools.bench.capacity.served import Served
from tools.bench.capacity.window import wait_until_looked_round

RESIDENT_BYTES_MAX = 400 * 1024 * 1024
START_S_MAX = 10.0
PEAK = "process_max_resident_memory_bytes"


@dataclass(frozen=True, slots=True)
class Registered:
    """What was measured. `peak_mib` is the most that the process ever held."""

    pets: int
    active: int
    save_bytes_mean: int
    database_mib: float
    start_s: float
    look_round_s: float
    ready_mib: float
    settled_mib: float
    peak_mib: float
    health_ms: float
    metrics_ms: float
    stop_s: float
    in_memory: int

    @property
    def kept(self) -> bool:
        return self.start_s <= START_S_MAX and self.peak_mib * 2**20 <= RESIDENT_BYTES_MAX


def measure(pets: int, parked_percent: int, *, lanes: int = 2) -> Registered:
    """Write them, serve them, look at the process, stop it."""
    parked = pets * parked_percent // 100
    active = pets - parked
    brain_id = str(json.loads((shipped_brain_dir() / "brain.json").read_text())["id"])
    with tempfile.TemporaryDirectory(prefix="registered-") as made:
        database = Path(made) / "pets.sqlite"
        written = trio.run(partial(population.write, database, active=active, parked=parked, brain_id=brain_id))
        with Served(database, lanes=lanes, numerics="exact", pets_max=pets) as host:
            ready = host.usage().resident_bytes
            look_round_s = wait_until_looked_round(host, active, 2)
            settled, metrics = host.usage().resident_bytes, host.metrics()
            health_ms, metrics_ms = _best_ms(host.health), _best_ms(host.metrics)
            stop_s = host.stop()
    return Registered(
        pets=pets, active=active, save_bytes_mean=written.save_bytes_mean, database_mib=_mib(written.database_bytes),
        start_s=round(host.started_s, 2), look_round_s=round(look_round_s, 2), ready_mib=_mib(ready),
        settled_mib=_mib(settled), peak_mib=_mib(metrics[PEAK]), health_ms=health_ms, metrics_ms=metrics_ms,
        stop_s=round(stop_s, 2), in_memory=round(metrics["tokenling_pets_in_memory"]),
    )  # fmt: skip


def _best_ms(ask: Callable[[], object], rounds: int = 5) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - began)
    return round(min(taken) * 1000, 2)


def _mib(size: float) -> float:
    return round(size / 2**20, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pets", type=int, default=10_000)
    parser.add_argument("--parked", type=int, default=95, help="percent")
    chosen = parser.parse_args()
    found = measure(chosen.pets, chosen.parked)
    print(json.dumps({**asdict(found), "kept": found.kept}, indent=1))
    sys.exit(not found.kept)


if __name__ == "__main__":
    main()
