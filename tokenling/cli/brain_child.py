"""The process of a brain: `python -m tokenling.cli.brain_child DESCRIPTOR`, started by a host and by nobody else.

It opens the brain that the host's first frame asks for, says what it is, and answers turns until the host ends.
"""

import ctypes
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn

from tokenling.host.brain_wire import Frame, Head, Unpacker, first_frame, pack, text_in
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.faults import lack_in
from tokenling.host.heaps import bound_heaps
from tokenling.host.settings import Settings

if TYPE_CHECKING:
    from tokenling.host.plan import HostBrain

GRACE_S = 0.2
"""For the lanes to let go of what they run, which takes 80 ms at most."""
WATCH = "tokenling watch"
_PR_SET_PDEATHSIG = 1
"""`prctl`'s option, from Linux's `sys/prctl.h`."""


def main() -> NoReturn:
    """Serve the host at the other end of the socket that was handed down."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # meant for the host, whose end is ours
        signal.signal(stop, signal.SIG_IGN)
    held = socket.socket(fileno=int(sys.argv[1]))
    if sys.platform == "linux":
        _die_with_parent()
    brain = _loaded(held)
    if brain is not None:
        from tokenling.host.brain_serving import facts_of, serve_turns

        if _tell(held, facts_of(brain).head()):
            serve_turns(held, brain)
    os._exit(0)  # nothing here is worth an orderly end, and a driver may hang in one


def _die_with_parent() -> None:
    """Have the kernel kill this process with the thread that started it, even one that is stopped (`SIGSTOP`) and could
    watch no socket. A host that was gone before is seen by the watch. Elsewhere, or refused, the watch is all there is.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, *map(ctypes.c_ulong, (signal.SIGKILL, 0, 0, 0)))


def _end_with_host(descriptor: int) -> None:
    """End this process soon behind the host, whatever it does then: loads a brain, or hangs in a driver."""
    watch = select.poll()
    watch.register(descriptor, select.POLLHUP)
    watch.poll()
    time.sleep(GRACE_S)
    os._exit(0)


def _loaded(held: socket.socket) -> "HostBrain | None":
    """The brain that the host asks for, warm; None when the host was told why not."""
    try:
        threading.Thread(target=_end_with_host, args=(held.fileno(),), name=WATCH, daemon=True).start()
        return _load(held)
    except HostRefused as refused:
        _refuse(held, refused)
    except Exception as failed:
        if (lack := lack_in(failed)) is None:
            raise
        _refuse(held, HostRefused(ExitCode.CRASHED, f"cannot start: the brain's process gets no more {lack}"))
    return None


def _load(held: socket.socket) -> "HostBrain":
    from tokenling.cli.brain_loader import load_here
    from tokenling.cli.logs import set_up_logs

    asked = first_frame(held, Unpacker())
    set_up_logs(text_in(asked.head, "settings"))
    settings = pickle.loads(asked.body)  # noqa: S301 - from our parent, over a socket that nobody else has
    assert isinstance(settings, Settings)
    bound_heaps(settings.cpu_lanes)
    return load_here(settings)


def _refuse(held: socket.socket, refused: HostRefused) -> None:
    _tell(held, {"exit": int(refused.exit_code), "lines": list(refused.lines)})


def _tell(held: socket.socket, head: Head) -> bool:
    """Whether the host was there to be told."""
    try:
        held.sendall(pack(Frame(head)))
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
