"""The listener: opens the address, serves until told to stop, and is then gone within a bounded time."""

import resource
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config

from tokenling.host.connection import ConnectionLimits, Connections
from tokenling.host.errors import ListenError
from tokenling.host.shell import HEAD_BYTES_MAX, Shell

KEEP_ALIVE_S = 75
"""Above the 60 s after which proxies drop an idle upstream connection, so that they close first."""
KEEP_ALIVE_REQUESTS_MAX = 1000
"""Then the connection closes behind an answer that says so: what a long connection may have gathered is let go."""
BACKLOG = 1024
GRACE_S = 0.7
"""What requests under way get when the server stops. Parked long-polls end at once, everything else takes
milliseconds but a slow upload, and SIGTERM shall end in 2 s: with 1.0 s here a loaded host took 1.9.
A commit outlives this: dispatch shields it, and the server waits for it."""
FILES_SPARE = 128
"""File descriptors left for everything else (database, brain, logs)."""


def hypercorn_config(listen: str, *, keep_alive_s: float = KEEP_ALIVE_S, grace_s: float = GRACE_S) -> Config:
    """Hypercorn's settings for `HOST:PORT` (`[::1]:PORT` for IPv6; port 0 takes a free one).

    `read_timeout` stays None: it also runs while a handler works. Hypercorn's own logs stay off: they hold paths.
    """
    config = Config()
    config.bind = [listen]
    config.keep_alive_timeout = keep_alive_s
    config.keep_alive_max_requests = KEEP_ALIVE_REQUESTS_MAX
    config.backlog = BACKLOG
    config.h11_max_incomplete_size = HEAD_BYTES_MAX
    config.include_server_header = False
    config.read_timeout = None
    config.graceful_timeout = grace_s
    config.accesslog = None
    config.errorlog = None
    return config


async def serve_http(
    app: Shell,
    config: Config,
    *,
    stop: trio.Event,
    limits: ConnectionLimits | None = None,
    listener: socket.socket | None = None,
    on_connections: Callable[[int], None] | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves `app` until `stop` is set; reports the bound addresses (`http://127.0.0.1:43817`) once it listens. A
    bound `listener` stands in for the config's addresses and is closed at the end. `on_connections` is told how many
    connections are open, whenever that changes.

    Raises `ListenError`. After `stop`: no new connection, parked long-polls are answered, idle connections close, the
    rest gets the config's graceful time and is then cut off. Returns when no request is running any more.
    """
    if listener is None:
        listeners = [open_listener(bind, config.backlog) for bind in config.bind]
    else:
        listeners = [listen_on(listener, config.backlog)]
    connections = Connections(
        ASGIWrapper(app), config, _within_open_files(limits or ConnectionLimits()), on_connections
    )
    async with trio.open_nursery() as running:
        try:
            async with trio.open_nursery() as accepting:
                accept = partial(trio.serve_listeners, connections.serve, listeners, handler_nursery=running)
                accepting.start_soon(accept)
                task_status.started([f"http://{shown_address(one.socket.getsockname())}" for one in listeners])
                await stop.wait()
                await connections.context.terminated.set()  # first: no answer from here on begins an idle time
                connections.close_idle()
                accepting.cancel_scope.cancel()
            app.drain()
            with trio.move_on_after(config.graceful_timeout):
                await connections.wait_until_gone()
        finally:
            connections.abort()  # also when cancelled before the grace was over: a shielded send has only this end


def open_listener(bind: str, backlog: int) -> trio.SocketListener:
    """A socket that listens on `HOST:PORT`. Raises `ListenError`."""
    host, _, port = bind.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, int(port)))
    except OSError as error:
        sock.close()
        raise ListenError(bind, error.strerror or "unknown reason") from error
    return listen_on(sock, backlog)


def listen_on(sock: socket.socket, backlog: int) -> trio.SocketListener:
    """A bound socket, listening. Raises `ListenError`, the socket closed, when another process listened there first."""
    try:
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError as error:
        address = shown_address(sock.getsockname())
        sock.close()
        raise ListenError(address, error.strerror or "unknown reason") from error
    return trio.SocketListener(trio.socket.from_stdlib_socket(sock))


def shown_address(name: tuple[str | int, ...]) -> str:
    host, port = name[0], name[1]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def _within_open_files(limits: ConnectionLimits) -> ConnectionLimits:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return replace(limits, connections_max=max(1, min(limits.connections_max, soft - FILES_SPARE)))
