"""The seam between the host and a brain. In the house a lane of the runtime stands behind it, in tests a script may."""

from dataclasses import dataclass
from typing import Protocol

from tokenling.engine.request import GenerationRequest, Reply


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply and its owner's turn receipt, as the canonical JSON bytes of one object."""

    reply: Reply
    receipt: bytes


@dataclass(frozen=True, slots=True)
class Gpu:
    """The CUDA worker that the operator asked for: its lane, or without one why it did not start."""

    generators: "tuple[Generator, ...]"
    failure: str = ""

    def __post_init__(self) -> None:
        assert bool(self.generators) != bool(self.failure), "it started, or it failed"


class TurnRefused(Exception):  # noqa: N818 - as the runtime's refusals are named
    """Raised by a generator that cannot be asked this at all. Its lane is well; a retry anywhere fails too."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class LaneBroke(Exception):  # noqa: N818 - as above
    """Raised by a generator whose lane failed, not the turn; `reason` names a class or a bound."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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
