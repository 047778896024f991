"""A thousand turns cancelled at random points: how late each cancel came back, and what memory and threads were left.

    python -m tools.bench.cancels --brain DIR [--dtype q4] [--prompt 400] [--tokens 64] [--cancels 1000] [--threads 1]

A point is drawn evenly over the whole turn, prefill included. A lag is from the scope's cancel until the lane is free;
on a busy machine the timer that cancels is late itself, which is no part of it. The exit code is 1 when memory or
threads grew, when an undisturbed turn changed its tokens, or when one cancel in a hundred took more than 100 ms.
"""

import argparse
import gc
import json
import statistics
import sys
import threading
from pathlib import Path

import numpy as np
import trio

from tokenling.runtime import DecodePlan, Lane, Sampling, open_brain, open_lane
from tools.bench.decode import PROMPT
from tools.bench.memory import resident_mib

LATENCY_MS_MAX = 100
GROWTH_MIB_MAX = 8
"""Allocators keep freed blocks: a leak of one cache a cancel would be hundreds."""

TRIES_MAX = 5
"""For each cancel: a turn may be over before its point on a machine that is quicker now than when it was timed."""
SHORTER, LONGER = 0.95, 1.01
"""How a turn's time is taken anew after such a try, and after another: it follows the machine, and points reach a
turn's end, as one in six comes too late."""


async def timed(lane: Lane, plan: DecodePlan) -> tuple[float, float, tuple[int, ...]]:
    """Seconds of prefill and of the whole of an undisturbed turn, and its tokens."""
    started = trio.current_time()
    generation = await lane.generate(plan)
    return generation.prefill_ms / 1000, trio.current_time() - started, generation.token_ids


async def lag_of(lane: Lane, plan: DecodePlan, after_s: float) -> float | None:
    """Seconds from the cancel to the lane being free; None when the turn was over before it."""
    began = 0.0

    async def cancel_later(scope: trio.CancelScope) -> None:
        nonlocal began
        await trio.sleep(after_s)
        began = trio.current_time()
        scope.cancel()

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_later, scope)
            await lane.generate(plan)
        ended = trio.current_time()
        nursery.cancel_scope.cancel()
    return ended - began if scope.cancelled_caught else None


async def campaign(lane: Lane, plan: DecodePlan, cancels: int) -> dict[str, object]:
    """Warm up, cancel, and look at what is left."""
    await lane.generate(plan)
    prefill_s, whole_s, expected = await timed(lane, plan)
    rng, prefill_share = np.random.default_rng(5), prefill_s / whole_s
    for _ in range(50):
        await lag_of(lane, plan, float(rng.uniform(0, whole_s)))
    gc.collect()
    threads, memory = threading.active_count(), resident_mib()
    lags: dict[str, list[float]] = {"prefill": [], "decode": []}
    tries = 0
    while sum(map(len, lags.values())) < cancels and tries < TRIES_MAX * cancels:
        tries += 1
        after = float(rng.uniform(0, whole_s))
        lag = await lag_of(lane, plan, after)
        place = "prefill" if after < prefill_share * whole_s else "decode"
        whole_s *= SHORTER if lag is None else LONGER
        lags[place] += [] if lag is None else [lag * 1000]
    gc.collect()
    grown, more = resident_mib() - memory, threading.active_count() - threads
    _, _, found = await timed(lane, plan)
    return {
        "lagMs": {place: summary(values) for place, values in lags.items()},
        "grownMiB": round(grown, 1),
        "moreThreads": more,
        "sameTokensAfter": found == expected,
        "good": found == expected and more <= 0 and grown < GROWTH_MIB_MAX
        and all(summary(values)["p99"] <= LATENCY_MS_MAX for values in lags.values() if values),
    }  # fmt: skip


def summary(values: list[float]) -> dict[str, float]:
    """Count, median, 99th percentile and maximum."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)
    late = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    names = {"median": statistics.median(ordered), "p99": late, "max": ordered[-1]}
    return {"count": len(ordered)} | {name: round(value, 2) for name, value in names.items()}


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--dtype", default="q4", choices=("q4", "q8", "fp32"))
    parser.add_argument("--prompt", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--cancels", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    lane = open_lane(open_brain(chosen.brain, precision=chosen.dtype, threads=chosen.threads))
    ids = (lane.brain.tokenizer.encode(PROMPT) * chosen.prompt)[-chosen.prompt :]
    plan = DecodePlan(ids, chosen.tokens, Sampling(850, 40, 920, 7), (), ignore_eos=True)
    result = trio.run(campaign, lane, plan, chosen.cancels)
    print(json.dumps(result))
    sys.exit(0 if result["good"] else 1)


if __name__ == "__main__":
    main()
