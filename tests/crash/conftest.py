"""One zygote for all crash tests."""

from collections.abc import Iterator

import pytest
from crash_home import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    opened = Zygote()
    yield opened
    opened.close()
