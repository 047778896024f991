"""A scripted owner and a real `tokenling preview` with the shipped brain."""

import json
import uuid

import httpx
import pytest
from saves import quiet_save

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime import open_brain, verify


@pytest.fixture(scope="session")
def shipped_brain():
    return open_brain(shipped_brain_dir())


def test_a_pet_moves_in_talks_is_cared_for_goes_home_and_is_deleted(owner, brain_id):
    save = quiet_save(brain_id)
    assert owner.prepare(save)["status"] == "prepared"
    assert owner.activate(save)["status"] == "active"
    assert owner.view()["save"]["hosting"]["mode"] == "remote"

    owner.say("hello little one")
    view, line = owner.await_reply()
    assert line["text"]
    assert [said["who"] for said in view["save"]["chat"][-2:]] == ["owner", "pet"]

    hungry = view["save"]["body"]["fullness"]
    owner.command({"kind": "care", "action": "feed", "item": "bread"})
    assert owner.view()["save"]["body"]["fullness"] > hungry
    owner.await_view(lambda view: not view["thinking"])
    owner.command({"kind": "offer", "offer": "toy", "item": "ball"})
    owner.await_view(lambda view: not view["thinking"])

    parked = owner.park()
    assert (parked["status"], parked["destinationDeviceId"]) == ("parked", owner.device_id)
    assert parked["epoch"] == view["epoch"] + 1
    at_home = owner.view()["save"]
    assert parked["save"] == at_home
    assert [said["text"] for said in at_home["chat"]][: len(view["save"]["chat"])] == [
        said["text"] for said in view["save"]["chat"]
    ]

    assert owner.delete() is None
    assert owner.client.get(owner.path).status_code == 404
    assert owner.client.post("/api/pets", json={"id": owner.pet_id, "save": save}).status_code == 410


def test_what_the_pet_said_is_what_the_model_wrote(owner, brain_id, shipped_brain):
    owner.adopt(quiet_save(brain_id, "badger"))
    owner.say("are you hungry?")
    _, line = owner.await_reply()
    receipt = owner.receipts()[-1]
    verdict = verify(json.dumps(receipt).encode(), shipped_brain)
    assert verdict.kind == "identical", verdict
    written = shipped_brain.tokenizer.decode(tuple(receipt["tokens"]))
    left = iter(written)
    assert all(letter in left for letter in line["text"] if letter.isalnum()), "every letter, in order"


def test_what_is_said_to_the_pet_reaches_the_model(owner, brain_id):
    owner.adopt(quiet_save(brain_id, "heron"))
    owner.say("look a purple umbrella")
    owner.await_reply()
    assert "purple umbrella" in json.dumps(owner.receipts()[-1]["request"])


def test_a_repeated_operation_is_answered_alike_and_changes_nothing(owner, brain_id):
    owner.adopt(quiet_save(brain_id, "finch"))
    operation = str(uuid.uuid4())
    first = owner.say("once", operation)
    owner.await_reply()
    again = owner.say("once", operation)
    assert (False, True) == (first["replayed"], again["replayed"])
    assert first | {"replayed": True} == again
    assert [line["text"] for line in owner.view()["save"]["chat"]].count("once") == 1


def test_another_key_and_an_unknown_pet_look_the_same(owner, shared_home, brain_id):
    owner.adopt(quiet_save(brain_id, "mole"))
    stranger = {"Authorization": "Bearer " + "A" * 43}
    found = httpx.get(shared_home.address + owner.path, headers=stranger, timeout=60, trust_env=False)
    missing = httpx.get(f"{shared_home.address}/api/pets/{uuid.uuid4()}", headers=stranger, timeout=60, trust_env=False)
    assert 404 == found.status_code == missing.status_code
    assert found.json() == missing.json()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_page_is_served_and_its_own_origin_is_allowed(shared_home, host):
    port = shared_home.address.rsplit(":", 1)[1]
    page = httpx.get(shared_home.address, headers={"Host": f"{host}:{port}"}, timeout=60, trust_env=False)
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    origin = f"http://{host}:{port}"
    health = httpx.get(f"{shared_home.address}/api/health", headers={"Origin": origin}, timeout=60, trust_env=False)
    assert health.headers["access-control-allow-origin"] == origin


def test_a_foreign_origin_is_not_allowed_and_a_foreign_name_is_not_answered(shared_home):
    health = f"{shared_home.address}/api/health"
    foreign = httpx.get(health, headers={"Origin": "https://elsewhere.example"}, timeout=60, trust_env=False)
    assert "access-control-allow-origin" not in foreign.headers
    assert httpx.get(health, headers={"Host": "rebound.example"}, timeout=60, trust_env=False).status_code == 421
