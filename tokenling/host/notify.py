"""Telling systemd: `READY=1`, `STOPPING=1` and, where its watchdog is on, `WATCHDOG=1` (sd_notify(3), a datagram each).

Without systemd (`NOTIFY_SOCKET` unset) all of it does nothing. The socket is asked for once and never waited for: a
service manager that does not read must not hold up the host.
"""

import contextlib
import os
import socket
from collections.abc import Mapping

import trio


class Notifier:
    """The line to the service manager, as the environment names it."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # "@" stands for the NUL of an abstract socket's name
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = _watchdog_s(environ)

    def tell(self, state: str) -> None:
        """Send one state, or nothing. Never raises, never blocks."""
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line,
        ):
            line.setblocking(False)
            line.sendto(state.encode(), self._address)

    async def keep_watchdog(self, stop: trio.Event) -> None:
        """Until `stop`, say twice in each watchdog time that the event loop turns. Without a watchdog, nothing."""
        while self.watchdog_s is not None and not stop.is_set():
            self.tell("WATCHDOG=1")
            with trio.move_on_after(self.watchdog_s / 2):
                await stop.wait()


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """The watchdog's time when it is meant for this process."""
    text = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(text) / 1e6 if meant and text.isdigit() and int(text) > 0 else None
