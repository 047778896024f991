"""`python quiet_serve.py`: `tokenling serve` with its settings from the environment and a brain that never answers."""

import os
import time

from tokenling.cli.serve import run_serve
from tokenling.host.plan import HostBrain
from tools.bench.quiet_host import BRAIN_ID, QuietBrain


def load(settings):
    brain_id = os.environ.get("BRAIN_ID", BRAIN_ID)
    return HostBrain(brain_id, (), settings.database.parent, (QuietBrain(brain_id),))


if __name__ == "__main__":
    if "WALL_CLOCK_NS" in os.environ:
        time.time_ns = lambda: int(os.environ["WALL_CLOCK_NS"])
    run_serve(load, check=False, print_config=False, log_level="info")
