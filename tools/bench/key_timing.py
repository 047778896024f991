"""Whether time tells an unknown pet from a wrong key: `python -m tools.bench.key_timing [--asks N]`.

In one process, over a real store: the hash of the key and `Polls.answer`, for a pet that is not there, for a wrong key
to a pet in memory, and for a wrong key to a parked one, in shuffled turns. The three medians must lie within 5 %.
"""

import argparse
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from tokenling.host.answers import encoded
from tokenling.host.envelopes import TransferRequest
from tokenling.host.errors import ApiError
from tokenling.host.keys import key_hash_of
from tokenling.host.pets import Pets
from tokenling.host.plan import wall_clock_ms
from tokenling.host.polls import Polls
from tokenling.host.waits import Waits
from tokenling.store import open_store
from tools.bench.quiet_host import QuietBrain, quiet_save

SPREAD_MAX = 0.05
WARM_UP = 200
SEED = 6
WRONG = ((b"authorization", b"Bearer " + b"A" * 43),)


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians in nanoseconds by kind of refusal."""

    medians: Mapping[str, float]

    @property
    def spread(self) -> float:
        """How far the slowest median lies above the fastest."""
        return max(self.medians.values()) / min(self.medians.values()) - 1

    def __str__(self) -> str:
        shown = ", ".join(f"{kind} {median / 1000:.1f} µs" for kind, median in self.medians.items())
        return f"{shown}; spread {self.spread:.1%}"


@asynccontextmanager
async def house(state: Path) -> AsyncIterator[tuple[Polls, Mapping[str, str]]]:
    """A dispatch over a store, and the id of the pet for each kind of refusal."""
    async with open_store(state / "pets.sqlite", now_ms=wall_clock_ms()) as store:
        pets = Pets(store, (QuietBrain(),), now_ms=wall_clock_ms)
        await pets.start()
        async with trio.open_nursery() as nursery:
            await nursery.start(pets.serve)
            save = encoded(quiet_save(4096))  # type: ignore[arg-type] # JSON by its making
            warm, parked = str(uuid.uuid4()), str(uuid.uuid4())
            for pet_id in (warm, parked):
                key_hash = pet_id.encode()[:32]
                await pets.prepare(key_hash, pet_id, save)
                move = TransferRequest("remote", str(uuid.uuid4()), 1, pet_id, save, False, pet_id.encode()[:32])
                await pets.transfer(pet_id, key_hash, move)
            leave = TransferRequest("local", str(uuid.uuid4()), 1, parked, None, False, parked.encode()[:32])
            await pets.transfer(parked, parked.encode()[:32], leave)
            kinds = {"unknown pet": str(uuid.uuid4()), "wrong key, in memory": warm, "wrong key, parked": parked}
            await pets.executor.quiet()
            yield Polls(pets, Waits()), kinds
            pets.close()


async def ask(polls: Polls, pet_id: str) -> int:
    """Nanoseconds until the 404."""
    begun = time.perf_counter_ns()
    key_hash = key_hash_of(WRONG)
    assert key_hash is not None, "the key is well-formed"
    try:
        await polls.answer(pet_id, key_hash, WRONG, b"")
    except ApiError:
        return time.perf_counter_ns() - begun
    raise AssertionError("a wrong key opened a pet")


async def measure(asks: int) -> Timing:
    """`asks` refusals in all."""
    with tempfile.TemporaryDirectory() as state:
        async with house(Path(state)) as (polls, kinds):
            turns = list(kinds) * (asks // len(kinds))
            random.Random(SEED).shuffle(turns)  # noqa: S311  # an order, not a secret
            for kind in turns[:WARM_UP]:
                await ask(polls, kinds[kind])
            taken: dict[str, list[int]] = {kind: [] for kind in kinds}
            for kind in turns:
                taken[kind].append(await ask(polls, kinds[kind]))
    return Timing({kind: statistics.median(times) for kind, times in taken.items()})


def main() -> None:
    """Measure and print; exit code 1 when time tells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=20_000)
    timing = trio.run(measure, parser.parse_args().asks)
    print(timing)
    if timing.spread > SPREAD_MAX:
        raise SystemExit(f"expected at most {SPREAD_MAX:.0%}")


if __name__ == "__main__":
    main()
