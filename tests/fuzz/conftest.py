"""One host with a pet in each state for all tests of a module. It is a host of the crash tests."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))

if TYPE_CHECKING:
    from fuzz_target import Target


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Target]":
    from crash_home import Zygote
    from fuzz_target import target

    zygote = Zygote()
    try:
        with target(zygote, tmp_path_factory.mktemp("fuzz")) as opened:
            yield opened
    finally:
        zygote.close()
