"""Writes the table of docs/settings.md from the settings themselves: `python -m tools.settings_page`."""

import re
from pathlib import Path

from tokenling.host.settings import settings_markdown

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"


def main() -> None:
    """Replace what stands between the two marks."""
    between = re.compile(r"(<!-- settings -->\n).*?(<!-- /settings -->)", re.DOTALL)
    table = settings_markdown()
    PAGE.write_text(between.sub(lambda match: match[1] + table + match[2], PAGE.read_text()))


if __name__ == "__main__":
    main()
