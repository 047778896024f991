"""A `GenerationRequest` as JSON: the form of turn receipts, and the seed's decimal form that the probe takes."""

from collections.abc import Mapping

from tokenling.engine.request import CONTEXT_TOKENS_MAX, GenerationRequest
from tokenling.runtime.documents import JsonObject, JsonValue, kind_of
from tokenling.runtime.errors import GenerationRefused

TEXT_CHARS_MAX = 2**20
"""One text of a request: a save's own bound, so whatever the engine asks fits."""
LINES_MAX = 10_000
"""A guess: fifty times the chat that a save keeps."""
SEED_LAST = 2**53 - 1
TEMPERATURE_MAX = 100_000
"""In thousandths. Beyond it every legal token weighs the same."""
TOP_K_MAX = 2**20
_NEEDED = ("header", "lines", "prefix", "mode", "maxNew", "topK", "ctx")
_OPTIONAL = ("tags", "answers", "seed", "temperatureMilli", "topPMilli", "temperature", "topP")
_DECIMALS = {"temperatureMilli": "temperature", "topPMilli": "topP"}


def request_json(request: GenerationRequest) -> dict[str, JsonValue]:
    """The request in the design's field names."""
    return {
        "header": request.header,
        "lines": list(request.lines),
        "prefix": request.prefix,
        "mode": request.mode,
        "tags": list(request.tags),
        "answers": dict(request.answers),
        "maxNew": request.max_new,
        "topK": request.top_k,
        "temperatureMilli": request.temperature_milli,
        "topPMilli": request.top_p_milli,
        "ctx": request.ctx,
        "seed": request.seed,
    }


def request_from_json(document: JsonObject) -> GenerationRequest:
    """The request that a JSON object asks for. Raises `GenerationRefused` naming the field.

    `temperature` and `topP` as decimals may stand for `temperatureMilli` and `topPMilli`; `tags`, `answers` and `seed`
    may be left out (none, none, 0).
    """
    for name in document:
        if name not in _NEEDED and name not in _OPTIONAL:
            raise GenerationRefused("field_unknown", name[:40], "a field", "one of " + ", ".join(_NEEDED + _OPTIONAL))
    mode = document.get("mode")
    if mode not in ("line", "diary"):
        raise _wrong("mode", mode, "line or diary")
    return GenerationRequest(
        header=_text(document, "header"),
        lines=_texts(document, "lines"),
        prefix=_text(document, "prefix"),
        mode=mode,
        tags=_texts(document, "tags") if "tags" in document else (),
        answers=_answers(document.get("answers", {})),
        max_new=_integer(document, "maxNew", 1, CONTEXT_TOKENS_MAX),
        top_k=_integer(document, "topK", 0, TOP_K_MAX),
        temperature_milli=_milli(document, "temperatureMilli", TEMPERATURE_MAX),
        top_p_milli=_milli(document, "topPMilli", 1000),
        ctx=_integer(document, "ctx", 1, 2**31),
        seed=_integer(document, "seed", 0, SEED_LAST) if "seed" in document else 0,
    )


def _text(document: JsonObject, field: str) -> str:
    return _checked_text(document.get(field), field)


def _checked_text(value: JsonValue, field: str) -> str:
    if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX:
        raise _wrong(field, value, f"a text of at most {TEXT_CHARS_MAX} characters")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise GenerationRefused("field_malformed", field, "a lone surrogate", "text that is valid Unicode")
    return value


def _texts(document: JsonObject, field: str) -> tuple[str, ...]:
    value = document.get(field)
    if not isinstance(value, list) or len(value) > LINES_MAX:
        raise _wrong(field, value, f"a list of at most {LINES_MAX} texts")
    return tuple(_checked_text(entry, field) for entry in value)


def _answers(value: JsonValue) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _wrong("answers", value, "an object of tags and texts")
    return {_checked_text(tag, "answers"): _checked_text(answer, "answers") for tag, answer in value.items()}


def _integer(document: JsonObject, field: str, least: int, most: int) -> int:
    value = document.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(field, value, f"an integer from {least} to {most}")
    return value


def _milli(document: JsonObject, field: str, most: int) -> int:
    """A number in thousandths, given as such or as a decimal (rounded to thousandths)."""
    decimal = _DECIMALS[field]
    if (field in document) == (decimal in document):
        raise GenerationRefused("field_malformed", field, "both or neither", f"either {field} or {decimal}")
    if field in document:
        return _integer(document, field, 0, most)
    value = document[decimal]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value * 1000 <= most:
        raise _wrong(decimal, value, f"a number from 0 to {most / 1000:g}")
    return round(value * 1000)


def _wrong(field: str, value: JsonValue, expected: str) -> GenerationRefused:
    """A refusal that says what kind of value stood there; its text, if it is one, may be an owner's words."""
    found = value if isinstance(value, int | float) else kind_of(value)
    return GenerationRefused("field_malformed", field, found, expected)
