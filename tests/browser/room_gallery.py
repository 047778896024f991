"""The gallery of the room: every view by name, served with the product's own policy. Its household is a script."""

import functools
import http.server
import subprocess
import threading
import time
from pathlib import Path

from tokenling.host.static_files import PAGE_POLICY

WEB = Path(__file__).parents[2] / "tokenling" / "web"
READY_MS = 60_000
"""Longer than any view takes on a loaded machine."""
NOON_MS = 1_791_980_400_000
"""2026-10-14 14:20 in Berlin: day for the gallery's pet, and the time at which its script is written."""
MIDNIGHT_MS = NOON_MS + 9 * 3_600_000


class _Files(http.server.SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", PAGE_POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing: the test does."""


class Gallery:
    def __init__(self, directory: Path) -> None:
        subprocess.run(["node", "tests/gallery/build.mjs", str(directory)], cwd=WEB, check=True)
        handler = functools.partial(_Files, directory=str(directory))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def show(visitor, scenario: str, at_ms: int = NOON_MS):
    """A page that shows a scenario."""
    page = visitor.open(f"/index.html?show={scenario}&at={at_ms}")
    page.set_default_timeout(READY_MS)
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def until(page, is_so) -> None:
    """Waits until the page shows what was done in it."""
    deadline = time.monotonic() + READY_MS / 1000
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        page.wait_for_timeout(20)


def open_steps(page, steps: str) -> None:
    """`tab House > press Move to a host`: goes where a view is."""
    for step in filter(None, (part.strip() for part in steps.split(">"))):
        kind, _, what = step.partition(" ")
        match kind:
            case "tab":
                page.get_by_role("tab", name=what).click()
            case "press":
                page.get_by_role("button", name=what).first.click()
            case "line":
                page.locator(".line button.said").first.click()
            case "say":
                page.locator("#say").fill(what)
                page.locator("#say").press("Enter")
            case "see":
                page.get_by_text(what).first.wait_for()
            case _:
                raise ValueError(step)
