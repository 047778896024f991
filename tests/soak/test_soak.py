"""The short profile of the soak, and proof that it would see a leak."""

import os
import random
from pathlib import Path

import pytest

from soak.crowd import Seen
from soak.flatness import grown
from soak.mappings import Resident, resident_in, resident_of
from soak.soak_campaign import (
    FILES_GROWTH_MAX,
    MEMORY_GROWTH_BYTES_MAX,
    SAMPLE_S,
    WARM_UP_SHARE,
    Samples,
    soak,
    verdict,
)

SHORT_S = 120.0
HOUR = int(3600 / SAMPLE_S)
MIB = 2**20
REST = {"filesOver": 0, "threadsOver": 0, "parked": 0, "connections": 0}


def test_a_host_under_a_crowd_stays_flat_and_comes_to_rest() -> None:
    found = soak(SHORT_S, visitors=12)
    assert () == found.faults
    for what in ("say 200", "park 200", "activate 200", "delete 204", "hung up", "stale epoch 409", "half a request"):
        assert found.answers.get(what, 0) > 0, what


SMAPS = """\
55d000000000-55d000100000 r-xp 00000000 08:01 1234   /usr/bin/python3.11
Size:               1024 kB
Rss:                1024 kB
Pss:                 512 kB
55d001000000-55d002000000 rw-p 00000000 00:00 0      [heap]
Rss:                2048 kB
7f1c00000000-7f1c00900000 rw-p 00000000 00:00 0
Rss:                3072 kB
7f1c04000000-7f1c04900000 rw-p 00000000 00:00 0
Rss:                 512 kB
7f1c08010000-7f1c08090000 rw-p 00000000 00:00 0
Rss:                1280 kB
7ffd00000000-7ffd00020000 rw-p 00000000 00:00 0      [stack]
Rss:                 256 kB
"""


def test_memory_is_told_by_what_it_is_of() -> None:
    assert Resident(1.0, 2.0, (3.0, 0.5), 1.5) == resident_in(SMAPS)


def test_the_memory_of_this_process_is_told_whole() -> None:
    found = resident_of(os.getpid())
    whole = int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
    assert sum((found.files, found.first_heap, found.rest, *found.thread_heaps)) == pytest.approx(whole, rel=0.1)


def test_growth_is_the_typical_slope_and_no_jump() -> None:
    assert 4 == grown([10, 11, 12, 13, 40])
    assert 0 == grown([5, 5, 90, 5, 5])
    assert 99 == pytest.approx(grown(list(range(100))))
    assert 990 == pytest.approx(grown(list(range(1000))), rel=0.02)


def steady(count: int = 100) -> Samples:
    return Samples([150 * MIB] * count, [30.0] * count, [7.0] * count, [4.0 * MIB] * count)


def restless(grows_mib: float, seed: int) -> Samples:
    """The hour's memory, that wavers by 1 MiB over a minute and grows by so much behind the warm-up."""
    chance, waver, samples = random.Random(seed), 0.0, steady(HOUR)  # noqa: S311 - noise, no secret
    for at in range(HOUR):
        waver = 0.99 * waver + 0.14 * chance.gauss(0, 1)
        samples.memory_bytes[at] += MIB * (waver + grows_mib * at / HOUR / (1 - WARM_UP_SHARE))
    return samples


@pytest.mark.parametrize("seed", range(10))
def test_a_level_hour_passes_however_restless_and_one_that_grows_by_half_more_than_it_may_does_not(seed: int) -> None:
    grows_mib = 1.5 * MEMORY_GROWTH_BYTES_MAX / MIB
    assert () == verdict(3600, restless(0, seed), Seen(), REST, 0).faults
    (fault,) = verdict(3600, restless(grows_mib, seed), Seen(), REST, 0).faults
    assert fault.startswith("memory grew")


def test_a_steady_run_has_no_fault() -> None:
    assert () == verdict(60, steady(), Seen(), REST, 0).faults


LEAKS = {
    "memory": ("memory grew", {"memory_bytes": MEMORY_GROWTH_BYTES_MAX / 70}),
    "files": ("open files grew", {"files": FILES_GROWTH_MAX / 70}),
    "threads": ("threads grew", {"threads": 0.05}),
    "the WAL": ("the WAL reached", {"wal_bytes": MIB}),
}


@pytest.mark.parametrize(("said", "a_sample"), LEAKS.values(), ids=LEAKS)
def test_a_leak_is_seen(said: str, a_sample: dict[str, float]) -> None:
    samples = steady()
    for name, step in a_sample.items():
        series = getattr(samples, name)
        series[:] = [value + at * step for at, value in enumerate(series)]
    (fault,) = verdict(60, samples, Seen(), REST, 0).faults
    assert fault.startswith(said)


def test_what_does_not_come_to_rest_is_seen() -> None:
    for rest, wal in (({**REST, "filesOver": 2}, 0), ({**REST, "parked": 1}, 0), ({**REST, "threadsOver": 4}, 0)):
        assert 1 == len(verdict(60, steady(), Seen(), rest, wal).faults)
    assert 1 == len(verdict(60, steady(), Seen(), REST, 32).faults)


def test_an_answer_that_nobody_expected_is_seen() -> None:
    seen = Seen()
    seen.note("say", 500, 200)
    assert ("unexpected: say 500, 1 times",) == verdict(60, steady(), seen, REST, 0).faults
