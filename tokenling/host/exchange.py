"""One request and its answer on the wire: a body read within bounds, headers that every answer carries, a safe end.

Three cures for what Hypercorn and Quart-Trio do by themselves, each measured:

- The last piece of an answer goes out under a shield with a deadline. Quart-Trio cancels its handler as soon as the
  server says `http.disconnect`, which Hypercorn does *inside* that last send; its keep-alive timer was then never
  started again, and idle sockets leaked.
- An early refusal first takes a bounded part of what the client is still sending, or the kernel resets the connection
  before the client has read the answer.
- Hypercorn hands the body over in a queue of ten. When nobody takes from it, the end of our own answer waits behind
  it for ever: something always takes until the answer is out.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import trio
from hypercorn.typing import (
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPRequestEvent,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
)

from tokenling.host.answers import Answer, Headers
from tokenling.host.errors import ApiError, ClientGoneError

PIECE_BYTES = 65_536
"""An answer leaves in pieces of this size, so that a time-out on one send bounds the slowest client's rate."""

CHUNKED_LENGTH = math.inf
"""Stands for a length that is not told: more than any other."""
T = TypeVar("T")

BODILESS = (204, 304)
BODY_HEADERS = (b"content-length", b"content-type")
"""What Quart sends along with an empty body and these statuses do not have."""


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What one request may take. Times are a guess where no measurement is named."""

    body_stall_s: float = 10.0
    """Without a byte for this long the body is given up (408)."""
    body_s: float = 60.0
    """The whole body: 2 MiB at a poor phone's 300 kbit/s."""
    drain_bytes_max: int = 2 * 1024 * 1024
    drain_s: float = 2.0
    """What an early refusal takes before it answers: with these, 10 of 10 clients read it (4 of 10 were reset)."""
    send_s: float = 30.0
    """One piece of an answer."""


class Exchange:
    """One request being answered: `status` is None until its answer has started."""

    def __init__(
        self,
        scope: HTTPScope,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        headers: Headers,
        limits: WireLimits,
    ) -> None:
        self.scope = scope
        self.status: int | None = None
        self._receive = receive
        self._send = send
        self._added = headers
        self._limits = limits
        self._body_ended = False

    @property
    def headers(self) -> Headers:
        return tuple(self.scope["headers"])

    @property
    def declared_length(self) -> float:
        """The body's length as told; one that is not told (chunked) may be any. The server has checked the number."""
        told = {name: value for name, value in self.headers if name in (b"content-length", b"transfer-encoding")}
        if b"transfer-encoding" in told:
            return CHUNKED_LENGTH
        return int(told.get(b"content-length", b"0"))

    async def read_body(self, bytes_max: int) -> bytes:
        """The whole body. Raises `ApiError` 413 or 408, or `ClientGoneError`; the rest is then still unread."""
        if CHUNKED_LENGTH > self.declared_length > bytes_max:
            raise too_large(bytes_max)
        with trio.move_on_after(self._limits.body_s):
            return await self._read_pieces(bytes_max)
        raise body_timeout()

    async def unless_gone(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives back. When the client goes away first, it is cancelled: raises `ClientGoneError` then."""
        assert self._body_ended, "what is received from here on is the end of the connection"
        done: list[T] = []
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                await self._receive()
                nursery.cancel_scope.cancel()

            nursery.start_soon(watch)
            done.append(await work())
            nursery.cancel_scope.cancel()
        if not done:
            raise ClientGoneError
        return done[0]

    def replay(self, body: bytes) -> Callable[[], Awaitable[ASGIReceiveEvent]]:
        """A `receive` for the application: the whole body at once, then whatever the connection says."""
        pending: list[HTTPRequestEvent] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> ASGIReceiveEvent:
            return pending.pop() if pending else await self._receive()

        return receive

    async def send(self, event: ASGISendEvent) -> None:
        """Passes an event of the application on, with the headers that every answer carries."""
        if event["type"] == "http.response.start":
            await self._start(event["status"], tuple(event["headers"]))
        elif event["type"] == "http.response.body":
            await self._send_body(event["body"], more=event.get("more_body", False))
        else:
            raise AssertionError(f"no application of ours sends {event['type']}")

    async def answer(self, answer: Answer) -> None:
        length = (b"content-length", b"%d" % len(answer.body))
        await self._start(answer.status, (*answer.headers, length))
        await self._send_body(answer.body, more=False)

    async def refuse(self, answer: Answer) -> None:
        """Answers although the body may be unread: what the bounds leave of it closes the connection."""
        await self._drain()
        if self._body_ended:
            return await self.answer(answer)
        closing = Answer(answer.status, (*answer.headers, (b"connection", b"close")), answer.body)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._discard)
            await self.answer(closing)
            nursery.cancel_scope.cancel()
        return None

    async def _start(self, status: int, headers: Headers) -> None:
        self.status = status
        if status in BODILESS:
            headers = tuple(header for header in headers if header[0].lower() not in BODY_HEADERS)
        given = {name.lower() for name, _ in headers}
        added = tuple(header for header in self._added if header[0] not in given or header[0] == b"vary")
        event: HTTPResponseStartEvent = {
            "type": "http.response.start", "status": status, "headers": (*headers, *added), "trailers": False,
        }  # fmt: skip
        await self._send(event)

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        last = max(0, (len(body) - 1) // PIECE_BYTES * PIECE_BYTES)
        for start in range(0, last, PIECE_BYTES):
            await self._send_piece(body[start : start + PIECE_BYTES], more=True)
        body = body[last:]
        if more:
            return await self._send_piece(body, more=True)
        with trio.move_on_after(self._limits.send_s) as scope:
            scope.shield = True
            await self._send_piece(body, more=False)
        return None

    async def _send_piece(self, piece: bytes, *, more: bool) -> None:
        event: HTTPResponseBodyEvent = {"type": "http.response.body", "body": piece, "more_body": more}
        await self._send(event)

    async def _read_pieces(self, bytes_max: int) -> bytes:
        body = bytearray()
        while not self._body_ended:
            with trio.move_on_after(self._limits.body_stall_s) as patience:
                body += await self._next_piece()
            if patience.cancelled_caught:
                raise body_timeout()
            if len(body) > bytes_max:
                raise too_large(bytes_max)
        return bytes(body)

    async def _next_piece(self) -> bytes:
        event = await self._receive()
        if event["type"] != "http.request":
            self._body_ended = True
            raise ClientGoneError
        self._body_ended = not event["more_body"]
        return event["body"]

    async def _drain(self) -> None:
        taken = 0
        with trio.move_on_after(self._limits.drain_s):
            while not self._body_ended and taken < self._limits.drain_bytes_max:
                taken += len(await self._next_piece())

    async def _discard(self) -> None:
        while not self._body_ended:
            event = await self._receive()
            self._body_ended = event["type"] != "http.request"


def body_timeout() -> ApiError:
    return ApiError(408, "body_timeout", "The body did not arrive in time.")


def too_large(bytes_max: int) -> ApiError:
    return ApiError(413, "body_too_large", f"The body may hold {bytes_max} bytes.", limitBytes=bytes_max)
