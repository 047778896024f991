"""A browser for the whole run, a host and an owner for each test. Without Chromium and playwright these tests skip."""

import shutil

import pytest
from page_support import Owner, ScriptedHome

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu"]


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    executable = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip("the browser tests need Chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def home(browser, tmp_path):
    """A running host of its own, so that no test sees another's pets."""
    running = ScriptedHome(tmp_path / "state")
    yield running
    running.kill()


@pytest.fixture
def owner(browser, home):
    """An owner on a phone who has just opened the page; at the end the page must not have complained."""
    at_page = Owner(browser, home, viewport={"width": 360, "height": 740})
    yield at_page
    at_page.close()
    assert at_page.errors == []
