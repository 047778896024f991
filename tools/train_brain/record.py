"""What a training run leaves behind: the fp16 source, its record, and a plot of the losses."""

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch

from tools.export_brain.directory import canonical
from tools.export_brain.weights import write_weights
from tools.train_brain.fake_quant import FakeQuant
from tools.train_brain.model import Weights


def write_source(work: Path, source: Path, *, brain_id: str, succeeds: tuple[str, ...]) -> str:
    """The folder `source` is what tools.export_brain reads; answers the weights' digest."""
    source.mkdir(parents=True, exist_ok=True)
    state = torch.load(work / "checkpoint.pt", weights_only=True)
    weights = {name: weight.detach().numpy() for name, weight in as_trained(state["weights"], state["stages"]).items()}
    write_weights(source / "weights.safetensors", weights)
    shutil.copyfile(work / "tokenizer.json", source / "tokenizer.json")
    digest = hashlib.sha256((source / "weights.safetensors").read_bytes()).hexdigest()
    corpus = json.loads((work / "corpus.json").read_bytes())
    facts = {
        "id": brain_id,
        "shape": state["shape"],
        "promptVersion": corpus["promptVersion"],
        "features": [],
        "succeeds": list(succeeds),
        "training": {
            "corpus": corpus,
            "stages": state["stages"],
            **({"grownFrom": grown} if (grown := state.get("grown_from")) else {}),
            "steps": state["at"][0],
            "versions": {"python": platform.python_version(), "torch": torch.__version__},
            "weightsSha256": digest,
            "losses": last_losses(work / "log.jsonl"),
        },
    }
    (source / "brain-source.json").write_text(canonical(facts))
    plot_losses(work / "log.jsonl", work / "losses.png")
    return digest


def as_trained(weights: Weights, stages: list[dict[str, dict[str, object]]]) -> Weights:
    """The weights that the last steps computed with: where those rounded the matrices, the rounded ones.

    What lies between two codes was never felt by a loss, and a source that holds the codes gives graphs that agree.
    """
    return FakeQuant()(weights) if stages and stages[-1]["recipe"]["quantized_steps"] else weights


def log_lines(path: Path) -> list[Mapping[str, float]]:
    """The lines of a run's log."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def last_losses(path: Path) -> dict[str, float]:
    """Where training and held-out loss stand; a loss that was never looked at is left out."""
    lines = log_lines(path)
    return {name: line[name] for line in lines for name in ("loss", "held_out") if name in line}


def plot_losses(log: Path, image: Path) -> None:
    """Training loss each ten steps and held-out loss, over the steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    for name, style in (("loss", "-"), ("held_out", "o-")):
        lines = [line for line in log_lines(log) if name in line]
        axes.plot([line["step"] for line in lines], [line[name] for line in lines], style, label=name, linewidth=1)
    axes.set(xlabel="step", ylabel="loss (nats a text token)", yscale="log")
    axes.legend()
    figure.savefig(image, dpi=110, bbox_inches="tight")
    plt.close(figure)
