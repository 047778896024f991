"""A real host process that serves the built app, and pages of a real browser that must not complain."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("app_home.py")
START_S_MAX = 60.0
EXPECT_MS = 60_000
"""The first load of engine and brain on a loaded machine."""
NETWORK_NOISE = (
    "Failed to load resource",
    "net::ERR_",
    "Service Worker registration blocked",
    "An unknown error occurred when fetching the script",  # a service worker's, of a host that was killed
)
"""What Chromium and Playwright say of what was lost or forbidden on purpose."""
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}


class AppHome:
    """The preview with the built app; it can be killed and started again at the same address."""

    def __init__(
        self,
        state: Path,
        *,
        real: bool = False,
        allow: str | None = None,
        enrol: str | None = None,
        brain: Path | None = None,
    ) -> None:
        self.state = state
        self.web: Path | None = None
        """Another build to serve, from the next start on."""
        self.port = 0
        self._options = ["--real"] * real
        self._options += ["--allow", allow] if allow else []
        self._options += ["--enrol", enrol] if enrol else []
        self._options += ["--brain", str(brain)] if brain else []
        self.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, str(SCRIPT), "--port", str(self.port), "--state", str(self.state), *self._options]
        command += ["--web", str(self.web)] if self.web else []
        environ = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE)
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        printed, self.started = b"", False
        for line in self.process.stdout:
            printed += line
            if found := re.search(rb"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                self.started = True
                break
        watchdog.cancel()
        if not self.started:
            self.kill()
            raise AssertionError(f"the host did not start: {printed!r}")

    def kill(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def restart(self, how: int = signal.SIGKILL) -> None:
        self.kill(how)
        self.start()


class Visitor:
    """One browser profile: its pages share storage. What they complain of is kept in `errors`."""

    def __init__(self, browser, origin: str, **context) -> None:
        self.origin = origin
        self.errors: list[str] = []
        self.context = browser.new_context(**{"viewport": PHONE, **context})
        self.context.set_default_timeout(EXPECT_MS)
        self.known_origins = {origin}
        self.context.on("request", self._asked)

    def open(self, path: str = "/"):
        """A new page at `path`."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(f"pageerror: {error}"))
        page.on("console", self._heard)
        page.goto(f"{self.origin}{path}")
        return page

    def _asked(self, request) -> None:
        """A page contacts nobody but the hosts that its owner chose (`known_origins`)."""
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and f"{parts.scheme}://{parts.netloc}" not in self.known_origins:
            self.errors.append(f"asked a stranger: {parts.scheme}://{parts.netloc}")

    def _heard(self, message) -> None:
        if message.type in ("error", "warning") and not any(noise in message.text for noise in NETWORK_NOISE):
            self.errors.append(f"{message.type}: {message.text}")

    def close(self) -> None:
        self.context.close()
