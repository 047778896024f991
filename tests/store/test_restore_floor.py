"""A restore goes beyond whatever the database that it replaces had, whichever backup is put in place."""

from pathlib import Path

from store_cases import NOW_MS, adopt, held

from tokenling.store import back_up_beside, open_store, restore


async def test_an_old_backup_in_place_of_a_young_one_never_brings_an_epoch_back(path: Path, tmp_path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await adopt(store)
    old, young = tmp_path / "old", tmp_path / "young"
    back_up_beside(path, old)
    fences = []
    for backup, seconds in ((old, 0), (young, 1), (old, 2)):
        if backup is young:
            back_up_beside(path, young)
        restore(backup, path, now_ms=NOW_MS + 1000 * seconds)
        async with open_store(path, now_ms=NOW_MS) as store:
            record = await held(store)
            fences.append((record.epoch, record.revision))
    assert fences == sorted(set(fences)), "each restore is beyond the last"
