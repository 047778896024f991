"""The listening socket, bound before anything slow so that a taken port is told at once."""

import errno
import os
import socket
from collections.abc import Mapping

from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.setting_values import Address

_REASONS: Mapping[int, str] = {
    errno.EADDRINUSE: "another program listens there; allowed: a free port, or 0 for any",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address",
    errno.EACCES: "this user may not open that port; allowed: 1024 and above, or 0 for any free one",
}


def bind_listener(address: Address) -> socket.socket:
    """A bound socket that does not listen yet: connections are refused until the brain is warm.

    Raises `HostRefused` (settings) when the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise HostRefused(ExitCode.SETTINGS, f"cannot listen on {address}: {_reason(error)}") from None
    return listener


def _reason(error: OSError) -> str:
    number = error.errno or 0
    return _REASONS.get(number) or os.strerror(number)


def bound_address(listener: socket.socket) -> Address:
    """The address that a bound socket got: port 0 has become a real one."""
    host, port = listener.getsockname()[:2]
    return Address(str(host), int(port))


def own_origins(address: Address) -> tuple[str, ...]:
    """The origins under which a browser on this machine opens a page that is served on `address`."""
    return (f"http://{address}", f"http://localhost:{address.port}")


def own_hosts(address: Address) -> tuple[str, ...]:
    """The names in the `Host` header of such a browser."""
    return (f"[{address.host}]" if ":" in address.host else address.host, "localhost")
