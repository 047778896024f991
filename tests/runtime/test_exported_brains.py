"""Small graphs that Optimum and torch.onnx exported, as they come: they load, and write what Transformers wrote.

`nox -s exporters` makes them afresh and holds these to it (tests/exporters).
"""

import json
import zipfile
from pathlib import Path

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


def test_a_foreign_q8_graph_by_the_quantiser_of_onnx_runtime_runs(exported: Path) -> None:
    """It begins as the unquantised model does: the choices of these models are far apart, int8 rounding is not."""
    expected = json.loads((exported / "greedy.json").read_text("utf-8"))["tokens"]
    assert expected[:4] == greedy_tokens(exported, "q8", "exact")[:4]


def test_a_foreign_export_needs_an_id_and_features(exported: Path) -> None:
    with pytest.raises(BrainRefused) as refusal:
        open_brain(exported, precision="fp32")
    assert refusal.value.code == "brain_json_missing"
