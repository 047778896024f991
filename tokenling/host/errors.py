"""The host's error tree, and the table of every `code` an owner's client can meet.

`CODES` is the contract: docs/api.md shows the same table and a test holds the two together, so a code cannot be raised
that is not documented. Nothing that an owner wrote goes into `detail` or a field: they name the thing, never quote it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tokenling.host.json_value import JsonValue


@dataclass(frozen=True, slots=True)
class Code:
    """One stable error code: the HTTP status it always comes with, and when it is given."""

    status: int
    meaning: str


CODES: Mapping[str, Code] = {
    "bad_request": Code(400, "The request is not well-formed HTTP for this server."),
    "invalid_json": Code(400, "The body is not strict JSON; `reason` says which rule it breaks."),
    "invalid_query": Code(400, "A query parameter is unknown, doubled or out of range; `parameter` names it."),
    "unauthorized": Code(401, "The `Authorization` header is missing, doubled or not `Bearer` and a 43-character key."),
    "enrol_required": Code(403, "This host takes new pets with its enrol code only, and none was sent."),
    "enrol_wrong": Code(403, "The enrol code sent is not this host's."),
    "not_found": Code(404, "There is no such pet, or the key is another's: the two look alike on purpose."),
    "unknown_route": Code(404, "Nothing is served at this path."),
    "method_not_allowed": Code(405, "The path exists, the method does not; `Allow` lists those that do."),
    "body_timeout": Code(408, "The request body did not arrive in time."),
    "already_active": Code(409, "The host runs this pet already, under the `epoch` given: park it first."),
    "brain_mismatch": Code(409, "The save selects another brain than this host runs."),
    "epoch_full": Code(409, "This epoch holds all the operations it may: park and activate again."),
    "host_full": Code(409, "The host holds as many pets as it may."),
    "id_taken": Code(409, "Another key owns this pet id."),
    "not_active": Code(409, "The pet is not active on this host; `petStatus` says what it is."),
    "operation_reused": Code(409, "This operation id was used for a different body."),
    "other_device": Code(409, "The pet was parked for another device; `takeover: true` takes it all the same."),
    "stale_epoch": Code(409, "The epoch is not the current one; `epoch` says which is, `petStatus` what the pet is."),
    "pet_deleted": Code(410, "The pet with this id was deleted for good."),
    "body_too_large": Code(413, "The request body is larger than `limitBytes`."),
    "host_not_allowed": Code(421, "The `Host` header names another server than this one."),
    "invalid_command": Code(422, "The command is not one of the engine's; `path` names the first wrong field."),
    "invalid_envelope": Code(422, "A field around the command or save is wrong or unknown; `path` names it."),
    "invalid_save": Code(422, "The save was refused by the engine; `path` names the first wrong field."),
    "too_many_requests": Code(429, "This pet, or this address, asks too often; `Retry-After` says when to go on."),
    "too_many_uploads": Code(429, "The host takes in as many large bodies as it may hold."),
    "too_many_waits": Code(429, "Too many requests of this pet, or of the host, are waiting already."),
    "head_too_large": Code(431, "The request line and headers are larger than 16 KiB."),
    "internal": Code(500, "A fault of the host's own. Repeating the same operation id is safe."),
    "draining": Code(503, "The host is stopping. Repeat the same operation id later."),
    "files_changing": Code(503, "The file asked for is being replaced on the host's disk. Ask again soon."),
    "overloaded": Code(503, "The host, or this address, has as many requests under way as it may. Ask again soon."),
    "unavailable": Code(503, "The store cannot commit now. The operation is unknown: repeat the same operation id."),
}


class HostError(Exception):
    """The root of what this room raises."""


class ApiError(HostError):
    """Raised to refuse a request; the HTTP layer answers it as problem+json and changes nothing.

    `detail` is one sentence for a person, `fields` are further members for a program (`epoch=3`, `path="save.name"`);
    neither may quote what the owner sent. `retry_after_s` becomes the `Retry-After` header. A refusal is final for the
    same request, except 408, 429 and 5xx, where repeating it with the same operation id is safe.
    """

    def __init__(
        self, status: int, code: str, detail: str, *, retry_after_s: int | None = None, **fields: JsonValue
    ) -> None:
        assert code in CODES, f"code {code} is not in the table"
        assert CODES[code].status == status, f"code {code} goes with {CODES[code].status}, not {status}"
        assert not fields.keys() & {"type", "title"}, "these members are the problem's own"
        super().__init__(code)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.fields: Mapping[str, JsonValue] = fields


class ClientGoneError(HostError):
    """Raised when the client closed its side before the request was whole. Nobody is left to answer."""


class ListenError(HostError):
    """Raised when the address cannot be listened on: in use, not permitted, not this machine's. Retry may help."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address}: {reason}")
        self.address = address
        self.reason = reason


class WebFilesError(HostError):
    """Raised at start when the page's files cannot be served as they are: the installation is wrong."""
