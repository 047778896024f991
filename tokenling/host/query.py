"""A query that no route takes: which of its parameters to name."""

from urllib.parse import unquote_plus

PARAMETER_SHOWN_MAX = 40
"""Characters of a parameter's name that an answer repeats: longer than any we have."""


def wrong_parameter(query: bytes, *, known: str = "") -> str:
    """The first parameter of `query` that is not `known`; with none but that, it is there too often."""
    names = (unquote_plus(part.partition("=")[0]) for part in query.decode("latin-1").split("&"))
    return next((name for name in names if name not in {"", known}), known)[:PARAMETER_SHOWN_MAX]
