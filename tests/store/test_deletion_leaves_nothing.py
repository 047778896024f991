"""What is deleted is gone from every byte of every file, while the store is still open."""

from pathlib import Path

import apsw
import pytest
from store_cases import (
    DAY_MS,
    KEY,
    NOW_MS,
    OTHER_DEVICE,
    adopt,
    command,
    delete,
    happen,
    held,
    operation,
    park,
    pet_id,
    prepare,
    raw_files,
    save_of,
)

from tokenling.protocol import Activate, Live
from tokenling.store import Store, database, open_store

WORDS = ("FIRSTWORDS", "SECONDWORDS", "THIRDWORDS", "ANSWERWORDS", "RECEIPTWORDS", "TAKENWORDS", "PARKEDWORDS")


async def live_a_life(store: Store, number: int) -> None:
    """A pet whose words have been in every table: saves of several sizes, answers, receipts, a replaced save."""
    await adopt(store, number, save_of(WORDS[0], 60_000))
    await command(store, "op-short", save_of(WORDS[1], 300), number, answer=save_of(WORDS[3], 9000))
    await command(store, "op-long", save_of(WORDS[2], 30_000), number, answer=save_of(WORDS[3], 100))
    for _ in range(60):
        record = await held(store, number)
        event = Live(record.epoch, record.revision, save_of(WORDS[2], 7000), save_of(WORDS[4], 3000))
        await happen(store, number, event)
    await park(store, number=number, answer=save_of(WORDS[6], 50_000))
    record = await held(store, number)
    wish = Activate(operation(record, "op-take"), OTHER_DEVICE, "sprout-0", save_of(WORDS[5], 20_000), takeover=True)
    await happen(store, number, wish)


def found(path: Path, number: int) -> dict[str, list[str]]:
    """Which traces of a pet lie in which file."""
    traces = [word.encode() for word in (*WORDS, pet_id(number), "op-short", "op-take", OTHER_DEVICE)] + [KEY]
    return {
        name: [repr(trace) for trace in traces if trace in data]
        for name, data in raw_files(path).items()
        if any(trace in data for trace in traces)
    }


async def test_after_a_deletion_no_file_holds_a_word_a_key_or_an_id_of_the_pet(store: Store, path: Path) -> None:
    await live_a_life(store, 1)
    assert len({trace for traces in found(path, 1).values() for trace in traces}) >= len(WORDS), "the search can find"
    await delete(store, 1)
    assert found(path, 1) == {}


async def test_a_deletion_among_others_takes_only_its_own(store: Store, path: Path) -> None:
    for number in (1, 2, 3):
        await adopt(store, number, save_of(f"WORDSOF{number}", 20_000))
    await delete(store, 2)
    files = b"".join(raw_files(path).values())
    assert [f"WORDSOF{number}".encode() in files for number in (1, 2, 3)] == [True, False, True]


async def test_an_expired_pet_leaves_nothing_either(store: Store, path: Path) -> None:
    await happen(store, 1, prepare(1, save_of(WORDS[0], 40_000)), now_ms=NOW_MS - 2 * DAY_MS)
    assert found(path, 1)
    await store.expire_prepared(NOW_MS - DAY_MS)
    assert found(path, 1) == {}
    assert "pets.sqlite.tombstones" not in raw_files(path)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT_MS", 20)


@pytest.mark.usefixtures("short_waits")
async def test_a_reader_in_the_way_only_delays_the_erasing(path: Path) -> None:
    async with open_store(path, now_ms=NOW_MS) as store:
        await delete_beside_a_reader(store, path)


async def delete_beside_a_reader(store: Store, path: Path) -> None:
    await adopt(store, 1, save_of(WORDS[0], 40_000))
    reader = apsw.Connection(str(path))
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pets").fetchall()
        await delete(store, 1)
        assert found(path, 1), "the reader still sees the old pages"
    finally:
        reader.close()
    await adopt(store, 2)
    assert {name for name in found(path, 1) if WORDS[0].encode() in raw_files(path)[name]} == set()
