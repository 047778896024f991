"""Encoded trees as flat arrays in one .npz file, and batches of nearly equal length from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.train_brain.pieces import APART, Tree

PAD_TO = 16
"""Batch lengths are multiples of this: few shapes, little waste."""
PADDING_BRANCH = 255
SORT_WINDOW_BATCHES = 50
"""Trees are sorted by length within a window of about this many batches, so that the order stays a shuffle."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Tree `i` is `ids[starts[i]:starts[i + 1]]`; `kinds` and `branches` are those of pieces.py."""

    ids: NDArray[np.uint16]
    kinds: NDArray[np.uint8]
    branches: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> NDArray[np.int64]:
        """Text tokens of each example."""
        return np.diff(self.starts)

    def save(self, path: Path) -> None:
        """One file that `load_shard` reads."""
        np.savez(path, ids=self.ids, kinds=self.kinds, branches=self.branches, starts=self.starts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of equal length, padded behind with id 0, kind `APART` and a branch that nothing else belongs to."""

    ids: NDArray[np.int64]  # (rows, length)
    kinds: NDArray[np.uint8]  # (rows, length)
    branches: NDArray[np.uint8]  # (rows, length)
    positions: NDArray[np.int64]  # (rows, length)

    def seen(self) -> NDArray[np.bool_]:
        """Which ids each id sees: those before it of the trunk and of its own branch, (rows, length, length)."""
        length = self.ids.shape[1]
        same = self.branches[:, :, None] == self.branches[:, None, :]
        seen: NDArray[np.bool_] = (same | (self.branches == 0)[:, None, :]) & np.tri(length, dtype=np.bool_)
        return seen


def load_shard(path: Path) -> Shard:
    """The arrays of a file written by `Shard.save`."""
    with np.load(path, allow_pickle=False) as file:
        return Shard(ids=file["ids"], kinds=file["kinds"], branches=file["branches"], starts=file["starts"])


def make_shard(trees: Iterable[Tree]) -> Shard:
    """The trees as flat arrays."""
    ids: list[int] = []
    kinds: list[int] = []
    branches: list[int] = []
    starts = [0]
    for tree in trees:
        ids += tree.ids
        kinds += tree.kinds
        branches += tree.branches
        starts.append(len(ids))
    return Shard(
        np.array(ids, dtype=np.uint16),
        np.array(kinds, dtype=np.uint8),
        np.array(branches, dtype=np.uint8),
        np.array(starts, dtype=np.int64),
    )


def without_trunks(shard: Shard) -> Shard:
    """The same trees without their trunks: what was said and what was answered, nothing else."""
    kept = shard.branches != 0
    before = np.concatenate(([0], np.cumsum(kept)))
    return Shard(shard.ids[kept], shard.kinds[kept], shard.branches[kept], before[shard.starts])


def batches(shard: Shard, tokens_max: int, seed: int) -> Iterator[Batch]:
    """Every tree once, shuffled by `seed`, in batches of at most `tokens_max` padded text tokens."""
    chance = np.random.default_rng(seed)
    order = chance.permutation(len(shard))
    lengths = shard.lengths()
    window = max(1, int(SORT_WINDOW_BATCHES * tokens_max / max(1.0, float(lengths.mean()))))
    for at in range(0, len(order), window):
        nearby = order[at : at + window]
        nearby = nearby[np.argsort(lengths[nearby], kind="stable")]
        groups = list(row_groups(nearby, lengths, tokens_max))
        for group in chance.permutation(len(groups)):
            yield padded(shard, groups[group])


def row_groups(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens_max: int) -> Iterator[NDArray[np.int64]]:
    """Runs of `order` (ascending in length) whose padded extent stays within `tokens_max`."""
    first = 0
    for at in range(len(order)):
        if (at + 1 - first) * padded_length(int(lengths[order[at]])) > tokens_max and at > first:
            yield order[first:at]
            first = at
    yield order[first:]


def padded_length(length: int) -> int:
    """`length` up to the next multiple of `PAD_TO`."""
    return -(-length // PAD_TO) * PAD_TO


def padded(shard: Shard, rows: NDArray[np.int64]) -> Batch:
    """The trees of `rows`, side by side."""
    width = padded_length(int(shard.lengths()[rows].max()))
    ids = np.zeros((len(rows), width), dtype=np.int64)
    kinds = np.full((len(rows), width), APART, dtype=np.uint8)
    branches = np.full((len(rows), width), PADDING_BRANCH, dtype=np.uint8)
    positions = np.zeros((len(rows), width), dtype=np.int64)
    for row, tree in enumerate(rows):
        start, end = shard.starts[tree], shard.starts[tree + 1]
        ids[row, : end - start] = shard.ids[start:end]
        kinds[row, : end - start] = shard.kinds[start:end]
        branches[row, : end - start] = shard.branches[start:end]
        positions[row, : end - start] = positions_of(shard.branches[start:end])
    return Batch(ids, kinds, branches, positions)


def positions_of(branches: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where each id stands in its own example: a branch goes on where the trunk ends."""
    index = np.arange(len(branches))
    trunk = int((branches == 0).sum())
    firsts = np.searchsorted(branches, np.arange(int(branches.max(initial=0)) + 1))  # branches ascend
    return np.where(branches == 0, index, index - firsts[branches] + trunk)
