"""Tiny brains with random weights, as real directories: real graphs, a real tokenizer, every file hashed.

    make_brain(path)                                    a Llama with grouped queries
    make_brain(path, Shape("gpt2"), precisions=("q4",))

`reference_logits` is the same arithmetic in NumPy float64, the oracle for what the graphs compute.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 21
BLOCK = 32
HIDDEN = 32
HEADS = 4
WIDTH = HIDDEN // HEADS
INNER = 64
LAYERS = 2
FILES = {"fp32": "onnx/model.onnx", "q8": "onnx/model_quantized.onnx", "q4": "onnx/model_q4.onnx"}
BITS = {"fp32": 32, "q8": 8, "q4": 4}
CACHE_TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}

TAGS = ("[eat]", "[nap]", "[nod]", "[play ball]", "[play kite]", "[remember …]", "[look weather]", "[look time]")
TEXT = "\n".join(
    [
        "Pip is small. Pip likes soup and rain. Owner: hello Pip, how are you today?",
        "Pip: I am well! [eat] The soup is warm. [nap] Good night, dear owner.",
        "Owner: what is the weather? Pip: [look weather](rain) It rains, let us stay in. [play ball] Yes!",
        "Pip: [remember the owner likes tea] I will keep that. [look time](morning) Good morning. [nod]",
        "Grüße, naïve café, 日本語, 🙂 and more. Diary: today was a long day.\n\nThe end. [play kite]",
    ]
    * 3
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of graph to build. `position` is how it learns positions: an input's name, or "" from the cache."""

    model_type: str = "llama"
    kv_heads: int = 2
    vocabulary: int = 448
    positions: int = 512
    seed: int = 7
    position: str = "position_ids"
    position_rank: int = 2
    mask: bool = True
    token_types: bool = False
    integers: str = "int64"
    cache: str = "float32"
    last_only: bool = False
    batch: int | str = 1
    present: str = "present"
    sharpness: float = 4.0

    def __post_init__(self) -> None:
        if self.model_type != "llama":
            object.__setattr__(self, "kv_heads", HEADS)


@dataclass
class Graph:
    """Nodes and constants as they are added."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    count: int = 0

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: object) -> str:
        self.count += 1
        name = name or f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"n{self.count}", **attributes))
        return name

    def constant(self, values: np.ndarray) -> str:
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def matrix(self, name: str, values: np.ndarray, bits: int) -> str:
        """A weight (in, out), dequantised in the graph in blocks of 32 along the first axis."""
        if bits == 32:
            self.constants.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
            return name
        codes, scales = quantize(values, bits)
        kind = TensorProto.INT4 if bits == 4 else TensorProto.INT8
        raw = pack(codes) if bits == 4 else codes.tobytes()
        self.constants.append(helper.make_tensor(name + ".codes", kind, codes.shape, raw, raw=True))
        self.constants.append(onnx.numpy_helper.from_array(scales, name + ".scales"))
        return self.op("DequantizeLinear", name + ".codes", name + ".scales", name=name, axis=0, block_size=BLOCK)


def quantize(values: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric codes and scales of blocks of 32 rows."""
    blocks = values.reshape(-1, BLOCK, values.shape[1])
    most = 2 ** (bits - 1) - 1
    scales = (np.abs(blocks).max(axis=1) / most).astype(np.float32)
    codes = np.clip(np.rint(blocks / scales[:, None]), -most, most).astype(np.int8)
    return codes.reshape(values.shape), scales


def pack(codes: np.ndarray) -> bytes:
    flat = codes.reshape(-1).astype(np.uint8) & 15
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()


def weights_of(shape: Shape) -> dict[str, np.ndarray]:
    """Random weights, the same for the same shape and seed."""
    rng = np.random.default_rng(shape.seed)
    kv = shape.kv_heads * WIDTH
    sizes = {"embed": (shape.vocabulary, HIDDEN), "wpe": (shape.positions, HIDDEN), "head": (HIDDEN, shape.vocabulary)}
    for layer in range(LAYERS):
        sizes |= {f"{layer}.q": (HIDDEN, HIDDEN), f"{layer}.k": (HIDDEN, kv), f"{layer}.v": (HIDDEN, kv)}
        sizes |= {f"{layer}.o": (HIDDEN, HIDDEN), f"{layer}.up": (HIDDEN, INNER), f"{layer}.gate": (HIDDEN, INNER)}
        sizes |= {f"{layer}.down": (INNER, HIDDEN)}
    weights = {name: rng.normal(size=size) / math.sqrt(size[0]) for name, size in sizes.items()}
    weights["embed"] = rng.normal(size=sizes["embed"])
    weights["head"] *= shape.sharpness
    return {name: values.astype(np.float32) for name, values in weights.items()}


def rotary(positions: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and signed sine tables (positions, WIDTH)."""
    inverse = 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH)
    angles = np.outer(np.arange(positions), inverse)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate((cos, cos), 1).astype(np.float32), np.concatenate((-sin, sin), 1).astype(np.float32)


def build_graph(shape: Shape, precision: str) -> onnx.ModelProto:
    """The whole graph in the contract's names."""
    graph, weights = Graph(), weights_of(shape)
    position = add_positions(graph, shape)
    x = graph.op("Gather", graph.constant(weights["embed"]), "input_ids", axis=0)  # (1, seq, D)
    if shape.token_types:
        zeros = graph.op("Cast", "token_type_ids", to=TensorProto.FLOAT)
        x = graph.op("Add", x, graph.op("Unsqueeze", zeros, graph.ints(2)))  # all types are 0: they must add nothing
    if shape.model_type == "gpt2":
        x = graph.op("Add", x, graph.op("Gather", graph.constant(weights["wpe"]), position, axis=0))
    tables = [graph.op("Gather", graph.constant(table), position, axis=0) for table in rotary(shape.positions)]
    bias = add_mask(graph, shape)
    for layer in range(LAYERS):
        x = add_layer(graph, shape, weights, layer, x, tables=tables, bias=bias, bits=BITS[precision])
    x = add_norm(graph, shape, x)
    if shape.last_only:
        x = graph.op("Slice", x, graph.ints(-1), graph.ints(2**31), graph.ints(1))
    graph.op("MatMul", x, graph.matrix("head", weights["head"], BITS[precision]), name="logits")
    return assemble(graph, shape)


def add_positions(graph: Graph, shape: Shape) -> str:
    """The positions (1, seq) of this step's tokens."""
    length = graph.op("Shape", "input_ids")
    graph.op("Gather", length, graph.constant(np.array(1)), name="seq_len", axis=0)
    past = graph.op("Shape", "past_key_values.0.key")
    graph.op("Gather", past, graph.constant(np.array(2)), name="past_len", axis=0)
    graph.op("Add", "past_len", "seq_len", name="total_len")
    if not shape.position:
        one = graph.constant(np.array(1))
        return graph.op("Unsqueeze", graph.op("Range", "past_len", "total_len", one), graph.ints(0))
    wide = graph.op("Cast", shape.position, to=TensorProto.INT64)
    return wide if shape.position_rank == 2 else graph.op("Unsqueeze", wide, graph.ints(0))


def add_mask(graph: Graph, shape: Shape) -> str:
    """What is added to the scores (1, 1, seq, total): the future, and what the mask hides, is out of sight."""
    one, zero = graph.constant(np.array(1)), graph.constant(np.array(0))
    rows = graph.op("Unsqueeze", graph.op("Range", "past_len", "total_len", one), graph.ints(1))
    unseen = graph.op("Greater", graph.op("Range", zero, "total_len", one), rows)
    if shape.mask:
        wide = graph.op("Cast", "attention_mask", to=TensorProto.INT64)
        unseen = graph.op("Or", unseen, graph.op("Equal", wide, zero))
    far, near = graph.constant(np.array(-1e9, dtype=np.float32)), graph.constant(np.array(0, dtype=np.float32))
    return graph.op("Unsqueeze", graph.op("Where", unseen, far, near), graph.ints(0, 1))


def add_norm(graph: Graph, shape: Shape, x: str) -> str:
    if shape.model_type != "llama":
        ones = graph.constant(np.ones(HIDDEN, dtype=np.float32))
        return graph.op("LayerNormalization", x, ones, axis=-1, epsilon=1e-5)
    mean = graph.op("ReduceMean", graph.op("Mul", x, x), graph.ints(-1), keepdims=1)
    return graph.op("Div", x, graph.op("Sqrt", graph.op("Add", mean, graph.constant(np.array(1e-5, dtype=np.float32)))))


def add_layer(graph, shape, weights, layer, x, *, tables, bias, bits):  # type: ignore[no-untyped-def]
    """One block: gpt_neox adds attention and feed-forward in parallel, the others one after the other."""
    even = add_norm(graph, shape, x)
    mixed = graph.op("MatMul", add_attention(graph, shape, weights, layer, even, tables=tables, bias=bias, bits=bits),
                     graph.matrix(f"{layer}.o", weights[f"{layer}.o"], bits))  # fmt: skip
    after = graph.op("Add", x, mixed)
    even = add_norm(graph, shape, x if shape.model_type == "gpt_neox" else after)
    up = graph.op("MatMul", even, graph.matrix(f"{layer}.up", weights[f"{layer}.up"], bits))
    if shape.model_type == "llama":
        gate = graph.op("MatMul", even, graph.matrix(f"{layer}.gate", weights[f"{layer}.gate"], bits))
        up = graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), up)
    else:
        up = graph.op("Gelu", up)
    return graph.op("Add", after, graph.op("MatMul", up, graph.matrix(f"{layer}.down", weights[f"{layer}.down"], bits)))


def add_attention(graph, shape, weights, layer, even, *, tables, bias, bits):  # type: ignore[no-untyped-def]
    """Attention over past and present (1, seq, D); the caches keep their own element type."""
    heads = {"q": HEADS, "k": shape.kv_heads, "v": shape.kv_heads}
    parts = {}
    for name, count in heads.items():
        flat = graph.op("MatMul", even, graph.matrix(f"{layer}.{name}", weights[f"{layer}.{name}"], bits))
        apart = graph.op("Reshape", flat, graph.ints(1, -1, count, WIDTH))
        parts[name] = graph.op("Transpose", apart, perm=[0, 2, 1, 3])  # (1, heads, seq, E)
    if shape.model_type != "gpt2":
        parts |= {name: add_rotation(graph, parts[name], tables) for name in "qk"}
    grown = {}
    for name, word in (("k", "key"), ("v", "value")):
        fresh = graph.op("Cast", parts[name], to=CACHE_TYPES[shape.cache])
        joined = graph.op("Concat", f"past_key_values.{layer}.{word}", fresh,
                          name=f"{shape.present}.{layer}.{word}", axis=2)  # fmt: skip
        wide = graph.op("Unsqueeze", graph.op("Cast", joined, to=TensorProto.FLOAT), graph.ints(2))
        grown[name] = wide  # (1, K, 1, total, E)
    q = graph.op("Reshape", parts["q"], graph.ints(1, shape.kv_heads, HEADS // shape.kv_heads, -1, WIDTH))
    scores = graph.op("MatMul", q, graph.op("Transpose", grown["k"], perm=[0, 1, 2, 4, 3]))
    scaled = graph.op("Mul", scores, graph.constant(np.array(WIDTH**-0.5, dtype=np.float32)))
    shares = graph.op("Softmax", graph.op("Add", scaled, bias), axis=-1)
    flat = graph.op("Reshape", graph.op("MatMul", shares, grown["v"]), graph.ints(1, HEADS, -1, WIDTH))
    return graph.op("Reshape", graph.op("Transpose", flat, perm=[0, 2, 1, 3]), graph.ints(1, -1, HIDDEN))


def add_rotation(graph: Graph, x: str, tables: list[str]) -> str:
    first = graph.op("Slice", x, graph.ints(0), graph.ints(WIDTH // 2), graph.ints(3))
    second = graph.op("Slice", x, graph.ints(WIDTH // 2), graph.ints(WIDTH), graph.ints(3))
    swapped = graph.op("Concat", second, first, axis=3)
    return graph.op("Add", graph.op("Mul", x, tables[0]), graph.op("Mul", swapped, tables[1]))


def assemble(graph: Graph, shape: Shape) -> onnx.ModelProto:
    integer = TensorProto.INT64 if shape.integers == "int64" else TensorProto.INT32
    inputs = [("input_ids", [shape.batch, "sequence"])]
    inputs += [("attention_mask", [shape.batch, "total"])] if shape.mask else []
    inputs += [("token_type_ids", [shape.batch, "sequence"])] if shape.token_types else []
    inputs += [(shape.position, [shape.batch, "sequence"][2 - shape.position_rank :])] if shape.position else []
    ins = [helper.make_tensor_value_info(name, integer, extent) for name, extent in inputs]
    rows = 1 if shape.last_only else "sequence"
    outs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [shape.batch, rows, shape.vocabulary])]
    for layer in range(LAYERS):
        for word in ("key", "value"):
            ins.append(cache_info(shape, f"past_key_values.{layer}.{word}", "past"))
            outs.append(cache_info(shape, f"{shape.present}.{layer}.{word}", "total"))
    made = helper.make_graph(graph.nodes, "tiny", ins, outs, graph.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def cache_info(shape: Shape, name: str, axis: str) -> onnx.ValueInfoProto:
    extent = [shape.batch, shape.kv_heads, axis, WIDTH]
    return helper.make_tensor_value_info(name, CACHE_TYPES[shape.cache], extent)


def config_of(shape: Shape) -> dict[str, object]:
    """`config.json` in the names of the model type."""
    common = {"model_type": shape.model_type, "vocab_size": shape.vocabulary, "eos_token_id": 0}
    if shape.model_type == "gpt2":
        return common | {"n_layer": LAYERS, "n_head": HEADS, "n_embd": HIDDEN, "n_positions": shape.positions}
    long = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": HIDDEN}
    long["max_position_embeddings"] = shape.positions
    return common | long | ({"num_key_value_heads": shape.kv_heads} if shape.model_type == "llama" else {})


def tokenizer_json(size: int = 400) -> str:
    """A byte-level BPE trained on `TEXT`; it merges across brackets, so that tokens hold text around them."""
    import tokenizers
    from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

    tokenizer = tokenizers.Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(r"\n+|[^\n]{1,24}"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<eos>", "<pad>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return tokenizer.to_str()


def make_brain(
    path: Path,
    shape: Shape | None = None,
    *,
    brain_id: str = "tiny-0",
    precisions: tuple[str, ...] = ("q4",),
    features: tuple[str, ...] = ("tags",),
) -> Path:
    """Write a whole brain directory and answer its path."""
    shape = shape or Shape()
    (path / "onnx").mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config_of(shape)), "utf-8")
    (path / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    for precision in precisions:
        (path / FILES[precision]).write_bytes(build_graph(shape, precision).SerializeToString())
    write_manifest(path, brain_id=brain_id, features=features)
    return path


def write_manifest(path: Path, *, brain_id: str = "tiny-0", features: tuple[str, ...] = ("tags",)) -> None:
    """`brain.json` with the digests of every file that lies there now."""
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "brain.json")
    digests = {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    manifest = {"id": brain_id, "features": list(features), "promptVersion": 1, "succeeds": [], "files": digests}
    (path / "brain.json").write_text(json.dumps(manifest), "utf-8")


def reference_logits(shape: Shape, ids: list[int]) -> np.ndarray:
    """Logits (seq, vocabulary) of the unquantised model in float64."""
    w = {name: values.astype(np.float64) for name, values in weights_of(shape).items()}
    count = len(ids)
    x = w["embed"][ids] + (w["wpe"][:count] if shape.model_type == "gpt2" else 0)
    for layer in range(LAYERS):
        after = x + attention(shape, w, layer, norm(shape, x))
        even = norm(shape, x if shape.model_type == "gpt_neox" else after)
        up = even @ w[f"{layer}.up"]
        gate = even @ w[f"{layer}.gate"]
        inner = gate / (1 + np.exp(-gate)) * up if shape.model_type == "llama" else gelu(up)
        x = after + inner @ w[f"{layer}.down"]
    return norm(shape, x) @ w["head"]


def attention(shape: Shape, w: dict[str, np.ndarray], layer: int, x: np.ndarray) -> np.ndarray:
    count = len(x)
    split = {name: (x @ w[f"{layer}.{name}"]).reshape(count, -1, WIDTH).transpose(1, 0, 2) for name in "qkv"}
    if shape.model_type != "gpt2":
        cos, sin = (table[:count].astype(np.float64) for table in rotary(shape.positions))
        for name in "qk":
            part = split[name]
            swapped = np.concatenate((part[..., WIDTH // 2 :], part[..., : WIDTH // 2]), -1)
            split[name] = part * cos + swapped * sin
    k, v = (np.repeat(split[name], HEADS // shape.kv_heads, axis=0) for name in "kv")
    scores = split["q"] @ k.transpose(0, 2, 1) * WIDTH**-0.5 + np.triu(np.full((count, count), -1e9), 1)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (shares / shares.sum(-1, keepdims=True)) @ v
    return mixed.transpose(1, 0, 2).reshape(count, HIDDEN) @ w[f"{layer}.o"]


def norm(shape: Shape, x: np.ndarray) -> np.ndarray:
    centred = x if shape.model_type == "llama" else x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def variant(shape: Shape, **changes: object) -> Shape:
    """`shape` with some fields changed."""
    return replace(shape, **changes)  # type: ignore[arg-type]
