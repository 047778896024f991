"""The protocol's one error: an event that the table, a fence or a bound refuses."""

from enum import StrEnum

from tokenling.protocol.record import Record, Status


class RefusalCode(StrEnum):
    """Stable codes of refusals, as owners see them in problem+json."""

    NOT_FOUND = "not_found"
    PET_DELETED = "pet_deleted"
    ID_TAKEN = "id_taken"
    HOST_FULL = "host_full"
    STALE_EPOCH = "stale_epoch"
    STALE_REVISION = "stale_revision"
    OPERATION_REUSED = "operation_reused"
    EPOCH_FULL = "epoch_full"
    NOT_ACTIVE = "not_active"
    ALREADY_ACTIVE = "already_active"
    OTHER_DEVICE = "other_device"
    QUARANTINED = "quarantined"
    NOT_PREPARED = "not_prepared"
    NOT_DUE = "not_due"


HTTP_STATUS: dict[RefusalCode, int] = dict.fromkeys(RefusalCode, 409) | {
    RefusalCode.NOT_FOUND: 404,
    RefusalCode.PET_DELETED: 410,
}
"""A hint for the HTTP layer: every refusal is a conflict with what stands, but for a pet that is not there."""

MEANINGS: dict[RefusalCode, str] = {
    RefusalCode.NOT_FOUND: "there is no such pet here",
    RefusalCode.PET_DELETED: "this pet was deleted; its id never comes back",
    RefusalCode.ID_TAKEN: "another key holds this id",
    RefusalCode.HOST_FULL: "the host keeps no more pets, or no more prepared ones",
    RefusalCode.STALE_EPOCH: "the pet has moved since; read it again, its epoch is given",
    RefusalCode.STALE_REVISION: "the pet has changed since this executor read it",
    RefusalCode.OPERATION_REUSED: "this operation id was used for something else",
    RefusalCode.EPOCH_FULL: "this epoch keeps no more operation ids; park the pet and activate it",
    RefusalCode.NOT_ACTIVE: "the host does not run this pet now",
    RefusalCode.ALREADY_ACTIVE: "the host runs this pet already; park it first",
    RefusalCode.OTHER_DEVICE: "the pet was handed to another device; only a takeover overrules that",
    RefusalCode.QUARANTINED: "the pet's own rules failed; park or delete it",
    RefusalCode.NOT_PREPARED: "only a prepared pet expires",
    RefusalCode.NOT_DUE: "the prepared pet is not old enough to expire",
}


class Refused(Exception):
    """An event was refused and nothing changes. Repeating the same event later may meet another state.

    `epoch` and `pet_status` say what stands now (None where there is no record); `http_status` is a hint. The
    message names the code and what it means: never a save, a key or an operation's content.
    """

    def __init__(self, code: RefusalCode, record: Record | None = None) -> None:
        super().__init__(f"{code}: {MEANINGS[code]}")
        self.code = code
        self.detail = MEANINGS[code]
        self.epoch: int | None = None if record is None else record.epoch
        self.pet_status: Status | None = None if record is None else record.status
        self.http_status = HTTP_STATUS[code]
