"""Encoded examples as flat arrays in one .npz file, and batches of nearly equal length from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PAD_TO = 16
"""Batch lengths are multiples of this: few shapes, little waste."""
SORT_WINDOW_BATCHES = 50
"""Examples are sorted by length within a window of about this many batches, so that the order stays a shuffle."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Example `i` is `ids[starts[i]:starts[i + 1]]`; `learned` is 1 where the brain writes the text token itself."""

    ids: NDArray[np.uint16]
    learned: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> NDArray[np.int64]:
        """Text tokens of each example."""
        return np.diff(self.starts)

    def save(self, path: Path) -> None:
        """One file that `load_shard` reads."""
        np.savez(path, ids=self.ids, learned=self.learned, starts=self.starts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of equal length, padded behind with id 0 and `learned` 0."""

    ids: NDArray[np.int64]  # (rows, length)
    learned: NDArray[np.uint8]  # (rows, length)


def load_shard(path: Path) -> Shard:
    """The arrays of a file written by `Shard.save`."""
    with np.load(path, allow_pickle=False) as file:
        return Shard(ids=file["ids"], learned=file["learned"], starts=file["starts"])


def make_shard(encoded: Iterable[tuple[list[int], list[int], int]], length_max: int) -> Shard:
    """The examples that fit `length_max` text tokens; longer ones are left out whole."""
    ids: list[int] = []
    learned: list[int] = []
    starts = [0]
    for one, own, _ in encoded:
        if len(one) <= length_max:
            ids += one
            learned += own
            starts.append(len(ids))
    return Shard(np.array(ids, dtype=np.uint16), np.array(learned, dtype=np.uint8), np.array(starts, dtype=np.int64))


def batches(shard: Shard, tokens_max: int, seed: int) -> Iterator[Batch]:
    """Every example once, shuffled by `seed`, in batches of at most `tokens_max` padded text tokens."""
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
    """The examples of `rows`, side by side."""
    width = padded_length(int(shard.lengths()[rows].max()))
    ids = np.zeros((len(rows), width), dtype=np.int64)
    learned = np.zeros((len(rows), width), dtype=np.uint8)
    for row, example in enumerate(rows):
        start, end = shard.starts[example], shard.starts[example + 1]
        ids[row, : end - start] = shard.ids[start:end]
        learned[row, : end - start] = shard.learned[start:end]
    return Batch(ids, learned)
