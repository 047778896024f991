"""Many kills, by hand and resumable: `python tests/crash/kill_campaign.py --state FILE`.

Rounds of 25 kills of one host on one state directory; each round has its own seed, which is said before it begins. The
file says how far the campaign has come; the same command goes on from there.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from crash_home import Zygote
from test_kills import random_life

ROUND = 25


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--drops", type=int, default=100, help="kills on a disk that drops what was not synced")
    parser.add_argument("--first", type=int, default=1_000_000, help="seed of the first round")
    parser.add_argument("--state", type=Path, required=True)
    wanted = parser.parse_args()
    done = json.loads(wanted.state.read_text()) if wanted.state.exists() else {"kills": 0, "drops": 0}
    zygote = Zygote()
    for kind, count in (("kills", wanted.kills), ("drops", wanted.drops)):
        while done[kind] < count:
            seed = wanted.first + done["kills"] + done["drops"]
            sys.stdout.write(f"{kind} from {done[kind]}, seed {seed}\n")
            sys.stdout.flush()
            with tempfile.TemporaryDirectory(prefix="tokenling-kills-") as folder:
                random_life(zygote, Path(folder), min(ROUND, count - done[kind]), seed, drop=kind == "drops")
            done[kind] += min(ROUND, count - done[kind])
            wanted.state.write_text(json.dumps(done))
    zygote.close()
    sys.stdout.write(f"{done['kills']} kills and {done['drops']} with dropped writes: nothing told was lost\n")


if __name__ == "__main__":
    main()
