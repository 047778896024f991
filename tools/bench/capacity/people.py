"""Who owns which pet, reckoned from its number alone: the population and its owners run in different processes."""

import base64
import hashlib
import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """An owner's pet: its id, its access key as sent, and the hash that the host holds."""

    number: int
    pet_id: str
    key: str
    key_hash: bytes
    device_id: str


def person(number: int) -> Person:
    """The owner of this number: the same in every process."""
    key = _bytes("key", number)
    return Person(
        number,
        _uuid("pet", number),
        base64.urlsafe_b64encode(key).rstrip(b"=").decode(),
        hashlib.sha256(key).digest(),
        _uuid("device", number),
    )


def operation_id(number: int, at: int) -> str:
    """A fresh id for the `at`-th thing that this owner does."""
    return _uuid(f"operation {at}", number)


def _uuid(purpose: str, number: int) -> str:
    return str(uuid.UUID(bytes=_bytes(purpose, number)[:16], version=4))


def _bytes(purpose: str, number: int) -> bytes:
    return hashlib.sha256(f"capacity {purpose} {number}".encode()).digest()
