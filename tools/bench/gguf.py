"""A GGUF file in fast numerics against llama.cpp on the same file, round by round in one run; its start and memory.

    npm install --prefix LLAMA node-llama-cpp@3.21.1
    python -m tools.bench.gguf --gguf FILE --node-modules LLAMA/node_modules [--threads 1] [--prompt 32 256]
    python -m tools.bench.gguf --gguf FILE --start [--cache DIR]

Both sides are greedy over the same ids and write exactly `--tokens` tokens; ratios are of pairs within a round, above 1
when this side is faster. With one thread the clock is each process's own processor time, so that a busy machine does
not spoil it; with more it is the wall's. `--start` is one cold process: processor and wall seconds to the first token
of a 32-token prompt, and resident memory above the same process before it opened the file, over the file's size.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tokenling.gguf import BufferedSteps, Model, open_gguf, open_model
from tokenling.runtime import Cancellation
from tools.bench.decode_llama_cpp import read_line

Pair = tuple[float, float]
"""Prefill and step, in milliseconds."""


def run(model: Model, ids: list[int], tokens: int, clock: Callable[[], float]) -> Pair:
    """One generation from an empty cache."""
    steps = BufferedSteps(model, len(ids) + tokens, Cancellation())
    started = clock()
    token = int(steps.prefill(ids).argmax())
    first = clock()
    for _ in range(tokens - 1):
        token = int(steps.step([token]).argmax())
    return (first - started) * 1000, (clock() - first) * 1000 / (tokens - 1)


def ask(process: "subprocess.Popen[str]", ids: list[int], tokens: int) -> Pair:
    """The same of llama.cpp."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"prompt": ids, "tokens": tokens}) + "\n")
    process.stdin.flush()
    found = read_line(process.stdout)
    return found["prefillMs"], found["stepMs"]


def summary(ids: int, pairs: list[tuple[Pair, Pair]]) -> dict[str, object]:
    """Medians over the rounds: ratios of pairs, and what each side did."""
    ours, theirs = zip(*pairs, strict=True)
    ratios = [(b[0] / a[0], b[1] / a[1]) for a, b in pairs]
    sides = {"ours": ours, "llamaCpp": theirs}
    rates = {
        name: {
            "prefillTokensPerSecond": round(ids * 1000 / statistics.median(row[0] for row in rows)),
            "decodeTokensPerSecond": round(1000 / statistics.median(row[1] for row in rows), 1),
        }
        for name, rows in sides.items()
    }
    found = {
        name: round(statistics.median(row[at] for row in ratios), 3) for at, name in enumerate(("prefill", "decode"))
    }
    return {"promptTokens": ids, "ratios": found, **rates}


def compare(chosen: argparse.Namespace) -> None:
    """Print one JSON line for each prompt length."""
    with open_gguf(chosen.gguf) as file:
        model = open_model(file, numerics="fast", threads=chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    random = np.random.default_rng(0)
    ids = random.integers(5, model.layout.vocabulary - 100, max(chosen.prompt)).tolist()
    script = Path(__file__).with_name("llama_cpp.mjs")
    command = ["node", script, chosen.node_modules.resolve(), chosen.gguf.resolve(), str(chosen.threads)]
    found: dict[int, list[tuple[Pair, Pair]]] = {size: [] for size in chosen.prompt}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        read_line(process.stdout)
        for _ in range(chosen.rounds + 1):
            for size, pairs in found.items():
                theirs = ask(process, ids[:size], chosen.tokens)
                pairs.append((run(model, ids[:size], chosen.tokens, clock), theirs))
        assert process.stdin is not None
        process.stdin.close()
    for size, pairs in found.items():
        print(json.dumps(summary(size, pairs[1:])))  # the first round only warms up


def start(chosen: argparse.Namespace) -> None:
    """Print one JSON line of a cold start."""
    import onnxruntime

    assert onnxruntime
    before = resident_bytes()
    began = time.perf_counter()
    imports = time.process_time()
    with open_gguf(chosen.gguf) as file:
        size = file.size_bytes
        model = open_model(file, numerics="fast", cache_dir=chosen.cache)
    del file
    steps = BufferedSteps(model, 64, Cancellation())
    token = int(steps.prefill(range(5, 37)).argmax())
    wall, cpu = time.perf_counter() - began, time.process_time()
    for _ in range(20):
        token = int(steps.step([token]).argmax())
    found = {"wasCached": model.was_cached, "importCpuSeconds": imports, "firstTokenCpuSeconds": cpu,
             "openAndPrefillWallSeconds": wall, "memoryOverFile": (resident_bytes() - before) / size}  # fmt: skip
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


def resident_bytes() -> int:
    """Resident memory of this process (Linux)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Compare, or start."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--node-modules", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--cache", type=Path)
    chosen = parser.parse_args()
    if chosen.start:
        start(chosen)
    elif chosen.node_modules is None:
        parser.error("--node-modules is needed to compare")
    else:
        compare(chosen)


if __name__ == "__main__":
    main()
