"""Answers as values: a status, headers and a body, whoever sends them."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from tokenling.host.errors import ApiError
from tokenling.host.json_value import JsonValue

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer; `content-length` is added by who sends it."""

    status: int
    headers: Headers
    body: bytes


def json_answer(value: JsonValue, *, status: int = 200) -> Answer:
    return raw_json_answer(encoded(value), status=status)


def raw_json_answer(body: bytes, *, status: int = 200, headers: Headers = ()) -> Answer:
    """JSON that is bytes already: sent as it is."""
    return Answer(status, ((b"content-type", b"application/json"), *headers), body)


def problem_answer(error: ApiError, *, headers: Headers = ()) -> Answer:
    """RFC 9457: `{type, title, status, code, detail, …fields}`, with the headers that the status calls for."""
    members: dict[str, JsonValue] = {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
        **error.fields,
    }
    called_for = (*_called_for(error), *headers)
    return Answer(error.status, ((b"content-type", b"application/problem+json"), *called_for), encoded(members))


def encoded(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _called_for(error: ApiError) -> Headers:
    found: Headers = ()
    if error.status == HTTPStatus.UNAUTHORIZED:
        found += ((b"www-authenticate", b'Bearer realm="tokenling"'),)
    if error.retry_after_s is not None:
        found += ((b"retry-after", str(error.retry_after_s).encode()),)
    return found
