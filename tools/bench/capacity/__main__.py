"""`python -m tools.bench.capacity`: one window, a saturated one, or the search for the largest number of pets.

Exits with 1 when the window's pets were not carried as promised.
"""

import argparse
import json
import math
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.host.setting_values import ROWS_MAX
from tools.bench.capacity import bare, population
from tools.bench.capacity.profile import py_spy
from tools.bench.capacity.served import Served
from tools.bench.capacity.traffic import turns_per_s
from tools.bench.capacity.window import SETTLE_S, Plan, asked_in, measure, wait_until_looked_round

BARE_TURNS_MAX = 400
SEARCH_ROUNDS = 5
BEHIND_MS = 60 * 60_000
"""A saturated window's pets are so late: four idle turns each."""

Figures = dict[str, object]


def one_window(chosen: argparse.Namespace, plan: Plan, behind_ms: int = 0) -> Figures:
    """Write the pets, run the host over them, measure, and let the bare brain run the same turns."""
    brain_dir = chosen.brain or shipped_brain_dir()
    brain_id = str(json.loads((brain_dir / "brain.json").read_text())["id"])
    with tempfile.TemporaryDirectory(dir=chosen.dir, prefix="capacity-") as made:
        database = Path(made) / "pets.sqlite"
        write = partial(population.write, database, active=plan.pets, parked=0, brain_id=brain_id, behind_ms=behind_ms)
        written = trio.run(write)
        with Served(
            database,
            lanes=chosen.lanes,
            numerics=chosen.numerics,
            pets_max=plan.pets,
            brain=brain_dir,
            process=chosen.process,
            rows=chosen.rows,
        ) as host:
            look_round_s = wait_until_looked_round(host, plan.pets, chosen.lanes * chosen.rows)
            window = measure(host, plan)
            stop_s = host.stop()
        receipts = asked_in(database, window.before.at_ms, window.after.at_ms, BARE_TURNS_MAX)
        alone = (
            {} if not receipts else bare.turns_per_s(brain_dir, receipts, lanes=chosen.lanes, numerics=chosen.numerics)
        )
    if not receipts:
        raise SystemExit("no turn was lived in the window: more --pets, or a longer --seconds")
    bare_per_s, bare_ms, figures = alone["turnsPerS"], alone["cpuMsPerTurn"], window.figures()
    host_ms = figures["cpuMsPerTurn"]
    assert isinstance(bare_per_s, float)
    assert isinstance(bare_ms, float)
    assert isinstance(host_ms, float)
    return {
        "brain": brain_id, "numerics": chosen.numerics, "lanes": chosen.lanes, "process": chosen.process,
        "rows": chosen.rows, "saveBytes": written.save_bytes_mean,
        "startS": round(host.started_s, 2), "lookRoundS": round(look_round_s, 1), "stopS": round(stop_s, 2),
        "kept": window.kept(), **figures, "bare": alone,
        "ofBare": round(window.turns_per_s / bare_per_s, 3), "ofBareByCpu": round(bare_ms / host_ms, 3),
    }  # fmt: skip


def search(chosen: argparse.Namespace) -> Figures:
    """The largest number of pets that was carried; a line for each window."""

    def window(pets: int) -> Figures:
        found = one_window(chosen, Plan(pets, chosen.seconds, chosen.settle))
        print(json.dumps(found), flush=True)
        return found

    return largest_kept(window, chosen.pets)


def largest_kept(window: Callable[[int], Figures], pets: int) -> Figures:
    """`SEARCH_ROUNDS` windows from `pets` on: twice as many until some are not kept, then between those and the most
    that were (none at first). Returns the best; SystemExit where none was kept."""
    low, high, best = 0, None, None
    for _ in range(SEARCH_ROUNDS):
        found = window(pets)
        if found["kept"]:
            low, best = pets, found
        else:
            high = pets
        pets = 2 * low if high is None else (low + high) // 2
        if pets == low:
            break
    if best is None:
        raise SystemExit(f"not even {high} pets were carried")
    return best


def saturated(chosen: argparse.Namespace) -> Figures:
    """More turns due than can be run, in the traffic's own mix: what is sustained is all that there is."""
    plan = Plan(chosen.pets, chosen.seconds, chosen.settle, as_of=chosen.as_of, profile=chosen.profile)
    found = one_window(chosen, plan, BEHIND_MS)
    one = sum(turns_per_s(1).values())
    carried = found["turnsPerS"]
    assert isinstance(carried, float)
    if isinstance(due := found["due"], list) and not due[-1]:
        print("nothing was due any more at the end: what is sustained needs more --pets", file=sys.stderr)
    return {**found, "petsByArithmetic": round(carried / one)}


def parser() -> argparse.ArgumentParser:
    """The options. What a window prints is in docs/capacity.md, field by field."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench.capacity",
        description="Measure how many pets a host carries: one window, a saturated one (--saturate), or the search for "
        "the largest number (--search). Prints a JSON object, whose fields docs/capacity.md explains. Exits with 1 "
        "when the window's pets were not carried as promised (--saturate apart), with 2 when it could not be measured.",
    )
    add = parser.add_argument
    add("--pets", type=within(1), default=1000, help="active pets of the host; where --search begins (%(default)s)")
    seconds = "length of the window: whole minutes, since idle turns stand on minutes (%(default)s)"
    add("--seconds", type=whole_minutes, default=120.0, help=seconds)
    settle = "seconds from the first owner until the window: what was due is lived, caches are filled (%(default)s)"
    add("--settle", type=within(0, of=float), default=SETTLE_S, help=settle)
    lanes = "turns that run at once, a thread each: SUBTOKENLING_CPU_LANES (%(default)s)"
    add("--lanes", type=within(1), default=2, help=lanes)
    numerics = "how the brain computes: SUBTOKENLING_NUMERICS (%(default)s)"
    add("--numerics", choices=("exact", "fast"), default="exact", help=numerics)
    process = "the brain's lanes in the host, or in a process of their own: SUBTOKENLING_BRAIN_PROCESS (%(default)s)"
    add("--process", choices=("host", "own"), default="host", help=process)
    rows = "turns that a lane writes together, 1 to 16: SUBTOKENLING_BATCH_ROWS (%(default)s)"
    add("--rows", type=within(1, ROWS_MAX), default=1, help=rows)
    search = f"{SEARCH_ROUNDS} windows: twice as many pets until they are too many, then between; a line each, the best"
    add("--search", action="store_true", help=search)
    saturate = "pets that are an hour late: more is due than can be run, and what is lived is the most that can be"
    add("--saturate", action="store_true", help=saturate)
    as_of = "whose owners come: as many as so many pets have, though fewer pets are there; not with --search (--pets)"
    add("--as-of", type=within(1), metavar="PETS", help=as_of)
    profile = "sample the host with py-spy during the window, for the field `rooms`; not with --search"
    add("--profile", action="store_true", help=profile)
    add("--brain", type=directory, metavar="DIRECTORY", help="the brain (the shipped one)")
    add("--dir", type=directory, metavar="DIRECTORY", help="where the database is written (the temporary directory)")
    return parser


def within(low: int, high: float = math.inf, of: Callable[[str], float] = int) -> Callable[[str], float]:
    """The type of an option whose value has bounds."""

    def read(text: str) -> float:
        value = of(text)
        if not low <= value <= high:
            bounds = f"{low} to {high:g}" if high < math.inf else f"{low} or more"
            raise argparse.ArgumentTypeError(f"found {text}, expected {bounds}")
        return value

    return read


def whole_minutes(text: str) -> float:
    """The type of the window's length."""
    seconds = float(text)
    if seconds < 60 or seconds % 60:
        raise argparse.ArgumentTypeError(f"found {text}, expected whole minutes: 60, 120, …")
    return seconds


def directory(text: str) -> Path:
    """The type of an option that names a directory."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"found {text}, expected a directory that is there")
    return path


def main() -> None:
    """Measure; however it ends, the database that was written is taken away again."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    try:
        run(parser())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise


def run(options: argparse.ArgumentParser) -> None:
    """What the options ask for."""
    chosen = options.parse_args()
    if chosen.search and (chosen.profile or chosen.as_of):
        options.error("--search goes without --profile and --as-of")
    if chosen.profile:
        try:
            py_spy()
        except LookupError as missing:
            options.exit(2, f"{missing.args[0]}\n")
    if chosen.search:
        found = search(chosen)
    elif chosen.saturate:
        found = saturated(chosen)
    else:
        plan = Plan(chosen.pets, chosen.seconds, chosen.settle, chosen.as_of, chosen.profile)
        found = one_window(chosen, plan)
    print(json.dumps(found, indent=1))
    sys.exit(not (found["kept"] or chosen.saturate))


if __name__ == "__main__":
    main()
