"""Requests that Schemathesis draws from docs/openapi.json, whole and broken, against a host that has no room left.

No 5xx, no status, header, media type or body that the document does not name, nothing taken that it forbids, and
nothing changed. `python tests/fuzz/fuzz_campaign.py --state FILE` sends more of them, by hand.
"""

import json
from collections import Counter
from http import HTTPStatus

import jsonschema
import pytest
import requests
import schemathesis
from crash_home import ROOT, Owner
from fuzz_target import STALE_EPOCH, STATUSES, Target, other_key
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from jsonschema import ValidationError
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup

REQUESTS = 1500
ANSWER_S_MAX = 20.0
HELD = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "negative_data_rejection", "allow_header_conformance",
)  # fmt: skip
"""Schemathesis's checks that are made of each answer. Not `positive_data_acceptance`: a whole request that the
document allows is refused all the same when it is not the moment for it."""


NEWBORN, VIEW = "/app/newborn", "/api/pets/{petId}"


def read_document() -> dict:
    """The host's document without its keys: the tests bring those of real pets. A zone that is drawn is none."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    for methods in document["paths"].values():
        for operation in methods.values():
            del operation["security"]
    body_of(document["paths"][NEWBORN])["properties"]["timeZone"] = {"enum": ["Etc/UTC", "Asia/Kolkata"]}
    return document


def body_of(path: dict) -> dict:
    return path["post"]["requestBody"]["content"]["application/json"]["schema"]


def cases(document: dict) -> st.SearchStrategy[Case]:
    """A request to any route: half of them as the document wants, half of them not."""
    operations = [found.ok() for found in schemathesis.openapi.from_dict(document).get_all_operations()]
    whole = [operation.as_strategy(generation_mode=GenerationMode.POSITIVE) for operation in operations]
    askable = [operation for operation in operations if operation.path != "/api/health"]  # it takes nothing
    broken = [operation.as_strategy(generation_mode=GenerationMode.NEGATIVE) for operation in askable]
    return st.one_of(whole) | st.one_of(broken)


@st.composite
def aimed(draw: st.DrawFn, drawn: st.SearchStrategy[Case], host: Target) -> tuple[Case, str | None]:
    """A request to one of the host's pets, mostly, with its key, mostly. It would change the pet at another epoch."""
    case, owner = draw(drawn), host.owners[draw(st.sampled_from(STATUSES))]
    own = "petId" in case.path_parameters and draw(st.integers(0, 4)) > 0
    if own:
        case.path_parameters["petId"] = owner.pet_id
    key = draw(st.sampled_from([*[owner.key] * 8, other_key(), None]))
    if isinstance(case.body, dict):
        make_harmless(case.body, owner)
        if isinstance(case.body.get("save"), dict) and draw(st.booleans()):
            case.body["save"] = owner.save
    return case, other_key() if case.method == "DELETE" and key == owner.key else key


def make_harmless(body: dict, owner: Owner) -> None:
    if type(body.get("epoch")) is int and body["epoch"] <= owner.epoch:
        body["epoch"] = STALE_EPOCH


def send_documented(host: Target, document: dict, examples: int, number: int) -> Counter[int]:
    """So many requests, those of `number`; how often each status was answered. Nothing may have changed."""
    load_all_checks()
    checks = CHECKS.get_by_names(HELD)
    before = host.picture()
    statuses: Counter[int] = Counter()
    drawn = cases(document)
    print(f"drawn with seed({number})")  # noqa: T201 - shown when the test fails
    with requests.Session() as session:
        session.trust_env = False

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(aimed(drawn, host))
        def documented(request: tuple[Case, str | None]) -> None:
            case, key = request
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            answer = case.call(host.address, session, headers, timeout=ANSWER_S_MAX)
            statuses[answer.status_code] += 1
            assert answer.status_code != 201, "nobody moved in"
            if answer.status_code == HTTPStatus.OK:  # Schemathesis lets members pass that the schema forbids
                jsonschema.validate(answer.json(), answer_of(case.operation.definition.raw))
            case.validate_response(answer, checks=checks)

        documented()
    assert host.picture() == before
    return statuses


def test_requests_drawn_from_the_document_get_what_it_names_and_change_nothing(host: Target) -> None:
    statuses = send_documented(host, read_document(), REQUESTS, 1)
    assert sum(statuses.values()) >= REQUESTS
    assert {200, 400, 401, 404, 409, 422} <= set(statuses), "the requests reach every layer"


LIES = {
    "a status that it leaves out": (VIEW, lambda view: view["get"]["responses"].pop("404"), "UndefinedStatusCode"),
    "a member that it leaves out": (
        VIEW,
        lambda view: answer_of(view["get"])["properties"].pop("thinking"),
        "ValidationError",
    ),
    "a member that is not there": (
        VIEW,
        lambda view: answer_of(view["get"])["required"].append("fur"),
        "ValidationError",
    ),
    "a bound that is not kept": (
        NEWBORN,
        lambda newborn: body_of(newborn)["properties"]["name"].update(minLength=9),
        "AcceptedNegativeData",
    ),
}


def answer_of(operation: dict) -> dict:
    return operation["responses"]["200"]["content"]["application/json"]["schema"]


@pytest.mark.parametrize("lie", LIES)
def test_a_document_that_is_wrong_about_the_host_is_noticed(lie: str, host: Target) -> None:
    path, tell, failure = LIES[lie]
    document = read_document()
    document["paths"] = {path: document["paths"][path]}
    tell(document["paths"][path])
    with pytest.raises((FailureGroup, ValidationError)) as noticed:
        send_documented(host, document, 200, 1)
    found = noticed.value.exceptions if isinstance(noticed.value, FailureGroup) else [noticed.value]
    assert failure in {type(each).__name__ for each in found}
