"""Where a brain's ORT session computes, as a value."""

from dataclasses import dataclass
from typing import Literal

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""ONNX Runtime's names, as health and turn receipts show them."""


@dataclass(frozen=True, slots=True)
class Device:
    """The CPU, or a CUDA device by its logical index: counted after `CUDA_VISIBLE_DEVICES`."""

    kind: Literal["cpu", "cuda"] = "cpu"
    index: int = 0

    @property
    def provider(self) -> str:
        """ONNX Runtime's name of what computes here."""
        return PROVIDERS[self.kind]

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


CPU = Device()
