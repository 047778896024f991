"""Access keys on the wire: 32 random bytes made by the client, shown once per request, known here by their hash only.

A key is `base64url` without padding, 43 characters, and *canonical*: 43 characters carry 258 bits, so without that rule
four spellings would open the same door.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable

from tokenling.host.errors import ApiError

_BEARER = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] ([A-Za-z0-9_-]{43})")


def key_hash_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """SHA-256 over the 32 bytes of the request's key, or None where there is not exactly one, well-formed."""
    values = [value for name, value in headers if name == b"authorization"]
    key = _decoded(values[0]) if len(values) == 1 else None
    return None if key is None else hashlib.sha256(key).digest()


def unauthorized() -> ApiError:
    """The same for every fault of the header."""
    return ApiError(401, "unauthorized", "Send exactly one header: Authorization: Bearer and the pet's access key.")


def same_secret(left: str, right: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how far they agree."""
    return hmac.compare_digest(hashlib.sha256(left.encode()).digest(), hashlib.sha256(right.encode()).digest())


def _decoded(value: bytes) -> bytes | None:
    match = _BEARER.fullmatch(value)
    if match is None:
        return None
    key = base64.urlsafe_b64decode(match[1] + b"=")
    return key if base64.urlsafe_b64encode(key) == match[1] + b"=" else None
