"""Many strange requests, by hand and resumable: `python tests/fuzz/fuzz_campaign.py --state FILE`.

Rounds of a thousand, each with its own number to draw with and its own host: half of them damaged by our own tables,
half drawn by Schemathesis from the host's document. The file says how far the campaign has come; the same
command goes on from there.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))

from crash_home import Zygote
from fuzz_target import target
from test_fuzz_document import read_document, send_documented
from test_fuzz_requests import send_strange

ROUND = 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--state", type=Path, required=True)
    wanted = parser.parse_args()
    done = json.loads(wanted.state.read_text()) if wanted.state.exists() else {"rounds": 0, "answers": {}}
    document, zygote = read_document(), Zygote()
    while done["rounds"] * ROUND < wanted.requests:
        with tempfile.TemporaryDirectory(prefix="tokenling-fuzz-") as folder, target(zygote, Path(folder)) as host:
            number = done["rounds"] + 1
            statuses = send_strange(host, ROUND // 2, number)
            statuses += send_documented(host, document, ROUND // 2, number)
        done["answers"] = Counter(done["answers"]) + Counter({str(status): n for status, n in statuses.items()})
        done["rounds"] += 1
        wanted.state.write_text(json.dumps(done))
    zygote.close()
    sys.stdout.write(f"{done['rounds'] * ROUND} requests, no 5xx, nothing changed: {done['answers']}\n")


if __name__ == "__main__":
    main()
