"""What runs in the place of a brain's graph computes the same bits; what does not show the pattern runs as it is."""

import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import tiny_brain
from onnx import helper, numpy_helper

import tokenling
from tokenling.cli.brain_files import SHIPPED_BRAIN
from tokenling.runtime import open_brain
from tokenling.runtime.onnx_graph import read_graph
from tokenling.runtime.ort import open_session
from tokenling.runtime.rewrite import STEADY, rewrite
from tools.convert_hf.directory import convert

SHIPPED = Path(tokenling.__file__).parent / "brains" / SHIPPED_BRAIN
SHIPPED_GRAPH = (SHIPPED / "onnx" / "model_q4.onnx").read_bytes()
LAYERS = sum(item.name.endswith(".key") for item in onnx.load_from_string(SHIPPED_GRAPH).graph.input)
EXPORTED = Path(__file__).parent / "exported"
STEPS = (20, 1, 1, 33, 1, 2, 3, 5, 1, 17, 1, 1)
"""Prefill, decoding, an answer behind a lookup, chunks: 86 tokens, as the smallest model here has 96 positions."""
LONG = (300, 1, 1, 150, 1, 2, 1)
Arrays = dict[str, np.ndarray]


def steps_of(
    session: onnxruntime.InferenceSession, vocabulary: int, steps: tuple[int, ...] = STEPS
) -> Iterator[list[np.ndarray]]:
    """Logits and caches of the same steps for every session that takes the same inputs."""
    ids = np.random.default_rng(3).integers(1, vocabulary, (1, sum(steps)))
    declared = {item.name: item for item in session.get_inputs()}
    names = [item.name for item in session.get_outputs() if "top" not in item.name]
    shapes = {name: [1, item.shape[1], 0, item.shape[3]] for name, item in declared.items() if name.startswith("past")}
    caches: Arrays = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    done = 0
    for length in steps:
        done += length
        feeds = {"input_ids": ids[:, done - length : done], "attention_mask": np.ones((1, done), dtype=np.int64)}
        feeds["position_ids"] = np.arange(done - length, done)[None]
        found = session.run(names, {name: values for name, values in feeds.items() if name in declared} | caches)
        caches = {name.replace("present", "past_key_values"): each for name, each in zip(names, found, strict=True)}
        caches.pop("logits")
        yield found


def assert_equal_to_the_bit(model: bytes, *, threads: int = 1, steps: tuple[int, ...] = STEPS) -> None:
    changed = rewrite(model, "model").model
    assert changed != model
    sessions = [open_session(each, "exact", threads, "model") for each in (model, changed)]
    vocabulary = read_vocabulary(model)
    for expected, found in zip(*(steps_of(session, vocabulary, steps) for session in sessions), strict=True):
        assert found[0].shape == (1, 1, vocabulary)
        assert np.array_equal(expected[0][:, -1:], found[0])
        for past, same in zip(expected[1:], found[1:], strict=True):
            assert np.array_equal(past, same)


def read_vocabulary(model: bytes) -> int:
    extents = onnx.load_from_string(model).graph.output[0].type.tensor_type.shape.dim
    return int(extents[2].dim_value)


def operators(model: bytes) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load_from_string(model).graph.node)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_shipped_brain_computes_the_same_bits(threads: int) -> None:
    assert_equal_to_the_bit(SHIPPED_GRAPH, threads=threads)
    assert_equal_to_the_bit(SHIPPED_GRAPH, threads=threads, steps=LONG)


def source_of(model_type: str, folder: Path) -> Path:
    """A random model as Transformers saved it."""
    with zipfile.ZipFile(EXPORTED / f"{model_type}-source.zip") as archive:
        archive.extractall(folder / "source")
    return folder / "source"


def converted(source: Path) -> Path:
    convert(source, source.parent / "brain", brain_id="converted-0", features=[], prompt_version=1)
    return source.parent / "brain" / "onnx"


@pytest.mark.parametrize("model_type", ["gpt_neox", "gpt2"])
@pytest.mark.parametrize("file", ["model.onnx", "model_quantized.onnx", "model_q4.onnx"])
def test_converted_models_compute_the_same_bits(tmp_path: Path, model_type: str, file: str) -> None:
    model = (converted(source_of(model_type, tmp_path)) / file).read_bytes()
    assert operators(rewrite(model, file).model)["Attention"] == operators(model)["Softmax"] > 0
    assert_equal_to_the_bit(model)


def random_llama(folder: Path, heads: int, kv_heads: int, width: int) -> Path:
    """A Llama of these heads with random weights, converted."""
    source = source_of("llama", folder)
    hidden, inner, words = heads * width, 96, 128
    config = json.loads((source / "config.json").read_text("utf-8"))
    config |= {"hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": width}
    config |= {"num_hidden_layers": 1, "intermediate_size": inner, "tie_word_embeddings": True}
    at, attention = "model.layers.0.", "model.layers.0.self_attn."
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,),
        at + "input_layernorm.weight": (hidden,), at + "post_attention_layernorm.weight": (hidden,),
        attention + "q_proj.weight": (hidden, hidden), attention + "o_proj.weight": (hidden, hidden),
        attention + "k_proj.weight": (kv_heads * width, hidden),
        attention + "v_proj.weight": (kv_heads * width, hidden),
        at + "mlp.gate_proj.weight": (inner, hidden), at + "mlp.up_proj.weight": (inner, hidden),
        at + "mlp.down_proj.weight": (hidden, inner),
    }  # fmt: skip
    rng = np.random.default_rng(words + heads)
    blobs = [rng.normal(size=shape).astype("<f4").tobytes() for shape in shapes.values()]
    ends = np.cumsum([len(blob) for blob in blobs]).tolist()
    table = {
        name: {"dtype": "F32", "shape": shape, "data_offsets": [end - len(blob), end]}
        for (name, shape), blob, end in zip(shapes.items(), blobs, ends, strict=True)
    }
    head = json.dumps(table).encode()
    (source / "config.json").write_text(json.dumps(config), "utf-8")
    (source / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + b"".join(blobs))
    return converted(source)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "width"), [(1, 1, 32), (2, 2, 8), (4, 2, 16), (9, 3, 64), (8, 2, 128), (6, 3, 20)]
)
def test_heads_of_many_kinds_compute_the_same_bits(tmp_path: Path, heads: int, kv_heads: int, width: int) -> None:
    model = (random_llama(tmp_path, heads, kv_heads, width) / "model.onnx").read_bytes()
    assert operators(rewrite(model, "model").model)["Attention"] == 1
    assert_equal_to_the_bit(model)


def test_one_cache_head_for_many_queries_keeps_its_attention(tmp_path: Path) -> None:
    """Spelled out, its queries are one product of several rows, which ONNX Runtime sums in another order."""
    model = (random_llama(tmp_path, 4, 1, 16) / "model.onnx").read_bytes()
    assert operators(rewrite(model, "model").model)["Attention"] == 0
    assert_equal_to_the_bit(model)


def test_what_is_left_is_a_valid_model_with_the_same_weights_and_interface() -> None:
    changed = rewrite(SHIPPED_GRAPH, "model")
    before, after = (onnx.load_from_string(each) for each in (SHIPPED_GRAPH, changed.model))
    onnx.checker.check_model(after)
    assert operators(changed.model)["Attention"] == LAYERS
    assert not {"Softmax", "Range", "Where", "Greater"} & set(operators(changed.model))
    assert changed.unread == {"attention_mask"}
    assert list(before.graph.input) == list(after.graph.input)
    assert list(before.graph.output) == list(after.graph.output)
    weights = {item.name: item.SerializeToString() for item in after.graph.initializer}
    assert {item.name: item.SerializeToString() for item in before.graph.initializer}.items() <= weights.items()
    assert before.producer_name == after.producer_name


def test_rewriting_twice_changes_nothing_more_of_the_attention() -> None:
    once = rewrite(SHIPPED_GRAPH, "model").model
    assert rewrite(once, "model").model == once  # opset 23 is not lifted


@pytest.mark.parametrize("shape", [tiny_brain.Shape(), tiny_brain.Shape("gpt2")])
def test_a_graph_of_another_exporter_keeps_its_attention(shape: tiny_brain.Shape) -> None:
    model = tiny_brain.build_graph(shape, "fp32").SerializeToString()
    assert operators(rewrite(model, "model").model)["Softmax"] == operators(model)["Softmax"]


def node_of(model: onnx.ModelProto, op: str, number: int = 0) -> onnx.NodeProto:
    return [node for node in model.graph.node if node.op_type == op][number]


def reader_of(model: onnx.ModelProto, name: str, op: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == op and name in node.input)


def chain(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """The nodes of the first layer's attention, by what they are."""
    makers = {name: node for node in model.graph.node for name in node.output}
    softmax = node_of(model, "Softmax")
    biased = makers[softmax.input[0]]
    scaled = makers[biased.input[0]]
    scores = makers[scaled.input[0]]
    mixed = reader_of(model, softmax.output[0], "MatMul")
    return {
        "softmax": softmax, "biased": biased, "scaled": scaled, "scores": scores, "mixed": mixed,
        "grouped": makers[scores.input[0]], "keys": makers[scores.input[1]], "values": makers[mixed.input[1]],
        "flat": reader_of(model, mixed.output[0], "Reshape"),
        "present": makers["present.0.key"], "split": makers[makers["present.0.key"].input[1]],
        "where": node_of(model, "Where"), "greater": node_of(model, "Greater"), "or": node_of(model, "Or"),
        "equal": node_of(model, "Equal"), "range": node_of(model, "Range"),
    }  # fmt: skip


def add(model: onnx.ModelProto, name: str, values: object, kind: type = np.float32) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.array(values, dtype=kind), name))
    return name


def point(part: str, at: int, values: object, kind: type = np.float32) -> Callable[[onnx.ModelProto], None]:
    """One input of one node becomes another constant."""

    def change(model: onnx.ModelProto) -> None:
        chain(model)[part].input[at] = add(model, "planted", values, kind)

    return change


def set_axis(part: str, axis: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        node = chain(model)[part]
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("axis", axis))

    return change


def swap(part: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        node = chain(model)[part]
        node.input[:] = [node.input[1], node.input[0]]

    return change


def hide_by_another_input(model: onnx.ModelProto) -> None:
    chain(model)["equal"].input[0] = "position_ids"


def bias_by_another_operator(model: onnx.ModelProto) -> None:
    chain(model)["biased"].op_type = "Sub"


def queries_from_elsewhere(model: onnx.ModelProto) -> None:
    """The queries no longer come out of the split that gives the keys: nothing shows their extents."""
    grouped = chain(model)["grouped"]
    node = helper.make_node("Identity", [grouped.input[0]], ["planted"])
    model.graph.node.insert(list(model.graph.node).index(grouped), node)
    grouped.input[0] = "planted"


def a_foreign_domain(model: onnx.ModelProto) -> None:
    chain(model)["softmax"].domain = "com.example"


NEAR_MISSES: dict[str, Callable[[onnx.ModelProto], None]] = {
    "a scale of one": point("scaled", 1, 1.0),
    "a scale of nothing": point("scaled", 1, 0.0),
    "a scale for each head": point("scaled", 1, np.full((1, 1, 3, 1, 1), 0.5)),
    "a softmax over the heads": set_axis("softmax", 2),
    "caches that grow along another axis": set_axis("present", 1),
    "a split along the width": set_axis("split", 3),
    "queries grouped otherwise": point("grouped", 1, [1, 1, 6, -1, 32], np.int64),
    "mixed values laid out otherwise": point("flat", 1, [1, 3, -1, 64], np.int64),
    "keys expanded along the batch": point("keys", 1, [0], np.int64),
    "values expanded along the width": point("values", 1, [3], np.int64),
    "a bias that only dims what lies ahead": point("where", 1, -5.0),
    "a bias that lifts what may be seen": point("where", 2, 1.0),
    "a bias that hides the past": swap("greater"),
    "a mask by zero of another input": hide_by_another_input,
    "a mask of ones": point("equal", 1, 1, np.int64),
    "positions that count by two": point("range", 2, 2, np.int64),
    "a bias taken away": bias_by_another_operator,
    "queries from elsewhere": queries_from_elsewhere,
    "an operator of another domain": a_foreign_domain,
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_attention_that_is_not_quite_the_pattern_is_left_alone(name: str) -> None:
    model = onnx.load_from_string(SHIPPED_GRAPH)
    NEAR_MISSES[name](model)
    found = operators(rewrite(model.SerializeToString(), "model").model)
    assert found["Attention"] < LAYERS
    assert found["Softmax"] == LAYERS - found["Attention"] > 0


def commuted(model: onnx.ModelProto) -> None:
    """The same computation with operands the other way round."""
    parts = chain(model)
    for part in ("biased", "scaled", "or"):
        parts[part].input[:] = [parts[part].input[1], parts[part].input[0]]


def turned_behind(model: onnx.ModelProto) -> None:
    """Keys are expanded before they are turned, as other writers do it."""
    makers = {name: node for node in model.graph.node for name in node.output}
    expand = chain(model)["keys"]
    turn = makers[expand.input[0]]
    turn.input[0], expand.input[0] = "planted", turn.input[0]
    turn.output[0], expand.output[0] = expand.output[0], "planted"
    turn.attribute[0].ints[:] = [0, 1, 2, 4, 3]
    nodes = list(model.graph.node)
    nodes.remove(expand)
    nodes.insert(nodes.index(turn), expand)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


@pytest.mark.parametrize("change", [commuted, turned_behind])
def test_another_spelling_of_the_pattern_is_rewritten_and_computes_the_same_bits(
    change: Callable[[onnx.ModelProto], None],
) -> None:
    model = onnx.load_from_string(SHIPPED_GRAPH)
    change(model)
    assert operators(rewrite(model.SerializeToString(), "model").model)["Attention"] == LAYERS
    assert_equal_to_the_bit(model.SerializeToString())


def test_scores_that_something_else_reads_stay() -> None:
    model = onnx.load_from_string(SHIPPED_GRAPH)
    softmax = chain(model)["softmax"].output[0]
    for node in model.graph.node:
        if node.output[0] == "logits":
            node.output[0] = "plain"
    model.graph.node.append(helper.make_node("ReduceMean", [softmax], ["of_shares"], keepdims=0))
    model.graph.node.append(helper.make_node("Add", ["plain", "of_shares"], ["logits"]))
    found = rewrite(model.SerializeToString(), "model")
    assert operators(found.model)["Softmax"] == 1
    assert found.unread == frozenset()
    onnx.checker.check_model(onnx.load_from_string(found.model))


def rename(model: onnx.ModelProto, op: str) -> None:
    chain(model)["softmax"].op_type = op


def give_a_subgraph(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.append(helper.make_node("If", ["zero"], ["planted"], then_branch=body, else_branch=body))


def give_a_function(model: onnx.ModelProto) -> None:
    model.functions.append(helper.make_function("x", "f", [], [], [], []))


def make_twice(model: onnx.ModelProto) -> None:
    model.graph.node.append(model.graph.node[0])


def make_a_circle(model: onnx.ModelProto) -> None:
    node = next(node for node in model.graph.node if node.op_type == "Sigmoid")
    node.input[0] = reader_of(model, node.output[0], "Mul").output[0]


def use_another_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 20


LEFT: dict[str, Callable[[onnx.ModelProto], None]] = {
    "an operator that later opsets may read otherwise": lambda model: rename(model, "LogSoftmax"),
    "a graph within a node": give_a_subgraph,
    "functions of its own": give_a_function,
    "a value with two makers": make_twice,
    "nodes in a circle": make_a_circle,
    "an older opset": use_another_opset,
}


@pytest.mark.parametrize("name", LEFT)
def test_a_graph_that_cannot_be_judged_is_left_as_it_is(name: str) -> None:
    model = onnx.load_from_string(SHIPPED_GRAPH)
    LEFT[name](model)
    data = model.SerializeToString()
    assert rewrite(data, "model").model is data


def test_bytes_that_are_no_model_come_back_as_they_are() -> None:
    rng = np.random.default_rng(11)
    for size in (0, 1, 7, 100, 5000, len(SHIPPED_GRAPH) // 2, len(SHIPPED_GRAPH) - 1):
        assert rewrite(SHIPPED_GRAPH[:size], "model").model == SHIPPED_GRAPH[:size]
    for _ in range(50):
        spoiled = bytearray(SHIPPED_GRAPH[-40_000:])
        spoiled[int(rng.integers(len(spoiled)))] ^= int(rng.integers(1, 256))
        rewrite(bytes(spoiled), "model")


def test_sums_within_sums_are_not_followed_for_ever() -> None:
    """A causal bias whose extent is a tower of additions: two ways at each floor, 2^60 in all."""
    model = onnx.load_from_string(SHIPPED_GRAPH)
    name = "total_length"
    for floor in range(60):
        model.graph.node.append(helper.make_node("Add", [name, name], [f"floor{floor}"]))
        name = f"floor{floor}"
    chain(model)["range"].input[1] = name
    started = time.process_time()
    assert operators(rewrite(model.SerializeToString(), "model").model)["Attention"] == 0
    assert time.process_time() - started < 5


def test_operators_that_are_lifted_gained_nothing_but_element_types() -> None:
    """Each operator's inputs, outputs and attributes in opset 21 are the first of those in opset 23."""
    for name in sorted(STEADY):
        old, new = (onnx.defs.get_schema(name, version) for version in (21, 23))
        for was, now in ((old.inputs, new.inputs), (old.outputs, new.outputs)):
            assert [part.name for part in was] == [part.name for part in now][: len(was)], name
        assert old.attributes.keys() <= new.attributes.keys(), name
        for attribute in old.attributes:
            assert old.attributes[attribute].default_value == new.attributes[attribute].default_value, name
        assert not any(new.attributes[extra].required for extra in new.attributes.keys() - old.attributes.keys())


def test_constants_are_read_in_every_form_that_onnx_writes_them() -> None:
    forms = {
        "raw": numpy_helper.from_array(np.array([1, -1, 8], dtype=np.int64)),
        "typed": helper.make_tensor("", onnx.TensorProto.INT64, [3], [1, -1, 8]),
    }
    for form in forms.values():
        form.name = "c"
        node = helper.make_node("Identity", ["c"], ["logits"])
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("logits", 7, [3])], [form])
        found = read_graph(helper.make_model(graph).SerializeToString(), "model").constants["c"]
        assert found.integers == (1, -1, 8)
    scalar = helper.make_tensor("c", onnx.TensorProto.FLOAT, [], [-0.5])
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("logits", 1, [])], [scalar])
    assert read_graph(helper.make_model(graph).SerializeToString(), "model").constants["c"].number == -0.5


def test_a_brain_with_weights_beside_its_graph_is_rewritten_too(tmp_path: Path) -> None:
    folder = tmp_path / "brain" / "onnx"
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / "brain" / name).write_bytes((SHIPPED / name).read_bytes())
    model = onnx.load_from_string(SHIPPED_GRAPH)
    onnx.save_model(model, folder / "model_q4.onnx", save_as_external_data=True, location="weights.bin")
    brain = open_brain(tmp_path / "brain", brain_id="beside-0", features=())
    assert brain.unread == {"attention_mask"}
    assert "onnx/weights.bin" in brain.file_sha256
    whole = open_session(SHIPPED_GRAPH, "exact", 1, "model")
    rows = [list(steps_of(session, brain.config.vocabulary)) for session in (whole, brain.ort_session)]
    assert np.array_equal(rows[0][-1][0][:, -1:], rows[1][-1][0])
