"""The one layer between the server and Quart: who may ask, how much, and that every answer is a safe one.

Decided here, before Quart is entered: the `Host` header, CORS and preflights, a well-formed access key, the size and
the time of the body. After it: faults become problem+json `internal`, and one log line tells what was answered (the
route's template, never a path: pet ids are private).
"""

import secrets
import time
from collections.abc import Collection
from http import HTTPMethod

import structlog
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope, WebsocketScope

from tokenling.host.answers import Answer, Headers, problem_answer
from tokenling.host.cross_origin import cors_headers, host_is_allowed, is_preflight, preflight_answer
from tokenling.host.errors import ApiError, ClientGoneError
from tokenling.host.exchange import Exchange, WireLimits
from tokenling.host.faults import describe_fault, leaves
from tokenling.host.keys import key_hash_of
from tokenling.host.waits import Waits

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


class Shell:
    """The ASGI application that is served. `drain` answers every parked long-poll and parks no more."""

    def __init__(
        self,
        app: ASGIFramework,
        waits: Waits,
        *,
        allowed_origins: Collection[str],
        allowed_hosts: Collection[str] | None,
        limits: WireLimits,
    ) -> None:
        self._app = app
        self._waits = waits
        self._allowed_origins = frozenset(allowed_origins)
        self._allowed_hosts = None if allowed_hosts is None else frozenset(host.lower() for host in allowed_hosts)
        self._limits = limits
        self._uploads = trio.CapacityLimiter(UPLOADS_MAX)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await refuse_websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def drain(self) -> None:
        self._waits.end()

    async def _answer(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Never raises but for cancellation: what is not answered here would be logged with its values elsewhere."""
        request_id = secrets.token_hex(8)
        started = time.monotonic()
        exchange = Exchange(scope, receive, send, self._headers_for(scope, request_id), self._limits)
        try:
            await self._serve_or_refuse(exchange, request_id)
        finally:
            log.info(
                "request",
                method=scope["method"] if scope["method"] in HTTPMethod.__members__ else "other",
                route=scope["state"].get("route", "-"),
                status=exchange.status,
                ms=round((time.monotonic() - started) * 1000, 1),
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
        scope = exchange.scope
        check_target(scope["path"], exchange.headers, self._allowed_hosts)
        if is_preflight(scope["method"], exchange.headers):
            return await exchange.answer(preflight_answer())
        if needs_key(scope["path"]) and scope["method"] != "OPTIONS":
            key_hash_of(exchange.headers)
        bytes_max = body_bytes_max(scope["path"])
        if min(exchange.declared_length, bytes_max) > BODY_BYTES_MAX:
            return await self._pass_upload(exchange, bytes_max)
        return await self._pass(exchange, bytes_max)

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
    if not host_is_allowed(headers, allowed_hosts):
        raise ApiError(421, "host_not_allowed", "This server does not answer under that Host.")


def needs_key(path: str) -> bool:
    """Whether a request without a well-formed key is refused before its body is read; the routes check again."""
    return path == "/api/pets" or path.startswith("/api/pets/")


def body_bytes_max(path: str) -> int:
    return SAVE_BODY_BYTES_MAX if path == "/api/pets" or path.endswith("/transfer") else BODY_BYTES_MAX


async def refuse_websocket(scope: WebsocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """There are no websockets here: closing before accepting is a plain 403."""
    await receive()
    await send({"type": "websocket.close", "code": 1000, "reason": None})


def _answer_to_fault(error: Exception | BaseExceptionGroup, request_id: str) -> Answer:
    """A refusal that came wrapped in a group is still that refusal; anything else is our own fault."""
    found = [leaf for leaf in leaves(error) if not isinstance(leaf, trio.Cancelled)]
    if not found:
        raise error
    refusals = [leaf for leaf in found if isinstance(leaf, ApiError)]
    if len(refusals) == len(found):
        return problem_answer(refusals[0])
    log.error("fault", request_id=request_id, **describe_fault(error))
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
