"""A newborn's save for a page that has no engine of its own. Pure: nothing is stored, no key is asked.

`POST /app/newborn` is how the plain page comes by the save that `POST /api/pets` wants. Asking twice makes two saves
and no pet; a pet begins with its owner's key.
"""

from typing import NoReturn

from tokenling.engine import CommandRefused, dump_save, new_pet
from tokenling.engine.bounds import NAME_MAX, SEED_MAX, ZONE_MAX
from tokenling.host.envelope_fields import Fields, wrong
from tokenling.host.errors import ApiError
from tokenling.host.json_value import JsonValue

FIELDS = ("name", "timeZone", "petSeed")
BODY_BYTES_MAX = 4096
"""Three short strings in any spelling of JSON (a name of 24 code points may be written as 48 escapes)."""


def newborn_save(body: JsonValue, *, brain_id: str, weather_seed: str, now_ms: int) -> bytes:
    """The canonical save of a pet born at `now_ms`, remote on `brain_id`, with the name, zone and seed in `body`.

    Raises `ApiError` 422 `invalid_envelope` whose `path` names the first wrong field.
    """
    fields = Fields(body, required=FIELDS)
    name = _text(fields, "name", NAME_MAX)
    time_zone = _text(fields, "timeZone", ZONE_MAX)
    pet_seed = _text(fields, "petSeed", SEED_MAX)
    try:
        state = new_pet(
            pet_seed=pet_seed,
            name=name,
            time_zone=time_zone,
            brain_id=brain_id,
            weather_seed=weather_seed,
            now_ms=now_ms,
        )
    except CommandRefused as refused:
        _refuse(refused)
    return dump_save(state)


def _text(fields: Fields, name: str, code_points_max: int) -> str:
    text = fields.text(name, code_points_max)
    if not text:
        wrong(name, f"it must be a string of 1 to {code_points_max} code points")
    return text


def _refuse(refused: CommandRefused) -> NoReturn:
    """The engine's refusal in the envelope's words; `reason` is the engine's code."""
    path = refused.path.removeprefix("/")
    detail = "The engine refuses a field of the newborn; `reason` says why."
    raise ApiError(422, "invalid_envelope", detail, path=path, reason=refused.code) from None
