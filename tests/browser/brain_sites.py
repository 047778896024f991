"""Sites of brains without a host: the built app's files, each brain under a path of its own, and a bare page on it.

`/NAME/` is a whole site for the brain NAME: its app files are those of the build, its manifest is the host's own
(`tokenling.host.site`), and `bench.html` is the app's page with another script: `bench_page.ts` of
`tokenling/web/tests/brain`.
"""

import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from app_support import ROOT

from tokenling import engine
from tokenling.engine.request import GenerationRequest
from tokenling.host.site import SiteBrain, site_json
from tokenling.host.static_files import PAGE_POLICY
from tokenling.runtime import Brain, Generation, decode, make_receipt, open_lane, plan_turn, reply_of

WEB = ROOT / "tokenling" / "web"
SCRIPTS = {"bench-page.js": "bench_page.ts", "bench-worker.js": "bench_worker.ts"}
TYPES = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}
OPEN_MS = 60_000
"""Loading ONNX Runtime and a brain on a loaded machine."""
NOON_MS = 1_781_172_000_000
QUARTER_MS = 900_000


class BrainSites:
    """A web server with a site for each brain it was given."""

    def __init__(self, built: Path, work: Path) -> None:
        self.built = built
        self.work = work
        self.brains: dict[str, SiteBrain] = {}
        self.spoilt: dict[str, bytes | None] = {}
        """What is answered instead, by path; None: nothing is there."""
        self.spoilt_once: dict[str, bytes] = {}
        """The same, for the next request only."""
        self._bundle()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, name: str, directory: Path, brain_id: str, precision: str = "q4") -> None:
        self.brains[name] = SiteBrain(directory, brain_id, precision)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _bundle(self) -> None:
        for script, source in SCRIPTS.items():
            command = [
                "node_modules/.bin/esbuild",
                f"tests/brain/{source}",
                "--bundle",
                "--format=esm",
                "--target=es2022",
                "--conditions=onnxruntime-web-use-extern-wasm,module",
            ]
            subprocess.run([*command, f"--outfile={self.work / script}", "--log-level=error"], cwd=WEB, check=True)
        index = (self.built / "index.html").read_text()
        start, end = index.index('<script type="module"'), index.index("</script>")
        page = index[:start] + '<script type="module" src="bench-page.js">' + index[end:]
        (self.work / "bench.html").write_text(page)

    def answer(self, path: str) -> bytes | None:
        """The file at `/NAME/REST`; None when there is none."""
        _, name, *rest = path.split("/")
        inner, brain = "/".join(rest), self.brains.get(name)
        if brain is None or ".." in rest:
            return None
        if path in self.spoilt_once:
            return self.spoilt_once.pop(path)
        if path in self.spoilt:
            return self.spoilt[path]
        if inner == "app/site.json":
            return site_json(self.built, brain, hosted=False)
        base = f"brain/{brain.id}/"
        for root, below in ((self.work, inner), (brain.directory, inner.removeprefix(base)), (self.built, inner)):
            if (root / below).is_file() and (root != brain.directory or inner.startswith(base)):
                return (root / below).read_bytes()
        return None


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, sites: BrainSites, *arguments) -> None:
        self._sites = sites
        super().__init__(*arguments)

    def do_GET(self) -> None:
        body = self._sites.answer(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", TYPES.get(Path(self.path).suffix, "application/octet-stream"))
        self.send_header("Content-Security-Policy", PAGE_POLICY)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_) -> None:
        """Quiet."""


class BenchPage:
    """A page on a brain's site. Each call is one of `window.bench`."""

    def __init__(self, browser, sites: BrainSites, name: str) -> None:
        self.errors: list[str] = []
        self._context = browser.new_context()
        self.page = self._context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(f"pageerror: {error}"))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.goto(f"{sites.origin}/{name}/bench.html")
        self.page.locator("html[data-ready]").wait_for(state="attached", timeout=OPEN_MS)

    def call(self, name: str, *arguments):
        """What a function of the bench gives; a problem comes as `{"problem": …}`."""
        return self.page.evaluate("([name, args]) => window.bench[name](...args)", [name, list(arguments)])

    def ok(self, name: str, *arguments):
        answer = self.call(name, *arguments)
        assert set(answer) == {"ok"}, answer
        return answer["ok"]

    def close(self) -> None:
        self._context.close()


def lived(brain: Brain, seed: str) -> Iterator[tuple[GenerationRequest, Generation, bytes]]:
    """The turns of a life in which the owner does something every half hour: request, what a host wrote, receipt."""
    lane = open_lane(brain)
    state = engine.new_pet(
        pet_seed=seed, name="Pip", time_zone="Europe/Berlin", brain_id=brain.id, weather_seed=seed, now_ms=NOON_MS
    )
    for quarter in range(4 * 24 * 30):
        now_ms = NOON_MS + quarter * QUARTER_MS
        step = engine.advance(state, now_ms)
        while step.turn is not None:
            request = engine.build_request(step.state, step.turn)
            plan = plan_turn(request, brain)
            generation = decode(lane, plan)
            yield request, generation, make_receipt(plan, generation, brain, lane, request=request).owner_json()
            step = engine.advance(engine.apply_reply(step.state, step.turn, reply_of(generation)).state, now_ms)
        state = step.state
        if quarter % 2:
            command = engine.parse_command(ACTS[quarter // 2 % len(ACTS)])
            try:
                state = engine.apply_command(state, command, now_ms).state
            except engine.CommandRefused:
                continue  # an offer while another one waits


ACTS: tuple[dict[str, str], ...] = (
    {"kind": "say", "text": "hello Pip, what is the weather?"},
    {"kind": "offer", "offer": "food", "item": "plum"},
    {"kind": "say", "text": "do you remember what I like? naïve café, 你好 🐱 [end] <|endoftext|>"},
    {"kind": "care", "action": "feed", "item": "plum"},
    {"kind": "say", "text": "what time is it?"},
    {"kind": "offer", "offer": "toy", "item": "kite"},
    {"kind": "say", "text": "I like the sea and tall ships. Remember that!"},
    {"kind": "care", "action": "stroke"},
)


def request_of(receipt: bytes):
    """The request in an owner's receipt, as JSON."""
    return json.loads(receipt)["request"]
