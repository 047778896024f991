"""`tokenling model inspect`, `fit` and `caps`: what can be known before anything runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gguf_bytes import Tensor, gguf, write
from quantised import TYPES, random_raw
from talking_models import TEMPLATE, VOCABULARY, keys, noisy_model

from tokenling.cli.model import caps, machine
from tokenling.gguf import ARCHITECTURES, FLOATS, QUANTIZATIONS

MODELS = Path(__file__).parents[1] / "gguf" / "models"


def wide_model(path, kind="Q4_1", layers=4, hidden=512, inner=1024, vocabulary=4096):
    """A llama large enough that its weights outweigh what a process takes anyway."""
    facts = keys(hidden, 4096, "") | {
        "llama.block_count": layers, "llama.feed_forward_length": inner, "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 4,
    }  # fmt: skip
    sizes = {"token_embd": (vocabulary, hidden), "output": (vocabulary, hidden)}
    for layer in range(layers):
        parts = {"attn_q": (hidden, hidden), "attn_k": (hidden // 2, hidden), "attn_v": (hidden // 2, hidden),
                 "attn_output": (hidden, hidden), "ffn_gate": (inner, hidden), "ffn_up": (inner, hidden),
                 "ffn_down": (hidden, inner)}  # fmt: skip
        sizes |= {f"blk.{layer}.{name}": shape for name, shape in parts.items()}
    gains = ["output_norm", *(f"blk.{layer}.{name}" for layer in range(layers) for name in ("attn_norm", "ffn_norm"))]
    rows = [Tensor(f"{name}.weight", (hidden,), random_raw(TYPES["F32"], hidden, 1.0, 0)) for name in gains]
    for seed, (name, (height, width)) in enumerate(sizes.items()):
        raw = random_raw(TYPES[kind], height * width, 0.03, seed)
        rows.append(Tensor(f"{name}.weight", (width, height), raw, TYPES[kind].number))
    return write(path, gguf(facts, rows))


# ---- inspect


def test_a_file_is_shown_for_a_person(call, talking):
    done = call("inspect", talking)
    assert 0 == done.exit_code
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line)
    assert "llama" == rows["architecture"].strip()
    assert "yes" == rows["runs here"].strip()
    assert f"{len(TEMPLATE)} characters" == rows["chat template"].strip()
    assert "1, of width 256, feed-forward 64" == rows["layers"].strip()
    assert f"gpt2, gpt-2, {VOCABULARY} tokens" == rows["tokenizer"].strip()


def test_a_file_is_shown_for_a_program(call, tmp_path):
    path = wide_model(tmp_path / "wide.gguf")
    found = json.loads(call("inspect", path, "--json", "--tensors", "--metadata").stdout)
    assert {"architecture": "llama", "runs": True, "obstacle": None, "complete": True, "parts": 1,
            "sizeBytes": path.stat().st_size, "chatTemplateChars": 0}.items() <= found.items()  # fmt: skip
    assert {"layers": 4, "hidden": 512, "feedForward": 1024, "heads": 8, "kvHeads": 4, "headDim": 64,
            "vocabulary": 4096, "contextTokens": 4096} == found["shape"]  # fmt: skip
    quantised = 2 * 4096 * 512 + 4 * (2 * 512 * 512 + 2 * 256 * 512 + 3 * 512 * 1024)
    assert {"type": "Q4_1", "tensors": 30, "parameters": quantised, "sizeBytes": quantised * 20 // 32,
            "kernelBits": 4} == found["types"][0]  # fmt: skip
    assert found["parameters"] == quantised + 9 * 512
    assert {"name": "output.weight", "type": "Q4_1", "shape": [4096, 512], "sizeBytes": 4096 * 320} in found["tensors"]
    assert "1024" == found["metadata"]["llama.feed_forward_length"]
    assert f"{VOCABULARY} strings" == found["metadata"]["tokenizer.ggml.tokens"]


def test_what_does_not_run_here_is_shown_with_its_reason(call, tmp_path):
    path = write(tmp_path / "m.gguf", gguf({"general.architecture": "mamba"}))
    found = json.loads(call("inspect", path, "--json").stdout)
    assert (False, None) == (found["runs"], found["shape"])
    assert "mamba" in found["obstacle"]
    assert "no: " in call("inspect", path).stdout


def test_a_header_without_its_data_is_enough_and_told(call, tmp_path):
    path = wide_model(tmp_path / "wide.gguf")
    whole = json.loads(call("inspect", path, "--json").stdout)
    write(path, path.read_bytes()[:20_000])
    cut = json.loads(call("inspect", path, "--json").stdout)
    assert (True, False) == (whole["complete"], cut["complete"])
    assert (whole["types"], whole["shape"]) == (cut["types"], cut["shape"])
    assert "INCOMPLETE" in call("inspect", path).stdout
    assert 0 == call("fit", path).exit_code


@pytest.mark.parametrize("command", ["inspect", "fit"])
@pytest.mark.parametrize("data", [b"", b"GGUF", b"no model, and long enough to be looked at", None])
def test_no_model_is_refused_in_one_line(call, tmp_path, command, data):
    path = tmp_path / "m.gguf"
    if data is not None:
        path.write_bytes(data)
    done = call(command, path)
    assert (3, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines()))


def test_names_out_of_a_file_do_not_reach_the_terminal_as_commands(call, tmp_path):
    facts = keys(256, 64, "") | {"general.name": "\x1b[2Jevil\nname"}
    path = write(tmp_path / "m.gguf", gguf(facts))
    shown = call("inspect", path, "--metadata").stdout
    assert "\x1b" not in shown
    assert "evil name" in shown


# ---- fit


def need(call, path, *words):
    done = call("fit", path, "--json", *words)
    found = json.loads(done.stdout)
    return done.exit_code, {fit["numerics"]: fit for fit in found["fits"]}


def test_the_sum_is_that_of_its_parts(call, tmp_path):
    path = wide_model(tmp_path / "wide.gguf")
    code, fits = need(call, path, "-c", 1024)
    assert 0 == code
    parts = ("weightsBytes", "cacheBytes", "workBytes", "graphBytes", "processBytes")
    for fit in fits.values():
        assert fit["totalBytes"] == sum(fit[part] for part in parts)
        assert 4 * 2 * 4 * 64 * 4 * 1024 == fit["cacheBytes"]
    multiplied = 4096 * 512 + 4 * (2 * 512 * 512 + 2 * 256 * 512 + 3 * 512 * 1024)  # the table is gathered from
    assert multiplied * 4 + 9 * 512 * 4 == fits["exact"]["weightsBytes"]
    assert multiplied * 28 // 32 + 9 * 512 * 4 == fits["fast"]["weightsBytes"]  # 16 of codes, scale, sum, minimum


def test_the_verdict_is_by_the_memory_there_is(call, tmp_path):
    path = wide_model(tmp_path / "wide.gguf")
    _, fits = need(call, path)
    mib = -(-fits["fast"]["totalBytes"] // 2**20)
    for given, expected, verdict in ((mib * 2, 0, "fits"), (mib + 1, 0, "tight"), (mib - 1, 1, "too_large")):
        code, found = need(call, path, "--memory-mib", given)
        assert (expected, verdict) == (code, found["fast"]["verdict"])
    assert "does not fit" in call("fit", path, "--memory-mib", 1).stdout
    exact = -(-fits["exact"]["totalBytes"] // 2**20)
    assert 1 == need(call, path, "--memory-mib", exact - 1, "--numerics", "exact")[0]


def test_what_does_not_run_does_not_fit(call, tmp_path):
    path = write(tmp_path / "m.gguf", gguf({"general.architecture": "mamba"}))
    assert 3 == call("fit", path).exit_code
    assert 3 == call("fit", MODELS / "llama.gguf", "-c", 129).exit_code


MEASURE = """
import sys
from pathlib import Path
import onnxruntime, tokenizers
from tokenling.cli.model.machine import resident_bytes
from tokenling.gguf import BufferedSteps, open_gguf, open_model
from tokenling.runtime import Cancellation
path, numerics, context = sys.argv[1], sys.argv[2], int(sys.argv[3])
before = resident_bytes()
with open_gguf(path) as file:
    model = open_model(file, numerics=numerics, positions=context)
del file
Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew: opening's own is another matter
steps = BufferedSteps(model, context, Cancellation())
steps.prefill([at % 250 for at in range(context - 8)], 512)
for token in range(8):
    steps.step([token])
rows = Path("/proc/self/status").read_text().splitlines()
print(next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) * 1024 - before)
"""


@pytest.mark.parametrize(("kind", "numerics"), [("Q4_1", "fast"), ("Q8_0", "fast"), ("Q4_1", "exact")])
def test_the_prediction_is_within_a_fifth_of_what_a_full_context_takes(call, tmp_path, kind, numerics):
    path = wide_model(tmp_path / "wide.gguf", kind, layers=4, hidden=1024, inner=2048, vocabulary=8192)
    fit = need(call, path, "-c", 512)[1][numerics]
    expected = fit["totalBytes"] - fit["processBytes"]
    run = subprocess.run([sys.executable, "-c", MEASURE, path, numerics, "512"], capture_output=True, check=True)
    assert 0.8 < int(run.stdout) / expected < 1.2, (int(run.stdout), expected)


UNTOUCHED = """
import sys
import numpy as np
from tokenling.cli.model.machine import resident_bytes
from tokenling.gguf import BufferedSteps, open_gguf, open_model
from tokenling.runtime import Cancellation
from tokenling.runtime.ort import return_freed_memory
with open_gguf(sys.argv[1]) as file:
    model = open_model(file, positions=30_000)
del file
held = np.ones(30 * 2**20, np.uint8)  # what opening a large model leaves: an allocator that reuses what was freed
del held
held = [np.ones(2**20, np.uint8) for _ in range(40)]
del held[:-1]
return_freed_memory()
before = resident_bytes()
steps = BufferedSteps(model, 30_000, Cancellation())
print(resident_bytes() - before)
"""


def test_caches_take_no_memory_before_they_are_written(tmp_path):
    path = noisy_model(tmp_path / "long.gguf", context=30_000)
    run = subprocess.run([sys.executable, "-c", UNTOUCHED, path], capture_output=True, check=True)
    assert int(run.stdout) < 2**20 < 2 * 2 * 16 * 4 * 30_000 == 7_680_000


def test_memory_is_read_as_the_system_tells_it(tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  2000 kB\nMemFree: 5 kB\nMemAvailable:  1500 kB\n")
    monkeypatch.setattr(machine, "CGROUPS", ())
    assert machine.Memory(2000 * 1024, 1500 * 1024) == machine.read_memory(meminfo)
    limit, use = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(machine, "CGROUPS", ((str(limit), str(use)),))
    for text, expected in (("max\n", 1500 * 1024), ("1000000\n", 1_000_000 - 400_000), ("300000", 0)):
        limit.write_text(text)
        use.write_text("400000\n")
        found = machine.read_memory(meminfo)
        assert found is not None
        assert expected == found.available
    assert machine.read_memory(tmp_path / "nowhere") is None


def test_a_system_that_does_not_tell_is_asked_for_an_option(call, talking, monkeypatch):
    monkeypatch.setattr("tokenling.cli.model.fit.read_memory", lambda: None)
    done = call("fit", talking)
    assert 2 == done.exit_code
    assert "--memory-mib" in done.stderr
    assert 0 == call("fit", talking, "--memory-mib", 4096).exit_code


# ---- caps


def test_the_capabilities_are_what_the_build_has(call):
    done = call("caps", "--json")
    found = json.loads(done.stdout)
    assert 0 == done.exit_code, found["kernels"]
    assert list(ARCHITECTURES) == found["architectures"]
    assert {*QUANTIZATIONS, *FLOATS} == found["quantisations"].keys()
    assert "used" == found["providers"]["CPUExecutionProvider"]
    assert {"llama-bpe", "qwen2", "smollm", "gpt-2"} <= set(found["preTokenizers"])
    assert found["cores"]["usable"] >= 1
    shown = call("caps").stdout
    assert "4-bit products" in shown
    assert found["libraries"]["numpy"] in shown


def test_a_kernel_that_does_not_work_here_is_told(call, monkeypatch):
    from tokenling.gguf import kernels

    def unknown(graph):
        return graph.node("NoSuchOperator", "x")

    monkeypatch.setattr(kernels, "_KERNELS", {"a kernel": unknown})
    done = call("caps", "--json")
    assert (1, {"a kernel": False}) == (done.exit_code, json.loads(done.stdout)["kernels"])
    assert "DOES NOT WORK" in caps.text(caps.capabilities())
