"""docs/protocol.md is what the table says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tokenling.protocol import TABLE, RefusalCode, State

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "protocol.md"


def test_the_page_is_drawn_from_the_table() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "tools.draw_protocol", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (check.stdout, check.returncode) == ("", 0), "run python -m tools.draw_protocol"


@pytest.mark.parametrize("name", ["diagram", "transitions", "rules", "refusals", "limits"])
def test_every_drawing_has_its_place_and_is_not_empty(name: str) -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- drawn: {name} -->\n")
    assert len(rest.partition("<!-- end -->")[0].splitlines()) > 5


def test_every_event_state_and_refusal_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    words = (
        [event.__name__ for event in TABLE] + [state.value for state in State] + [f"`{code}`" for code in RefusalCode]
    )
    assert [word for word in words if word not in text] == []
