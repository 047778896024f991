"""Which pages may read which answers, refusals and preflights included, and under which names the host answers."""

import pytest
from host_http_support import BEARER, ORIGIN, PET, ScriptedPets, client, command_body, problem_of, running

from tokenling.host.cross_origin import cors_headers, host_is_allowed

ALLOW = "access-control-allow-origin"

ORIGINS: dict[str, tuple[str | None, str | None]] = {
    "the allowed page": (ORIGIN, ORIGIN),
    "no page": (None, None),
    "another page": ("https://evil.example", None),
    "plain http": ("http://app.example", None),
    "another port": (f"{ORIGIN}:8443", None),
    "the default port spelt out": (f"{ORIGIN}:443", None),
    "a subdomain": ("https://x.app.example", None),
    "a name that ends in ours": ("https://evilapp.example", None),
    "a name that starts with ours": (f"{ORIGIN}.evil.example", None),
    "upper case": (ORIGIN.upper(), None),
    "a slash behind": (f"{ORIGIN}/", None),
    "null": ("null", None),
    "a star": ("*", None),
}

ANSWERS: list[tuple[str, str, dict[str, str], int]] = [
    ("GET", "/api/health", {}, 200),
    ("GET", f"/api/pets/{PET}", BEARER, 200),
    ("GET", f"/api/pets/{PET}", {**BEARER, "if-none-match": '"one"'}, 304),
    ("DELETE", f"/api/pets/{PET}", BEARER, 204),
    ("GET", f"/api/pets/{PET}", {}, 401),
    ("GET", "/api/nothing", {}, 404),
    ("PUT", "/api/health", {}, 405),
    ("POST", "/api/pets", BEARER, 400),
    ("POST", f"/api/pets/{PET}/commands", BEARER, 400),
    ("OPTIONS", f"/api/pets/{PET}", {}, 200),
]


@pytest.mark.parametrize(("origin", "allowed"), ORIGINS.values(), ids=ORIGINS.keys())
async def test_every_answer_varies_by_origin_and_allows_the_listed_page_only(
    origin: str | None, allowed: str | None
) -> None:
    async with running() as host, client(host) as http:
        http.headers.pop("authorization")
        for method, path, headers, status in ANSWERS:
            sent = headers if origin is None else {**headers, "origin": origin}
            response = await http.request(method, path, headers=sent)
            assert response.status_code == status
            assert response.headers.get(ALLOW) == allowed
            assert response.headers["vary"] == "Origin"
            assert response.headers["cache-control"] == "no-store"
            assert "access-control-allow-credentials" not in response.headers
            exposed = response.headers.get("access-control-expose-headers")
            assert exposed == (None if allowed is None else "ETag, Retry-After")


async def test_a_fault_can_be_read_by_the_page_too() -> None:
    async with running(ScriptedPets(fail_with=lambda: ValueError("x"))) as host, client(host) as http:
        response = await http.get(f"/api/pets/{PET}", headers={"origin": ORIGIN})
    assert (response.status_code, response.headers[ALLOW]) == (500, ORIGIN)


@pytest.mark.parametrize("path", ["/api/health", "/api/pets", f"/api/pets/{PET}/transfer", "/api/nothing"])
@pytest.mark.parametrize(("origin", "allowed"), [(ORIGIN, ORIGIN), ("https://evil.example", None)])
async def test_a_preflight_needs_no_key_and_lets_the_listed_page_ask(
    path: str, origin: str, allowed: str | None
) -> None:
    asking = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    async with running() as host, client(host) as http:
        http.headers.pop("authorization")
        response = await http.options(path, headers=asking)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers.get(ALLOW) == allowed
    assert response.headers["vary"] == "Origin"
    assert response.headers["access-control-allow-methods"] == "GET, HEAD, POST, DELETE"
    assert response.headers["access-control-allow-headers"] == "Authorization, Content-Type, If-None-Match"
    assert host.pets.calls == []


def test_two_origins_are_none() -> None:
    headers = ((b"origin", ORIGIN.encode()), (b"origin", ORIGIN.encode()))
    assert cors_headers(headers, {ORIGIN}) == ((b"vary", b"Origin"),)


LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOSTS = {
    "localhost": True,
    "localhost:8460": True,
    "LocalHost:1": True,
    "localhost.": True,
    "127.0.0.1:8460": True,
    "[::1]": True,
    "[::1]:8460": True,
    "": False,
    "evil.example": False,
    "evil.example:8460": False,
    "localhost.evil.example": False,
    "127.0.0.1.evil.example": False,
    "localhost:8460:8460": False,
    "localhost:": False,
    "localhost:port": False,
    "user@localhost": False,
    "::1": False,
    "[::1": False,
    "[::2]": False,
}


@pytest.mark.parametrize(("host", "allowed"), HOSTS.items())
def test_a_host_header_names_us_or_not(host: str, allowed: bool) -> None:
    assert host_is_allowed(((b"host", host.encode()),), LOOPBACK) is allowed


def test_without_a_list_every_host_is_ours_and_with_one_a_missing_host_is_not() -> None:
    assert host_is_allowed(((b"host", b"anything"),), None)
    assert not host_is_allowed((), LOOPBACK)


async def test_a_rebound_name_is_refused_before_anything_else() -> None:
    async with running(allowed_hosts=LOOPBACK) as host, client(host) as http:
        asked = {"host": "evil.example"}
        health = await http.get("/api/health", headers=asked)
        command = await http.post(f"/api/pets/{PET}/commands", headers=asked, json=command_body())
        ours = await http.get("/api/health")
    assert (health.status_code, command.status_code, ours.status_code) == (421, 421, 200)
    assert problem_of(health)["code"] == "host_not_allowed"
    assert host.pets.calls == []
