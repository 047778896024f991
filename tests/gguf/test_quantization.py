"""Blocks unpack to the very numbers that the `gguf` package unpacks, and lose nothing on their way to the kernel."""

from types import ModuleType

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from quantised import TYPES, random_raw

from tokenling.gguf import GgufTensor, GgufUnsupported
from tokenling.gguf.quantization import FLOATS, KERNEL_CENTER, QUANTIZATIONS, Blocks, blocks_of, dequantize

ROWS, INNER = 48, 512


def made(name: str, rows: int = ROWS, inner: int = INNER, seed: int = 1) -> tuple[GgufTensor, memoryview]:
    raw = random_raw(TYPES[name], rows * inner, 0.5, seed)
    return GgufTensor("w", (rows, inner), TYPES[name], 0, len(raw)), memoryview(raw)


def test_the_issues_eleven_types_run() -> None:
    assert {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "F16", "BF16", "F32"} == {
        *QUANTIZATIONS, *FLOATS,
    }  # fmt: skip


@pytest.mark.parametrize("name", [*QUANTIZATIONS, *FLOATS])
def test_weights_equal_the_gguf_packages_to_the_bit(name: str, gguf_package: ModuleType) -> None:
    tensor, data = made(name)
    raw = np.frombuffer(data, np.uint8).reshape(ROWS, -1)
    expected = gguf_package.dequantize(raw, gguf_package.GGMLQuantizationType[name]).reshape(ROWS, INNER)
    assert 0.1 < expected.std() < 5
    assert np.array_equal(expected, dequantize(tensor, data))


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
def test_what_the_gguf_package_quantises_comes_back_near(name: str, gguf_package: ModuleType) -> None:
    values = np.random.default_rng(3).standard_normal((ROWS, INNER)).astype(np.float32)
    raw = gguf_package.quantize(values, gguf_package.GGMLQuantizationType[name]).tobytes()
    found = dequantize(GgufTensor("w", (ROWS, INNER), TYPES[name], 0, len(raw)), memoryview(raw))
    assert np.abs(found - values).max() < {"4": 0.4, "5": 0.2, "8": 0.03}[name[1]]


def test_a_block_of_q4_1_by_hand() -> None:
    # d = 0.5, m = -1; byte j is 16 * 3 + 1: codes 0 to 15 are 1, codes 16 to 31 are 3
    raw = np.array([0.5, -1], dtype="<f2").tobytes() + bytes([0x31] * 16)
    tensor = GgufTensor("w", (1, 32), TYPES["Q4_1"], 0, 20)
    assert [-0.5] * 16 + [0.5] * 16 == dequantize(tensor, memoryview(raw))[0].tolist()
    blocks = blocks_of(tensor, memoryview(raw))
    assert blocks.minima is not None
    assert ([0x11] * 8 + [0x33] * 8, 0.5, 3.0) == (
        blocks.codes[0, 0].tolist(),
        blocks.scales[0, 0],
        blocks.minima[0, 0],
    )


def test_a_block_of_q5_0_by_hand() -> None:
    # d = 2; fifth bits of codes 0 and 31 only; low nibbles 0: codes 16 and 0, so weights 0 and -32
    raw = np.array([2], dtype="<f2").tobytes() + (1 | 1 << 31).to_bytes(4, "little") + bytes(16)
    found = dequantize(GgufTensor("w", (1, 32), TYPES["Q5_0"], 0, 22), memoryview(raw))
    assert [0.0] + [-32.0] * 30 + [0.0] == found[0].tolist()


def weights_of(blocks: Blocks) -> np.ndarray:
    """The weights that the kernel and the minimum's product add up to, in float64."""
    codes = blocks.codes if blocks.bits == 8 else np.stack([blocks.codes & 15, blocks.codes >> 4], axis=-1)
    shape = (*blocks.scales.shape, blocks.block)
    values = (codes.reshape(shape).astype(np.float64) - KERNEL_CENTER[blocks.bits]) * blocks.scales[..., None]
    if blocks.minima is not None:
        values = values + blocks.minima[..., None]
    return values.reshape(blocks.scales.shape[0], -1)


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_the_kernels_blocks_stand_for_the_same_weights(name: str) -> None:
    tensor, data = made(name)
    blocks = blocks_of(tensor, data)
    assert INNER == blocks.inner
    assert np.abs(weights_of(blocks) - dequantize(tensor, data)).max() < 1e-6


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_a_matrix_unpacks_alike_in_one_pass_and_in_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, data = made(name)
    whole, blocks = dequantize(tensor, data), blocks_of(tensor, data)
    monkeypatch.setattr("tokenling.gguf.quantization.PASS_ELEMENTS", 1024)
    parts = blocks_of(tensor, data)
    assert np.array_equal(whole, dequantize(tensor, data))
    assert np.array_equal(blocks.codes, parts.codes)
    assert np.array_equal(weights_of(blocks), weights_of(parts))


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_matmulnbits_multiplies_by_the_same_weights(name: str) -> None:
    tensor, data = made(name)
    blocks = blocks_of(tensor, data)
    given = [helper.make_tensor_value_info(n, t, None) for n, t in
             (("x", TensorProto.FLOAT), ("q", TensorProto.UINT8), ("s", TensorProto.FLOAT))]  # fmt: skip
    node = helper.make_node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", bits=blocks.bits,
                            block_size=blocks.block, K=INNER, N=ROWS, accuracy_level=1)  # fmt: skip
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(7).standard_normal((2, INNER)).astype(np.float32)
    found = session.run(None, {"x": x, "q": blocks.codes, "s": blocks.scales})[0]
    if blocks.minima is not None:
        found = found + x.reshape(2, -1, blocks.block).sum(-1) @ blocks.minima.T
    expected = x.astype(np.float64) @ dequantize(tensor, data).T.astype(np.float64)
    assert np.abs(found - expected).max() < 2e-4


@pytest.mark.parametrize("name", ["Q2_K", "IQ4_XS", "MXFP4", "I8"])
def test_a_type_that_does_not_run_here_is_refused_by_name(name: str) -> None:
    kind = TYPES[name]
    tensor = GgufTensor("blk.0.attn_q.weight", (2, 256), kind, 0, 0)
    for use in (dequantize, blocks_of):
        with pytest.raises(GgufUnsupported) as caught:
            use(tensor, memoryview(b""))
        assert ("quantization", "blk.0.attn_q.weight", name) == (
            caught.value.code, caught.value.subject, caught.value.found)  # fmt: skip
