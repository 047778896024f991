"""docs/store.md names what the code has."""

import re
from pathlib import Path

import pytest

from tokenling.protocol import FULL_ANSWERS_MAX, OPERATIONS_MAX, REPLACED_MAX, TURN_RECEIPTS_MAX
from tokenling.store import FailureCode, OpenCode
from tokenling.store.schema import MIGRATIONS
from tokenling.store.task import GROUP_MAX, QUEUE_MAX

PAGE = (Path(__file__).parent.parent.parent / "docs" / "store.md").read_text(encoding="utf-8")
TABLES = re.findall(r"CREATE TABLE (\w+)", "".join(MIGRATIONS))


@pytest.mark.parametrize("name", [*TABLES, *FailureCode, *OpenCode])
def test_every_table_and_every_code_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_the_bounds_on_the_page_are_the_ones_in_the_code() -> None:
    assert f"queue, {QUEUE_MAX}" in PAGE
    assert f"at most {GROUP_MAX} " in PAGE
    assert f"{OPERATIONS_MAX:,} an epoch, the last {FULL_ANSWERS_MAX} of" in PAGE
    assert f"the last {TURN_RECEIPTS_MAX} of a pet" in PAGE
    assert f"the last {REPLACED_MAX} of a pet" in PAGE
