from dataclasses import dataclass

import httpx
import pytest
from home_process import HomeProcess, Owner
from saves import save_with_an_idle_turn


@dataclass(frozen=True)
class Unattended:
    """A pet in a home of its own that gets no request; its first idle turn is due at `due_ms`."""

    home: HomeProcess
    pet_id: str
    key: str
    revision: int
    due_ms: int


@pytest.fixture(scope="session", autouse=True)
def unattended(tmp_path_factory):
    """Begun with the first process test, looked at by the last: its minute passes meanwhile."""
    with HomeProcess.preview(tmp_path_factory.mktemp("unattended") / "state") as home:
        brain_id = httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()["release"]
        save, due_ms = save_with_an_idle_turn(brain_id, within_ms=75_000)
        with Owner(home) as owner:
            owner.adopt(save)
            pet = Unattended(home, owner.pet_id, owner.key, owner.revision, due_ms)
        yield pet


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory):
    """One real `tokenling preview` with the shipped brain, for tests that leave it running."""
    with HomeProcess.preview(tmp_path_factory.mktemp("shared") / "state") as home:
        yield home


@pytest.fixture(scope="session")
def brain_id(shared_home):
    """The shipped brain's id, as health tells it."""
    return httpx.get(f"{shared_home.address}/api/health", timeout=60, trust_env=False).json()["release"]


@pytest.fixture
def owner(shared_home):
    with Owner(shared_home) as owner:
        yield owner


@pytest.fixture
def start(tmp_path):
    """Start previews over one state directory; all are ended at the end."""
    homes = []

    def start(*arguments, **options):
        home = HomeProcess.preview(tmp_path / "state", *arguments, **options)
        homes.append(home)
        return home

    yield start
    for home in homes:
        home.close()
