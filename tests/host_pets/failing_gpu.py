"""A CUDA lane to the host and a CPU's to ONNX Runtime: real steps of a real brain that fail when they are told to."""

import threading
from dataclasses import replace

from tokenling.host.generator import BrainGenerator
from tokenling.runtime import Brain, open_lane

PATIENCE_S = 20.0


class FailingSession:
    """An ORT session that runs until it shall fail: at the step `fail_at`, or when a held step is told to."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.steps = 0
        self.fail_at: int | None = None
        self.hold_at: int | None = None
        self.held = threading.Event()
        self.let_go = threading.Event()

    def run_with_ortvaluevector(self, *arguments: object) -> None:
        self.steps += 1
        if self.steps == self.hold_at:
            self.held.set()
            assert self.let_go.wait(PATIENCE_S), "nobody told the step to go on"
            raise RuntimeError("CUDA failure 700: an illegal memory access was encountered")
        if self.fail_at is not None and self.steps >= self.fail_at:
            raise RuntimeError("CUDA failure 2: out of memory")
        self._inner.run_with_ortvaluevector(*arguments)  # type: ignore[attr-defined]


class StandIn(BrainGenerator):
    """What the host takes for a CUDA lane. `asked` counts the turns that came here."""

    def __init__(self, brain: Brain) -> None:
        self.session = FailingSession(brain.ort_session)
        there = replace(brain, ort_session=self.session)  # type: ignore[arg-type]
        lane = open_lane(there)
        lane.provider = "CUDAExecutionProvider"
        super().__init__(there, lane)
        self.asked: list[str] = []

    async def generate(self, request, *, turn_id):  # type: ignore[no-untyped-def]
        self.asked.append(turn_id)
        return await super().generate(request, turn_id=turn_id)
