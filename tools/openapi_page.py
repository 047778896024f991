"""Writes docs/openapi.json from the host's own tables: `python -m tools.openapi_page`."""

import json
from pathlib import Path

from tokenling.host.openapi import openapi_document

PAGE = Path(__file__).parents[1] / "docs" / "openapi.json"


def page() -> str:
    """What the file holds."""
    return json.dumps(openapi_document(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
