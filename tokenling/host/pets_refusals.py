"""What the rooms below refuse, said in the API's words."""

from tokenling.engine import CommandRefused, SaveRefused
from tokenling.host.errors import CODES, ApiError
from tokenling.protocol import RefusalCode, Refused

RETRY_S = 5
"""When a client may ask again behind a 503."""
SHOWS_STATUS = frozenset(
    {
        RefusalCode.STALE_EPOCH,
        RefusalCode.OTHER_DEVICE,
        RefusalCode.NOT_ACTIVE,
        RefusalCode.ALREADY_ACTIVE,
        RefusalCode.QUARANTINED,
    }
)
"""A page must know whether the pet lives here now: a stop that is refused while it does is the owner's to decide."""


def not_found() -> ApiError:
    """There is no such pet, or the key is another's: nobody can tell which."""
    return ApiError(404, "not_found", "There is no such pet here, or the key is not its own.")


def draining() -> ApiError:
    """The host is stopping."""
    return ApiError(503, "draining", "The host is stopping; repeat the operation later.", retry_after_s=RETRY_S)


def unavailable() -> ApiError:
    """The store did not answer; nothing may be taken as done."""
    return ApiError(
        503, "unavailable", "The store cannot commit now; repeat the same operation.", retry_after_s=RETRY_S
    )


def prepared_full() -> ApiError:
    """There is room, but too many pets stand on the threshold: as soon as one is activated, the next may come."""
    detail = "Too many pets are being adopted just now; try again soon."
    return ApiError(409, "host_full", detail, retry_after_s=RETRY_S)


def contended() -> ApiError:
    """The row changed under every try; nothing was done."""
    return ApiError(503, "unavailable", "The pet is being worked on; repeat the same operation.", retry_after_s=RETRY_S)


def protocol_refused(refused: Refused) -> ApiError:
    """The protocol's refusal, with the epoch or the status that stands now where that helps."""
    if refused.code is RefusalCode.NOT_FOUND:
        return not_found()
    # a quarantined pet is not active, too: the API has no code of its own for it, `petStatus` says it
    code = str(refused.code) if refused.code in CODES else "not_active"
    if refused.code in SHOWS_STATUS:
        status = None if refused.pet_status is None else refused.pet_status.value
        return ApiError(409, code, refused.detail, petStatus=status, epoch=refused.epoch)
    return ApiError(refused.http_status, code, refused.detail)


def command_refused(refused: CommandRefused) -> ApiError:
    """The engine does not take the command."""
    return ApiError(422, "invalid_command", "The engine refuses this command.", reason=refused.code, path=refused.path)


def save_refused(refused: SaveRefused) -> ApiError:
    """The engine does not take the save."""
    return ApiError(422, "invalid_save", "The engine refuses this save.", reason=refused.code, path=refused.path)


def save_broke_rules() -> ApiError:
    """The rules fell over an uploaded save: it cannot live here."""
    return ApiError(422, "invalid_save", "The rules fail on this save.", reason="rules_failed", path="")


def brain_mismatch(expected: str) -> ApiError:
    """The save selects another brain. Which one is the owner's own word and is not repeated."""
    return ApiError(409, "brain_mismatch", "The save selects another brain than this host runs.", brainId=expected)
