"""A fresh database for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_cases import NOW_MS

from tokenling.store import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "pets.sqlite"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    async with open_store(path, now_ms=NOW_MS) as opened:
        yield opened
