"""`python odd_home.py FAULT STATE`: a preview with one planted oddity, for what good brains and pets never show."""

import os
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path

from tokenling import engine
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.preview import run_preview

SECRET = "the otter said hush"


def broken_rules():
    """The rules raise, with the pet's words in the exception, whenever a pet of this name lives on."""
    advance = engine.advance

    def faulty(state, now_ms):
        if state.name == "Broken":
            raise KeyError(SECRET)
        return advance(state, now_ms)

    engine.advance = faulty
    return load_brain


def slow_brain():
    """The brain never finishes loading."""

    def load(_settings):
        sys.stdout.write("loading http://127.0.0.1:1\n")  # what the tests wait for
        sys.stdout.flush()
        threading.Event().wait()

    return load


def crashing_clock():
    """An infrastructure task raises a few moments after the start."""
    from tokenling.host.clock import Clock

    async def run(_self):
        raise RuntimeError(SECRET)

    Clock.run = run
    return load_brain


def next_brain():
    """The shipped brain is the one in NEXT_BRAIN."""

    def load(settings):
        return load_brain(replace(settings, model_dir=Path(os.environ["NEXT_BRAIN"])))

    return load


def lost_port():
    """While the brain loads, another program listens on the port that is bound already."""

    def load(settings):
        held = [name for name in map(local_address, range(3, 64)) if name is not None]
        other = socket.socket()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(held[0])
        other.listen()
        OTHERS.append(other)
        return load_brain(settings)

    return load


def local_address(descriptor):
    """The loopback address that a descriptor is bound to, or None."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as found:
            name = found.getsockname()
    except OSError:
        return None
    return name if isinstance(name, tuple) and name[0] == "127.0.0.1" else None


OTHERS = []
FAULTS = {
    "lost-port": lost_port,
    "next-brain": next_brain,
    "broken-rules": broken_rules,
    "slow-brain": slow_brain,
    "crashing-clock": crashing_clock,
}

if __name__ == "__main__":
    run_preview(
        FAULTS[sys.argv[1]](),
        port=0,
        state=Path(sys.argv[2]),
        open_page=False,
        check="--check" in sys.argv,
        log_level="debug",
    )
