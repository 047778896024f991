"""The steps of one generation: reused buffers, and caches handed from present to past without a copy.

Per step only small integers are written, into buffers that ONNX Runtime reads in place. Each present tensor is an
OrtValue that becomes the next step's past, so a cache never passes through NumPy. Vectors of OrtValues go in and out by
`run_with_ortvaluevector`: `IOBinding`, which binds every tensor by name, cost 0.02 ms more a step on a brain of two
million weights (docs/performance.md). `BoundSteps` does bind, for devices with a memory of their own: caches stay
there, only logits come back.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.errors import LaneFailed
from tokenling.runtime.sampling import Logits
from tokenling.runtime.top import Top, read_top

if TYPE_CHECKING:
    import onnxruntime

    from tokenling.runtime.brain import Brain
    from tokenling.runtime.graph import CachePair, TokenInput

Buffer: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64 | np.int32]]
Flat: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64 | np.int32]]

Cache: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float16 | np.float32 | np.float64]]


class Steps:
    """One sequence from an empty cache on. Not safe for two threads; dropped when its generation ends."""

    def __init__(self, brain: "Brain", capacity: int, cancellation: Cancellation) -> None:
        """`capacity`: the most tokens the sequence will hold."""
        # the C classes behind onnxruntime.OrtValue and OrtDevice: vectors hold nothing else
        from onnxruntime.capi import onnxruntime_pybind11_state as binding

        layout = self._layout = brain.layout
        self._new_vector = binding.OrtValueVector
        self._new_value = binding.OrtValue.ortvalue_from_numpy
        self._device = binding.OrtDevice(binding.OrtDevice.cpu(), binding.OrtDevice.default_memory(), 0)
        self._session = brain.ort_session
        self._cancellation = cancellation
        self.tokens = 0  # in the caches
        self._fed = [item for item in layout.inputs if item.name not in brain.unread]
        self._feed_names = [item.name for item in self._fed] + [pair.past for pair in layout.caches]
        self._fetch_names = ["logits", *(pair.present for pair in layout.caches), *(brain.top or ())]
        self._presents = range(1, 1 + len(layout.caches))
        self._tops = range(self._presents.stop, len(self._fetch_names))
        self.top: Top | None = None
        """The greatest logits of the last step, where the graph finds them and all are finite."""
        self._devices = [self._device] * len(self._fetch_names)
        self._empty = [_empty_cache(brain, pair) for pair in layout.caches]
        self.pasts: Sequence[onnxruntime.OrtValue] = [self._new_value(cache, self._device) for cache in self._empty]
        self._mask = np.ones((1, capacity), dtype=self._element("attention_mask"))
        self._order = np.arange(capacity, dtype=np.int64)
        self._ids: Flat = np.zeros(0, dtype=np.int64)
        self._places: list[Flat] = []
        self._buffers: dict[str, Buffer] = {}
        self._values: dict[str, onnxruntime.OrtValue] = {}
        self._length = 0  # of the step that the buffers are made for

    def prefill(self, ids: Sequence[int], chunk: int) -> Logits:
        """Run a prompt, at most `chunk` tokens a step (0 for all at once); the last token's logits."""
        size = chunk or len(ids)
        parts = [ids[at : at + size] for at in range(0, len(ids), size)]
        for part in parts[:-1]:
            self.step(part)
        return self.step(parts[-1])

    def step(self, ids: Sequence[int]) -> Logits:
        """Run `ids` behind what the caches hold; the last one's logits (vocabulary,).

        Raises `StepCancelled` when the turn was stopped, `LaneFailed` when ORT or the graph broke its promise.
        """
        if self._cancellation.is_cancelled:
            raise StepCancelled
        try:
            fetches = self._run(self._token_values(ids))
        except Exception as error:  # ORT raises its generic Fail for a terminated run
            if self._cancellation.is_cancelled:
                raise StepCancelled from None
            raise LaneFailed("ort_failed", "ONNX Runtime", str(error), "a step that runs") from None
        self.take([fetches[at] for at in self._presents], len(ids))
        self.top = read_top(*(fetches[at].numpy() for at in self._tops)) if self._tops else None
        return self._last_row(fetches[0].numpy(), len(ids))

    def _run(self, token_values: "Iterable[onnxruntime.OrtValue]") -> "Sequence[onnxruntime.OrtValue]":
        """Run the graph on the token inputs and the pasts; logits and presents."""
        feeds, fetches = self._new_vector(), self._new_vector()
        push = feeds.push_back
        for value in token_values:
            push(value)
        for value in self.pasts:
            push(value)
        options = self._cancellation.run_options
        self._session.run_with_ortvaluevector(
            options, self._feed_names, feeds, self._fetch_names, fetches, self._devices
        )
        filled: Sequence[onnxruntime.OrtValue] = fetches
        return filled

    def _token_values(self, ids: Sequence[int]) -> "Iterable[onnxruntime.OrtValue]":
        """The integer inputs of this step, in the layout's order."""
        if len(ids) != self._length:
            self._make_buffers(len(ids))
        start, end = self.tokens, self.tokens + len(ids)
        if len(ids) == 1:  # nearly every step: an element costs a quarter of a slice
            self._ids[0] = ids[0]
            for places in self._places:
                places[0] = start
        else:
            self._ids[:] = ids
            for places in self._places:
                places[:] = self._order[start:end]
        if "attention_mask" in self._values:
            self._values["attention_mask"] = self._new_value(self._mask[:, :end], self._device)
        return self._values.values()

    def _make_buffers(self, length: int) -> None:
        """Buffers for steps of `length` tokens, which ONNX Runtime reads in place; token types stay 0."""
        self._length = length
        buffers = self._buffers = {item.name: _buffer(item, length) for item in self._fed}  # values do not keep them
        self._values = {name: self._new_value(buffer, self._device) for name, buffer in buffers.items()}
        self._ids = buffers["input_ids"].reshape(-1)
        self._places = [buffers[name].reshape(-1) for name in ("position_ids", "cache_position") if name in buffers]

    def take(self, presents: "Sequence[onnxruntime.OrtValue]", count: int) -> None:
        """The presents of a step of `count` tokens become the pasts, if each grew by exactly those."""
        self.tokens += count
        grown = [1, self._layout.kv_heads, self.tokens, self._layout.head_dim]
        for pair, present in zip(self._layout.caches, presents, strict=True):
            if present.shape() != grown:
                raise LaneFailed("cache_growth", pair.present, present.shape(), f"{grown}")
        self.pasts = presents

    def _last_row(self, logits: np.ndarray[tuple[int, int, int], np.dtype[np.float32]], length: int) -> Logits:
        """The last token's logits out of those of the step."""
        one_row, every_row = (1, 1, self._layout.vocabulary), (1, length, self._layout.vocabulary)
        if logits.shape not in (one_row, every_row):
            raise LaneFailed("logits_shape", "logits", logits.shape, f"{every_row} or {one_row}")
        last: Logits = logits[0, -1]
        return last

    def _element(self, name: str) -> str:
        """The element type of an input, int64 when the graph does not have it."""
        return next((item.element for item in self._layout.inputs if item.name == name), "int64")


class BoundSteps(Steps):
    """The same steps by I/O binding: each present stays in the memory of the brain's device and is the next past there.

    ONNX Runtime carries the token inputs over and the last logits back. Growth is checked on the caches' shapes, which
    are known without their contents.
    """

    def __init__(self, brain: "Brain", capacity: int, cancellation: Cancellation) -> None:
        import onnxruntime

        super().__init__(brain, capacity, cancellation)
        self._tops = range(0)  # only the logits come back
        self._wrap = onnxruntime.OrtValue
        self._place = (brain.device.kind, brain.device.index)
        shape = [1, brain.layout.kv_heads, 0, brain.layout.head_dim]
        new = onnxruntime.OrtValue.ortvalue_from_shape_and_type
        self.pasts = [new(shape, np.dtype(pair.element).type, *self._place) for pair in brain.layout.caches]

    def _run(self, token_values: "Iterable[onnxruntime.OrtValue]") -> "Sequence[onnxruntime.OrtValue]":
        """As `Steps._run`. A binding serves one step: an output that is still bound would be written over."""
        bound = self._session.io_binding()
        for name, value in zip(self._feed_names, (*map(self._wrap, token_values), *self.pasts), strict=True):
            bound.bind_ortvalue_input(name, value)
        bound.bind_output("logits")
        for pair in self._layout.caches:
            bound.bind_output(pair.present, *self._place)
        self._session.run_with_iobinding(bound, self._cancellation.run_options)
        outputs: Sequence[onnxruntime.OrtValue] = bound.get_outputs()
        return outputs


def _buffer(item: "TokenInput", length: int) -> Buffer:
    return np.zeros((1, length) if item.rank == 2 else length, dtype=item.element)


def _empty_cache(brain: "Brain", pair: "CachePair") -> Cache:
    return np.zeros((1, brain.layout.kv_heads, 0, brain.layout.head_dim), dtype=pair.element)
