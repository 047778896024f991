"""A larger brain that says what a smaller one says: training goes on from what is known instead of from nothing.

New channels of the residual stream carry zeros until something writes to them, new neurons and new layers write zeros
until they learn, and every norm's gain makes up for the zeros that its mean now counts (the idea of Net2Net, Chen and
others, 2016). So the grown brain's logits are the old one's, but for rounding.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from tools.export_brain.directory import load_source
from tools.export_brain.weights import Array
from tools.train_brain.model import Weights, fresh_weights
from tools.train_brain.shape import Shape

WRITERS = ("o_proj.weight", "down_proj.weight")
"""What adds to the residual stream."""


def grown_from(folder: Path, shape: Shape, seed: int) -> tuple[Weights, dict[str, object]]:
    """The grown weights of a source folder's brain, and what the record says of where they came from."""
    source = load_source(folder)
    digest = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    origin: dict[str, object] = {"id": source.id, "weightsSha256": digest, "shape": asdict(source.shape)}
    return grown(source.weights, source.shape, shape, seed), origin


def grown(old: Mapping[str, Array], old_shape: Shape, shape: Shape, seed: int) -> Weights:
    """Weights of `shape` that compute what `old` computes; `ValueError` where a shape cannot hold the old one."""
    check_growth(old_shape, shape)
    fresh = fresh_weights(shape, seed)
    made: Weights = {}
    for name, weight in fresh.items():
        source, kept = source_of(name, old_shape.num_hidden_layers, shape.num_hidden_layers)
        made[name] = enlarged(name, torch.from_numpy(old[source]), weight, old_shape, shape)
        if not kept and name.endswith(WRITERS):
            made[name].zero_()
    return made


def check_growth(old: Shape, new: Shape) -> None:
    """Refuses what is not larger in width, neurons or layers alone."""
    for name in ("vocab_size", "num_attention_heads", "num_key_value_heads", "head_dim", "rope_theta"):
        if getattr(old, name) != getattr(new, name):
            raise ValueError(f"{name}: found {getattr(new, name)}, expected {getattr(old, name)} as in the old brain")
    for name in ("hidden_size", "intermediate_size", "num_hidden_layers"):
        if getattr(old, name) > getattr(new, name):
            raise ValueError(f"{name}: found {getattr(new, name)}, expected {getattr(old, name)} or more")


def source_of(name: str, old_layers: int, layers: int) -> tuple[str, bool]:
    """The old tensor that a new one begins as, and whether it keeps its work: the copies of a layer are silent."""
    if not name.startswith("model.layers."):
        return name, True
    _, _, number, rest = name.split(".", 3)
    layer = int(number)
    old = layer * old_layers // layers
    first = -(-old * layers // old_layers)  # the lowest layer that begins as `old`
    return f"model.layers.{old}.{rest}", layer == first


def enlarged(name: str, old: Tensor, fresh: Tensor, old_shape: Shape, shape: Shape) -> Tensor:
    """The old tensor in the corner of one of the new extent, the rest so that nothing changes."""
    if old.dim() == 1:  # a norm's gain: the mean now counts zeros too
        return torch.full_like(fresh, 1.0).index_copy(0, torch.arange(len(old)), old) * math.sqrt(
            old_shape.hidden_size / shape.hidden_size
        )
    made = fresh.clone()
    rows, columns = old.shape
    if "embed" in name or name.endswith(WRITERS):
        made[:rows, columns:] = 0.0  # the table's new channels; what new neurons write
        made[rows:] = 0.0  # what is written to new channels
    made[:rows, :columns] = old
    return made
