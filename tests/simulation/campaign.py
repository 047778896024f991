"""Many simulated lives, by hand and resumable: `python tests/simulation/campaign.py --steps 2000000 --state FILE`.

The file says how far the campaign has come; the same command goes on from there. A life that breaks an invariant ends
the campaign with its seed, and the same command runs it again first. Every tenth life is on the real store. With
`--app` the browser app's own decisions run the pages, instead of their model.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from sim_app import AppPage
from sim_browser import Browser
from sim_store import ModelStore, RealStore
from sim_world import run_life

STEPS = 1000
REAL_EVERY = 10
SAVE_EVERY = 50


def run_one(seed: int, page: type[Browser]) -> int:
    """One life; how many commits it had."""
    if seed % REAL_EVERY:
        return run_life(seed, STEPS, ModelStore(), page).ledger.commits
    with tempfile.TemporaryDirectory(prefix="tokenling-life-") as folder:
        return run_life(seed, STEPS, RealStore(Path(folder)), page).ledger.commits


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed of a new campaign")
    parser.add_argument("--app", action="store_true", help="pages that decide as the browser app does")
    wanted = parser.parse_args()
    page = AppPage if wanted.app else Browser
    done = {"first": wanted.first, "lives": 0, "commits": 0, "seconds": 0.0}
    if wanted.state.exists():
        done = json.loads(wanted.state.read_text())
    begun = time.monotonic() - done["seconds"]
    while done["lives"] * STEPS < wanted.steps:
        done["commits"] += run_one(int(done["first"] + done["lives"]), page)
        done["lives"] += 1
        done["seconds"] = round(time.monotonic() - begun, 1)
        if done["lives"] % SAVE_EVERY == 0 or done["lives"] * STEPS >= wanted.steps:
            wanted.state.write_text(json.dumps(done))
    sys.stdout.write(f"{done['lives'] * STEPS} steps in {done['lives']} lives, no invariant broken: {done}\n")


if __name__ == "__main__":
    main()
