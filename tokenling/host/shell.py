"""The one layer between the server and Quart: who may ask, how much, and that every answer is a safe one.

Decided here, before Quart is entered: who asks and how often, the `Host` header, CORS and preflights, a well-formed
access key, the size and the time of the body. Views of a pet are answered here too (`polls.py`). Afterwards: faults
become problem+json `internal`, and one log line tells what was answered (the route's template, never a path: pet ids
are private).
"""

import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPMethod

import structlog
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope

from tokenling.host.answers import Answer, Headers, problem_answer
from tokenling.host.client_address import Network, client_of
from tokenling.host.cross_origin import cors_headers, host_is_allowed, is_preflight, preflight_answer
from tokenling.host.errors import ApiError, ClientGoneError
from tokenling.host.exchange import Exchange, WireLimits
from tokenling.host.faults import leaves, shown_frames
from tokenling.host.in_flight import InFlight
from tokenling.host.keys import key_hash_of, unauthorized
from tokenling.host.polls import PATH as PETS_PATH
from tokenling.host.polls import ROUTE as POLL_ROUTE
from tokenling.host.polls import Polls, polled_pet
from tokenling.host.rates import Rates
from tokenling.host.tallies import Tallies
from tokenling.host.waits import Waits

HEAD_BYTES_MAX = 16_384
"""Request line and headers together (h11's own bound, and what nginx takes by default)."""
SAVE_BODY_BYTES_MAX = 2 * 1024 * 1024
"""A save is at most 1 MiB (design section 3); escaped text may double it."""
BODY_BYTES_MAX = 64 * 1024
"""Any other body: 400 code points of text, escaped, are below 5 KB."""

UPLOADS_MAX = 64
"""Requests with a large body at once, so that strangers cannot make the host hold more than 128 MiB of them."""
UPLOAD_RETRY_S = 5

DEFAULT_HEADERS: Headers = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
"""Sent unless the answer brings its own of the name."""

log = structlog.get_logger("tokenling.host")


OPENED = (200, 201, 204, 304)
"""Answers that only the owner of a pet gets: its key is known from then on."""
SHUT = (401, 404)


@dataclass(slots=True)
class Doors:
    """What the shell keeps about everyone who asks. One belongs to one host."""

    waits: Waits = field(default_factory=Waits)
    rates: Rates = field(default_factory=Rates)
    tallies: Tallies = field(default_factory=Tallies)
    trusted: Sequence[Network] = ()
    """Proxies whose word about their clients is believed."""
    in_flight: InFlight = field(default_factory=InFlight)
    connections: int = 0

    def note_connections(self, now: int) -> None:
        """How many connections are open, told by the server whenever it changes."""
        self.connections = now


class Shell:
    """The ASGI application that is served. `drain` answers every parked long-poll and parks no more.

    `polls` are answered here; None leaves every request to `app`.
    """

    def __init__(
        self,
        app: ASGIFramework,
        doors: Doors,
        *,
        polls: Polls | None,
        allowed_origins: Collection[str],
        allowed_hosts: Collection[str] | None,
        limits: WireLimits,
    ) -> None:
        self._app = app
        self._doors = doors
        self._polls = polls
        self._allowed_origins = frozenset(allowed_origins)
        self._allowed_hosts = None if allowed_hosts is None else frozenset(host.lower() for host in allowed_hosts)
        self._limits = limits
        self._uploads = trio.CapacityLimiter(UPLOADS_MAX)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            assert scope["type"] == "lifespan", "the connection makes no websockets"
            await self._app(scope, receive, send)

    def drain(self) -> None:
        self._doors.waits.end()

    async def _answer(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Never raises but for cancellation: what is not answered here would be logged with its values elsewhere."""
        request_id = secrets.token_hex(8)
        started = time.monotonic()
        exchange = Exchange(scope, receive, send, self._headers_for(scope, request_id), self._limits)
        try:
            await self._serve_or_refuse(exchange, request_id)
        finally:
            method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "other"
            route, elapsed_s = scope["state"].get("route", "-"), time.monotonic() - started
            self._learn(exchange)
            self._doors.tallies.count(method, str(route), exchange.status, elapsed_s)
            log.info(
                "request",
                method=method,
                route=route,
                status=exchange.status,
                ms=round(elapsed_s * 1000, 1),
                request_id=request_id,
            )

    async def _serve_or_refuse(self, exchange: Exchange, request_id: str) -> None:
        try:
            await self._serve(exchange)
        except ClientGoneError:
            return
        except ApiError as refusal:
            answer = problem_answer(refusal)
        except (Exception, BaseExceptionGroup) as error:
            answer = _answer_to_fault(error, request_id)
        else:
            return
        await _refuse_unless_started(exchange, answer)

    async def _serve(self, exchange: Exchange) -> None:
        scope, headers = exchange.scope, exchange.headers
        key_hash, pet_id = key_hash_of(headers), pet_in(scope["path"])
        client = client_of(scope["client"][0] if scope["client"] else "", headers, self._doors.trusted)
        known = self._doors.rates.admit(pet_id, key_hash, client)
        scope["state"].update(key_hash=key_hash, known=known)
        if polled_pet(scope["method"], scope["path"]) and scope["query_string"]:
            return await self._serve_admitted(exchange, key_hash)  # it may park, within bounds of its own
        sender = client if self._doors.rates.limited else None  # of a preview: all are one
        async with self._doors.in_flight.hold(exchange, pet=pet_id if known else None, client=sender):
            return await self._serve_admitted(exchange, key_hash)

    def _learn(self, exchange: Exchange) -> None:
        """Remember who owns which pet, as the answer has shown."""
        pet_id, key_hash = pet_in(exchange.scope["path"]), exchange.scope["state"].get("key_hash")
        if pet_id is None or not isinstance(key_hash, bytes) or exchange.scope["method"] == "OPTIONS":
            return
        if exchange.status in OPENED + SHUT:
            self._doors.rates.learn(pet_id, key_hash, opened=exchange.status in OPENED)

    async def _serve_admitted(self, exchange: Exchange, key_hash: bytes | None) -> None:
        scope, headers = exchange.scope, exchange.headers
        check_target(scope["path"], headers, self._allowed_hosts)
        if is_preflight(scope["method"], headers):
            return await exchange.answer(preflight_answer())
        if asks_for_websocket(headers):
            raise ApiError(400, "bad_request", "There are no websockets here; ask over plain HTTP.")
        if needs_key(scope["path"]) and scope["method"] != "OPTIONS":
            if key_hash is None:
                raise unauthorized()
            polled = polled_pet(scope["method"], scope["path"])
            if polled is not None and self._polls is not None:
                return await self._answer_poll(exchange, self._polls, polled, key_hash)
        bytes_max = body_bytes_max(scope["path"])
        if min(exchange.declared_length, bytes_max) > BODY_BYTES_MAX:
            return await self._pass_upload(exchange, bytes_max)
        return await self._pass(exchange, bytes_max)

    async def _answer_poll(self, exchange: Exchange, polls: Polls, pet_id: str, key_hash: bytes) -> None:
        exchange.scope["state"]["route"] = POLL_ROUTE
        await exchange.read_body(BODY_BYTES_MAX)
        query = exchange.scope["query_string"]
        ask = partial(polls.answer, pet_id, key_hash, exchange.headers, query)
        await exchange.answer(await (exchange.unless_gone(ask) if query else ask()))

    async def _pass_upload(self, exchange: Exchange, bytes_max: int) -> None:
        try:
            self._uploads.acquire_on_behalf_of_nowait(exchange)
        except trio.WouldBlock:
            detail = "The host takes in as many saves as it can; send this one again."
            raise ApiError(429, "too_many_uploads", detail, retry_after_s=UPLOAD_RETRY_S) from None
        try:
            await self._pass(exchange, bytes_max)
        finally:
            self._uploads.release_on_behalf_of(exchange)

    async def _pass(self, exchange: Exchange, bytes_max: int) -> None:
        body = await exchange.read_body(bytes_max)
        await self._app(exchange.scope, exchange.replay(body), exchange.send)

    def _headers_for(self, scope: HTTPScope, request_id: str) -> Headers:
        cors = cors_headers(tuple(scope["headers"]), self._allowed_origins)
        return (*DEFAULT_HEADERS, *cors, (b"x-request-id", request_id.encode()))


def check_target(path: str, headers: Headers, allowed_hosts: Collection[str] | None) -> None:
    if not path.startswith("/"):
        raise ApiError(400, "bad_request", "The request target must be a path.")
    if path.startswith("//"):  # Quart takes it for the path without the doubled slash, and would find a route
        raise ApiError(404, "unknown_route", "Nothing is served at this path.")
    if not host_is_allowed(headers, allowed_hosts):
        raise ApiError(421, "host_not_allowed", "This server does not answer under that Host.")


def needs_key(path: str) -> bool:
    """Whether a request without a well-formed key is refused before its body is read; the routes check again."""
    return path == "/api/pets" or path.startswith("/api/pets/")


def body_bytes_max(path: str) -> int:
    return SAVE_BODY_BYTES_MAX if path == "/api/pets" or path.endswith("/transfer") else BODY_BYTES_MAX


def pet_in(path: str) -> str | None:
    """The id in a pet's path, whatever comes behind it."""
    rest = path.removeprefix(PETS_PATH)
    return (rest.partition("/")[0] or None) if rest != path else None


def asks_for_websocket(headers: Headers) -> bool:
    return any(name == b"upgrade" and value.strip().lower() == b"websocket" for name, value in headers)


def _answer_to_fault(error: Exception | BaseExceptionGroup, request_id: str) -> Answer:
    """A refusal that came wrapped in a group is still that refusal; anything else is our own fault."""
    found = [leaf for leaf in leaves(error) if not isinstance(leaf, trio.Cancelled)]
    if not found:
        raise error
    refusals = [leaf for leaf in found if isinstance(leaf, ApiError)]
    if len(refusals) == len(found):
        return problem_answer(refusals[0])
    log.error("fault", request_id=request_id, frames=shown_frames(error))
    return problem_answer(
        ApiError(500, "internal", "The host failed; its log has the request id.", requestId=request_id)
    )


async def _refuse_unless_started(exchange: Exchange, answer: Answer) -> None:
    """When the answer had started, ending here leaves it short, which closes the connection and tells the client."""
    if exchange.status is None:
        try:
            await exchange.refuse(answer)
        except ClientGoneError:
            return
