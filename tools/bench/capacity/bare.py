"""The bare brain: the very turns that a window's pets were asked, on the same lanes, nothing else in the process."""

import json
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import Brain, decode, open_brain, open_lane, plan_turn
from tokenling.runtime.requests import request_from_json

ROUNDS = 3


def turns_per_s(brain_dir: Path, receipts: Sequence[bytes], *, lanes: int, numerics: str) -> dict[str, object]:
    """Turns a second over `lanes` threads, each planning and decoding one turn after the other; median of rounds."""
    brain = open_brain(brain_dir, numerics="fast" if numerics == "fast" else "exact", threads=1)
    asked = [request_from_json(json.loads(receipt)["request"]) for receipt in receipts]
    tokens = [json.loads(receipt)["outputTokens"] for receipt in receipts]
    prompts = [json.loads(receipt)["promptTokens"] for receipt in receipts]
    _round(brain, asked[: 4 * lanes], lanes)
    before_s = time.process_time()
    speeds = [len(asked) / _round(brain, asked, lanes) for _ in range(ROUNDS)]
    cpu_s = (time.process_time() - before_s) / (ROUNDS * len(asked))
    return {
        "turnsPerS": round(statistics.median(speeds), 2),
        "cpuMsPerTurn": round(cpu_s * 1000, 2),
        "rounds": [round(speed, 2) for speed in speeds],
        "turns": len(asked),
        "promptTokensMean": round(statistics.mean(prompts), 1),
        "outputTokensMean": round(statistics.mean(tokens), 1),
        "receiptBytesMean": round(statistics.mean(map(len, receipts))),
    }


def _round(brain: Brain, asked: Sequence[GenerationRequest], lanes: int) -> float:
    """Seconds for all of them."""
    waiting, faults = iter(asked), []
    guard = threading.Lock()

    def serve() -> None:
        lane = open_lane(brain)
        try:
            while True:
                with guard:
                    request = next(waiting, None)
                if request is None:
                    return
                decode(lane, plan_turn(request, brain))
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=serve) for _ in range(lanes)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    if faults:
        raise faults[0]
    return took
