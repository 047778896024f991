"""How far `fast` numerics and llama.cpp lie from a float64 reference of the same GGUF file, as distributions.

    python -m tools.bench.gguf_distance --gguf FILE --node-modules LLAMA/node_modules

For three texts, as llama.cpp tokenises them: the KL divergence from the reference behind each of the last `--rows`
tokens, in nats. The reference is tests/gguf/reference.py, which needs the `gguf` package and minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokenling.gguf import BufferedSteps, open_gguf, open_model
from tokenling.runtime import Cancellation
from tools.bench.decode_llama_cpp import read_line

sys.path.append(str(Path(__file__).parents[2] / "tests" / "gguf"))
TEXTS = (
    "The pet sat by the window and watched the rain fall on the garden. Then it",
    "Water boils at a lower temperature on a mountain because",
    'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n    if n < 2:\n        return n\n',
)
Doubles = NDArray[np.float64]


def shares_of_llama_cpp(gguf: Path, modules: Path, rows: int) -> list[tuple[list[int], Doubles]]:
    """The ids of each text, and llama.cpp's probabilities (rows, vocabulary) behind its last tokens."""
    script = Path(__file__).with_name("llama_cpp_shares.mjs")
    command = ["node", str(script), str(modules.resolve()), str(gguf.resolve())]
    found = []
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        read_line(process.stdout)
        for text in TEXTS:
            out = Path(folder) / "shares"
            process.stdin.write(json.dumps({"text": text, "rows": rows, "out": str(out)}) + "\n")
            process.stdin.flush()
            answer = json.loads(json.dumps(read_line(process.stdout)))
            found.append((answer["ids"], np.fromfile(out).reshape(rows, -1)))
        process.stdin.close()
    return found


def divergences(expected: Doubles, shares: Doubles) -> list[float]:
    """KL of `shares` from the logits' distribution, row by row; a share of 0 counts as the least there is."""
    centred = expected - expected.max(-1, keepdims=True)
    logs = centred - np.log(np.exp(centred).sum(-1, keepdims=True))
    theirs = np.log(np.maximum(shares[:, : logs.shape[1]], 1e-12))
    found: list[float] = (np.exp(logs) * (logs - theirs)).sum(-1).tolist()
    return found


def softmax(logits: NDArray[np.float32]) -> Doubles:
    """Probabilities in double."""
    shares = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    result: Doubles = shares / shares.sum(-1, keepdims=True)
    return result


def main() -> None:
    """Print one JSON line."""
    from reference import Reference  # type: ignore[import-not-found]  # of the tests

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--node-modules", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=5)
    chosen = parser.parse_args()
    reference = Reference(chosen.gguf)
    with open_gguf(chosen.gguf) as file:
        model = open_model(file, numerics="fast", rows="all", positions=512)
    ours: list[float] = []
    theirs: list[float] = []
    for ids, shares in shares_of_llama_cpp(chosen.gguf, chosen.node_modules, chosen.rows):
        expected = reference.logits(ids)[-chosen.rows :]
        found = BufferedSteps(model, len(ids), Cancellation()).rows(ids)[-chosen.rows :]
        ours += divergences(expected, softmax(found))
        theirs += divergences(expected, shares)
    means = {"fast": float(np.mean(ours)), "llamaCpp": float(np.mean(theirs))}
    print(json.dumps({"meanKlNats": means, "ratio": means["fast"] / means["llamaCpp"], "rows": len(ours)}))


if __name__ == "__main__":
    main()
