"""What a native run leaves: digests, counts and times in JSON, never a key, a save or a word. Written as it goes."""

import hashlib
import json
import os
import platform
from pathlib import Path

from tokenling.runtime.brain import GRAPH_FILES
from tokenling.runtime.receipts import processor_features

RECEIPT_VERSION = 1


class Receipt:
    """The receipt of one run. Until `finish` it lies beside its place as `….partial`."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.partial = out.with_name(out.name + ".partial")
        self.fields = {"nativeReceiptVersion": RECEIPT_VERSION, "complete": False, "ended": "running", "checks": {}}

    def note(self, **fields):
        """Add fields, and put everything so far on the disk."""
        self.fields |= fields
        self._write(self.partial)

    def require(self, name, holds):
        """Note one check; the first that does not hold ends the run with `CheckFailed`."""
        self.fields["checks"][name] = bool(self.fields["checks"].get(name, True) and holds)
        if not holds:
            raise CheckFailed(name)

    def finish(self):
        """The run is whole: the receipt takes its place, once."""
        self.fields |= {"complete": True, "ended": "whole"}
        self._write(self.partial)
        os.link(self.partial, self.out)  # unlike a rename it overwrites nothing
        self.partial.unlink()

    def break_off(self, why):
        """The run ended early; what it measured until then stays in the partial receipt."""
        self.note(ended=why)

    def _write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(json.dumps(self.fields, indent=1) + "\n", "utf-8")
        fresh.replace(path)


class CheckFailed(Exception):
    """A requirement of the run does not hold; its name is the message. Exit code 1."""


def facts_of(settings, host):
    """What ran: the machine, the brain's graph by its digest, the host's settings that matter."""
    dtype = host.get("SUBTOKENLING_MODEL_DTYPE", "q4")
    graph = Path(host["SUBTOKENLING_MODEL_DIR"]) / GRAPH_FILES[dtype]
    return {
        "profile": settings.profile, "dtype": dtype, "numerics": host.get("SUBTOKENLING_NUMERICS", "exact"),
        "graphSha256": hashlib.sha256(graph.read_bytes()).hexdigest(),
        "cpuLanes": host.get("SUBTOKENLING_CPU_LANES", "default"),
        "threads": host.get("SUBTOKENLING_THREADS", "default"), "cores": len(os.sched_getaffinity(0)),
        "processor": list(processor_features()), "python": platform.python_version(), "standIn": settings.stand_in,
        "counts": list(settings.counts), "rounds": settings.rounds, "repetitions": settings.repetitions,
    }  # fmt: skip
