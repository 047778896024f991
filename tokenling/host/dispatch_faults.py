"""What the dispatch raises beside `ApiError`, and how a fault is told without quoting anything of an owner's."""

from collections.abc import Callable, Mapping

from tokenling.engine.bounds import TIME_MS_MAX, TIME_MS_MIN
from tokenling.host.errors import HostError
from tokenling.host.faults import frames_of
from tokenling.protocol import ERROR_CODE_POINTS_MAX

DAY_MS = 86_400_000


class RulesFailed(HostError):
    """Raised when the engine raises anything but its typed refusals: a fault of this pet's own, to be quarantined.

    The fault itself is the `__cause__`. Never raised to the HTTP layer.
    """


class StartRefused(HostError):
    """The root of what `Pets.start` refuses for; nothing has been changed. Starting again needs another setting."""


class PromptVersionRefused(StartRefused):
    """Raised when a brain was trained on other prompts than this engine builds."""

    code = "prompt_version"

    def __init__(self, brain_id: str, found: int, expected: int) -> None:
        super().__init__(f"brain {brain_id} was trained on prompt version {found}, this engine builds {expected}")
        self.brain_id = brain_id
        self.found = found
        self.expected = expected


class BrainInUse(StartRefused):
    """Raised when active or prepared pets select another brain than the one that is to run them."""

    code = "brain_in_use"

    def __init__(self, brain_id: str, others: Mapping[str, int]) -> None:
        self.brain_id = brain_id
        self.others = dict(others)
        self.pets = sum(others.values())
        named = ", ".join(f"{brain} ({pets})" for brain, pets in sorted(others.items()))
        super().__init__(
            f"{self.pets} active or prepared pets select another brain than {brain_id}: {named}. Start with that "
            f"brain, let their owners bring them home, or run: tokenling pets rebrain --from OLD --to {brain_id}"
        )


class UnfitName(StartRefused):
    """Raised when no save could hold this host's brain id or weather seed, so that no pet could move in."""

    code = "unfit_name"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the host's {path.strip('/')} does not fit into a save: it is too long or has wrong characters"
        )
        self.path = path


class WallClockRefused(StartRefused):
    """Raised when the machine's clock is plainly wrong: pets that lived by it would be re-based, or find gaps of years.

    At start it refuses the start; later it ends the process, since no pet may live on.
    """

    code = "wall_clock"

    def __init__(self, now_ms: int) -> None:
        super().__init__(f"the wall clock says {now_ms} ms since 1970, expected a time between 2000 and 2199")


def checked_clock(now_ms: Callable[[], int]) -> Callable[[], int]:
    """The wall clock, raising `WallClockRefused` for a time that no pet can live at."""

    def checked() -> int:
        now = now_ms()
        if not TIME_MS_MIN <= now <= TIME_MS_MAX - DAY_MS:
            raise WallClockRefused(now)
        return now

    return checked


def error_of(fault: BaseException) -> str:
    """A quarantined pet's error: type and innermost frames of the fault, no message: it may quote a save or prompt."""
    return frames_of(fault)[0][:ERROR_CODE_POINTS_MAX]
