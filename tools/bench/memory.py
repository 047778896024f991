"""What an opened brain holds in memory over an idle process with the same imports.

    python -m tools.bench.memory --brain DIR [--dtype q4] [--numerics exact] [--prompt 400] [--turns 50]

`weightsMiB` is what the graph's constants take once each (unfolded to float32 in `exact`, as stored in `fast`),
`cachesMiB` what a turn's caches take at their longest, twice: a step reads the old and writes the new. `overMiB` is
what is left of the difference: its bound is 50. `againMiB` is the part of it that ONNX Runtime's own graph holds a
second time: a table that is looked up and multiplied by stands there in two forms. Resident memory is read before the
brain is opened, with ONNX Runtime, tokenizers, NumPy and Trio imported, and after the turns; what is weighed is weighed
in a process of its own, as it would leave its own traces.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tokenling.runtime import Brain, DecodePlan, Numerics, Sampling, decode, open_brain, open_lane
from tokenling.runtime.brain import GRAPH_FILES
from tokenling.runtime.ort import session_options
from tokenling.runtime.rewrite import rewrite
from tools.bench.decode import PROMPT

if TYPE_CHECKING:
    import onnx

OVER_MIB_MAX = 50
MIB = 2**20


def resident_mib() -> float:
    """This process's resident memory."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status: found no VmRSS")


def weigh(file: Path, numerics: Numerics) -> tuple[float, float]:
    """What a graph's constants take once each, and what ONNX Runtime's own graph of it holds of them."""
    command = [sys.executable, "-m", "tools.bench.memory", "--weigh", str(file), "--numerics", numerics]
    once, held = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return once, held


def print_weights(file: Path, numerics: Numerics) -> None:
    """The child's part of `weigh`."""
    import onnx
    import onnxruntime

    def mib(item: "onnx.TensorProto", element: float | None = None) -> float:
        small = {onnx.TensorProto.INT4: 0.5, onnx.TensorProto.UINT4: 0.5, onnx.TensorProto.INT8: 1,
                 onnx.TensorProto.UINT8: 1, onnx.TensorProto.FLOAT: 4}  # fmt: skip
        return float(math.prod(item.dims) * (element or small.get(item.data_type, 8)) / MIB)

    graph = onnx.load(file).graph
    codes = {node.input[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    unfolds = numerics == "exact"
    once = sum(mib(item, 4 if unfolds and item.name in codes else None) for item in graph.initializer)
    with tempfile.TemporaryDirectory() as folder:
        options = session_options(numerics, 1)
        options.optimized_model_filepath = f"{folder}/held.onnx"
        changed = rewrite(file.read_bytes(), file.name).model
        onnxruntime.InferenceSession(changed, sess_options=options, providers=["CPUExecutionProvider"])
        held = sum(mib(item) for item in onnx.load(options.optimized_model_filepath).graph.initializer)
    print(json.dumps([once, held]))


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
    parser.add_argument("--brain", type=Path)
    parser.add_argument("--dtype", default="q4", choices=tuple(GRAPH_FILES))
    parser.add_argument("--numerics", default="exact", choices=("exact", "fast"))
    parser.add_argument("--prompt", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--weigh", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.weigh is not None:
        print_weights(chosen.weigh, chosen.numerics)
        return
    weights, held = weigh(chosen.brain / GRAPH_FILES[chosen.dtype], chosen.numerics)
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
               "cachesMiB": caches, "overMiB": over, "againMiB": held - weights}  # fmt: skip
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))
    sys.exit(0 if over <= OVER_MIB_MAX else 1)


if __name__ == "__main__":
    main()
