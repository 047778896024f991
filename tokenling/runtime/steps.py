"""The steps of one generation: bound buffers, caches handed from present to past without a copy.

Per step only small integers are written, into buffers that stay bound. ONNX Runtime allocates each present tensor; its
OrtValue is bound as the next step's past, so a cache never passes through NumPy. Logits of one row land in one buffer.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokenling.runtime.cancellation import Cancellation, StepCancelled
from tokenling.runtime.errors import LaneFailed
from tokenling.runtime.sampling import Logits

if TYPE_CHECKING:
    import onnxruntime

    from tokenling.runtime.brain import Brain
    from tokenling.runtime.graph import CachePair, TokenInput

Buffer: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64 | np.int32]]

_DEVICE = "cpu"


class Steps:
    """One sequence from an empty cache on. Not safe for two threads; dropped when its generation ends."""

    def __init__(self, brain: "Brain", capacity: int, cancellation: Cancellation) -> None:
        """`capacity`: the most tokens the sequence will hold."""
        self._layout = brain.layout
        self._session = brain.ort_session
        self._cancellation = cancellation
        self._binding: onnxruntime.IOBinding = brain.ort_session.io_binding()
        self._tokens = 0  # in the caches
        self._pasts = tuple(self._empty_cache(pair) for pair in brain.layout.caches)
        self._inputs = {item.name: np.zeros(1, dtype=item.element) for item in brain.layout.inputs}
        self._ones = np.ones(capacity, dtype=self._element("attention_mask"))
        self._places = np.arange(capacity, dtype=self._element("position_ids"))
        self._row = np.zeros((1, 1, brain.layout.vocabulary), dtype=np.float32)
        self._bound_length = 0
        self._logits_shape: tuple[int, ...] = ()

    def prefill(self, ids: Sequence[int], chunk: int) -> Logits:
        """Run a prompt, at most `chunk` tokens a step (0 for all at once); the last token's logits."""
        size = chunk or len(ids)
        parts = [ids[at : at + size] for at in range(0, len(ids), size)]
        for part in parts[:-1]:
            self.step(part)
        return self.step(parts[-1])

    def step(self, ids: Sequence[int]) -> Logits:
        """Run `ids` behind what the caches hold; the last one's logits (vocabulary,), valid until the next step.

        Raises `StepCancelled` when the turn was stopped, `LaneFailed` when ORT or the graph broke its promise.
        """
        if self._cancellation.is_cancelled:
            raise StepCancelled
        self._bind(ids)
        try:
            self._session.run_with_iobinding(self._binding, self._cancellation.run_options)
        except Exception as error:  # ORT raises its generic Fail for a terminated run
            if self._cancellation.is_cancelled:
                raise StepCancelled from None
            raise LaneFailed("ort_failed", "ONNX Runtime", str(error), "a step that runs") from None
        outputs = self._binding.get_outputs()
        self._tokens += len(ids)
        self._take_caches(outputs[1:])
        return self._last_row(outputs[0], len(ids))

    def _bind(self, ids: Sequence[int]) -> None:
        """Everything a step reads and writes; what did not change since the last step stays bound."""
        length = len(ids)
        if length != self._bound_length:
            self._bind_lengths(length)
        self._fill(ids)
        if "attention_mask" in self._inputs:
            self._bind_buffer("attention_mask", self._ones, (1, self._tokens + length))
        for pair, past in zip(self._layout.caches, self._pasts, strict=True):
            self._binding.bind_ortvalue_input(pair.past, past)
            self._binding.bind_output(pair.present, _DEVICE)

    def _bind_lengths(self, length: int) -> None:
        """Buffers for a step of `length` tokens, and where its logits go."""
        self._bound_length = length
        for item in self._layout.inputs:
            if item.name == "attention_mask":
                continue
            self._inputs[item.name] = np.zeros(length, dtype=item.element)
            self._bind_buffer(item.name, self._inputs[item.name], _shape_of(item, length))
        if length == 1:
            pointer = self._row.ctypes.data
            self._binding.bind_output("logits", _DEVICE, 0, np.float32, self._row.shape, pointer)
        else:
            self._binding.bind_output("logits", _DEVICE)

    def _fill(self, ids: Sequence[int]) -> None:
        """This step's ids and positions."""
        self._inputs["input_ids"][:] = ids
        for name in ("position_ids", "cache_position"):
            if name in self._inputs:
                self._inputs[name][:] = self._places[self._tokens : self._tokens + len(ids)]

    def _bind_buffer(self, name: str, buffer: Buffer, shape: tuple[int, ...]) -> None:
        self._binding.bind_input(name, _DEVICE, 0, buffer.dtype, shape, buffer.ctypes.data)

    def _take_caches(self, presents: "Sequence[onnxruntime.OrtValue]") -> None:
        """The presents become the pasts, if each grew by exactly what this step ran."""
        grown = [1, self._layout.kv_heads, self._tokens, self._layout.head_dim]
        for pair, present in zip(self._layout.caches, presents, strict=True):
            shape = present.shape()
            if shape != grown:
                raise LaneFailed("cache_growth", pair.present, shape, f"{grown}")
        self._pasts = tuple(presents)

    def _last_row(self, output: "onnxruntime.OrtValue", length: int) -> Logits:
        if length == 1:
            row: Logits = self._row[0, 0]
            return row
        logits: np.ndarray[tuple[int, int, int], np.dtype[np.float32]] = output.numpy()
        allowed = ((1, length, self._layout.vocabulary), (1, 1, self._layout.vocabulary))
        if logits.shape not in allowed:
            raise LaneFailed("logits_shape", "logits", logits.shape, f"{allowed[0]} or {allowed[1]}")
        last: Logits = logits[0, -1]
        return last

    def _empty_cache(self, pair: "CachePair") -> "onnxruntime.OrtValue":
        import onnxruntime

        shape = (1, self._layout.kv_heads, 0, self._layout.head_dim)
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, dtype=pair.element))

    def _element(self, name: str) -> str:
        """The element type of an input, int64 when the graph does not have it."""
        return next((item.element for item in self._layout.inputs if item.name == name), "int64")


def _shape_of(item: "TokenInput", length: int) -> tuple[int, ...]:
    return (1, length) if item.rank == 2 else (length,)
