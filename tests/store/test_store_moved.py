"""A database whose file is removed, renamed or replaced while it is open acknowledges nothing that would be lost."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from store_cases import NOW_MS, adopt, command, held

from tokenling.store import FailureCode, StoreFailed, open_store
from tokenling.store.files import beside


def replace(path: Path) -> None:
    shutil.copy(path, beside(path, ".copy"))
    beside(path, ".copy").rename(path)


def away(path: Path) -> None:
    path.rename(beside(path, ".old"))


def back(path: Path) -> None:
    beside(path, ".old").rename(path)


MOVES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "renamed": away,
    "replaced by a copy": replace,
    "its folder renamed": lambda path: path.parent.rename(path.parent.with_name("other")),
    "its folder removed": lambda path: shutil.rmtree(path.parent),
    "its WAL removed": lambda path: beside(path, "-wal").unlink(),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
async def test_a_database_that_is_gone_from_its_place_takes_no_write(
    path: Path, move: Callable[[Path], object]
) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        before = await adopt(store)
        assert store.failing is None
        move(path)
        assert FailureCode.MOVED == store.failing, "noticed before anyone writes"
        with pytest.raises(StoreFailed) as caught:
            await command(store, "lost", b"after")
        assert FailureCode.MOVED == caught.value.code
        assert before == await held(store), "reading goes on"


async def test_a_database_that_is_put_back_takes_writes_again(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await adopt(store)
        away(path)
        with pytest.raises(StoreFailed):
            await command(store, "lost", b"after")
        back(path)
        await command(store, "kept", b"healed")
        assert store.failing is None
    async with open_store(path, now_ms=NOW_MS) as store:
        assert (await held(store)).save == b"healed"
