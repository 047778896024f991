"""A pet whose own rules raise harms no other, and a crash of the house tells frames and no values."""

import pytest
from home_process import HomeProcess, Owner
from odd_home import SECRET
from saves import as_json, grown_pet, quiet_save

ODD = "tests/process/odd_home.py"


@pytest.fixture
def faulty_home(tmp_path):
    state = tmp_path / "state"
    with HomeProcess(ODD, "broken-rules", str(state), state=state) as home:
        yield home


def broken_save(brain_id):
    return as_json(grown_pet(brain_id, "broken")) | {"name": "Broken"}


def test_a_pet_whose_rules_raise_is_quarantined_readable_parkable_and_deletable(faulty_home, brain_id):
    with Owner(faulty_home) as owner:
        save = broken_save(brain_id)
        owner.prepare(save)
        owner.client.post(f"{owner.path}/transfer", json=transfer(owner, save))
        view = owner.await_view(lambda view: view["status"] == "quarantined")
        assert "KeyError" in view["error"]
        assert SECRET not in view["error"]
        refused = owner.client.post(f"{owner.path}/commands", json=command(owner, "hello"))
        assert (409, "not_active") == (refused.status_code, refused.json()["code"])
        parked = owner.park()
        assert ("parked", "Broken") == (parked["status"], parked["save"]["name"])
        owner.delete()
        assert owner.client.get(owner.path).status_code == 404


def test_a_quarantined_pet_harms_no_other(faulty_home, brain_id):
    with Owner(faulty_home) as broken, Owner(faulty_home) as other:
        other.adopt(quiet_save(brain_id, "wren"))
        save = broken_save(brain_id)
        broken.prepare(save)
        broken.client.post(f"{broken.path}/transfer", json=transfer(broken, save))
        broken.await_view(lambda view: view["status"] == "quarantined")
        other.say("are you well?")
        _, line = other.await_reply()
        assert line["text"]
        assert other.client.get("/api/health").status_code == 200
    assert faulty_home.stop()[0] == 0
    assert SECRET not in faulty_home.output()


def test_a_crash_of_the_house_ends_the_process_with_frames_and_no_values(tmp_path):
    state = tmp_path / "state"
    with HomeProcess(ODD, "crashing-clock", str(state), state=state, must_start=False) as home:
        code = home.process.wait(timeout=20)
        home.close()
    assert code == 1
    assert "RuntimeError" in home.stderr
    assert "odd_home.py" in home.stderr
    assert SECRET not in home.output()


def test_a_port_that_is_lost_during_the_start_is_a_matter_of_settings(tmp_path):
    state = tmp_path / "state"
    with HomeProcess(ODD, "lost-port", str(state), state=state, must_start=False) as home:
        assert home.process.wait(timeout=20) == 2
        home.close()
    assert "cannot listen on 127.0.0.1:" in home.stderr


def transfer(owner, save):
    return {"to": "remote", "operationId": owner.device_id, "epoch": 1, "deviceId": owner.device_id, "save": save}


def command(owner, text):
    return {"epoch": 1, "operationId": owner.pet_id, "command": {"kind": "say", "text": text}}
