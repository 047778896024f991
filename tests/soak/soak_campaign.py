"""A long day at a real host: `python tests/soak/soak_campaign.py [--seconds 3600] [--visitors 24]`, also `nox -s soak`.

A real `tokenling serve` with the shipped brain, a crowd over real HTTP, and a look at the process every half second.
Flat means: behind a warm-up of a fifth of the time, memory, open files and threads do not grow, by the median slope.
Exits with 1 when anything grew, the WAL outgrew its bound, an answer was not an expected one, or the process did not
come to rest when the crowd had left.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import trio

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from soak.crowd import Seen, crowd
from soak.flatness import grown, means_of
from soak.mappings import Resident, resident_of
from tokenling import engine
from tokenling.cli.hosting import available_cores
from tools.bench.capacity import population
from tools.bench.capacity.served import Served

SAMPLE_S = 0.5
WHERE_EVERY = 60
"""Of so many samples one tells where memory is, too: it takes some milliseconds."""
PARTS = 30
WARM_UP_SHARE = 0.2
"""Caches fill, the allocator finds its size, the database its pages."""
MEMORY_GROWTH_BYTES_MAX = 8 * 1024 * 1024
"""Behind the warm-up, of a run short or long: pools of the allocator move by some MB without any leak. One of 1 KB a
request shows as 270 MB in the hour; two minutes see one of 2 KB."""
FILES_GROWTH_MAX = 3.0
THREADS_GROWTH_MAX = 2.0
WAL_BYTES_MAX = 24 * 1024 * 1024
"""SQLite checkpoints behind 4 MiB; a group of 64 large saves may stand on top of that."""
REST_S_MAX = 60.0
"""Until the process has let go of everything: an idle thread of Trio's lives 10 s, a pet stays a minute in memory."""
THREADS_LEFT_MAX = 3
"""Over those of a host that nobody has asked anything: its two lanes' own, and one of Trio's that has not ended yet."""
IDLE_PETS = 40


@dataclass(slots=True)
class Samples:
    """What was seen of the process, evenly in time."""

    memory_bytes: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    threads: list[float] = field(default_factory=list)
    wal_bytes: list[float] = field(default_factory=list)
    where: list[Resident] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run has shown; `faults` is empty when everything was as it should be."""

    seconds: float
    requests: int
    memory_mib: tuple[float, float]
    memory_grown_mib: float
    memory_by_time_mib: tuple[float, ...]
    """From the first visitor to the end, means of equal parts: whether it levels off."""
    memory_where: tuple[Resident, ...]
    """Behind the warm-up and at the end."""
    files_grown: float
    threads_grown: float
    threads_most: int
    files_most: int
    wal_mib_most: float
    at_rest: dict[str, int]
    answers: dict[str, int]
    faults: tuple[str, ...]


def soak(seconds: float, visitors: int) -> Verdict:
    """Run a host under a crowd for so long."""
    with tempfile.TemporaryDirectory(prefix="soak-") as made:
        database = Path(made) / "pets.sqlite"
        now_ms = time.time_ns() // 1_000_000
        brain_id = brain_of_the_package()
        trio.run(_write, database, brain_id)
        saves = tuple(
            engine.dump_save(population.lived(days, number, brain_id, now_ms)) for number, days in enumerate((1, 3, 14))
        )
        with Served(database, lanes=min(2, available_cores()), numerics="exact", pets_max=1_000_000) as host:
            before = host.usage()
            samples, seen = Samples(), Seen()
            trio.run(_under_watch, host, database, samples, seen, saves, visitors, seconds)
            rest = at_rest(host, before.files, before.threads)
            host.stop()
        left = database.with_name(database.name + "-wal")
        wal_left = left.stat().st_size if left.exists() else 0
    return verdict(seconds, samples, seen, rest, wal_left)


def brain_of_the_package() -> str:
    from tokenling.cli.brain_files import shipped_brain_dir

    return json.loads((shipped_brain_dir() / "brain.json").read_text())["id"]


async def _write(database: Path, brain_id: str) -> None:
    """Pets that live by themselves beside the crowd's."""
    await population.write(database, active=IDLE_PETS, parked=IDLE_PETS, brain_id=brain_id)


async def _under_watch(
    host: Served, database: Path, samples: Samples, seen: Seen, saves: tuple[bytes, ...], visitors: int, seconds: float
) -> None:
    wal = database.with_name(database.name + "-wal")

    async def watch() -> None:
        while True:
            if len(samples.memory_bytes) % WHERE_EVERY == 0:
                samples.where.append(resident_of(host.pid))
            usage = host.usage()
            samples.memory_bytes.append(usage.resident_bytes)
            samples.files.append(usage.files)
            samples.threads.append(usage.threads)
            samples.wal_bytes.append(wal.stat().st_size if wal.exists() else 0)
            await trio.sleep(SAMPLE_S)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await crowd(host.address, saves, visitors, seconds, seen)
        nursery.cancel_scope.cancel()


def at_rest(host: Served, files: int, threads: int) -> dict[str, int]:
    """The process once nobody is there: waits until it holds no more than before, or for so long."""
    until = time.monotonic() + REST_S_MAX
    while True:
        usage, metrics = host.usage(), host.metrics()
        parked, connections = (metrics[f"tokenling_{name}"] for name in ("requests_parked", "connections"))
        found = {
            "filesOver": usage.files - files, "threadsOver": usage.threads - threads, "parked": round(parked),
            "connections": round(connections),
        }  # fmt: skip
        if time.monotonic() > until or (
            max(found["filesOver"], found["parked"]) <= 1 and found["threadsOver"] <= THREADS_LEFT_MAX
        ):
            return found
        time.sleep(1.0)


def verdict(seconds: float, samples: Samples, seen: Seen, rest: dict[str, int], wal_left: int) -> Verdict:
    """The figures of a run, and what is wrong with them."""
    memory, files, threads = (_steady(series) for series in (samples.memory_bytes, samples.files, samples.threads))
    memory_grown, files_grown, threads_grown = grown(memory), grown(files), grown(threads)
    faults = [f"unexpected: {what}, {count} times" for what, count in sorted(seen.faults.items())]
    for broken, text in (
        (memory_grown > MEMORY_GROWTH_BYTES_MAX, f"memory grew by {memory_grown / 2**20:.1f} MiB"),
        (files_grown > FILES_GROWTH_MAX, f"open files grew by {files_grown:.1f}"),
        (threads_grown > THREADS_GROWTH_MAX, f"threads grew by {threads_grown:.1f}"),
        (max(samples.wal_bytes) > WAL_BYTES_MAX, f"the WAL reached {max(samples.wal_bytes) / 2**20:.1f} MiB"),
        (wal_left > 0, f"a WAL of {wal_left} bytes is left behind"),
        (rest["filesOver"] > 1 or rest["parked"] > 0, f"not at rest: {rest}"),
        (rest["threadsOver"] > THREADS_LEFT_MAX, f"threads not at rest: {rest}"),
    ):
        faults += [text] if broken else []
    return Verdict(
        seconds=seconds, requests=seen.answers.total(), memory_mib=(_mib(memory[0]), _mib(memory[-1])),
        memory_grown_mib=_mib(memory_grown),
        memory_by_time_mib=tuple(map(_mib, means_of(samples.memory_bytes, PARTS))),
        memory_where=_behind_and_last(samples.where), files_grown=round(files_grown, 2),
        threads_grown=round(threads_grown, 2),
        threads_most=round(max(samples.threads)), files_most=round(max(samples.files)),
        wal_mib_most=_mib(max(samples.wal_bytes)), at_rest=rest, answers=dict(sorted(seen.answers.items())),
        faults=tuple(faults),
    )  # fmt: skip


def _steady(series: Sequence[float]) -> Sequence[float]:
    assert len(series) >= 10, "too short to say anything"
    return series[int(len(series) * WARM_UP_SHARE) :]


def _behind_and_last(where: Sequence[Resident]) -> tuple[Resident, ...]:
    return (where[int(len(where) * WARM_UP_SHARE)], where[-1]) if where else ()


def _mib(size: float) -> float:
    return round(size / 2**20, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--visitors", type=int, default=24)
    chosen = parser.parse_args()
    found = soak(chosen.seconds, chosen.visitors)
    sys.stdout.write(json.dumps(asdict(found), indent=1) + "\n")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
