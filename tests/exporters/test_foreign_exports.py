"""What Optimum, torch.onnx and ONNX Runtime's quantiser write loads, and writes what Transformers writes."""

import json
from pathlib import Path

import exporting
import numpy as np
import onnxruntime
import pytest
import tiny_models

from tokenling.runtime import DecodePlan, Lane, Sampling, decode, open_brain, open_lane

pytestmark = pytest.mark.filterwarnings("default")  # the exporters' own deprecations are not ours to mend
COMMITTED = Path(__file__).parents[1] / "runtime" / "exported"


@pytest.fixture(scope="module", params=[(kind, by) for kind in tiny_models.CONFIGS for by in exporting.EXPORTERS])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh export of one model type by one exporter."""
    kind, exporter = request.param
    return exporting.export(kind, exporter, tmp_path_factory.mktemp(kind))


def opened(path: Path, precision: str, numerics: str = "exact") -> Lane:
    lane = open_lane(
        open_brain(path, precision=precision, numerics=numerics, brain_id="foreign", features=())  # type: ignore[arg-type]
    )
    lane.warm_up()
    return lane


def greedy_tokens(lane: Lane, count: int) -> list[int]:
    prompt = lane.brain.tokenizer.encode(tiny_models.PROMPT)
    return list(decode(lane, DecodePlan(prompt, count, Sampling(0, 0, 1000, 0), (), ignore_eos=True)).token_ids)


def transformers_tokens(path: Path) -> list[int]:
    return list(json.loads((path / "greedy.json").read_text("utf-8"))["tokens"])


def plain_tokens(path: Path, count: int) -> list[int]:
    """Greedy tokens by ONNX Runtime alone: the whole text each time, empty caches, no code of ours."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ids = tiny_models.prompt_ids()
    start = len(ids)
    for _ in range(count):
        every = {
            "input_ids": np.array([ids]),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "position_ids": np.arange(len(ids))[None],
        }
        feeds = {item.name: every.get(item.name) for item in session.get_inputs()}
        empty = {
            item.name: (1, item.shape[1], 0, item.shape[3]) for item in session.get_inputs() if len(item.shape) == 4
        }
        feeds |= {name: np.zeros(shape, np.float32) for name, shape in empty.items()}
        ids.append(int(session.run(["logits"], feeds)[0][0, -1][: tiny_models.TOKENS].argmax()))
    return ids[start:]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_an_fp32_export_writes_what_transformers_writes(exported: Path, numerics: str) -> None:
    assert transformers_tokens(exported) == greedy_tokens(opened(exported, "fp32", numerics), tiny_models.NEW_TOKENS)


def test_a_graph_by_the_quantiser_of_onnx_runtime_writes_what_onnx_runtime_writes(exported: Path) -> None:
    # int8 activations take their scale from the whole step, so whole text and cached steps part after a while
    expected = plain_tokens(exported / exporting.QUANTISED, 4)
    assert expected == greedy_tokens(opened(exported, "q8", "fast"), 4)
    assert len(greedy_tokens(opened(exported, "q8"), tiny_models.NEW_TOKENS)) == tiny_models.NEW_TOKENS


def test_the_committed_exports_say_what_a_fresh_one_says(exported: Path) -> None:
    """The default tests load these; `python tests/exporters/write_exported.py` writes them again."""
    import zipfile

    with zipfile.ZipFile(COMMITTED / f"{exported.name}.zip") as archive:
        assert json.loads(archive.read("greedy.json"))["tokens"] == transformers_tokens(exported)
        assert json.loads(archive.read("tokenizer.json")) == json.loads((exported / "tokenizer.json").read_bytes())
