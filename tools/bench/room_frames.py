"""How smoothly a room moves: `python -m tools.bench.room_frames [--against CHECKOUT] [--rounds 3] [--json]`.

Every scene of `SCENES`, on a phone's and a desktop's screen, at rest and while a worker computes without a pause, as
the brain's does. The room is the gallery's (`tokenling/web/tests/gallery`), so that place, weather and hour are chosen;
the processor alone draws: no graphics card. Told of each, as medians of the rounds:

- *fps*: frames that the page was given, by the time stamps of `requestAnimationFrame`; 60 is all there are;
- *late*: the share of them that came more than half a frame late, in percent;
- *main*: milliseconds of the page's main thread for each frame, from a trace;
- *drawn*: milliseconds that painting and putting together cost for each frame, on all other threads of the browser.

`--against` measures another checkout of the project (with its npm packages) in turn with this one, in the same run.
Needs Chromium and playwright. Without it, exits with 1 when a scene falls below `FPS_MIN`.
"""

import argparse
import functools
import http.server
import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[2]
NOON_MS = 1_791_980_400_000
"""2026-10-14 14:20 where the gallery's pet lives."""
HOUR_MS = 3_600_000
SCENES = {
    "nest by day": ("day", 0),
    "rain at dusk": ("window", 5),
    "fire at night": ("hearth", 9),
    "asleep": ("asleep", 9),
}
"""Scenario of the gallery, and hours after its noon."""
SIZES = {"phone": ViewportSize(width=390, height=844), "desktop": ViewportSize(width=1280, height=900)}
WATCHED_MS = 3000
SETTLE_MS = 700
"""Until the first painting is over."""
FPS_MIN = 50.0
CATEGORIES = ["toplevel", "cc", "viz", "disabled-by-default-devtools.timeline", "devtools.timeline"]

FRAMES = """(forMs) => new Promise((done) => {
  const stamps = [];
  const count = (now) => {
    stamps.push(now);
    if (now - stamps[0] < forMs) requestAnimationFrame(count);
    else done(stamps);
  };
  requestAnimationFrame(count);
})"""
BUSY = """() => {
  const text = "onmessage = () => { for (;;) Math.sqrt(Math.random()); };";
  globalThis.busy = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  globalThis.busy.postMessage(0);
  gallery.script.change({ view: { ...gallery.script.snapshot().view, thinking: true } });
}"""

Figures = dict[str, float]


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def gallery(checkout: Path) -> Iterator[str]:
    """The origin of a checkout's gallery."""
    with tempfile.TemporaryDirectory() as directory:
        web = checkout / "tokenling" / "web"
        node = shutil.which("node") or "node"
        subprocess.run([node, "tests/gallery/build.mjs", directory], cwd=web, check=True)
        handler = functools.partial(_Files, directory=directory)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


def measure(browser: Browser, origin: str, scene: str, size: str, *, thinking: bool) -> Figures:
    """One watch of one scene."""
    scenario, hours = SCENES[scene]
    context = browser.new_context(viewport=SIZES[size], bypass_csp=True, reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{origin}/index.html?show={scenario}&at={NOON_MS + hours * HOUR_MS}")
    page.wait_for_selector("html[data-ready]", state="attached")
    if thinking:
        page.evaluate(BUSY)
    page.wait_for_timeout(SETTLE_MS)
    stamps: list[float] = page.evaluate(FRAMES, WATCHED_MS)
    costs = costs_of(browser, page)
    context.close()
    return {**paces_of(stamps), **costs}


def paces_of(stamps: list[float]) -> Figures:
    """Frames a second, and the share that came late."""
    gaps = [after - before for before, after in itertools.pairwise(stamps)]
    late = sum(gap > 1.5 * 1000 / 60 for gap in gaps)
    return {"fps": 1000 * len(gaps) / sum(gaps), "late": 100 * late / len(gaps)}


def costs_of(browser: Browser, page: Page) -> Figures:
    """Milliseconds a frame, on the page's main thread and on the others, from a trace of its own: tracing costs."""
    browser.start_tracing(page=page, categories=CATEGORIES)
    frames = len(page.evaluate(FRAMES, WATCHED_MS)) - 1
    events = json.loads(browser.stop_tracing())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    main = {key for key, name in names.items() if name == "CrRendererMain"}
    workers = {key for key, name in names.items() if "DedicatedWorker" in name}
    spent = {"main": 0.0, "drawn": 0.0}
    for event in events:
        thread = (event["pid"], event["tid"])
        if event.get("ph") == "X" and event["name"] == "ThreadControllerImpl::RunTask" and thread not in workers:
            spent["main" if thread in main else "drawn"] += event.get("tdur", event.get("dur", 0)) / 1000
    return {name: ms / frames for name, ms in spent.items()}


def report(rounds: list[Figures]) -> Figures:
    return {name: round(statistics.median(figures[name] for figures in rounds), 1) for name in rounds[0]}


def tell(found: dict[str, dict[str, Figures]]) -> None:
    trees = list(next(iter(found.values())))
    print(f"{'':34}" + "".join(f"{tree:>34}" for tree in trees))
    print(f"{'':34}" + "".join(f"{'fps':>10}{'late %':>8}{'main':>8}{'drawn':>8}" for _ in trees))
    for case, by_tree in found.items():
        cells = (f"{f['fps']:10.1f}{f['late']:8.1f}{f['main']:8.2f}{f['drawn']:8.2f}" for f in by_tree.values())
        print(f"{case:34}" + "".join(cells))


def measure_all(
    browser: Browser, origins: dict[str, str], scenes: list[str], rounds: int
) -> dict[str, dict[str, Figures]]:
    """Medians by case and checkout; the checkouts take turns."""
    found = {}
    for scene, size, thinking in itertools.product(scenes, SIZES, (False, True)):
        figures: dict[str, list[Figures]] = {name: [] for name in origins}
        for _ in range(rounds):
            for name, origin in origins.items():
                figures[name].append(measure(browser, origin, scene, size, thinking=thinking))
        case = f"{scene}, {size}, {'thinking' if thinking else 'at rest'}"
        found[case] = {name: report(each) for name, each in figures.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Frames of the room, at rest and while a brain computes.")
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn with this one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scene", choices=SCENES, help="only this one")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    executable = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    trees = ({"against": chosen.against} if chosen.against else {}) | {"here": ROOT}
    with ExitStack() as stack, sync_playwright() as playwright:
        origins = {name: stack.enter_context(gallery(checkout)) for name, checkout in trees.items()}
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        measured = measure_all(browser, origins, [chosen.scene] if chosen.scene else list(SCENES), chosen.rounds)
        browser.close()
    slow = [case for case, by_tree in measured.items() if by_tree["here"]["fps"] < FPS_MIN]
    if chosen.json:
        print(json.dumps({"medians": measured, "rounds": chosen.rounds, "slow": slow}))
    else:
        tell(measured)
        print(f"below {FPS_MIN:.0f}: {', '.join(slow) or 'none'}")
    sys.exit(bool(slow) and not chosen.against)


if __name__ == "__main__":
    main()
