"""Which pages may read our answers, and under which names we may be asked. Pure.

CORS stands outside everything, so that a page can read a refusal too; and `Vary: Origin` is on every answer, so that
no cache gives one page's answer to another.
"""

import re
from collections.abc import Collection

from tokenling.host.answers import Answer, Headers

VARY: Headers = ((b"vary", b"Origin"),)
PREFLIGHT_SECONDS = b"600"
"""How long a browser may remember a preflight: ten minutes, so that a changed allow-list is felt soon."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")


def is_preflight(method: str, headers: Headers) -> bool:
    names = {name for name, _ in headers}
    return method == "OPTIONS" and b"origin" in names and b"access-control-request-method" in names


def preflight_answer() -> Answer:
    """The same for every page: whether it may ask is said by the headers that `cors_headers` adds, or does not."""
    return Answer(
        204,
        (
            (b"access-control-allow-methods", b"GET, HEAD, POST, DELETE"),
            (b"access-control-allow-headers", b"Authorization, Content-Type, If-None-Match"),
            (b"access-control-max-age", PREFLIGHT_SECONDS),
        ),
        b"",
    )


def cors_headers(headers: Headers, allowed_origins: Collection[str]) -> Headers:
    """`Vary` always; the allow and expose headers when the one `Origin` is, letter for letter, an allowed one."""
    origins = [value for name, value in headers if name == b"origin"]
    if len(origins) != 1 or origins[0].decode("latin-1") not in allowed_origins:
        return VARY
    return (
        *VARY,
        (b"access-control-allow-origin", origins[0]),
        (b"access-control-expose-headers", b"ETag, Retry-After"),
    )


def host_is_allowed(headers: Headers, allowed_hosts: Collection[str] | None) -> bool:
    """Whether the `Host` header names us, its port aside; None allows all. Keeps rebound DNS names out of a preview."""
    if allowed_hosts is None:
        return True
    hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return match is not None and match[1].removesuffix(".") in allowed_hosts
