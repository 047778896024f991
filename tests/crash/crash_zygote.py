"""`python crash_zygote.py`: starts real hosts on demand, by forking a process that has imported them already.

One JSON line in, one out. `start` forks a host on a state directory, with a scripted brain, its disk, its killing point
and its wall clock (`frozen`: it stands still) as told, and answers its process id and address (None: it ended before it
listened). `wait` answers its exit code, negative for a signal.
"""

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import trio
from crash_disk import CrashVFS, die, killer

from tokenling import engine
from tokenling.cli.logs import set_up_logs
from tokenling.engine.request import GenerationRequest, Reply
from tokenling.host import run
from tokenling.host.exits import HostRefused
from tokenling.host.plan import HostBrain, HostPlan, wall_clock_ms
from tokenling.host.ports import Generated
from tokenling.host.setting_values import Address
from tokenling.host.settings import Settings
from tokenling.store import database, schema, task
from tokenling.store.store import open_store

BRAIN_ID = "scripted-1"
ROOT = Path(__file__).parent
NEXT_SCHEMA = """
CREATE TABLE next_release (pet INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
INSERT INTO next_release SELECT value, zeroblob(6000) FROM json_each('[1,2,3,4,5,6,7,8,9,10]');
"""


class ScriptedBrain:
    """Says something of its own for each turn, at once."""

    brain_id = BRAIN_ID
    features = ()
    prompt_version = engine.PROMPT_VERSION
    provider = "ScriptedProvider"

    async def generate(self, request: GenerationRequest, *, turn_id: str) -> Generated:
        await trio.lowlevel.checkpoint()
        said = f"hm {hashlib.sha256(turn_id.encode()).hexdigest()[:6]}"
        return Generated(Reply(said, "eos", ()), json.dumps({"turn": turn_id}).encode())


def settings_of(state: Path, pets_max: int) -> Settings:
    return Settings(
        listen=Address("127.0.0.1", 0), database=state / "pets.sqlite", model_dir=ROOT, precision="q4", model_id=None,
        origins=(), threads=1, gpu_device=None, pets_max=pets_max, weather_seed="", features=None, numerics="exact",
        cpu_lanes=1, enrol_code=None, allowed_hosts=None,
    )  # fmt: skip


def arm(order: dict, vfs: CrashVFS) -> None:
    """Set up where this process dies."""
    nth = order.get("nth", 1)
    match order.get("point"):
        case "in_a_write":
            vfs.before = killer({("write", "wal")}, nth)
        case "before_the_commit":
            vfs.before = killer({("sync", "wal")}, nth)
        case "after_the_commit_before_the_reply":
            die_after_group(nth)
        case "in_a_checkpoint":
            task.GROUP_MAX = 1
            checkpoint_often(vfs, nth)
        case "in_a_migration":
            schema.MIGRATIONS = (*schema.MIGRATIONS, NEXT_SCHEMA)
            vfs.before = killer({("write", "any"), ("sync", "any"), ("truncate", "any")}, nth)
        case "in_shutdown":
            die_in_close(vfs, nth)
    if order.get("next_schema"):
        schema.MIGRATIONS = (schema.MIGRATIONS[0], NEXT_SCHEMA)


def die_after_group(nth: int) -> None:
    serve_group, count = task.run_group, iter(range(1, 1_000_000))

    def run_group(store: database.Database, calls: list[task.Call]) -> object:
        outcomes = serve_group(store, calls)
        if any(call.writes for call in calls) and next(count) == nth:
            die()
        return outcomes

    task.run_group = run_group


def checkpoint_often(vfs: CrashVFS, nth: int) -> None:
    configure = database._configure

    def often(connection: object) -> None:
        configure(connection)
        connection.wal_autocheckpoint(4)

    database._configure = often
    vfs.before = killer({("write", "database"), ("truncate", "wal"), ("sync", "database")}, nth)


def die_in_close(vfs: CrashVFS, nth: int) -> None:
    close = database.Database.close

    def dying(self: database.Database) -> None:
        vfs.before = killer({("write", "any"), ("sync", "any"), ("truncate", "any"), ("delete", "any")}, nth)
        close(self)

    database.Database.close = dying


def clock_of(order: dict) -> Callable[[], int]:
    started_ms = wall_clock_ms()
    return (lambda: started_ms) if order.get("frozen") else wall_clock_ms


def live(order: dict, told: int) -> None:
    """The forked host, until it ends."""
    dice = random.Random(order["dice"]) if order.get("dice") is not None else None  # noqa: S311
    vfs = CrashVFS(dice)
    run.open_store = lambda path, *, now_ms: open_store(path, now_ms=now_ms, vfs=vfs.vfs_name)
    arm(order, vfs)

    def announce(address: Address | None, _brain: HostBrain) -> None:
        os.write(told, f"http://{address}\n".encode())

    def load_brain(_settings: Settings) -> HostBrain:
        return HostBrain(BRAIN_ID, (), ROOT, (ScriptedBrain(),))

    set_up_logs("error")
    try:
        settings = settings_of(Path(order["state"]), order.get("pets_max", 1000))
        # a preview asks nobody how often: the tests ask more than any owner may
        run.run_host(HostPlan(settings, load_brain, announce=announce, preview=True, now_ms=clock_of(order)))
    except HostRefused as refused:
        os._exit(refused.exit_code)
    os._exit(0)


def start(order: dict) -> dict:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            live(order, writing)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as told:
        address = told.readline().strip()
    return {"pid": pid, "address": address or None}


def wait(order: dict) -> dict:
    return {"code": os.waitstatus_to_exitcode(os.waitpid(order["pid"], 0)[1])}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        answer = {"start": start, "wait": wait}[order["do"]](order)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
