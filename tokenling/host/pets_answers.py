"""The dispatch's answers as JSON bytes. A save is spliced in as the bytes that the engine wrote, never parsed.

An answer that is kept with its operation starts with `FRESH`; its repeats get the same bytes behind `REPEATED`.
"""

import hashlib
import json
from collections.abc import Sequence

import orjson

from tokenling.engine import JsonValue, Step
from tokenling.host.dispatch_rules import Glimpse
from tokenling.protocol import Record, StoredOperation

FRESH = b'{"replayed":false,'
REPEATED = b'{"replayed":true,'
ETAG_HEX_DIGITS = 32
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Made once: with such options `json.dumps` makes one each time, at the price of the encoding."""


def etag_of(record: Record, thinking: bool) -> str:
    """The entity tag, with its quotes: opaque, the same before and after a restart."""
    digest = hashlib.sha256(f"{record.pet_id}.{record.epoch}.{record.revision}.{thinking:d}".encode()).hexdigest()
    return f'"{digest[:ETAG_HEX_DIGITS]}"'


def view_body(record: Record, glimpse: Glimpse, *, thinking: bool, server_time_ms: int) -> bytes:
    """The answer of `GET /api/pets/ID`."""
    return _object(
        id=encoded(record.pet_id),
        status=encoded(record.status.value),
        epoch=encoded(record.epoch),
        revision=encoded(record.revision),
        save=glimpse.save,
        effects=encoded(list(glimpse.effects)),
        game=encoded(glimpse.game),
        thinking=b"true" if thinking else b"false",
        error=encoded(record.error),
        serverTime=encoded(server_time_ms),
    )


def command_answer(operation_id: str, record: Record, step: Step) -> bytes:
    """The answer of an applied command: what it did to the pet, beside where the pet stands."""
    return _kept(
        operationId=encoded(operation_id),
        epoch=encoded(record.epoch),
        revision=encoded(record.revision),
        effects=encoded(list(step.effects)),
        notices=encoded(list(step.notices)),
    )


def record_answer(operation_id: str, record: Record, *, with_save: bool) -> bytes:
    """The answer of a transfer: the record, and behind parking the save that goes home."""
    members = {
        "operationId": encoded(operation_id),
        "id": encoded(record.pet_id),
        "status": encoded(record.status.value),
        "epoch": encoded(record.epoch),
        "revision": encoded(record.revision),
        "destinationDeviceId": encoded(record.device_id),
    }
    if with_save:
        members["save"] = record.save
    return _kept(**members)


def key_answer(operation_id: str, record: Record) -> bytes:
    """The answer of a changed key."""
    return _kept(operationId=encoded(operation_id), epoch=encoded(record.epoch), revision=encoded(record.revision))


def repeated_answer(stored: StoredOperation) -> bytes:
    """The answer to a repeated operation: the kept one, or where the operation led when the answer is not kept."""
    if stored.answer is None:
        return REPEATED + _object(
            operationId=encoded(stored.operation_id),
            epoch=encoded(stored.result_epoch),
            revision=encoded(stored.result_revision),
        ).removeprefix(b"{")
    assert stored.answer.startswith(FRESH), "a kept answer begins so"
    return REPEATED + stored.answer[len(FRESH) :]


def receipts_answer(receipts: Sequence[bytes]) -> bytes:
    """The answer of `GET /api/pets/ID/receipts`; each turn receipt is the JSON of an object already."""
    return _object(receipts=b"[" + b",".join(receipts) + b"]")


def encoded(value: JsonValue) -> bytes:
    """Strict JSON without spaces."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, which it does not write
        return _encode(value).encode()


def _kept(**members: bytes) -> bytes:
    return FRESH + _object(**members).removeprefix(b"{")


def _object(**members: bytes) -> bytes:
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), value) for name, value in members.items()) + b"}"
