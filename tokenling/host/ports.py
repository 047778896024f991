"""The seam between the host and a brain. In the house a lane of the runtime stands behind it, in tests a script may."""

from dataclasses import dataclass
from typing import Protocol

from tokenling.engine.request import GenerationRequest, Reply


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply and its owner's turn receipt, as the canonical JSON bytes of one object."""

    reply: Reply
    receipt: bytes


class Generator(Protocol):
    """Answers one request at a time per lane. Cancelling the awaiting scope stops the step and leaves nothing."""

    @property
    def brain_id(self) -> str: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def prompt_version(self) -> int: ...
    @property
    def provider(self) -> str: ...
    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated: ...
