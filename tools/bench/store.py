"""How many commits a second the store gives: `python -m tools.bench.store [--seconds N] [--dir DIR]`.

Each commit is what a command costs: one pet's record with a save of 50 KB, fenced, and an operation receipt. Callers
come alone, in eights, in sixty-fours; each waits for its answer before it writes again. The rounds are interleaved, so
that a noisy moment meets all of them; the best and the median of the rounds are printed.
"""

import argparse
import hashlib
import statistics
import tempfile
import time
from pathlib import Path

import trio

from tokenling.protocol import (
    Activate,
    Apply,
    Decision,
    Occupancy,
    Operation,
    Prepare,
    Record,
    Replay,
    decide,
)
from tokenling.store import Store, open_store

SAVE = b"x" * 50_000
ANSWER = b"{}" * 200
KEY = bytes(32)
CALLERS = (1, 8, 64)
ROUNDS = 5


def _decided(outcome: Decision | Replay) -> Decision:
    assert isinstance(outcome, Decision)
    return outcome


def _operation(record: Record, name: str) -> Operation:
    return Operation(name, record.epoch, hashlib.sha256(name.encode()).digest())


async def _adopt(store: Store, pet_id: str) -> Record:
    room = Occupancy(0, 1000, 0, 1000)
    prepared = decide(None, Prepare(pet_id, KEY, "bench", SAVE, room), now_ms=1)
    await store.carry_out(pet_id, prepared.effects)
    assert prepared.record is not None
    wish = Activate(_operation(prepared.record, f"adopt {pet_id}"), "device", "bench", SAVE)
    active = _decided(decide(prepared.record, wish, now_ms=1))
    await store.carry_out(pet_id, active.answered(ANSWER))
    assert active.record is not None
    return active.record


async def _commands(store: Store, record: Record, until: float, done: list[int]) -> None:
    while time.perf_counter() < until:
        wish = Apply(_operation(record, f"op {record.revision}"), SAVE)
        decision = _decided(decide(record, wish, now_ms=1))
        await store.carry_out(record.pet_id, decision.answered(ANSWER))
        assert decision.record is not None
        record = decision.record
        done.append(1)


async def _round(path: Path, callers: int, seconds: float) -> tuple[float, float]:
    """Commands a second, and commands in one commit on the average."""
    async with open_store(path, now_ms=1) as store:
        records = [await _adopt(store, f"pet {number}") for number in range(callers)]
        before, done, start = store.statistics(), list[int](), time.perf_counter()
        async with trio.open_nursery() as nursery:
            for record in records:
                nursery.start_soon(_commands, store, record, start + seconds, done)
        elapsed, after = time.perf_counter() - start, store.statistics()
        return len(done) / elapsed, len(done) / (after.commits - before.commits)


async def main(directory: Path, seconds: float) -> None:
    """Print one line for each number of callers."""
    results: dict[int, list[tuple[float, float]]] = {callers: [] for callers in CALLERS}
    for number in range(ROUNDS):
        for callers in CALLERS:
            results[callers].append(await _round(directory / f"{number}-{callers}.sqlite", callers, seconds))
    for callers, rounds in results.items():
        speeds, groups = [speed for speed, _ in rounds], [group for _, group in rounds]
        print(
            f"{callers:3d} callers: {statistics.median(speeds):7.0f} commands/s median, {max(speeds):7.0f} best,"
            f" {statistics.median(groups):5.1f} in one commit"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one round")
    parser.add_argument("--dir", type=Path, default=None, help="where the databases are written (default: temporary)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as made:
        trio.run(main, Path(made), arguments.seconds)
