"""Write `tests/runtime/sampling_vectors.json`: what docs/sampling.md says, spelled out once more in plain Python.

It shares no code with the runtime (its table is made here too), so agreement means that the page was followed twice.
`python tools/make_sampling_vectors.py` writes it; `--check` fails if the committed file differs.
"""

import json
import math
import random
import struct
import sys
from decimal import Decimal, localcontext
from pathlib import Path

TARGET = Path(__file__).parent.parent / "tests" / "runtime" / "sampling_vectors.json"
SETTINGS = (
    (850, 40, 920),
    (850, 0, 1000),
    (1000, 5, 1000),
    (100, 40, 920),
    (3000, 12, 500),
    (1, 40, 920),
    (0, 40, 920),
)
"""temperatureMilli, topK, topPMilli."""
SHAPES = ((8, 4.0, 8), (64, 6.0, 4), (300, 3.0, 1))
"""Vocabulary, spread of the logits, repetitions."""


def table() -> list[int]:
    """2^32 * 2^(-j/1024), rounded."""
    with localcontext() as context:
        context.prec = 50
        return [int((Decimal(2) ** (32 - Decimal(j) / 1024)).to_integral_value()) for j in range(1024)]


def philox(step: int, seed: int) -> int:
    """The 64-bit draw of a step."""
    c, k = [step, 0, 0, 0], [seed % 2**32, seed // 2**32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b // 2**32 ^ c[1] ^ k[0], b % 2**32, a // 2**32 ^ c[3] ^ k[1], a % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c[0] * 2**32 + c[1]


def weight(exp2: list[int], greatest: float, logit: float, temperature: int) -> int:
    """One weight, step by step as the page has it."""
    d = math.floor(min((greatest - logit) * 65536 * 1000 / temperature, 2097152))
    x = (d * 1549082005 + 2**35) // 2**36
    return exp2[x % 1024] >> x // 1024


def sample(exp2: list[int], logits: list[float], setting: tuple[int, int, int], seed: int, step: int) -> int:
    """The token."""
    temperature, top_k, top_p = setting
    order = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    if temperature == 0:
        return order[0]
    order = order[:top_k] if top_k else order
    weights = [weight(exp2, logits[order[0]], logits[token], temperature) for token in order]
    count, total = 0, 0
    while count < len(order) and (count == 0 or total * 1000 < sum(weights) * top_p):
        total += weights[count]
        count += 1
    mark = philox(step, seed) * total // 2**64
    for token, share in zip(order[:count], weights[:count], strict=True):
        if mark < share:
            return token
        mark -= share
    raise AssertionError("the draw lies below the sum")


def as_float32(value: float) -> float:
    """The nearest float32."""
    (near,) = struct.unpack("<f", struct.pack("<f", value))
    return float(near)


def logits_of(rng: random.Random, size: int, spread: float) -> list[float | None]:
    """Random logits; some equal, some masked (None stands for minus infinity)."""
    values: list[float | None] = [as_float32(rng.uniform(-spread, spread)) for _ in range(size)]
    for _ in range(size // 6):
        values[rng.randrange(size)] = values[rng.randrange(size)]
    values[rng.randrange(1, size)] = None
    return values


def cases() -> list[dict[str, object]]:
    """Every setting over every shape, with seeds up to the last one."""
    rng, exp2 = random.Random(20261130), table()  # noqa: S311 - vectors, not secrets
    made: list[dict[str, object]] = []
    for size, spread, repetitions in SHAPES:
        for temperature, top_k, top_p in SETTINGS * repetitions:
            logits = logits_of(rng, size, spread)
            seed, step = rng.choice([0, 1, 2**32, 2**53 - 1, rng.randrange(2**53)]), rng.randrange(1000)
            real = [-math.inf if value is None else value for value in logits]
            token = sample(exp2, real, (temperature, top_k, top_p), seed, step)
            setting = {"temperatureMilli": temperature, "topK": top_k, "topPMilli": top_p}
            made.append({"logits": logits, **setting, "seed": seed, "step": step, "token": token})
    return made


def source() -> str:
    """The file's text."""
    draws = [
        {"seed": seed, "step": step, "draw": str(philox(step, seed))} for seed in (0, 2**53 - 1) for step in (0, 7)
    ]
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases())
    return f'{{"draws":{json.dumps(draws)},\n"cases":[\n{rows}\n]}}\n'


def main() -> int:
    if "--check" in sys.argv[1:]:
        same = TARGET.read_text("utf-8") == source()
        print("unchanged" if same else "the committed vectors differ from their generator")
        return 0 if same else 1
    TARGET.write_text(source(), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
