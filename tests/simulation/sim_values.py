"""What travels and what is kept in the simulation: saves made of marks, requests, answers.

A save is a line of *marks*, one for each thing that ever happened to the pet: `c7` an owner's wish, `h3` host life,
`t9` a reply, `a4` and `b2` life on a page. A mark that stands twice was applied twice, one that is missing was lost.
"""

import hashlib
import json
from dataclasses import dataclass

from tokenling.protocol import Operation, Record


def marks_of(save: bytes) -> tuple[str, ...]:
    return tuple(save.decode().split())


def with_mark(save: bytes, mark: str) -> bytes:
    return save + b" " + mark.encode() if save else mark.encode()


def context_of(save: bytes) -> int:
    """The context revision: how many of the owner's wishes the pet has heard."""
    return save.count(b"c")


def key_hash(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


@dataclass(frozen=True, slots=True)
class Request:
    """`kind` is prepare, activate, park, command, key, view or delete."""

    number: int
    sender: str
    kind: str
    pet_id: str
    key: str
    operation_id: str = ""
    epoch: int = 0
    save: bytes = b""
    takeover: bool = False
    explicit: bool = False
    """Not sent: the owner was told that progress may be replaced (for the checkers)."""
    wish: str = ""
    """A command's mark, or the new key."""

    @property
    def operation(self) -> Operation:
        body = f"{self.kind} {self.epoch} {self.save!r} {self.takeover} {self.wish}"
        return Operation(self.operation_id, self.epoch, hashlib.sha256(body.encode()).digest())


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is HTTP's; `epoch`, `pet_status` and `device_id` say what stands there, where anything does."""

    status: int
    code: str = ""
    epoch: int = 0
    revision: int = 0
    pet_status: str = ""
    device_id: str | None = None
    save: bytes = b""
    replayed: bool = False

    @classmethod
    def of(cls, record: Record, status: int = 200) -> "Answer":
        return cls(status, "", record.epoch, record.revision, record.status.value, record.device_id, record.save)

    def kept(self) -> bytes:
        """The bytes of an operation receipt."""
        return json.dumps(
            [self.epoch, self.revision, self.pet_status, self.device_id, self.save.decode()], separators=(",", ":")
        ).encode()

    @classmethod
    def again(cls, kept: bytes) -> "Answer":
        epoch, revision, pet_status, device_id, save = json.loads(kept)
        return cls(200, "", epoch, revision, pet_status, device_id, save.encode(), replayed=True)
