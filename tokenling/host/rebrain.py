"""Moves a save to a brain that succeeds its own, without touching the pet's time."""

from dataclasses import dataclass

from tokenling import engine
from tokenling.host.errors import HostError


class RewriteRefused(HostError):
    """Raised when one pet's save cannot move to the next brain: no pet moves, nothing changes. No retry helps."""

    code = "rewrite_refused"

    def __init__(self, brain_id: str, reason: str) -> None:
        super().__init__(f"a pet cannot move to brain {brain_id}: its rules fail with {reason}; no pet was moved")


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Called with a save of the old brain; the same pet, at the same moment of its life, on brain `brain_id`."""

    brain_id: str

    def __call__(self, save: bytes) -> bytes:
        try:
            return self._moved(save)
        except Exception as fault:  # of this pet's own rules; its message may quote the save
            raise RewriteRefused(self.brain_id, type(fault).__name__) from None

    def _moved(self, save: bytes) -> bytes:
        state = engine.load_save(save)
        hosting = engine.hosting_of(state)
        moved = engine.rehome(
            state,
            mode=hosting.mode,
            time_zone=hosting.time_zone,
            brain_id=self.brain_id,
            now_ms=engine.body_clock_ms(state),  # not the wall clock: what the pet missed is still to be lived
        )
        return engine.dump_save(moved.state)
