"""What crosses between the HTTP layer and the dispatch: requests already checked, and answers ready to send.

Everything here has passed the syntax rules: ids are canonical lower-case UUIDs, integers are in range, no field is
unknown. What a command or a save *means* is not checked yet: that is the engine's.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from tokenling.host.json_value import JsonValue


@dataclass(frozen=True, slots=True)
class Envelope:
    """`POST /api/pets/ID/commands`. `digest` is SHA-256 over the canonical JSON of `{route, …body}`."""

    epoch: int
    operation_id: str
    command: JsonValue
    digest: bytes


@dataclass(frozen=True, slots=True)
class TransferRequest:
    """`POST /api/pets/ID/transfer`. `save` is there exactly when `to` is "remote"; `takeover` only then."""

    to: Literal["remote", "local"]
    operation_id: str
    epoch: int
    device_id: str
    save: bytes | None
    takeover: bool
    digest: bytes


@dataclass(frozen=True, slots=True)
class KeyChange:
    """`POST /api/pets/ID/key`. `new_key_hash` is SHA-256 over the 32 decoded bytes of the new key."""

    epoch: int
    operation_id: str
    new_key_hash: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `POST /api/pets` found or made: `created` is false when the same id and key were there before."""

    created: bool
    status: str
    epoch: int
    revision: int


@dataclass(frozen=True, slots=True)
class View:
    """The body of `GET /api/pets/ID` as JSON bytes, and its entity tag with the quotes."""

    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """How the turns that a worker took have ended. `lost`: the worker failed under it, and another took it."""

    whole: int = 0
    cancelled: int = 0
    failed: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker as health shows it: `provider` is ONNX Runtime's name, `state` is "ready", "busy" (every lane),
    "failed" (it did not start) or "disabled" (it failed later, and takes no more turns)."""

    name: str
    provider: str
    state: str
    turns: TurnCounts = TurnCounts()


@dataclass(frozen=True, slots=True)
class Health:
    """What the host can do now. `reasons` says why it is not ready (stable words: "draining", "store_failing", …)."""

    ready: bool
    reasons: tuple[str, ...]
    workers: tuple[WorkerHealth, ...]
    pets_max: int
    turns_waiting: int = 0


class PetsPort(Protocol):
    """The dispatch as the HTTP layer calls it. Every method may raise `ApiError`; ids and keys come checked.

    The caller's scope is cancelled when the client goes away: a method shields what must not stop half-way.
    `view` with `wait_s` above 0 returns as soon as the tag differs from `etag`, and None (304) at the end or at
    shutdown when it does not differ.
    """

    async def prepare(self, key_hash: bytes, pet_id: str, save: bytes) -> Prepared: ...
    async def view(self, pet_id: str, key_hash: bytes, *, etag: str | None, wait_s: int) -> View | None: ...
    async def command(self, pet_id: str, key_hash: bytes, envelope: Envelope) -> bytes: ...
    async def transfer(self, pet_id: str, key_hash: bytes, request: TransferRequest) -> bytes: ...
    async def change_key(self, pet_id: str, key_hash: bytes, change: KeyChange) -> bytes: ...
    async def delete(self, pet_id: str, key_hash: bytes) -> None: ...
    async def receipts(self, pet_id: str, key_hash: bytes) -> bytes: ...
    def health(self) -> Health: ...
