"""The listening socket, bound before anything slow so that a taken port is told at once."""

import errno
import os
import socket
from typing import Final

from tokenling.host.setting_values import Address

_REASONS: Final = {
    errno.EADDRINUSE: "that address is taken by another program; allowed: a free port, or 0 for any",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address",
    errno.EACCES: "this user may not open that port; allowed: 1024 and above, or 0 for any free one",
}


class ListenRefused(Exception):
    """Raised when the address cannot be bound; exit code 2. Nothing was opened; retry when the port is free."""

    code = "listen_refused"

    def __init__(self, address: Address, number: int | None) -> None:
        reason = _REASONS.get(number or 0, os.strerror(number) if number else "unknown reason")
        super().__init__(f"cannot listen on {address}: {reason}")


def bind_listener(address: Address) -> tuple[socket.socket, Address]:
    """A bound socket that does not listen yet, and the address it got. Connections are refused until it listens.

    It listens only once the brain is warm: a health check that connects then means what it says.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise ListenRefused(address, error.errno) from None
    host, port = listener.getsockname()[:2]
    return listener, Address(str(host), int(port))


def own_origins(address: Address) -> tuple[str, ...]:
    """The origins under which a browser on this machine opens a page that listens on `address`."""
    return (f"http://{address}", f"http://localhost:{address.port}")
