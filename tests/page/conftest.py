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


@pytest.fixture(scope="session")
def shared_home(browser, tmp_path_factory):
    """One running host for the tests that neither stop it nor count its pets."""
    running = ScriptedHome(tmp_path_factory.mktemp("home") / "state")
    yield running
    running.kill()


@pytest.fixture
def home(browser, tmp_path):
    """A running host of its own."""
    running = ScriptedHome(tmp_path / "state")
    yield running
    running.kill()


@pytest.fixture
def owner(browser, home):
    """An owner on a phone who has just opened the page of `home`."""
    yield from at_page(browser, home)


@pytest.fixture
def guest(browser, shared_home):
    """An owner on a phone at the shared host; other guests' pets are there, but not in this browser."""
    yield from at_page(browser, shared_home)


def at_page(browser, home):
    """At the end the page must not have complained."""
    visitor = Owner(browser, home, viewport={"width": 360, "height": 740})
    yield visitor
    visitor.close()
    assert visitor.errors == []
