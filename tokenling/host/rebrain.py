"""Moves a save to a brain that succeeds its own, without touching the pet's time."""

from dataclasses import dataclass

from tokenling import engine


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Called with a save of the old brain; the same pet, at the same moment of its life, on brain `brain_id`."""

    brain_id: str

    def __call__(self, save: bytes) -> bytes:
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
