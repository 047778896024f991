"""Brains of other makers, and broken ones, in a real browser: each runs as the runtime runs it, or says why not."""

import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from app_support import ROOT
from brain_sites import BenchPage, BrainSites

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import (
    Brain,
    DecodePlan,
    Generation,
    Lane,
    Sampling,
    decode,
    make_receipt,
    open_brain,
    open_lane,
    plan_turn,
    verify,
)
from tokenling.runtime.receipts import ids_sha256

sys.path.append(str(ROOT / "tests" / "runtime"))
import tiny_brain

SHAPES = {
    "gpt2 that is told its places": tiny_brain.Shape("gpt2", integers="int32", token_types=True),
    "gpt_neox with half caches": tiny_brain.Shape("gpt_neox", cache="float16", position="", mask=False),
    "llama with a cache position": tiny_brain.Shape(
        position="cache_position", position_rank=1, last_only=True, batch="b"
    ),
    "llama with double caches": tiny_brain.Shape(cache="float64", present="present_key_values", mask=False),
}
EXPORTED = sorted(
    path for path in (ROOT / "tests" / "runtime" / "exported").glob("*.zip") if not path.stem.endswith("-source")
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return tiny_brain.make_brain(tmp_path_factory.mktemp("brains") / "tiny")


@pytest.fixture(scope="module")
def sites(built, tmp_path_factory):
    served = BrainSites(built, tmp_path_factory.mktemp("bench"))
    yield served
    served.close()


@pytest.fixture(scope="module")
def bench(browser, sites, whole):
    """One page for all brains; it must not have complained but of what did not come."""
    sites.add("whole", whole, "tiny-0")
    page = BenchPage(browser, sites, "whole")
    yield page
    page.close()
    assert [error for error in page.errors if "Failed to load resource" not in error] == []


@pytest.fixture
def open_site(bench, sites):
    """`open_site(directory, id, precision)`: what opening a site of that brain gave, and the site's name."""

    def come(directory: Path, brain_id: str, precision: str = "q4") -> tuple[dict, str]:
        sites.add(name := f"site{len(sites.brains)}", directory, brain_id, precision)
        return bench.call("open", name), name

    return come


def turn(seed: int) -> GenerationRequest:
    return GenerationRequest(
        header="You are Pip.",
        lines=("Owner: hello Pip", "Pip: I am well!"),
        prefix="Pip:",
        mode="line",
        tags=tiny_brain.TAGS,
        answers={"[look weather]": "rain", "[look time]": "morning"},
        max_new=48,
        top_k=40,
        temperature_milli=850,
        top_p_milli=920,
        ctx=1024,
        seed=seed,
    )


def native_turn(brain: Brain, request: GenerationRequest) -> tuple[DecodePlan, Generation, Brain, Lane]:
    """What a receipt is made of."""
    plan, lane = plan_turn(request, brain), open_lane(brain)
    return plan, decode(lane, plan), brain, lane


@pytest.mark.parametrize("name", SHAPES)
def test_a_brain_of_the_contract_writes_in_the_page_what_it_writes_here(tmp_path, bench, open_site, name: str) -> None:
    path = tiny_brain.make_brain(tmp_path / "brain", SHAPES[name], precisions=("q4",))
    brain = open_brain(path)
    opened, _ = open_site(path, brain.id)
    assert opened["ok"]["files"] == dict(brain.file_sha256)
    for seed in range(4):
        receipt = json.loads(make_receipt(*native_turn(brain, turn(seed)), request=turn(seed)).owner_json())
        made = json.loads(bench.ok("generate", receipt["request"])["receipt"])
        if made["tokens"] == receipt["tokens"]:
            assert (
                "identical" == bench.ok("verify", receipt)["verdict"] == verify(json.dumps(made).encode(), brain).kind
            )
        else:
            assert "near_tie" == bench.ok("verify", receipt)["verdict"] == verify(json.dumps(made).encode(), brain).kind


@pytest.mark.browser_long
@pytest.mark.parametrize("precision", ["fp32", "q8"])
@pytest.mark.parametrize("archive", EXPORTED, ids=lambda path: path.stem)
def test_a_foreign_export_writes_in_the_page_what_it_writes_here(
    tmp_path, bench, open_site, archive, precision
) -> None:
    """No `brain.json`: the site's list says what its files are. In fp32 that is what Transformers wrote, too."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    brain = open_brain(tmp_path, precision=precision, brain_id="foreign", features=())
    told = json.loads((tmp_path / "greedy.json").read_text("utf-8"))
    prompt = brain.tokenizer.encode(told["prompt"])
    expected = decode(open_lane(brain), DecodePlan(prompt, 64, Sampling(0, 0, 1000, 0), (), ignore_eos=True))
    opened, _ = open_site(tmp_path, "foreign", precision)
    assert {"id": "foreign", "features": [], "promptVersion": 0} == {
        name: opened["ok"][name] for name in ("id", "features", "promptVersion")
    }
    assert [list(prompt)] == bench.call("raw", {"kind": "encode", "texts": [told["prompt"]]})
    found = bench.call("raw", {"kind": "greedy", "promptIds": list(prompt), "count": 64})
    first = next((at for at in range(64) if found[at] != expected.token_ids[at]), None)
    assert first is None or first in expected.near_ties


def test_weights_beside_the_graph_come_with_it(tmp_path, bench, open_site) -> None:
    path = tiny_brain.make_brain(tmp_path / "brain", precisions=("fp32",))
    graph = path / "onnx" / "model.onnx"
    model = onnx.load(graph)
    graph.unlink()
    onnx.save(model, graph, save_as_external_data=True, location="model.onnx_data", size_threshold=1024)
    tiny_brain.write_manifest(path)
    brain = open_brain(path, precision="fp32")
    receipt = json.loads(make_receipt(*native_turn(brain, turn(1)), request=turn(1)).owner_json())
    opened, _ = open_site(path, brain.id, "fp32")
    assert "onnx/model.onnx_data" in opened["ok"]["files"]
    assert receipt["tokens"] == json.loads(bench.ok("generate", receipt["request"])["receipt"])["tokens"]


def test_a_difference_at_a_tie_is_a_near_tie(tmp_path, bench, open_site) -> None:
    """A brain whose head is all zeros ties every token: any other token at any step could have come from rounding."""
    path = tiny_brain.make_brain(tmp_path / "brain", tiny_brain.Shape(sharpness=0.0), precisions=("fp32",))
    brain = open_brain(path, precision="fp32")
    open_site(path, brain.id, "fp32")
    wanted = json.loads(make_receipt(*native_turn(brain, turn(5)), request=turn(5)).owner_json())
    receipt = json.loads(bench.ok("generate", wanted["request"])["receipt"])
    receipt["tokens"][2] = 200
    receipt["outputSha256"] = ids_sha256(receipt["tokens"])
    assert {"verdict": "near_tie", "reason": "tokens", "step": 2} == {
        name: bench.ok("verify", receipt)[name] for name in ("verdict", "reason", "step")
    }
    assert "near_tie" == verify(json.dumps(receipt).encode(), brain).kind


def flip_byte(name: str) -> Callable[[Path], object]:
    def spoil(path: Path) -> None:
        data = bytearray((path / name).read_bytes())
        data[len(data) // 2] ^= 1
        (path / name).write_bytes(data)

    return spoil


def edit(name: str, **fields: object) -> Callable[[Path], object]:
    """Other fields in a JSON file of the brain, with a manifest that fits it unless that is what was edited."""

    def spoil(path: Path) -> None:
        document = json.loads((path / name).read_text("utf-8"))
        (path / name).write_text(json.dumps(document | fields), "utf-8")
        if name != "brain.json":
            tiny_brain.write_manifest(path)

    return spoil


def unlisted(name: str) -> Callable[[Path], object]:
    def spoil(path: Path) -> None:
        manifest = json.loads((path / "brain.json").read_text("utf-8"))
        del manifest["files"][name]
        (path / "brain.json").write_text(json.dumps(manifest), "utf-8")

    return spoil


def no_graph(path: Path) -> None:
    (path / "onnx" / "model_q4.onnx").write_bytes(b"not a graph")
    tiny_brain.write_manifest(path)


BROKEN: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a graph with one bit turned": ("file_changed", flip_byte("onnx/model_q4.onnx")),
    "a tokenizer with one bit turned": ("file_changed", flip_byte("tokenizer.json")),
    "a manifest of another brain": ("id_mismatch", edit("brain.json", id="other")),
    "a manifest without a prompt version": ("manifest_field", edit("brain.json", promptVersion=0)),
    "a manifest that lists nothing": ("manifest_field", edit("brain.json", files={})),
    "a manifest that leaves the graph out": ("file_unlisted", unlisted("onnx/model_q4.onnx")),
    "a config of another family": ("model_type_unsupported", edit("config.json", model_type="bert")),
    "a config with fewer layers": ("input_unknown", edit("config.json", num_hidden_layers=1)),
    "a config with more layers": ("cache_missing", edit("config.json", num_hidden_layers=3)),
    "a config with other heads": ("cache_shape", edit("config.json", num_key_value_heads=1)),
    "a config with another vocabulary": ("logits_vocabulary", edit("config.json", vocab_size=500)),
    "an end outside the vocabulary": ("eos_range", edit("config.json", eos_token_id=10_000)),
    "a tokenizer of another kind": ("tokenizer_kind", edit("tokenizer.json", pre_tokenizer=None)),
    "a graph that is none": ("graph_unloadable", no_graph),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_brain_is_refused_in_the_page_with_its_code(whole, tmp_path, open_site, name: str) -> None:
    code, spoil = BROKEN[name]
    path = shutil.copytree(whole, tmp_path / "brain")
    spoil(path)
    opened, _ = open_site(path, "tiny-0")
    assert (code, "brain") == (opened["problem"]["code"], opened["problem"]["kind"])


def test_a_file_that_does_not_come_may_come_later(whole, bench, open_site, sites) -> None:
    opened, name = open_site(whole, "tiny-0")
    assert "ok" in opened
    where = f"/{name}/brain/tiny-0/tokenizer.json"
    sites.spoilt[where] = None
    problem = bench.call("open")["problem"]
    assert ("file_unreachable", "lost", "tokenizer.json") == (problem["code"], problem["kind"], problem["subject"])
    del sites.spoilt[where]
    assert "ok" in bench.call("open")


@pytest.mark.parametrize(("data", "found"), [(b"{}", "2 bytes"), (b" " * 2_000_000, "more bytes")])
def test_a_file_that_came_through_otherwise_is_refused(whole, bench, open_site, sites, data: bytes, found: str) -> None:
    _, name = open_site(whole, "tiny-0")
    sites.spoilt[f"/{name}/brain/tiny-0/config.json"] = data
    problem = bench.call("open")["problem"]
    assert ("file_changed", "config.json", found) == (problem["code"], problem["subject"], problem["found"])


def test_a_file_that_a_cache_cut_short_is_fetched_again(whole, bench, open_site, sites) -> None:
    _, name = open_site(whole, "tiny-0")
    sites.spoilt_once[f"/{name}/brain/tiny-0/onnx/model_q4.onnx"] = b"half"
    assert "ok" in bench.call("open")
    assert sites.spoilt_once == {}
