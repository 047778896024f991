import re
from pathlib import Path

import pytest

from tokenling import __version__, engine
from tokenling.cli.brain_files import SHIPPED_BRAIN
from tokenling.gguf import GENERATION_RECEIPT_VERSION
from tokenling.host.routes import PROTOCOL_VERSION
from tokenling.runtime import RECEIPT_VERSION
from tokenling.store.schema import MIGRATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "versions.md").read_text()
NOW = dict(re.findall(r"^\| ([a-z ]+) \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE))
VERSIONS = {
    "release": __version__,
    "protocol": PROTOCOL_VERSION,
    "save": engine.SAVE_VERSION,
    "engine": engine.ENGINE_VERSION,
    "prompt": engine.PROMPT_VERSION,
    "turn receipt": RECEIPT_VERSION,
    "generation receipt": GENERATION_RECEIPT_VERSION,
    "store schema": len(MIGRATIONS),
    "brain": SHIPPED_BRAIN,
}


@pytest.mark.parametrize(("name", "version"), VERSIONS.items())
def test_the_page_says_what_the_code_says(name, version):
    assert str(version) == NOW[name]


def test_the_page_has_no_number_that_is_not_held():
    assert set(VERSIONS) == set(NOW)
