"""The steps of one sequence over caches of full length, which ONNX Runtime writes in place.

The runtime's own steps hand each present to the next step as its past, and GroupQueryAttention then copies the whole
cache at every token. Given one buffer as past and present, it writes the new rows and copies nothing: a tenth of a
step of SmolLM2 at 280 tokens. Where the step stands comes from `cache_position`, so that nothing but two integers
changes from token to token: ids, places, caches and logits stay the same OrtValues.
"""

import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.errors import GenerationRefused, LaneFailed
from tokenling.runtime.ort import return_freed_memory
from tokenling.runtime.sampling import Logits

if TYPE_CHECKING:
    import onnxruntime

    from tokenling.gguf.model import Model

Rows: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]
PROMPT_TOKENS = 16
"""A step of so many tokens gives its memory back: fewer take little, and more are a prompt's, which few steps are."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """Everything that steps of one length go in and come out by."""

    ids: Ids  # (1, length)
    places: Ids  # (length,)
    logits: Rows  # (1, 1 | length, vocabulary)
    feeds: "onnxruntime.OrtValueVector"
    fetches: "onnxruntime.OrtValueVector"


class BufferedSteps:
    """One sequence of at most `capacity` tokens, from an empty cache on. Not safe for two threads."""

    top: None = None
    """These graphs sort no logits."""

    def __init__(self, model: "Model", capacity: int, cancellation: Cancellation) -> None:
        # the C classes behind onnxruntime.OrtValue and OrtDevice: vectors hold nothing else
        from onnxruntime.capi import onnxruntime_pybind11_state as binding

        self._binding = binding
        self._device = binding.OrtDevice(binding.OrtDevice.cpu(), binding.OrtDevice.default_memory(), 0)
        self._model = model
        self._session = model.ort_session
        self._cancellation = cancellation
        self.capacity = capacity
        self.tokens = 0
        """In the caches."""
        self.pieces: list[int] = []
        """By how many tokens at a time they came there: rounding depends on it, so a receipt names it."""
        layout = model.layout
        self._feed_names = ["input_ids", "cache_position", *(pair.past for pair in layout.caches)]
        self._fetch_names = ["logits", *(pair.present for pair in layout.caches)]
        self._devices = [self._device] * len(self._fetch_names)
        self._caches = _untouched(len(layout.caches), (1, layout.kv_heads, capacity, layout.head_dim))
        self._cache_values = [self._value(cache) for cache in self._caches]
        self._single: _Bound | None = None

    def resume(self, cancellation: Cancellation) -> None:
        """What runs next is stopped by this one: a cancellation that was set stays set."""
        self._cancellation = cancellation

    def prefill(self, ids: Sequence[int], chunk: int = 0) -> Logits:
        """Run a prompt, at most `chunk` tokens a step (0 for all at once); the last token's logits (vocabulary,)."""
        size = chunk or len(ids)
        for at in range(0, len(ids), size):
            row = self.step(ids[at : at + size])
        return row

    def step(self, ids: Sequence[int]) -> Logits:
        """Run `ids` behind what the caches hold; the last one's logits, valid until the next step.

        Raises `StepCancelled` when the run was stopped, `LaneFailed` when ORT failed.
        """
        last: Logits = self.rows(ids)[-1]
        return last

    def rows(self, ids: Sequence[int]) -> Rows:
        """The same, every row that the graph gives: (1, vocabulary), or (length, vocabulary) of a scoring graph."""
        if self._cancellation.is_cancelled:
            raise StepCancelled
        if self.tokens + len(ids) > self.capacity:
            found = f"{self.tokens + len(ids)} tokens"
            raise GenerationRefused("does_not_fit", "context", found, f"at most {self.capacity}")
        bound = self._bound(len(ids))
        bound.ids[...] = ids
        bound.places[...] = np.arange(self.tokens, self.tokens + len(ids))
        self._run(bound)
        self.tokens += len(ids)
        self.pieces.append(len(ids))
        rows: Rows = bound.logits[0]
        return rows

    def truncate(self, tokens: int) -> None:
        """Forget what stands behind the first `tokens`."""
        assert 0 <= tokens <= self.tokens
        while self.tokens > tokens:
            self.tokens -= self.pieces.pop()
        if self.tokens < tokens:  # within a piece: what is left of it counts as a shorter one
            self.pieces.append(tokens - self.tokens)
            self.tokens = tokens

    def whole_pieces(self, tokens: int) -> int:
        """The most tokens up to `tokens` that came there in whole pieces: so many more can be proved to the bit."""
        kept = 0
        for piece in self.pieces:
            if kept + piece > tokens:
                break
            kept += piece
        return kept

    def _run(self, bound: _Bound) -> None:
        is_prompt = bound.ids.shape[1] >= PROMPT_TOKENS
        options = self._cancellation.prompt_options if is_prompt else self._cancellation.run_options
        try:
            self._session.run_with_ortvaluevector(
                options, self._feed_names, bound.feeds, self._fetch_names, bound.fetches, self._devices
            )
        except Exception as error:  # ORT raises its generic Fail for a terminated run
            if self._cancellation.is_cancelled:
                raise StepCancelled from None
            raise LaneFailed("ort_failed", "ONNX Runtime", str(error), "a step that runs") from None
        if is_prompt:
            return_freed_memory()

    def _bound(self, length: int) -> _Bound:
        """Buffers of a step; those of single tokens are kept."""
        if length == 1 and self._single is not None:
            return self._single
        height = length if self._model.rows == "all" else 1
        ids, places = np.zeros((1, length), dtype=np.int64), np.zeros(length, dtype=np.int64)
        logits = np.zeros((1, height, self._model.layout.vocabulary), dtype=np.float32)
        feeds, fetches = self._binding.OrtValueVector(), self._binding.OrtValueVector()
        for value in (self._value(ids), self._value(places), *self._cache_values):
            feeds.push_back(value)
        for value in (self._value(logits), *self._cache_values):
            fetches.push_back(value)
        bound = _Bound(ids, places, logits, feeds, fetches)
        if length == 1:
            self._single = bound
        return bound

    def _value(self, array: "Ids | Rows") -> "onnxruntime.OrtValue":
        """An OrtValue over the array's own memory: the array must outlive it."""
        return self._binding.OrtValue.ortvalue_from_numpy(array, self._device)


def _untouched(count: int, shape: tuple[int, ...]) -> list[Rows]:
    """`count` float32 arrays of zeros that take no memory where nothing is written.

    One map of pages that the system fills when they are touched. NumPy's zeros are as lazy only while the allocator
    takes fresh pages for them; behind a model that was just loaded it hands out old ones, and wipes each.
    """
    each = -(-math.prod(shape) * 4 // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, count * each, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return [np.frombuffer(pages, np.float32, math.prod(shape), at * each).reshape(shape) for at in range(count)]
