"""The metrics page: its numbers are the host's, its format is Prometheus's, and no pet or word is in it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import trio
from host_http_support import PET, ScriptedPets, client, command_body, problem_of, running
from prometheus_client.parser import text_string_to_metric_families

from tokenling.host.condition import Condition
from tokenling.host.envelopes import Health, TurnCounts, WorkerHealth
from tokenling.host.exchange import WireLimits
from tokenling.host.metrics import Metrics, Sources, brain_families
from tokenling.host.rates import Rates
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.host.shell import Doors, Shell
from tokenling.host.tallies import Life, TurnTallies
from tokenling.store import open_store

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
LABELS = {"kind", "method", "route", "status", "le", "version", "worker", "provider", "state", "outcome"}


def samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Name to labels and value, as Prometheus's own reader finds them."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


async def page(doors, pets, tmp_path, *, path="/metrics", method="GET", host="localhost", turns=None, brain=None):
    """The answer of a metrics listener over these doors. `brain`: the number of a process of the brain's own."""
    life = Life(turns or TurnTallies(), due=7, scheduled=9, in_memory=3, brain_pid=brain)
    async with open_store(tmp_path / "pets.sqlite", now_ms=1) as store, trio.open_nursery() as nursery:
        condition = Condition(pets, doors.waits, free_bytes=lambda: 123_456_789)
        sources = Sources(doors, store, condition, lambda: doors.connections, lambda: 123_456_789, lambda: life)
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
        async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
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
    found = samples(answer.text)
    answered, pet = found["tokenling_requests_total"], "/api/pets/<pet_id>"
    assert ({"method": "GET", "route": pet, "status": "304"}, 3) in answered
    assert ({"method": "POST", "route": pet + "/commands", "status": "200"}, 1) in answered
    assert ({"method": "GET", "route": "-", "status": "404"}, 1) in answered
    assert ({"route": pet}, 3) in found["tokenling_request_seconds_count"]
    assert ({"route": pet, "le": "+Inf"}, 3) in found["tokenling_request_seconds_bucket"]
    assert [({}, 1)] == found["tokenling_connections"]
    assert [({}, 123_456_789)] == found["tokenling_disk_free_bytes"]
    assert [({}, 1)] == found["tokenling_ready"]
    for private in ("otter", PET, "secret"):
        assert private not in answer.text


async def test_names_are_the_documented_ones_and_labels_come_from_a_closed_list(tmp_path) -> None:
    doors = Doors()
    async with running(doors=doors) as host, client(host) as http:
        await http.get("/api/health")
        text = (await page(doors, host.pets, tmp_path, brain=os.getpid())).text
    table = OPERATIONS.read_text().partition("| Metric |")[2].partition("\n\n")[0]
    kinds = dict(re.findall(r"^# TYPE (\w+) (counter|gauge|histogram)$", text, re.MULTILINE))
    assert sorted(re.findall(r"\b(?:tokenling|process)_\w+", table)) == sorted(kinds)
    assert LABELS >= {label for found in samples(text).values() for labels, _ in found for label in labels}
    assert text.endswith("\n")


async def test_buckets_hold_all_that_took_up_to_their_bound(tmp_path) -> None:
    doors = Doors()
    for elapsed_s in (0.0005, 0.001, 0.02, 70.0):
        doors.tallies.count("GET", "/x", 200, elapsed_s)
    found = samples((await page(doors, ScriptedPets(), tmp_path)).text)
    held = {labels["le"]: count for labels, count in found["tokenling_request_seconds_bucket"]}
    assert {"0.001": 2, "0.005": 2, "0.025": 3, "60.0": 3, "+Inf": 4}.items() <= held.items()
    assert [({"route": "/x"}, 70.0215)] == found["tokenling_request_seconds_sum"]


async def test_a_lost_gpu_and_the_turns_it_lost_are_told(tmp_path) -> None:
    class Beside(ScriptedPets):
        def health(self) -> Health:
            lost = WorkerHealth("cuda", "CUDAExecutionProvider", "disabled", TurnCounts(whole=5, lost=1))
            return replace(super().health(), workers=(lost,), turns_waiting=2)

    found = samples((await page(Doors(), Beside(), tmp_path)).text)
    assert [({"worker": "cuda", "provider": "CUDAExecutionProvider", "state": "disabled"}, 1)] == found[
        "tokenling_worker"
    ]
    ended = {labels["outcome"]: count for labels, count in found["tokenling_worker_turns_total"]}
    assert {"whole": 5, "cancelled": 0, "failed": 0, "lost": 1} == ended
    assert [({}, 2)] == found["tokenling_turns_waiting"]


async def test_turns_are_told_by_kind_and_by_how_late_they_were_committed(tmp_path) -> None:
    turns = TurnTallies()
    for kind, after_s in (("reactive", 0.2), ("reactive", 1.5), ("idle", 2.0), ("idle", 1801.0)):
        turns.committed(kind, after_s)
    turns.failed, turns.cancelled = 2, 1
    found = samples((await page(Doors(), ScriptedPets(), tmp_path, turns=turns)).text)
    held = {(labels["kind"], labels["le"]): count for labels, count in found["tokenling_turn_seconds_bucket"]}
    assert {("reactive", "0.25"): 1, ("reactive", "2.0"): 2, ("idle", "2.0"): 1, ("idle", "1800.0"): 1}.items() <= (
        held.items()
    )
    assert ({"kind": "idle"}, 2) in found["tokenling_turn_seconds_count"]
    assert ({"kind": "idle"}, 1803) in found["tokenling_turn_seconds_sum"]
    assert ([({}, 2)], [({}, 1)]) == (found["tokenling_turns_failed_total"], found["tokenling_turns_cancelled_total"])
    assert [({}, 9)] == found["tokenling_pets_scheduled"]
    assert ([({}, 7)], [({}, 3)]) == (found["tokenling_pets_due"], found["tokenling_pets_in_memory"])


async def test_the_brain_s_own_process_is_told_while_there_is_one(tmp_path) -> None:
    with_it = samples((await page(Doors(), ScriptedPets(), tmp_path, brain=os.getpid())).text)
    [(_, resident)] = with_it["tokenling_brain_process_resident_memory_bytes"]
    assert resident > 2**20
    assert set(samples((await page(Doors(), ScriptedPets(), tmp_path)).text)) == {
        name for name in with_it if not name.startswith("tokenling_brain_process_")
    }


def test_a_brain_s_process_that_ends_while_it_is_read_is_told_of_no_more(tmp_path) -> None:
    ours = tmp_path / str(os.getpid())
    (ours / "fd").mkdir(parents=True)
    (tmp_path / "stat").write_bytes(Path("/proc/stat").read_bytes())
    (ours / "stat").write_bytes(Path("/proc/self/stat").read_bytes())
    (ours / "limits").write_bytes(Path("/proc/self/limits").read_bytes())
    names = {family.name for family in brain_families(os.getpid(), proc=str(tmp_path))}
    assert "tokenling_brain_process_max_fds" in names
    (ours / "limits").write_bytes(b"")
    assert not list(brain_families(os.getpid(), proc=str(tmp_path)))
    assert not list(brain_families(os.getpid() + 1, proc=str(tmp_path)))


async def test_the_page_says_when_the_host_is_not_ready(tmp_path) -> None:
    answer = await page(Doors(), ScriptedPets(ready=False), tmp_path)
    assert [({}, 0)] == samples(answer.text)["tokenling_ready"]


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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux keeps a program's own high-water mark")
def test_the_most_memory_is_the_host_s_own_and_not_that_of_whoever_started_it():
    ballast = b"x" * 2**28
    code = "from tokenling.host.metrics import max_resident_bytes; print(max_resident_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < len(ballast)
