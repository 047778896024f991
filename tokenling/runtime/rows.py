"""The steps of several sequences together: opened once a brain, proved to the bit on the machine where they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokenling.runtime.brain import Brain, stored_graph
from tokenling.runtime.cancellation import Cancellation
from tokenling.runtime.errors import BrainRefused, LaneFailed
from tokenling.runtime.ort import open_session, return_freed_memory
from tokenling.runtime.row_graph import ROWS_MAX, row_name, with_rows
from tokenling.runtime.sampling import Logits
from tokenling.runtime.steps import Buffer, Flat, Steps

if TYPE_CHECKING:
    import onnxruntime

PROOF_STEPS = 3
"""Steps of the proof at start: the first over every length, the others over caches that the rows have written."""
PROOF_LENGTHS = (1, 7, 64, 33, 2, 130, 16, 5)
"""Tokens behind the rows of the proof, in turn: even and odd, below and above the widths that kernels unroll by."""


@dataclass(frozen=True, slots=True)
class RowGraph:
    """An ORT session that steps up to `rows` sequences at once. Safe to use from any thread."""

    rows: int
    ort_session: "onnxruntime.InferenceSession"
    unread: frozenset[str]


def row_counts(most: int) -> tuple[int, ...]:
    """The sizes that are built for up to `most` rows: powers of two, and `most` itself."""
    return (*(size for size in (2, 4, 8) if size < most), most)


def open_rows(brain: Brain, path: Path | str, most: int) -> tuple[RowGraph, ...]:
    """Graphs for 2 to `most` sequences of `brain`, from the bytes that it was opened with.

    In `exact` numerics each is proved: rows of several lengths give the logits that each has alone, to the bit.
    Raises `BrainRefused`: `rows_unsupported` for a graph or a machine that cannot, `rows_range`, `file_changed`.
    """
    if not 2 <= most <= ROWS_MAX:
        raise BrainRefused("rows_range", "rows", most, f"2 to {ROWS_MAX}")
    if brain.precision == "gguf" or brain.device.kind != "cpu":
        raise BrainRefused("rows_unsupported", "rows", brain.precision, "a brain directory's graph, on the CPU")
    graph, graph_file, folder = stored_graph(brain, Path(path))
    opened = []
    for rows in row_counts(most):
        made = with_rows(graph, graph_file, brain.layout, rows)
        session = open_session(
            made.model, brain.numerics, brain.threads, graph_file, folder=folder, arena=brain.lanes == 1
        )
        opened.append(RowGraph(rows, session, made.unread))
        if brain.numerics == "exact":
            prove(brain, opened[-1])
    return_freed_memory()
    return tuple(opened)


def prove(brain: Brain, graph: RowGraph) -> None:
    """Step rows of several lengths together and each alone. Raises `BrainRefused` when one bit differs."""
    together, alone = (
        [_grown(brain, length) for length in _proof_lengths(brain, graph.rows)] for _ in ("together", "alone")
    )
    steps = RowSteps(brain, graph)
    for step in range(PROOF_STEPS):
        ids = [(31 * row + 7 * step + 1) % brain.config.vocabulary for row in range(graph.rows)]
        for row, logits in enumerate(steps.step(together, ids)):
            if not np.array_equal(logits, alone[row].step((ids[row],))):
                found = f"row {row} of {graph.rows} with other logits than alone"
                raise BrainRefused("rows_unsupported", "this machine's kernels", found, "the same to the bit")


def _proof_lengths(brain: Brain, rows: int) -> list[int]:
    most = brain.positions_max - PROOF_STEPS
    return [min(PROOF_LENGTHS[row % len(PROOF_LENGTHS)] + row // len(PROOF_LENGTHS), most) for row in range(rows)]


def _grown(brain: Brain, length: int) -> Steps:
    """A sequence of `length` tokens, each another one."""
    steps = Steps(brain, length + PROOF_STEPS, Cancellation())
    steps.step([(13 * at + length) % brain.config.vocabulary for at in range(length)])
    return steps


class RowSteps:
    """Steps of up to `graph.rows` sequences, one token each. Not safe for two threads."""

    def __init__(self, brain: Brain, graph: RowGraph) -> None:
        # the C classes behind onnxruntime.OrtValue and OrtDevice: vectors hold nothing else
        from onnxruntime.capi import onnxruntime_pybind11_state as binding

        layout = self._layout = brain.layout
        self.rows = graph.rows
        self._session = graph.ort_session
        self._new_vector = binding.OrtValueVector
        device = binding.OrtDevice(binding.OrtDevice.cpu(), binding.OrtDevice.default_memory(), 0)
        fed = [item for item in layout.inputs if item.name not in graph.unread]
        self._buffers: dict[str, Buffer] = {
            item.name: np.zeros((1, self.rows) if item.rank == 2 else self.rows, dtype=item.element) for item in fed
        }
        value = binding.OrtValue.ortvalue_from_numpy
        self._values = [value(buffer, device) for buffer in self._buffers.values()]
        self._ids: Flat = self._buffers["input_ids"].reshape(-1)
        places = (self._buffers.get(name) for name in ("position_ids", "cache_position"))
        self._places: list[Flat] = [buffer.reshape(-1) for buffer in places if buffer is not None]
        named = [(row, pair) for row in range(self.rows) for pair in layout.caches]
        self._feed_names = [*self._buffers, *(row_name(pair.past, row) for row, pair in named)]
        self._fetch_names = ["logits", *(row_name(pair.present, row) for row, pair in named)]
        self._devices = [device] * len(self._fetch_names)
        shape = (1, layout.kv_heads, 0, layout.head_dim)
        self._nothing = np.zeros(shape, dtype=np.float32)
        self._empty = [value(self._nothing, device)] * len(layout.caches)
        self._options = Cancellation().run_options  # never set: a step that others share is not stopped for one

    def step(self, sequences: Sequence[Steps], ids: Sequence[int]) -> list[Logits]:
        """Run one token of each sequence behind its caches; the logits of each (vocabulary,). Fewer sequences than rows
        are filled up with empty ones.

        Raises `LaneFailed`; no sequence has moved then.
        """
        count, width = len(sequences), len(self._layout.caches)
        self._ids[:count] = ids
        for places in self._places:
            places[:count] = [sequence.tokens for sequence in sequences]
            places[count:] = 0
        feeds, fetches = self._new_vector(), self._new_vector()
        push = feeds.push_back
        for value in self._values:
            push(value)
        for sequence in sequences:
            for value in sequence.pasts:
                push(value)
        for value in self._empty * (self.rows - count):
            push(value)
        try:
            self._session.run_with_ortvaluevector(
                self._options, self._feed_names, feeds, self._fetch_names, fetches, self._devices
            )
        except Exception as error:  # ORT's exceptions share no base but Exception
            raise LaneFailed("ort_failed", "ONNX Runtime", str(error), "a step that runs") from None
        logits = fetches[0].numpy()
        if logits.shape != (1, self.rows, self._layout.vocabulary):
            expected = f"(1, {self.rows}, {self._layout.vocabulary})"
            raise LaneFailed("logits_shape", "logits", logits.shape, expected)
        for row, sequence in enumerate(sequences):
            sequence.take([fetches[1 + row * width + at] for at in range(width)], 1)
        return [logits[0, row] for row in range(count)]
