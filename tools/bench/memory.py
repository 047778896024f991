"""What an opened brain holds in memory over an idle process with the same imports.

    python -m tools.bench.memory --brain DIR [--dtype q4] [--numerics exact] [--prompt 400] [--turns 50]

`weightsMiB` is what the graph's constants take as ONNX Runtime holds them (unfolded to float32 in `exact`, as stored in
`fast`), `cachesMiB` what a turn's caches take at their longest, twice: a step reads the old and writes the new.
`overMiB` is what is left of the difference: its bound is 50. Resident memory is read before the brain is opened, with
ONNX Runtime, tokenizers, NumPy and Trio imported, and after the turns.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import onnx

from tokenling.runtime import Brain, DecodePlan, Sampling, decode, open_brain, open_lane
from tokenling.runtime.brain import GRAPH_FILES
from tools.bench.decode import PROMPT

OVER_MIB_MAX = 50
MIB = 2**20
SMALL = {onnx.TensorProto.INT4: 0.5, onnx.TensorProto.UINT4: 0.5, onnx.TensorProto.INT8: 1, onnx.TensorProto.UINT8: 1}


def resident_mib() -> float:
    """This process's resident memory."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status: found no VmRSS")


def weights_mib(file: Path, numerics: str) -> float:
    """The constants of a graph as ONNX Runtime holds them."""
    graph = onnx.load(file, load_external_data=False).graph
    codes = {node.input[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    whole = {True: 4.0, False: 0.0}
    total = 0.0
    for item in graph.initializer:
        size = SMALL.get(item.data_type, 4 if item.data_type == onnx.TensorProto.FLOAT else 8)
        unfolded = whole[numerics == "exact" and item.name in codes]
        total += math.prod(item.dims) * (unfolded or size)
    return total / MIB


def caches_mib(brain: Brain, tokens: int) -> float:
    """Old and new caches of a sequence, float32."""
    return 2 * len(brain.layout.caches) * brain.layout.kv_heads * brain.layout.head_dim * tokens * 4 / MIB


def idle() -> float:
    """Resident memory with everything imported and nothing open."""
    import onnxruntime
    import tokenizers
    import trio

    assert all((onnxruntime.SessionOptions(), tokenizers.__version__, trio.__version__))
    return resident_mib()


def main() -> None:
    """Print one JSON line; exit code 1 when the bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--dtype", default="q4", choices=tuple(GRAPH_FILES))
    parser.add_argument("--numerics", default="exact", choices=("exact", "fast"))
    parser.add_argument("--prompt", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--turns", type=int, default=50)
    chosen = parser.parse_args()
    weights = weights_mib(chosen.brain / GRAPH_FILES[chosen.dtype], chosen.numerics)
    before = idle()
    brain = open_brain(chosen.brain, precision=chosen.dtype, numerics=chosen.numerics)
    lane = open_lane(brain)
    opened = resident_mib()
    ids = (brain.tokenizer.encode(PROMPT) * chosen.prompt)[-chosen.prompt :]
    for seed in range(chosen.turns):
        decode(lane, DecodePlan(ids, chosen.tokens, Sampling(850, 40, 920, seed), (), ignore_eos=True))
    after, caches = resident_mib(), caches_mib(brain, chosen.prompt + chosen.tokens)
    over = after - before - weights - caches
    figures = {"idleMiB": before, "openedMiB": opened, "afterTurnsMiB": after, "weightsMiB": weights,
               "cachesMiB": caches, "overMiB": over}  # fmt: skip
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))
    sys.exit(0 if over <= OVER_MIB_MAX else 1)


if __name__ == "__main__":
    main()
