"""The metrics page: its numbers are the host's, its format is Prometheus's, and no pet or word is in it."""

import re

import httpx
import trio
from host_http_support import PET, ScriptedPets, client, command_body, problem_of, running

from tokenling.host.condition import Condition
from tokenling.host.exchange import WireLimits
from tokenling.host.metrics import Metrics, Sources
from tokenling.host.rates import Rates
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.host.shell import Doors, Shell
from tokenling.store import open_store

SAMPLE = re.compile(r'[a-z_]+(\{([a-z]+="[^"\n]*",?)+\})? -?[0-9.e+]+')
LABELS = {"method", "route", "status", "le", "version", "worker", "provider", "state"}


async def page(doors, pets, tmp_path, *, path="/metrics", method="GET", host="localhost"):
    """The answer of a metrics listener over these doors."""
    async with open_store(tmp_path / "pets.sqlite", now_ms=1) as store, trio.open_nursery() as nursery:
        condition = Condition(pets, doors.waits, free_bytes=lambda: 123_456_789)
        sources = Sources(doors, store, condition, lambda: doors.connections, lambda: 123_456_789)
        shell = Shell(
            Metrics(sources),
            Doors(rates=Rates(None)),
            polls=None,
            allowed_origins=(),
            allowed_hosts=("localhost",),
            limits=WireLimits(),
        )
        stop = trio.Event()

        async def serve(*, task_status):
            await serve_http(shell, hypercorn_config("127.0.0.1:0"), stop=stop, task_status=task_status)

        [url] = await nursery.start(serve)
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.request(method, url + path, headers={"host": host})
        stop.set()
        return answer


async def test_the_page_tells_what_was_answered_and_nothing_of_a_pet(tmp_path) -> None:
    doors = Doors()
    async with running(doors=doors) as host, client(host) as http:
        for _ in range(3):
            await http.get(f"/api/pets/{PET}", headers={"if-none-match": '"one"'})
        await http.post(f"/api/pets/{PET}/commands", json=command_body(command={"kind": "say", "text": "secret otter"}))
        await http.get("/secret/otter?secret=otter")
        answer = await page(doors, host.pets, tmp_path)
    assert (200, "text/plain; version=0.0.4; charset=utf-8") == (answer.status_code, answer.headers["content-type"])
    lines = answer.text.splitlines()
    assert 'tokenling_requests_total{method="GET",route="/api/pets/<pet_id>",status="304"} 3' in lines
    assert 'tokenling_requests_total{method="POST",route="/api/pets/<pet_id>/commands",status="200"} 1' in lines
    assert 'tokenling_requests_total{method="GET",route="-",status="404"} 1' in lines
    assert 'tokenling_request_seconds_count{route="/api/pets/<pet_id>"} 3' in lines
    assert 'tokenling_request_seconds_bucket{route="/api/pets/<pet_id>",le="+Inf"} 3' in lines
    assert "tokenling_connections 1" in lines
    assert "tokenling_disk_free_bytes 123456789" in lines
    assert "tokenling_ready 1" in lines
    for private in ("otter", PET, "secret"):
        assert private not in answer.text


async def test_every_line_is_of_the_format_and_labels_come_from_a_closed_list(tmp_path) -> None:
    doors = Doors()
    async with running(doors=doors) as host, client(host) as http:
        await http.get("/api/health")
        text = (await page(doors, host.pets, tmp_path)).text
    kinds = dict(re.findall(r"^# TYPE ([a-z_]+) (counter|gauge|histogram)$", text, re.MULTILINE))
    helps = re.findall(r"^# HELP ([a-z_]+) .", text, re.MULTILINE)
    assert sorted(kinds) == sorted(helps) == sorted(set(helps))
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) > 20
    for line in samples:
        assert SAMPLE.fullmatch(line), line
        name = re.match(r"[a-z_]+", line)[0]
        assert name in kinds or re.sub(r"_(bucket|sum|count)$", "", name) in kinds, line
        assert set(re.findall(r'([a-z]+)="', line)) <= LABELS
    assert text.endswith("\n")


async def test_the_page_says_when_the_host_is_not_ready(tmp_path) -> None:
    answer = await page(Doors(), ScriptedPets(ready=False), tmp_path)
    assert "tokenling_ready 0" in answer.text.splitlines()


async def test_nothing_else_is_there_and_no_other_name_is_answered(tmp_path) -> None:
    for case, expected in (
        ({"path": "/"}, (404, "unknown_route")),
        ({"path": "/metrics?x=1"}, (404, "unknown_route")),
        ({"path": "/api/health"}, (404, "unknown_route")),
        ({"method": "POST"}, (405, "method_not_allowed")),
        ({"host": "evil.example"}, (421, "host_not_allowed")),
    ):
        answer = await page(Doors(), ScriptedPets(), tmp_path, **case)
        assert (answer.status_code, problem_of(answer)["code"]) == expected
