"""The API as an OpenAPI 3.1 document, made from the tables that the host itself runs on.

Routes come from `API_ROUTES`, refusals from `CODES`, bodies from `openapi_schemas.py`; what a route may answer stands
here, and tests hold it to real answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tokenling import __version__
from tokenling.host.errors import CODES
from tokenling.host.http_app import API_ROUTES, NEWBORN_ROUTE
from tokenling.host.json_value import JsonValue
from tokenling.host.openapi_schemas import ANSWERS, BODIES, PET_ID, PROBLEM, JsonObject
from tokenling.host.polls import WAIT_S_MAX

ANYWHERE = (
    "bad_request", "invalid_query", "body_timeout", "body_too_large", "host_not_allowed", "too_many_requests",
    "too_many_uploads", "head_too_large", "internal", "overloaded",
)  # fmt: skip
"""What any route may answer: the shell's refusals."""
OF_A_PET = ("unauthorized", "not_found", "unavailable")
OF_A_CHANGE = (
    "invalid_json",
    "invalid_envelope",
    "draining",
    "operation_reused",
    "epoch_full",
    "stale_epoch",
    "not_active",
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What one handler answers besides what any may: good statuses with their meaning, and codes."""

    summary: str
    good: Mapping[int, str]
    codes: tuple[str, ...] = ()


HANDLERS: Mapping[str, Answers] = {
    "health": Answers("What the host is and whether it is ready.", {200: "Ready.", 503: "Not ready; see `reasons`."}),
    "prepare": Answers(
        "Hold an inactive save under a new id.",
        {201: "Prepared.", 200: "The same id and key were there before; nothing was overwritten."},
        ("unauthorized", "invalid_json", "invalid_envelope", "invalid_save", "enrol_required", "enrol_wrong",
         "brain_mismatch", "host_full", "id_taken", "pet_deleted", "draining", "unavailable"),
    ),
    "view": Answers(
        "The pet as it is now, or when it changes.",
        {200: "The pet, with its `ETag`.", 304: "Nothing visible changed."},
        (*OF_A_PET, "too_many_waits"),
    ),
    "delete": Answers("Delete the pet for good.", {204: "Deleted."}, (*OF_A_PET, "draining")),
    "command": Answers(
        "What the owner does, once.", {200: "Done, or done before."}, (*OF_A_PET, *OF_A_CHANGE, "invalid_command")
    ),
    "transfer": Answers(
        "Move the pet to the host, or away from it.",
        {200: "Moved, or moved before."},
        (*OF_A_PET, *OF_A_CHANGE, "invalid_save", "already_active", "brain_mismatch", "other_device"),
    ),
    "change_key": Answers("Replace the access key.", {200: "The old key is dead."}, (*OF_A_PET, *OF_A_CHANGE)),
    "receipts": Answers("The last turn receipts.", {200: "At most 50, oldest first."}, OF_A_PET),
    "newborn": Answers(
        "The save of a newborn pet; nothing is stored.", {200: "A save."}, ("invalid_json", "invalid_envelope")
    ),
}  # fmt: skip


def openapi_document() -> JsonObject:
    """The whole document; the same code gives the same bytes."""
    paths: dict[str, JsonValue] = {}
    for (method, rule), name in (*API_ROUTES.items(), (("POST", NEWBORN_ROUTE), "newborn")):
        path = paths.setdefault(rule.replace("<pet_id>", "{petId}"), {})
        assert isinstance(path, dict), "made above"
        path[method.lower()] = _operation(name, rule)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tokenling host", "version": __version__, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "43 characters of base64url"}
            },
            "schemas": {"Problem": PROBLEM},
        },
    }


def _operation(name: str, rule: str) -> JsonObject:
    answers = HANDLERS[name]
    operation: JsonObject = {
        "operationId": name,
        "summary": answers.summary,
        "security": [{"key": []}] if rule.startswith("/api/pets") else [],
        "parameters": [*_parameters(name, rule)],
        "responses": _responses(name, answers),
    }
    if name in BODIES:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": BODIES[name]}}}
    return operation


def _parameters(name: str, rule: str) -> list[JsonValue]:
    found: list[JsonValue] = []
    if "<pet_id>" in rule:
        found.append({"name": "petId", "in": "path", "required": True, "schema": PET_ID})
    if name == "view":
        wait: JsonObject = {"type": "integer", "minimum": 0, "maximum": WAIT_S_MAX}
        found.append({"name": "wait", "in": "query", "schema": wait})
        found.append({"name": "If-None-Match", "in": "header", "schema": {"type": "string"}})
    return found


def _responses(name: str, answers: Answers) -> JsonObject:
    """Good answers, and for each status the codes that come with it."""
    by_status: dict[int, list[str]] = {}
    for code in (*answers.codes, *ANYWHERE):
        by_status.setdefault(CODES[code].status, []).append(code)
    found: dict[int, JsonObject] = {
        status: {
            "description": " ".join(f"`{code}`: {CODES[code].meaning}" for code in codes),
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, codes in by_status.items()
    }
    for status, meaning in answers.good.items():
        found.setdefault(status, {"description": meaning})
        if status not in {204, 304}:
            content = found[status].setdefault("content", {})
            assert isinstance(content, dict), "made above"
            content["application/json"] = {"schema": ANSWERS[name]}
        found[status]["description"] = " ".join(dict.fromkeys((meaning, str(found[status]["description"]))))
    return {str(status): found[status] for status in sorted(found)}
