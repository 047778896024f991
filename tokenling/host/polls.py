"""`GET /api/pets/ID`, the request that is made most: answered by the shell itself, without entering Quart.

A poll is a key, a tag and, nearly always, a 304. What Quart adds to that (a request context, routing, response objects,
a task for each) cost more than the answer: docs/performance.md has both side by side.
"""

from tokenling.host.answers import Answer, Headers, raw_json_answer
from tokenling.host.envelope_fields import is_pet_id
from tokenling.host.envelopes import PetsPort, View
from tokenling.host.errors import ApiError
from tokenling.host.query import wrong_parameter
from tokenling.host.waits import Waits

WAIT_S_MAX = 50
"""Below the minute after which proxies commonly cut a silent connection."""
PATH = "/api/pets/"
ROUTE = "/api/pets/<pet_id>"


class Polls:
    """The handler of views, parked or not."""

    def __init__(self, pets: PetsPort, waits: Waits) -> None:
        self._pets = pets
        self._waits = waits

    async def answer(self, pet_id: str, key_hash: bytes, headers: Headers, query: bytes) -> Answer:
        """200 with the view, or 304. Raises `ApiError`."""
        check_pet_id(pet_id)
        wait_s = wait_seconds(query)
        etag = etag_asked_for(headers)
        view = await self._view(pet_id, key_hash, etag, wait_s)
        if view is not None:
            return raw_json_answer(view.body, headers=((b"etag", view.etag.encode()),))
        assert etag is not None, "only a tag can match"
        return Answer(304, ((b"etag", etag.encode("latin-1")),), b"")

    async def _view(self, pet_id: str, key_hash: bytes, etag: str | None, wait_s: int) -> View | None:
        if wait_s == 0 or etag is None or self._waits.ended:
            return await self._pets.view(pet_id, key_hash, etag=etag, wait_s=0)
        with self._waits.hold(pet_id):
            return await self._pets.view(pet_id, key_hash, etag=etag, wait_s=wait_s)
        return None  # cut short: the host stops, and the tag had not moved, or the wait would have ended before


def polled_pet(method: str, path: str) -> str | None:
    """The id in the path of a view, or None for any other request."""
    rest = path.removeprefix(PATH)
    return rest if method == "GET" and rest != path and rest and "/" not in rest else None


def check_pet_id(pet_id: str) -> None:
    """An id that cannot be a pet's gets the answer of a pet that is not there."""
    if not is_pet_id(pet_id):
        raise ApiError(404, "not_found", "There is no such pet here, or the key is not its own.")


def wait_seconds(query: bytes) -> int:
    """The `wait` of `?wait=SECONDS`, 0 without a query; nothing else is taken."""
    if query == b"":
        return 0
    name, _, value = query.partition(b"=")
    if name != b"wait" or b"&" in value:
        parameter = wrong_parameter(query, known="wait")
        raise ApiError(400, "invalid_query", "The only parameter here is `wait`, once.", parameter=parameter)
    if not (value.isdigit() and len(value) <= 2 and int(value) <= WAIT_S_MAX):
        expected = f"`wait` must be whole seconds from 0 to {WAIT_S_MAX}."
        raise ApiError(400, "invalid_query", expected, parameter="wait")
    return int(value)


def etag_asked_for(headers: Headers) -> str | None:
    """The one tag of `If-None-Match`, its weakness aside; a list or `*` is no condition here, which is always safe."""
    values = [value for name, value in headers if name == b"if-none-match"]
    tag = values[0].strip().removeprefix(b"W/") if len(values) == 1 else b""
    quoted = len(tag) > 2 and tag.startswith(b'"') and tag.endswith(b'"')
    return tag.decode("latin-1") if quoted and b'"' not in tag[1:-1] else None
