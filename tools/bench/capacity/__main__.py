"""`python -m tools.bench.capacity`: one window, or the search for the largest number of pets."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tools.bench.capacity import bare, population
from tools.bench.capacity.served import Served
from tools.bench.capacity.window import SETTLE_S, Window, asked_in, measure

BARE_TURNS_MAX = 400


def brain_id_of(brain_dir: Path) -> str:
    return str(json.loads((brain_dir / "brain.json").read_text())["id"])


def one_window(chosen: argparse.Namespace, pets: int, seconds: float) -> tuple[Window, dict[str, object]]:
    """Write the pets, run the host over them, measure, and let the bare brain run the same turns."""
    brain_dir = chosen.brain or shipped_brain_dir()
    with tempfile.TemporaryDirectory(dir=chosen.dir, prefix="capacity-") as made:
        database = Path(made) / "pets.sqlite"
        written = trio.run(_write, database, pets, brain_id_of(brain_dir))
        with Served(database, lanes=chosen.lanes, numerics=chosen.numerics, pets_max=pets, brain=brain_dir) as host:
            window = measure(host, pets, seconds, settle_s=chosen.settle, profile=chosen.profile)
            stop_s = host.stop()
        receipts = asked_in(database, window.before.at_ms, window.after.at_ms, BARE_TURNS_MAX)
        alone = bare.turns_per_s(brain_dir, receipts, lanes=chosen.lanes, numerics=chosen.numerics)
    figures = {
        "brain": brain_id_of(brain_dir), "numerics": chosen.numerics, "lanes": chosen.lanes,
        "saveBytes": written.save_bytes_mean, "startS": round(host.started_s, 2), "stopS": round(stop_s, 2),
        "kept": window.kept(), **window.figures(), "bare": alone,
    }  # fmt: skip
    return window, figures


async def _write(database: Path, pets: int, brain_id: str) -> population.Population:
    return await population.write(database, active=pets, parked=0, brain_id=brain_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pets", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--settle", type=float, default=SETTLE_S)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--numerics", choices=("exact", "fast"), default="exact")
    parser.add_argument("--profile", action="store_true", help="sample the host with py-spy")
    parser.add_argument("--brain", type=Path)
    parser.add_argument("--dir", type=Path, help="where the database is written (default: temporary)")
    chosen = parser.parse_args()
    window, figures = one_window(chosen, chosen.pets, chosen.seconds)
    print(json.dumps(figures, indent=1))
    sys.exit(not window.kept())


if __name__ == "__main__":
    main()
