"""A real host with a page of the bench's: `python -m tools.bench.page_host WEB_ROOT STATE`; prints its address.

It differs from `tokenling preview` in the directory that it serves, and in nothing else.
"""

import sys
from pathlib import Path

from tokenling.cli.brain_loader import load_brain
from tokenling.cli.hosting import run_plan
from tokenling.cli.preview import preview_settings
from tokenling.host.plan import HostBrain, HostPlan
from tokenling.host.setting_values import Address


def main() -> None:
    web_root, state = (Path(argument).absolute() for argument in sys.argv[1:])
    state.mkdir(mode=0o700, exist_ok=True)

    def announce(address: Address | None, _brain: HostBrain) -> None:
        print(f"http://{address}", flush=True)

    plan = HostPlan(preview_settings(0, state), load_brain, announce, web_root=web_root, preview=True)
    run_plan(plan, log_level="warning")


if __name__ == "__main__":
    main()
