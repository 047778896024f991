"""Settings that an owner feels, on a real `tokenling serve`."""

import httpx
import pytest
from home_process import HomeProcess, Owner
from saves import quiet_save

from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir

CODE = "otter-lamp-42"
ORIGIN = "https://pets.example"


@pytest.fixture(scope="module")
def guarded_home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    environ = {
        "SUBTOKENLING_LISTEN": "127.0.0.1:0",
        "SUBTOKENLING_DB": str(folder / "pets.sqlite"),
        "SUBTOKENLING_MODEL_DIR": str(shipped_brain_dir()),
        "SUBTOKENLING_MODEL_ID": SHIPPED_BRAIN,
        "SUBTOKENLING_ALLOWED_ORIGIN": f"{ORIGIN}, http://localhost:3000",
        "SUBTOKENLING_THREADS": "1",
        "SUBTOKENLING_MAX_PETS": "1",
        "SUBTOKENLING_WEATHER_SEED": "west.wind",
        "SUBTOKENLING_ENROL_CODE": CODE,
        "SUBTOKENLING_ALLOWED_HOSTS": "127.0.0.1,pets.example",
    }
    command = ("-m", "tokenling", "serve", "--log-level", "debug")
    with HomeProcess(*command, state=folder / "state", environ=environ) as home:
        yield home
        assert home.stop()[0] == 0
        assert CODE not in home.output()


def prepare(owner, **more):
    return owner.client.post("/api/pets", json={"id": owner.pet_id, "save": quiet_save(SHIPPED_BRAIN), **more})


@pytest.mark.parametrize(("more", "code"), [({}, "enrol_required"), ({"enrolCode": "otter-lamp-43"}, "enrol_wrong")])
def test_without_the_enrol_code_nobody_moves_in(guarded_home, more, code):
    with Owner(guarded_home) as owner:
        answer = prepare(owner, **more)
        assert (403, code) == (answer.status_code, answer.json()["code"])
        assert owner.client.get(owner.path).status_code == 404


def test_with_the_code_one_pet_moves_in_under_this_hosts_weather_and_the_next_finds_it_full(guarded_home):
    with Owner(guarded_home) as owner, Owner(guarded_home) as late:
        assert prepare(owner, enrolCode=CODE).status_code == 201
        owner.epoch = 1
        owner.activate(quiet_save(SHIPPED_BRAIN))
        assert owner.view()["save"]["weatherSeed"] == "west.wind"
        answer = prepare(late, enrolCode=CODE)
        assert (409, "host_full") == (answer.status_code, answer.json()["code"])
        owner.delete()


@pytest.mark.parametrize(
    ("host", "status"), [("pets.example", 200), ("PETS.EXAMPLE:443", 200), ("localhost", 421), ("evil.example", 421)]
)
def test_only_the_allowed_names_are_answered(guarded_home, host, status):
    answer = httpx.get(f"{guarded_home.address}/api/health", headers={"Host": host}, timeout=60, trust_env=False)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (ORIGIN, True),
        ("http://localhost:3000", True),
        ("http://localhost:3001", False),
        ("http://pets.example", False),
        ("null", False),
    ],
)
def test_only_the_allowed_origins_may_read(guarded_home, origin, allowed):
    answer = httpx.get(f"{guarded_home.address}/api/health", headers={"Origin": origin}, timeout=60, trust_env=False)
    assert allowed == (answer.headers.get("access-control-allow-origin") == origin)
    assert answer.headers["vary"] == "Origin"
