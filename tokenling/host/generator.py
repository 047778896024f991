"""A brain on a lane of the runtime, as the host's generator."""

from tokenling.engine.request import GenerationRequest
from tokenling.host.ports import Generated, TurnRefused
from tokenling.runtime import (
    Brain,
    DecodePlan,
    Generation,
    GenerationRefused,
    TurnRunner,
    make_receipt,
    plan_turn,
    reply_of,
)


class BrainGenerator:
    """A lane of a brain, or a place in one that batches: one turn at a time. A cancelled turn leaves nothing behind."""

    def __init__(self, brain: Brain, lane: TurnRunner) -> None:
        self._brain = brain
        self._lane = lane

    @property
    def brain_id(self) -> str:
        return self._brain.id

    @property
    def features(self) -> tuple[str, ...]:
        return self._brain.features

    @property
    def prompt_version(self) -> int:
        return self._brain.prompt_version

    @property
    def provider(self) -> str:
        return self._lane.provider

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        """Run the turn and write its turn receipt. Raises `TurnRefused`, or the runtime's `LaneFailed`."""

        def told(plan: DecodePlan, generation: Generation) -> Generated:
            receipt = make_receipt(plan, generation, self._brain, self._lane, request=request)
            return Generated(reply_of(generation), receipt.owner_json())

        try:
            return await self._lane.turn(lambda: plan_turn(request, self._brain), told)
        except GenerationRefused as refused:
            raise TurnRefused(refused.code) from None
