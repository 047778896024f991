"""What may happen to a pet. Each event is a value; `decide` says what follows from it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Operation:
    """What an owner sent beside the wish itself: its id, the epoch it believes in, SHA-256 of its canonical body."""

    operation_id: str
    epoch: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full the host is, and how full it may be. Prepared pets count as pets, too."""

    pets: int
    pets_max: int
    prepared: int
    prepared_max: int


@dataclass(frozen=True, slots=True)
class Prepare:
    """An owner leaves a save, inactive, under a new id and key. No operation id: the id itself makes it repeatable."""

    pet_id: str
    key_hash: bytes = field(repr=False)
    brain_id: str
    save: bytes = field(repr=False)
    occupancy: Occupancy


@dataclass(frozen=True, slots=True)
class Activate:
    """An owner hands the pet to the host (`to: "remote"`) with its newest save."""

    operation: Operation
    device_id: str
    brain_id: str
    save: bytes = field(repr=False)
    takeover: bool = False


@dataclass(frozen=True, slots=True)
class Park:
    """An owner takes the pet back (`to: "local"`) to a device.

    `save` replaces the stored one when the executor lived on in memory since its last commit; None keeps it.
    """

    operation: Operation
    device_id: str
    save: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """An owner's command knocks: every check of `Apply` before the rules are run for it. Changes nothing."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Apply:
    """An owner's command has made a new save."""

    operation: Operation
    save: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Live:
    """Time or a reply has made a new save, out of the record of `epoch` and `revision`."""

    epoch: int
    revision: int
    save: bytes = field(repr=False)
    turn_receipt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The pet's own rules failed on the record of `epoch` and `revision`; `error` names frames, never values."""

    epoch: int
    revision: int
    error: str


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """An owner replaces the access key."""

    operation: Operation
    new_key_hash: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """An owner ends the pet here."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The host's clock asks whether a prepared pet has waited too long."""


@dataclass(frozen=True, slots=True)
class Restore:
    """The database came back from a backup: whatever ran since must be fenced off.

    `floor` is the highest epoch or revision of the database that the backup replaces, 0 where that is lost. Without it
    an older backup restored after a younger one may stay below epochs that the younger one had.
    """

    floor: int = 0


@dataclass(frozen=True, slots=True)
class Rebrain:
    """The host's operator gives the pet a brain that succeeds its own; `save` is the one rewritten for it."""

    brain_id: str
    save: bytes = field(repr=False)


OwnerOperation = Activate | Park | Ask | Apply | ChangeKey
"""Events that carry an operation id and an epoch."""
Fenced = Live | Quarantine
"""Events of the executor, fenced by the epoch and revision that it read."""
HostEvent = Prepare | Fenced | Delete | Expire | Restore | Rebrain
"""Events without an operation id: nothing of them is ever replayed."""
Event = OwnerOperation | HostEvent
