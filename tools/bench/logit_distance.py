"""How far `exact` and `fast` logits lie from the same graph computed in float64.

    python -m tools.bench.logit_distance --brain DIR [--dtype q4 …] [--tokens 256]

The reference is the brain's own graph with every float made a double, each quantised weight as `code * scale` in
double: what the file says, without rounding. So the distance is what the numerics cost, not what quantising costs.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tokenling.runtime import Brain, Cancellation, open_brain
from tokenling.runtime.brain import GRAPH_FILES, NUMERICS
from tokenling.runtime.steps import Steps
from tools.bench.decode import PROMPT

Doubles = NDArray[np.float64]


def in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its floats as doubles and its quantised weights unfolded."""
    graph = model.graph
    constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    unfolded = {node.output[0]: weight_of(node, constants) for node in graph.node if is_weight(node, constants)}
    kept = [cast_behind(node) for node in graph.node if node.output[0] not in unfolded]
    nodes = [node for group in kept for node in group]
    dequantised = {name for node in nodes if node.op_type == "DequantizeLinear" for name in node.input}
    turned = {name for node in nodes if node.op_type in ("Transpose", "Gather") and node.output[0] in dequantised
              for name in node.input} | dequantised  # fmt: skip
    turned |= {name for node in nodes if node.output[0] in turned for name in node.input}
    initializers = [numpy_helper.from_array(values, name) for name, values in unfolded.items()]
    for item in graph.initializer:
        is_float = item.data_type == TensorProto.FLOAT and item.name not in turned
        values = constants[item.name].astype(np.float64) if is_float else None
        initializers.append(item if values is None else numpy_helper.from_array(values, item.name))
    for info in (*graph.input, *graph.output):
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    made = helper.make_graph(nodes, "reference", graph.input, graph.output, initializers)
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)


def is_weight(node: onnx.NodeProto, constants: Mapping[str, NDArray[np.float32]]) -> bool:
    """Whether a node unfolds a constant."""
    return node.op_type == "DequantizeLinear" and node.input[0] in constants


def weight_of(node: onnx.NodeProto, constants: Mapping[str, NDArray[np.float32]]) -> Doubles:
    """What it unfolds to."""
    given = {item.name: item.i for item in node.attribute}
    codes, scales = (constants[name].astype(np.float64) for name in node.input[:2])
    wide: Doubles = codes * np.repeat(scales, given["block_size"], axis=given["axis"])
    return wide


def cast_behind(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """A node that dequantises what it was handed gives floats: a cast makes doubles of them."""
    if node.op_type != "DequantizeLinear":
        return [node]
    name = node.output[0]
    node.output[0] = name + ".float"
    return [node, helper.make_node("Cast", [node.output[0]], [name], to=TensorProto.DOUBLE)]


def reference(brain: Brain, file: Path, ids: tuple[int, ...]) -> Doubles:
    """Logits (vocabulary,) behind `ids`, in double."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    model = in_double(onnx.load(file)).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    every = {
        "input_ids": np.array([ids]),
        "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
        "position_ids": np.arange(len(ids))[None],
    }
    layout = brain.layout
    feeds = {item.name: every[item.name] for item in layout.inputs}
    empty = np.zeros((1, layout.kv_heads, 0, layout.head_dim))
    found: Doubles = session.run(["logits"], feeds | {pair.past: empty for pair in layout.caches})[0][0, -1]
    return found


def here(brain: Brain, ids: tuple[int, ...]) -> Doubles:
    """The same by a lane's steps: half as prefill, the rest token by token."""
    steps = Steps(brain, len(ids), Cancellation())
    row = steps.prefill(ids[: len(ids) // 2], 0)
    for token in ids[len(ids) // 2 :]:
        row = steps.step([token])
    return row.astype(np.float64)


def distances(brain: Brain, file: Path, tokens: int, prompts: int) -> dict[str, float]:
    """Root mean square and greatest difference of logits, the mean KL divergence in nats, over several prompts."""
    rows, divergences = [], []
    text = brain.tokenizer.encode(PROMPT) * tokens
    for place in range(prompts):
        ids = text[place : place + tokens]
        expected, found = reference(brain, file, ids), here(brain, ids)
        rows.append(found - expected)
        p, q = log_softmax(expected), log_softmax(found)
        divergences.append(float((np.exp(p) * (p - q)).sum()))
    every = np.array(rows)
    return {"rms": float(np.sqrt((every**2).mean())), "max": float(np.abs(every).max()),
            "klNats": float(np.mean(divergences))}  # fmt: skip


def log_softmax(logits: Doubles) -> Doubles:
    """Logarithms of the probabilities."""
    centred: Doubles = logits - logits.max()
    result: Doubles = centred - np.log(np.exp(centred).sum())
    return result


def main() -> None:
    """Print one JSON line for each precision and numerics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--dtype", nargs="+", default=["q4"], choices=tuple(GRAPH_FILES))
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--prompts", type=int, default=8)
    chosen = parser.parse_args()
    for dtype in chosen.dtype:
        for numerics in NUMERICS:
            brain = open_brain(chosen.brain, precision=dtype, numerics=numerics)
            found = distances(brain, chosen.brain / GRAPH_FILES[brain.precision], chosen.tokens, chosen.prompts)
            print(json.dumps({"dtype": dtype, "numerics": numerics} | {k: float(f"{v:.3g}") for k, v in found.items()}))


if __name__ == "__main__":
    main()
