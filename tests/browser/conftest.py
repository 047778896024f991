"""A built app, a browser for the run, hosts and visitors. Without npm, Chromium or playwright these tests skip."""

import shutil
import subprocess
import sys

import pytest
from app_support import EXPECT_MS, ROOT, AppHome, Visitor
from home_support import Household
from room_gallery import Gallery

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu"]


@pytest.fixture(scope="session")
def built():
    """The built app is current: nox builds it first, a run by hand builds what changed."""
    if shutil.which("npm") is None:
        pytest.skip("the browser app needs npm to be built")
    subprocess.run([sys.executable, "-m", "tools.build_web"], cwd=ROOT, check=True)
    return ROOT / "tokenling" / "web" / "built"


@pytest.fixture(scope="session")
def browser(built):
    sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    executable = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip("the browser tests need Chromium")
    sync_api.expect.set_options(timeout=EXPECT_MS)  # five seconds of its own: less than an egg's hatching beside a load
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def shared_host(browser, tmp_path_factory):
    """One running host for the tests that neither stop it nor count its pets."""
    running = AppHome(tmp_path_factory.mktemp("app") / "state")
    yield running
    running.kill()


@pytest.fixture
def host(browser, tmp_path):
    """A running host of its own."""
    running = AppHome(tmp_path / "state")
    yield running
    running.kill()


@pytest.fixture
def visit(browser, shared_host):
    """`visit(host=shared, **context)` makes a visitor with storage of its own; at the end no page has complained."""
    visitors = []

    def come(host=None, **context) -> Visitor:
        visitors.append(Visitor(browser, (host or shared_host).origin, **context))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.close()
    assert [error for visitor in visitors for error in visitor.errors] == []


@pytest.fixture
def device(browser, host):
    """`device()` is a browser with a household of its own, on an empty page that the test's host serves."""
    opened = []

    def come(**options) -> Household:
        opened.append(Household(browser, host.origin, **options))
        return opened[-1]

    yield come
    for one in opened:
        one.close()
    assert [error for one in opened for error in one.errors] == []


@pytest.fixture
def house(device):
    """One such browser."""
    return device()


@pytest.fixture(scope="session")
def gallery(browser, tmp_path_factory):
    """Every view of the room by name; its household is a script."""
    running = Gallery(tmp_path_factory.mktemp("gallery"))
    yield running
    running.close()


@pytest.fixture
def guest(browser, gallery):
    """`guest(**context)` makes a visitor of the gallery; at the end no page has complained."""
    visitors = []

    def come(**context) -> Visitor:
        visitors.append(Visitor(browser, gallery.origin, **context))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.close()
    assert [error for visitor in visitors for error in visitor.errors] == []
