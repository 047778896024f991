"""What is to be done about an event, as values. The store carries out one decision's effects all or none."""

from dataclasses import dataclass, field, replace

from tokenling.protocol.record import Record, StoredOperation


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """Write `record` where the stored one has exactly this epoch and revision; both None: where there is none."""

    record: Record
    expect_epoch: int | None
    expect_revision: int | None


@dataclass(frozen=True, slots=True)
class CheckRoom:
    """After the other effects at most so many pets, and so many prepared ones, may be held."""

    pets_max: int
    prepared_max: int


@dataclass(frozen=True, slots=True)
class KeepOperation:
    """Keep an operation receipt; receipts older than the last `FULL_ANSWERS_MAX` of its epoch lose their answer."""

    operation: StoredOperation


@dataclass(frozen=True, slots=True)
class ForgetOperations:
    """Operation receipts of epochs before `before_epoch` go: their ids are stale by their epoch."""

    before_epoch: int


@dataclass(frozen=True, slots=True)
class KeepReplaced:
    """Keep a save that a takeover replaced, for `REPLACED_KEPT_MS`."""

    save: bytes = field(repr=False)
    epoch: int
    revision: int
    replaced_at_ms: int


@dataclass(frozen=True, slots=True)
class KeepTurnReceipt:
    """Keep a turn receipt (what ran, for its owner): the last `TURN_RECEIPTS_MAX` stay."""

    receipt: bytes = field(repr=False)
    made_at_ms: int


@dataclass(frozen=True, slots=True)
class BuryRecord:
    """Remove everything of the pet and leave its tombstone."""


@dataclass(frozen=True, slots=True)
class DropRecord:
    """Remove everything of a pet that never lived here, without a tombstone, where epoch and revision still fit."""

    expect_epoch: int
    expect_revision: int


Effect = (
    WriteRecord
    | CheckRoom
    | KeepOperation
    | ForgetOperations
    | KeepReplaced
    | KeepTurnReceipt
    | BuryRecord
    | DropRecord
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from an event: `effects` to carry out, and `record` as it stands behind them (None: gone).

    `created` belongs to Prepare: False where the pet was here already. A decision without effects changes nothing.
    """

    record: Record | None
    effects: tuple[Effect, ...]
    created: bool = False

    def answered(self, answer: bytes) -> tuple[Effect, ...]:
        """The effects, with `answer` kept in the operation receipt: repeats of the operation will get these bytes."""
        return tuple(
            KeepOperation(replace(effect.operation, answer=answer)) if isinstance(effect, KeepOperation) else effect
            for effect in self.effects
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """The operation is done already: answer `stored.answer`, or only its result's epoch and revision when None.

    Nothing is to be carried out.
    """

    stored: StoredOperation
