"""The lane against onnxruntime-genai: one graph, one ONNX Runtime, the same threads and numerics, interleaved.

    python -m venv GENAI && GENAI/bin/pip install onnxruntime-genai numpy tokenizers trio
    GENAI/bin/python -m tools.bench.decode_genai --brain DIR [--numerics exact] [--prompt 400] [--tokens 64]

onnxruntime-genai brings an ONNX Runtime of its own, so both sides run on that one, in one process. Both sample with
temperature 0.85, top-k 40, top-p 0.92 (their draws differ, so their words do), and both write exactly `--tokens`
tokens. A round's step is the median of its steps by the wall clock, a prefill the thread's processor time. The lane
runs its rewriting of the graph, onnxruntime-genai the graph as it is stored.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime_genai

from tokenling.runtime import Brain, DecodePlan, Sampling, open_brain
from tokenling.runtime.brain import GRAPH_FILES
from tools.bench.decode import PROMPT, TimedLane


def genai_config(brain: Brain, directory: Path) -> Mapping[str, object]:
    """The description of the brain's graph that onnxruntime-genai reads."""
    config = json.loads((directory / "config.json").read_text("utf-8"))
    names = {item.name: item.name for item in brain.layout.inputs}
    caches = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    presents = {"present_key_names": "present.%d.key", "present_value_names": "present.%d.value"}
    options: dict[str, object] = {"intra_op_num_threads": 1, "provider_options": []}
    if brain.numerics == "exact":
        options["session.disable_quant_qdq"] = "1"
    decoder = {
        "session_options": options,
        "filename": "model.onnx",
        "head_size": brain.layout.head_dim,
        "hidden_size": config["hidden_size"],
        "num_attention_heads": config["num_attention_heads"],
        "num_hidden_layers": brain.config.layers,
        "num_key_value_heads": brain.layout.kv_heads,
        "inputs": names | caches,
        "outputs": {"logits": "logits"} | presents,
    }
    model = {
        "type": "llama",
        "context_length": brain.positions_max,
        "vocab_size": brain.config.vocabulary,
        "bos_token_id": brain.config.eos_ids[0],
        "eos_token_id": brain.config.vocabulary - 1,  # an id that is hardly ever drawn: nothing may end the run early
        "pad_token_id": brain.config.eos_ids[0],
        "decoder": decoder,
    }
    return {"model": model, "search": {"past_present_share_buffer": False}}


def open_genai(brain: Brain, directory: Path, folder: Path) -> onnxruntime_genai.Model:
    """The same graph in onnxruntime-genai."""
    (folder / "model.onnx").symlink_to((directory / GRAPH_FILES[brain.precision]).resolve())
    (folder / "genai_config.json").write_text(json.dumps(genai_config(brain, directory)), "utf-8")
    return onnxruntime_genai.Model(str(folder))


def genai_times(model: onnxruntime_genai.Model, ids: tuple[int, ...], tokens: int) -> tuple[float, float]:
    """Milliseconds of prefill (first token included), and of each later step."""
    params = onnxruntime_genai.GeneratorParams(model)
    length = len(ids) + tokens
    params.set_search_options(
        do_sample=True, top_k=40, top_p=0.92, temperature=0.85, max_length=length, min_length=length, random_seed=7
    )
    started = time.thread_time()
    generator = onnxruntime_genai.Generator(model, params)
    generator.append_tokens(np.array([ids], dtype=np.int32))
    generator.generate_next_token()
    first = time.thread_time()
    ends = [time.perf_counter()]
    for _ in range(tokens - 1):
        generator.generate_next_token()
        ends.append(time.perf_counter())
    assert generator.token_count() == length
    step = statistics.median(after - before for before, after in itertools.pairwise(ends))
    return (first - started) * 1000, step * 1000


def lane_times(lane: TimedLane, ids: tuple[int, ...], tokens: int) -> tuple[float, float]:
    """The same through a lane."""
    times = lane.run(DecodePlan(ids, tokens, Sampling(850, 40, 920, 7), (), ignore_eos=True))
    assert len(times.token_ids) == tokens
    return times.first_ms, times.step_ms


def main() -> None:
    """Print one JSON line for each side, and the ratio of the steps: above 1 the lane is the quicker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brain", type=Path, required=True)
    parser.add_argument("--dtype", default="q4", choices=tuple(GRAPH_FILES))
    parser.add_argument("--numerics", default="exact", choices=("exact", "fast"))
    parser.add_argument("--prompt", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    brain = open_brain(chosen.brain, precision=chosen.dtype, numerics=chosen.numerics)
    ids = (brain.tokenizer.encode(PROMPT) * chosen.prompt)[-chosen.prompt :]
    lane = TimedLane(brain, time.thread_time)
    with tempfile.TemporaryDirectory() as folder:
        model = open_genai(brain, chosen.brain, Path(folder))
        sides: dict[str, list[tuple[float, float]]] = {"onnxruntime-genai": [], "lane": []}
        for _ in range(chosen.rounds + 1):
            # each first untimed: the other left its own copy of the weights in the processor's caches
            genai_times(model, ids, chosen.tokens)
            sides["onnxruntime-genai"].append(genai_times(model, ids, chosen.tokens))
            lane_times(lane, ids, chosen.tokens)
            sides["lane"].append(lane_times(lane, ids, chosen.tokens))
        del model
    for name, times in sides.items():
        firsts, steps = zip(*times[1:], strict=True)
        best = {"prefillMs": round(min(firsts), 3), "stepMs": round(min(steps), 4)}
        median = {"prefillMs": round(statistics.median(firsts), 3), "stepMs": round(statistics.median(steps), 4)}
        print(json.dumps({"what": name, "best": best, "median": median}))
    ratios = [other[1] / ours[1] for other, ours in zip(sides["onnxruntime-genai"][1:], sides["lane"][1:], strict=True)]
    print(json.dumps({"lane over onnxruntime-genai": {"median of rounds": round(statistics.median(ratios), 2)}}))


if __name__ == "__main__":
    main()
