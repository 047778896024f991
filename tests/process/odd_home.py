"""`python odd_home.py FAULT STATE`: a preview with one planted oddity, for what a good brain and a good pet never show."""

import sys
import threading
from pathlib import Path

from tokenling import engine
from tokenling.cli.brain_loader import load_brain
from tokenling.cli.preview import run_preview
from tokenling.host import dispatch_rules


def broken_rules():
    """The rules raise, with the pet's words in the exception, once a pet of this name lives on."""
    advance = dispatch_rules.advance

    def faulty(state, now_ms):
        if state.name == "Broken":
            raise KeyError("the otter said hush")
        return advance(state, now_ms)

    dispatch_rules.advance = dispatch_rules.guarded(faulty)
    assert engine.advance is not dispatch_rules.advance
    return load_brain


def slow_brain():
    """The brain never finishes loading."""

    def load(_settings):
        print("loading http://127.0.0.1:1", flush=True)  # what the tests wait for
        threading.Event().wait()

    return load


def crashing_clock():
    """An infrastructure task raises a few moments after the start."""
    from tokenling.host.clock import Clock

    async def run(_self):
        raise RuntimeError("the otter said hush")

    Clock.run = run
    return load_brain


FAULTS = {"broken-rules": broken_rules, "slow-brain": slow_brain, "crashing-clock": crashing_clock}

if __name__ == "__main__":
    run_preview(
        FAULTS[sys.argv[1]](), port=0, state=Path(sys.argv[2]), open_page=False, check=False, log_level="debug"
    )
