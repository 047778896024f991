"""The power goes at every write and every sync of a workload: what was told before is there after."""

import random
import shutil
from pathlib import Path

from faulty_vfs import FaultyVFS
from power_cut_vfs import PowerCutVFS
from short_life import check_told, workload
from store_cases import NOW_MS, adopt, query

from tokenling.store import open_store
from tokenling.store.files import beside


async def test_wherever_the_power_goes_what_was_told_before_is_there_after(tmp_path: Path) -> None:
    seed = random.randrange(2**32)  # noqa: S311 - a test's dice
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)  # noqa: S311
    vfs, healthy = PowerCutVFS(), FaultyVFS(really=False)
    path = tmp_path / "live" / "pets.sqlite"
    told: list[str] = []
    cuts: list[tuple[Path, list[str]]] = []

    def power_goes() -> None:
        directory = tmp_path / str(len(cuts))
        directory.mkdir()
        vfs.cut(directory, chance)
        if beside(path, ".tombstones").exists():
            shutil.copy(beside(path, ".tombstones"), directory)
        cuts.append((directory / "pets.sqlite", list(told)))

    async with open_store(path, now_ms=NOW_MS, vfs=vfs.vfs_name) as store:
        vfs.before_call = power_goes
        await workload(store, told)
    assert len(told) == 6
    assert len(cuts) > 60
    for cut, told_then in cuts:
        async with open_store(cut, now_ms=NOW_MS, vfs=healthy.vfs_name) as store:
            await check_told(store, told_then)
            await adopt(store, 9)
        assert query(cut, "PRAGMA integrity_check") == [("ok",)]
