"""What a turn costs beside the brain, for pets that nobody watches: `python -m tools.bench.capacity.idle_turns`.

The host's own store, dispatch and rules in this process, over a brain that answers at once: every pet is an hour late
and lives its turns. Printed as JSON: processor time of the event loop and of the store's thread for a turn, and for the
first look at a pet.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog
import trio

from tokenling import engine
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host.pets import Pets, PetsSettings
from tokenling.host.ports import Generated
from tokenling.store import open_store
from tools.bench.capacity import population

HOUR_MS = 3_600_000
BRAIN_ID = "ready-1"
WORDS = "[calm] It is a quiet day and I think of soup."


@dataclass(slots=True)
class ReadyBrain:
    """Stands where a lane stands, and has its words ready: what is measured is all the rest."""

    brain_id: str = BRAIN_ID
    features: tuple[str, ...] = ()
    prompt_version: int = engine.PROMPT_VERSION
    provider: str = "NoProvider"
    turns: list[str] = field(default_factory=list)

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        self.turns.append(turn_id)
        await trio.lowlevel.checkpoint()
        return Generated(Reply(WORDS, "newline", ()), b"{}")


async def measure(pets: int) -> dict[str, float]:
    """Milliseconds of processor time, each the mean over all pets or turns."""
    with tempfile.TemporaryDirectory(prefix="idle-turns-") as made:
        path = Path(made) / "pets.sqlite"
        written = await population.write(path, active=pets, parked=0, brain_id=BRAIN_ID)
        now_ms = [time.time_ns() // 1_000_000]
        brain = ReadyBrain()
        async with open_store(path, now_ms=now_ms[0]) as store, trio.open_nursery() as nursery:
            settings = PetsSettings(pets_max=pets)
            house = Pets(store, [brain, brain], now_ms=lambda: now_ms[0], settings=settings)
            await house.start()
            began_s = time.thread_time()
            await nursery.start(house.serve)
            await house.executor.quiet()
            looked_s = time.thread_time() - began_s
            brain.turns.clear()
            now_ms[0] += HOUR_MS
            before, began_s = store.statistics(), time.thread_time()
            house.executor.clock.run_due()
            await house.executor.quiet()
            loop_s, after = time.thread_time() - began_s, store.statistics()
            house.close()
    turns = len(brain.turns)
    return {
        "turns": turns,
        "saveBytes": written.save_bytes_mean,
        "loopMsPerTurn": round(loop_s * 1000 / turns, 2),
        "storeMsPerTurn": round((after.cpu_s - before.cpu_s) * 1000 / turns, 2),
        "writesPerTurn": round((after.writes - before.writes) / turns, 2),
        "firstLookMs": round(looked_s * 1000 / pets, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pets", type=int, default=150)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    print(json.dumps(trio.run(measure, parser.parse_args().pets), indent=1))


if __name__ == "__main__":
    main()
