import httpx
import pytest
from home_process import HomeProcess, Owner


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory):
    """One real `tokenling preview` with the shipped brain, for tests that leave it running."""
    with HomeProcess.preview(tmp_path_factory.mktemp("shared") / "state") as home:
        yield home


@pytest.fixture(scope="session")
def brain_id(shared_home):
    """The shipped brain's id, as health tells it."""
    return httpx.get(f"{shared_home.address}/api/health", trust_env=False).json()["release"]


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
