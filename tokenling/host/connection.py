"""One TCP connection over Hypercorn's HTTP/1.1 protocol: what Hypercorn's own connection class leaves open, closed.

Hypercorn 0.18 (pinned below 0.19: this leans on its modules) speaks the protocol. Added here: a deadline on each send
(its own is shielded without one, so a client that never reads outlives the server), a lingering close (closing with
bytes unread resets the connection before the client has read the answer), problem+json where HTTP itself is broken, no
HTTP/2 in clear text, a bound on connections, and a forced end for those that do not go by themselves.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import h11
import structlog
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.events import Request
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import parse_socket_addr

from tokenling.host.answers import problem_answer
from tokenling.host.errors import ApiError
from tokenling.host.faults import shown_frames

H11Sendable: TypeAlias = h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage

RECEIVE_BYTES_MAX = 65_536
TELL_S = 0.2
"""The application takes what it is told at once; should it ever not, the connection still ends, within the time that a
stopping host has left."""

log = structlog.get_logger("tokenling.host")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of the transport."""

    connections_max: int = 2048
    """More are closed unanswered: 1,500 parked long-polls and room to move."""
    send_s: float = 30.0
    """One send of at most 64 KiB: below 2 KiB/s a client counts as gone."""
    linger_s: float = 2.0
    linger_bytes_max: int = 2 * 1024 * 1024
    """What is still taken, and dropped, after the answer's end, so that the client can read it."""


class Connections:
    """All connections of one server: starts, counts and, in the end, closes them."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        limits: ConnectionLimits,
        on_change: Callable[[int], None] | None = None,
    ) -> None:
        self.app = app
        self.config = config
        self.limits = limits
        self.context = WorkerContext(None)
        self._open: set[Connection] = set()
        self._aborted = False
        self._one_gone = trio.Event()
        self._on_change = on_change or (lambda _open: None)

    async def serve(self, stream: trio.SocketStream) -> None:
        if self._aborted or len(self._open) >= self.limits.connections_max:
            return await trio.aclose_forcefully(stream)
        connection = Connection(self, stream)
        self._open.add(connection)
        self._on_change(len(self._open))
        try:
            await connection.run()
        finally:
            self._open.remove(connection)
            self._on_change(len(self._open))
            self._one_gone.set()
        return None

    async def wait_until_gone(self) -> None:
        while self._open:
            self._one_gone = trio.Event()
            await self._one_gone.wait()

    def close_idle(self) -> None:
        """Ends those on which nothing is under way: the server stops."""
        for connection in self._open:
            connection.close_idle()

    def abort(self) -> None:
        """Ends every connection now, one that was accepted and has not begun yet too."""
        self._aborted = True
        for connection in self._open:
            connection.abort()


class Connection:
    """One client's connection. `run` never raises but for cancellation: a fault ends this connection only."""

    def __init__(self, owner: Connections, stream: trio.SocketStream) -> None:
        self._owner = owner
        self._stream = stream
        self._send_lock = trio.Lock()
        self._idle = True
        self._reading = trio.CancelScope()
        self._closing = False
        self._group = TaskGroup()

    async def run(self) -> None:
        try:
            self._protocol = self._make_protocol()
            async with self._group:
                self._begin_idling()
                with self._reading:
                    await self._read()
                self._closing = True
                await self._tell_closed()
        except OSError:
            return  # the client was gone before its address could be asked for
        except (Exception, BaseExceptionGroup) as error:
            _, faults = error.split(trio.Cancelled) if isinstance(error, BaseExceptionGroup) else (None, error)
            if faults is None:
                raise
            log.error("connection fault", frames=shown_frames(faults))
        finally:
            await trio.aclose_forcefully(self._stream)

    def abort(self) -> None:
        """Ends it now, whatever is unread or unsent; the application sees a disconnect."""
        self._closing = True
        self._stream.socket.close()
        self._reading.cancel()

    def _make_protocol(self) -> "Http1":
        socket = self._stream.socket
        http1 = Http1(
            self._owner.app,
            self._owner.config,
            self._owner.context,
            self._group,
            ConnectionState({}),
            False,
            parse_socket_addr(socket.family, socket.getpeername()),
            parse_socket_addr(socket.family, socket.getsockname()),
            self._on_protocol,
        )
        http1.connection = StrictHttp1(self._owner.config.h11_max_incomplete_size)
        return http1

    async def _read(self) -> None:
        while not self._closing:
            data = await self._receive()
            if self._reading.cancel_called:
                return  # its time was over, were it by a hair
            if not self._closing:
                await self._protocol.handle(RawData(data))
            if data == b"":
                return
        await self._linger()

    async def _linger(self) -> None:
        taken = 0
        while taken < self._owner.limits.linger_bytes_max and (data := await self._receive()):
            taken += len(data)

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._stream.receive_some(RECEIVE_BYTES_MAX))
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            return b""

    async def _on_protocol(self, event: Event) -> None:
        if isinstance(event, RawData):
            await self._send(event.data)
        elif isinstance(event, Closed):
            await self._close_gently()
            await self._tell_closed()
        elif isinstance(event, Updated) and not self._closing:
            if event.idle:
                self._begin_idling()
            else:
                self._idle = False
                self._reading.deadline = math.inf

    def _begin_idling(self) -> None:
        """Nothing is under way, so nothing is lost: it ends after the keep-alive time, and at once when the server
        stops. A deadline of the reading: a task for it would be started and cancelled with every request."""
        self._idle = True
        self._reading.deadline = trio.current_time() + self._owner.config.keep_alive_timeout
        if self._owner.context.terminated.is_set():
            self.close_idle()

    def close_idle(self) -> None:
        """Ends it unless a request is under way."""
        if self._idle:
            self._closing = True
            self._reading.cancel()

    async def _send(self, data: bytes) -> None:
        """Shielded, since half an answer is of no use, and bounded, since nobody may hold the server.

        What the socket takes at once, nearly always all, goes without a round of the event loop.
        """
        try:
            rest = data if self._send_lock.locked() else self._left_of(data)
            sent = not rest or await self._sent_in_time(rest)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            sent = False
        if not sent:
            self.abort()
            await self._tell_closed()

    async def _sent_in_time(self, data: bytes | memoryview) -> bool:
        with trio.move_on_after(self._owner.limits.send_s, shield=True) as patience:
            async with self._send_lock:
                await self._stream.send_all(data)
        return not patience.cancelled_caught

    def _left_of(self, data: bytes) -> memoryview:
        """What the socket does not take now. Raises `OSError` when it is broken or closed."""
        try:
            taken = os.write(self._stream.socket.fileno(), data)
        except BlockingIOError:
            taken = 0
        return memoryview(data)[taken:]

    async def _tell_closed(self) -> None:
        """Lets the application know. Shielded: Hypercorn marks the stream closed first and tells second, so that a
        cancellation in between (ours, of the reading) would leave a handler waiting for ever."""
        with trio.move_on_after(TELL_S) as scope:
            scope.shield = True
            await self._protocol.handle(Closed())

    async def _close_gently(self) -> None:
        """Says that no more will come; the reading task goes on taking what the client still sends, within bounds."""
        self._closing = True
        if self._protocol.has_read_all:
            self._reading.cancel()
        self._reading.deadline = min(self._reading.deadline, trio.current_time() + self._owner.limits.linger_s)
        try:
            await self._stream.send_eof()
        except (trio.BrokenResourceError, trio.BusyResourceError, trio.ClosedResourceError):
            self._reading.cancel()


class StrictHttp1(h11.Connection):
    """The server's half of h11, with two refusals more."""

    def __init__(self, head_bytes_max: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=head_bytes_max)
        self._head_bytes_max = head_bytes_max

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """h11 bounds a head that comes in pieces; one that lies there whole is measured here, with every byte of it. A
        body of two lengths is what request smuggling is made of: h11 takes the chunks, others may take the number."""
        waiting = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if isinstance(event, h11.Request):
            if waiting - len(self.trailing_data[0]) > self._head_bytes_max:
                raise h11.RemoteProtocolError("too large a head", error_status_hint=431)
            if {name for name, _ in event.headers} >= {b"content-length", b"transfer-encoding"}:
                raise h11.RemoteProtocolError("two lengths of one body", error_status_hint=400)
        return event


class Http1(H11Protocol):
    """Hypercorn's HTTP/1.1 without its ways up to HTTP/2 and websockets, its answer to what is not HTTP with a body."""

    connection: StrictHttp1
    _unsent = b""

    @property
    def has_read_all(self) -> bool:
        """Whether the request was read to its end and nothing came behind it: closing then resets nothing."""
        connection = self.connection
        return connection.their_state is h11.DONE and not connection.trailing_data[0]

    async def _check_protocol(self, event: h11.Request) -> None:
        """An `Upgrade: h2c` is ignored, as RFC 9110 allows: one protocol is one surface."""

    async def _send_h11_event(self, event: H11Sendable) -> None:
        """The head waits for what follows it, so that a short answer is one packet and one system call, not three."""
        try:
            self._unsent += self.connection.send(event) or b""
        except h11.LocalProtocolError:
            if self.connection.their_state != h11.ERROR:
                raise
        if self._unsent and not isinstance(event, h11.Response):
            data, self._unsent = self._unsent, b""
            await self.send(RawData(data=data))

    async def _create_stream(self, request: h11.Request) -> None:
        """An `Upgrade: websocket` makes no websocket either, however well or badly it is put: the shell refuses it."""
        self.stream = HTTPStream(
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server, self.stream_send,
            STREAM_ID,
        )  # fmt: skip
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=list(request.headers),
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii").upper(),
                raw_path=request.target,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1

    async def _send_error_response(self, status_code: int) -> None:
        answer = problem_answer(_not_http(status_code))
        length = (b"content-length", b"%d" % len(answer.body))
        fixed = (length, (b"connection", b"close"), (b"cache-control", b"no-store"), (b"vary", b"Origin"))
        headers = [*answer.headers, *fixed, *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=answer.status, headers=headers))
        await self._send_h11_event(h11.Data(data=answer.body))
        await self._send_h11_event(h11.EndOfMessage())


def _not_http(status_hint: int) -> ApiError:
    """h11 hints 431 for too much head and else 400 or, for an unknown transfer coding, 501: the client's fault too."""
    if status_hint == 431:
        return ApiError(431, "head_too_large", "The request line and headers are too large.")
    return ApiError(400, "bad_request", "The request is not well-formed HTTP/1.1.")
