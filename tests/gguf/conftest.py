"""What the tests of GGUF files share."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def gguf_package() -> ModuleType:
    """The `gguf` package: the second opinion. The locked test environment has it."""
    quants: ModuleType = pytest.importorskip("gguf.quants")  # this folder is a module `gguf` too, where it is missing
    return quants
