"""docs/runtime.md names every refusal that the code can raise, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RAISED = re.compile(r'(BrainRefused|GenerationRefused|LaneFailed|ReceiptRefused)\(\s*f?"([a-z0-9_{}]+)"')
NAMED = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`")


def raised() -> set[str]:
    """Codes in the source; one is put together from `input` or `output`."""
    sources = [*(ROOT / "tokenling/runtime").glob("*.py"), ROOT / "tokenling/cli/probe.py"]
    codes = {code for file in sources for _, code in RAISED.findall(file.read_text("utf-8"))}
    assert "{kind}_unknown" in codes
    return codes - {"{kind}_unknown"} | {"input_unknown", "output_unknown"}


def test_every_code_has_its_line_in_the_docs_and_every_line_its_code() -> None:
    refusals = (ROOT / "docs/runtime.md").read_text("utf-8").partition("## Refusals")[2]
    assert raised() == set(NAMED.findall(refusals)) - {"model_type", "vocab_size"}
