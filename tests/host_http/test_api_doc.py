"""docs/api.md says what the code does: routes, codes, JSON reasons and bounds."""

import re
from pathlib import Path

import pytest
from host_http_support import FACTS, ScriptedPets

from tokenling.host.connection import ConnectionLimits
from tokenling.host.errors import CODES, ApiError
from tokenling.host.exchange import WireLimits
from tokenling.host.http_app import API_ROUTES, create_app
from tokenling.host.in_flight import IN_FLIGHT_MAX, IN_FLIGHT_PER_CLIENT_MAX, OWN_PLACES, OWN_PLACES_MAX, PLACE_S
from tokenling.host.polls import WAIT_S_MAX
from tokenling.host.rates import LIMITS
from tokenling.host.server import KEEP_ALIVE_REQUESTS_MAX, KEEP_ALIVE_S
from tokenling.host.shell import BODY_BYTES_MAX, HEAD_BYTES_MAX, SAVE_BODY_BYTES_MAX, UPLOADS_MAX
from tokenling.host.strict_json import JSON_DEPTH_MAX, REASONS
from tokenling.host.waits import WAITS_MAX, WAITS_PER_PET_MAX

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_code_is_documented_with_its_status_and_meaning_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \| (.+) \|$", DOC, re.MULTILINE)
    assert [(code, str(entry.status), entry.meaning) for code, entry in CODES.items()] == rows


def test_every_api_route_is_documented_and_no_other() -> None:
    rows = re.findall(r"^\| `([A-Z]+) (/api/[^`]+)` \|", DOC, re.MULTILINE)
    assert sorted(API_ROUTES) == sorted(rows)


def test_every_reason_to_refuse_json_is_documented_and_no_other() -> None:
    section = DOC.partition("## JSON")[2].partition("## ")[0]
    assert list(REASONS) == re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)
    assert f"more than {JSON_DEPTH_MAX} arrays" in section


def test_the_bounds_are_the_documented_ones() -> None:
    limits, transport = WireLimits(), ConnectionLimits()
    table = DOC.partition("| What | Bound |\n|---|---|\n")[2]
    documented = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE))
    assert documented == {
        "Request line and headers": f"{HEAD_BYTES_MAX // 1024} KiB",
        "Body of `POST /api/pets` and `/transfer`": f"{SAVE_BODY_BYTES_MAX // 2**20} MiB",
        "Any other body": f"{BODY_BYTES_MAX // 1024} KiB",
        "Silence within a body": f"{limits.body_stall_s:.0f} s, {limits.body_s:.0f} s for the whole",
        "`wait`": f"{WAIT_S_MAX} s",
        "Bodies above 64 KiB (or of an untold length) at once": f"{UPLOADS_MAX}",
        "Long-polls parked": f"{WAITS_PER_PET_MAX} a pet, {WAITS_MAX:,} in all",
        "Requests under way (long-polls apart)": (
            f"{IN_FLIGHT_MAX}, more wait up to {PLACE_S:.0f} s; "
            f"of one client that no pet knows, or of one pet {IN_FLIGHT_PER_CLIENT_MAX}; "
            f"a known pet has {OWN_PLACES} places of its own, {OWN_PLACES_MAX} in all"
        ),
        "Requests of one pet whose key has opened it": f"{LIMITS.pet.per_s:.0f} a second, {LIMITS.pet.burst} at once",
        "Any other requests of one client": f"{LIMITS.client.per_s:.0f} a second, {LIMITS.client.burst} at once",
        "Pets and clients that are told apart": f"{LIMITS.buckets_max:,} each; further ones share one limit",
        "Connections": f"{transport.connections_max:,}, or fewer where the process may open fewer files",
        "Idle connection": f"{KEEP_ALIVE_S} s",
        "Requests of one connection": f"{KEEP_ALIVE_REQUESTS_MAX:,}, the last answer says `Connection: close`",
        "One send of 64 KiB": f"{transport.send_s:.0f} s",
    }


def test_every_code_that_the_source_raises_is_in_the_table() -> None:
    raised = {
        (int(status), code)
        for path in sorted((ROOT / "tokenling" / "host").glob("*.py"))
        for status, code in re.findall(r'ApiError\(\s*(\d{3}),\s*"([a-z_]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(raised) > 15
    assert {(status, code) for status, code in raised if CODES[code].status == status} == raised


@pytest.mark.parametrize(("status", "code"), [(404, "no_such_code"), (400, "not_found")])
def test_a_code_outside_the_table_or_with_another_status_cannot_be_raised(status: int, code: str) -> None:
    with pytest.raises(AssertionError):
        ApiError(status, code, "x")


async def test_the_application_serves_exactly_the_routes_of_the_table() -> None:
    shell = create_app(ScriptedPets(), facts=FACTS, allowed_origins=[])
    rules = {
        (method, rule.rule)
        for rule in shell._app.url_map.iter_rules()  # type: ignore[attr-defined]
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/api")
    }
    assert set(API_ROUTES) == rules
