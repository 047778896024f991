"""Small graphs that Optimum and torch.onnx exported, as they come: they load, and write what Transformers wrote.

`nox -s exporters` makes them afresh and holds these to it (tests/exporters).
"""

import functools
import json
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tokenling.runtime import BrainRefused, DecodePlan, Sampling, decode, open_brain, open_lane

FOLDER = Path(__file__).parent / "exported"
ARCHIVES = sorted(path for path in FOLDER.glob("*.zip") if not path.stem.endswith("-source"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.stem)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One export's files."""
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def greedy_tokens(path: Path, precision: str, numerics: str) -> list[int]:
    settings = {"precision": precision, "numerics": numerics, "brain_id": "foreign", "features": ()}
    brain = open_brain(path, **settings)  # type: ignore[arg-type]
    lane = open_lane(brain)
    lane.warm_up()
    prompt = brain.tokenizer.encode(json.loads((path / "greedy.json").read_text("utf-8"))["prompt"])
    return list(decode(lane, DecodePlan(prompt, 64, Sampling(0, 0, 1000, 0), (), ignore_eos=True)).token_ids)


def test_each_model_type_by_each_exporter_is_here() -> None:
    expected = {f"{kind}-{exporter}" for kind in ("gpt2", "gpt_neox", "llama") for exporter in ("optimum", "torch")}
    assert expected == {path.stem for path in ARCHIVES}


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_foreign_fp32_export_writes_what_transformers_wrote(exported: Path, numerics: str) -> None:
    expected = json.loads((exported / "greedy.json").read_text("utf-8"))["tokens"]
    assert expected == greedy_tokens(exported, "fp32", numerics)


@functools.cache
def int8_sums_saturate() -> bool:
    """Whether ONNX Runtime sums products of bytes in 16 bits, as on x86 without VNNI: 255 * 127 twice is too much."""
    from onnx import TensorProto, helper

    shape = [64, 64]
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["sums"])],
        "sums",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("sums", TensorProto.INT32, shape)],
        [helper.make_tensor("b", TensorProto.INT8, shape, [127] * 64 * 64)],
    )
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (sums,) = session.run(None, {"a": np.full(shape, 255, np.uint8)})
    return bool((np.asarray(sums) != 64 * 255 * 127).any())


def test_a_foreign_q8_graph_by_the_quantiser_of_onnx_runtime_runs(exported: Path) -> None:
    """It begins as the unquantised model does: the choices of these models are far apart, int8 rounding is not. Where
    sums of bytes saturate, rounding is not all that is lost, and fewer tokens are the same."""
    expected = json.loads((exported / "greedy.json").read_text("utf-8"))["tokens"]
    same = 1 if int8_sums_saturate() else 4
    found = greedy_tokens(exported, "q8", "exact")
    assert (expected[:same], 64) == (found[:same], len(found))


def test_a_foreign_export_needs_an_id_and_features(exported: Path) -> None:
    with pytest.raises(BrainRefused) as refusal:
        open_brain(exported, precision="fp32")
    assert refusal.value.code == "brain_json_missing"
