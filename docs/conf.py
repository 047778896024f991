"""Sphinx: `nox -s docs` builds the pages of this folder as HTML, warnings fail."""

from tokenling import __version__

project = "Tokenling"
release = __version__
author = "The Tokenling developers"
project_copyright = "The Tokenling developers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
html_theme = "alabaster"
myst_heading_anchors = 3
suppress_warnings = [
    "myst.xref_missing",  # pages link to files of the repository, which HTML does not hold
    "misc.highlighting_failure",  # sketches of contracts are Python in form only
]
