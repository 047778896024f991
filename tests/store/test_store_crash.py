"""A process killed while it writes: what it was told is kept, what was half done is not there."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from store_cases import NOW_MS, held, pet_id, query, receipt_of

from tokenling.store import open_store

WRITER = """
import hashlib, sys, trio
from pathlib import Path
from store_cases import DEVICE, NOW_MS, adopt, command, happen, held, operation, pet_id
from tokenling.protocol import Activate
from tokenling.store import open_store

async def live(store, number):
    while True:
        record = await held(store, number)
        name = f"op-{record.revision + 1}"
        await command(store, name, b"%d " % (record.revision + 1) * 3000, number, answer=name.encode())
        sys.stdout.write(f"{number} {record.revision + 1}\\n")
        sys.stdout.flush()

async def main():
    async with open_store(Path(sys.argv[1]), now_ms=NOW_MS) as store:
        async with trio.open_nursery() as nursery:
            for number in range(4):
                record = await store.load(pet_id(number))
                if record is None:
                    await adopt(store, number)
                elif record.status == "prepared":  # killed between the two steps of an adoption
                    await happen(store, number, Activate(operation(record, "adopt"), DEVICE, "sprout-0", b"{}"))
                nursery.start_soon(live, store, number)
trio.run(main)
"""
KILLS = 8


def write_until_killed(path: Path, lines: int) -> dict[int, int]:
    """Start the writer, kill it after so many acknowledged writes; the last acknowledged revision of each pet."""
    told: dict[int, int] = {}
    command = [sys.executable, "-c", WRITER, str(path)]
    environment = {"PYTHONPATH": f"{Path(__file__).parent}:{Path.cwd()}", "PATH": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        for _ in range(lines):
            number, revision = map(int, process.stdout.readline().split())
            told[number] = revision
        process.kill()
        for line in process.stdout:
            if line.endswith(b"\n"):
                number, revision = map(int, line.split())
                told[number] = revision
    return told


async def test_eight_kills_lose_nothing_that_was_acknowledged(path: Path) -> None:
    seed = random.randrange(2**32)  # noqa: S311 - a test's dice
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)  # noqa: S311
    told: dict[int, int] = {}
    for _ in range(KILLS):
        told |= write_until_killed(path, chance.randrange(1, 80))
        async with open_store(path, now_ms=NOW_MS) as store:
            for number, revision in told.items():
                record = await held(store, number)
                assert record.revision >= revision
                assert record.save == b"%d " % record.revision * 3000, "a save is of its own revision, whole"
                for known in range(max(3, revision - 20), record.revision + 1):
                    receipt = await receipt_of(store, f"op-{known}", number)
                    assert receipt is not None, (number, known)
                    assert receipt.result_revision == known
                assert await receipt_of(store, f"op-{record.revision + 1}", number) is None
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert {pet_id(number) for number in told} <= {row[0] for row in query(path, "SELECT pet_id FROM pets")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pets.sqlite"
