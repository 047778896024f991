"""A machine that takes from a running host what it needs, and gives it back: it says so, loses nothing, goes on."""

import resource
import sys
from pathlib import Path

import httpx
import pytest
from home_process import HomeProcess, Owner
from saves import quiet_save
from test_brain_process import COMMAND, LISTENING, await_health, environ_of

from tokenling.cli.brain_files import SHIPPED_BRAIN


@pytest.fixture(params=["host", "own"])
def home(request, tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    environ = environ_of(place, BRAIN_PROCESS=request.param)
    with HomeProcess(*COMMAND, state=tmp_path / "state", environ=environ, pattern=LISTENING) as home:
        yield home


def said(owner):
    return [line["text"] for line in owner.view()["save"]["chat"] if line["who"] == "owner"]


def test_a_database_that_is_moved_away_and_back_keeps_every_word_that_was_taken(home, tmp_path):
    place, away = tmp_path / "data", tmp_path / "away"
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        owner.say("before")
        place.rename(away)
        body = {"epoch": owner.epoch, "operationId": owner.device_id, "command": {"kind": "say", "text": "behind"}}
        refused = owner.client.post(f"{owner.path}/commands", json=body)
        assert (503, "unavailable") == (refused.status_code, refused.json()["code"])
        assert owner.client.get(owner.path).status_code == 200
        assert "store_failing" in await_health(home, lambda seen: not seen["ready"])["reasons"]
        away.rename(place)
        assert owner.client.post(f"{owner.path}/commands", json=body).status_code == 200
        owner.await_reply()
        assert said(owner)[-2:] == ["before", "behind"]
        assert await_health(home, lambda seen: seen["ready"])
    assert home.stop()[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process")
def test_a_host_without_a_file_to_open_serves_who_is_there_and_takes_others_when_it_can(home):
    pid, number = home.process.pid, resource.RLIMIT_NOFILE
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        before = resource.prlimit(pid, number)
        highest = max(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, number, (highest + 1, before[1]))
        owner.say("still here?")
        assert owner.await_reply()[1]["text"]
        resource.prlimit(pid, number, before)
        assert httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).status_code == 200
    assert home.stop()[0] == 0
