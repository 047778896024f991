"""Every route of the host as a Quart handler: read the request, ask the dispatch, give the answer's bytes on."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import trio
from quart import Response, request

from tokenling.host.answers import encoded
from tokenling.host.envelope_fields import (
    Preparation,
    read_command,
    read_key_change,
    read_preparation,
    read_transfer,
)
from tokenling.host.envelopes import Health, PetsPort
from tokenling.host.errors import ApiError
from tokenling.host.json_value import JsonValue
from tokenling.host.keys import same_secret
from tokenling.host.polls import Polls, check_pet_id, etag_asked_for
from tokenling.host.query import wrong_parameter
from tokenling.host.served_files import ServedFiles
from tokenling.host.static_files import PAGE_POLICY, accepted_codings

PROTOCOL_VERSION = 1
PARSE_INLINE_BYTES_MAX = 16_384
"""A larger body is parsed in a thread, so that the other pets do not wait for it: the worst of this size takes 3 ms."""
PARSERS = 2
"""Bodies parsed in threads at once: 2 MiB of text become about 30 MB of objects each."""
STRANGERS_PARSERS = 1
"""The same for keys that no pet is known by: the owners never wait behind them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What health tells of the host itself: `release` is the brain's id."""

    version: str
    engine: int
    release: str
    features: tuple[str, ...]


class Api:
    """The handlers of `/api`. `ApiError` raised in one is answered by the shell."""

    def __init__(
        self,
        pets: PetsPort,
        polls: Polls,
        facts: HostFacts,
        *,
        enrol_code: str | None,
        condition: Callable[[], Health],
    ) -> None:
        self._pets = pets
        self._polls = polls
        self._condition = condition
        self._facts = facts
        self._enrol_code = enrol_code
        self._parsers = trio.CapacityLimiter(PARSERS)
        self._strangers = trio.CapacityLimiter(STRANGERS_PARSERS)

    async def health(self) -> Response:
        refuse_query()
        health = self._condition()
        return json_response(encoded(health_body(self._facts, health)), status=200 if health.ready else 503)

    async def prepare(self) -> Response:
        key_hash = request_key_hash()
        refuse_query()
        preparation = await self._read(read_preparation)
        self._check_enrol_code(preparation)
        made = await self._pets.prepare(key_hash, preparation.pet_id, preparation.save)
        body: dict[str, JsonValue] = {
            "id": preparation.pet_id, "status": made.status, "epoch": made.epoch, "revision": made.revision,
        }  # fmt: skip
        return json_response(encoded(body), status=201 if made.created else 200)

    async def view(self, pet_id: str) -> Response:
        """Of `HEAD` only: the shell answers `GET` before it comes here, from the same `Polls`."""
        key_hash, headers = request_key_hash(), request.scope["headers"]
        answer = await self._polls.answer(pet_id, key_hash, tuple(headers), request.query_string)
        shown = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
        return Response(answer.body, status=answer.status, headers=shown)

    async def command(self, pet_id: str) -> Response:
        key_hash = owned(pet_id)
        refuse_query()
        return json_response(await self._pets.command(pet_id, key_hash, await self._read(read_command)))

    async def transfer(self, pet_id: str) -> Response:
        key_hash = owned(pet_id)
        refuse_query()
        return json_response(await self._pets.transfer(pet_id, key_hash, await self._read(read_transfer)))

    async def change_key(self, pet_id: str) -> Response:
        key_hash = owned(pet_id)
        refuse_query()
        return json_response(await self._pets.change_key(pet_id, key_hash, await self._read(read_key_change)))

    async def delete(self, pet_id: str) -> Response:
        key_hash = owned(pet_id)
        refuse_query()
        await self._pets.delete(pet_id, key_hash)
        return Response(b"", status=204)

    async def receipts(self, pet_id: str) -> Response:
        key_hash = owned(pet_id)
        refuse_query()
        return json_response(await self._pets.receipts(pet_id, key_hash))

    async def _read(self, reader: Callable[[bytes], T]) -> T:
        body = await request.get_data(as_text=False)
        assert isinstance(body, bytes), "asked for as bytes"
        if len(body) <= PARSE_INLINE_BYTES_MAX:
            return reader(body)
        limiter = self._parsers if request.scope["state"]["known"] else self._strangers
        return await trio.to_thread.run_sync(reader, body, limiter=limiter)

    def _check_enrol_code(self, preparation: Preparation) -> None:
        if self._enrol_code is None:
            return
        if preparation.enrol_code is None:
            raise ApiError(403, "enrol_required", "This host takes new pets with its enrol code only.")
        if not same_secret(self._enrol_code, preparation.enrol_code):
            raise ApiError(403, "enrol_wrong", "The enrol code is not this host's.")


class Files:
    """The handlers of the page and the brain, by exact path."""

    def __init__(self, files: ServedFiles) -> None:
        self._files = files

    async def serve(self, **_parts: str) -> Response:
        accepted = accepted_codings(request.headers.get("accept-encoding", "").encode("latin-1"))
        found = await self._files.find(request.path, accepted)
        if found is None:
            raise ApiError(404, "unknown_route", "Nothing is served at this path.")
        file, coding, form, content = found
        headers = {
            "etag": form.etag,
            "cache-control": file.cache_control,
            "content-security-policy": PAGE_POLICY,
            "cross-origin-opener-policy": "same-origin",
        }
        if file.encoded:
            headers["vary"] = "Accept-Encoding"
        if file.has_tag(asked := etag_asked_for(tuple(request.scope["headers"]))):
            content.close()
            return Response(b"", status=304, headers={**headers, "etag": asked or form.etag})
        if coding is not None:
            headers["content-encoding"] = coding
        headers["content-length"] = str(form.size)
        if request.method == "HEAD":
            content.close()
        pieces = nothing() if request.method == "HEAD" else content.pieces()
        return Response(pieces, headers=headers, content_type=file.content_type)


async def nothing() -> AsyncIterator[bytes]:
    """A body that is not sent: bytes would have their own length told."""
    return
    yield b""


def health_body(facts: HostFacts, health: Health) -> dict[str, JsonValue]:
    workers: list[JsonValue] = [
        {"name": worker.name, "provider": worker.provider, "state": worker.state} for worker in health.workers
    ]
    body: dict[str, JsonValue] = {
        "protocol": PROTOCOL_VERSION,
        "version": facts.version,
        "engine": facts.engine,
        "release": facts.release,
        "features": list(facts.features),
        "ready": health.ready,
        "workers": workers,
        "pets": {"max": health.pets_max},
    }
    return body if health.ready else {**body, "reasons": list(health.reasons)}


def request_key_hash() -> bytes:
    """The hash that the shell has made of the request's key: no request without one comes through to a pet."""
    key_hash = request.scope["state"]["key_hash"]
    assert isinstance(key_hash, bytes), "the shell refuses a request without a key"
    return key_hash


def owned(pet_id: str) -> bytes:
    """The key's hash; `ApiError` 404 for an id that no pet can have."""
    check_pet_id(pet_id)
    return request_key_hash()


def refuse_query() -> None:
    if request.query_string:
        parameter = wrong_parameter(request.query_string)
        raise ApiError(400, "invalid_query", "This route takes no query.", parameter=parameter)


def json_response(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status=status, headers=dict(headers or {}), content_type="application/json")
