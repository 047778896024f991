"""How long a page takes to a living pet: `python -m tools.bench.page [--rounds 5] [--json]`.

In one run, interleaved, each in a browser profile of its own (nothing cached) against one real host on this machine:

- *bare*: Pyodide and an ONNX Runtime session on the shipped graph, loaded side by side by the few lines that their own
  documentation asks for, and nothing else;
- *plain*: the app without its start-up snapshot, from navigation until the named pet lives and its brain is ready;
- *snapshot*: the same with the snapshot, as every visitor gets it;
- *return*: the second visit of that profile.

Needs Chromium, playwright and the built app. Prints medians, and exits with 1 when a bound is broken.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

ROOT = Path(__file__).parents[2]
ORT_MODULE = ROOT / "tokenling" / "web" / "node_modules" / "onnxruntime-web" / "dist" / "ort.wasm.min.mjs"
BARE_RATIO_MAX = 1.3
LIVING_MS_MAX = 4000
START_S_MAX = 60.0

BARE = """async ({pyodide, ort, graph}) => {
  const began = performance.now();
  const python = import(`${pyodide}pyodide.mjs`).then((module) => module.loadPyodide({ indexURL: pyodide }));
  const brain = import("/app/bare-ort.mjs").then(async (runtime) => {
    runtime.env.wasm.wasmPaths = ort;
    runtime.env.wasm.numThreads = 1;
    const bytes = new Uint8Array(await (await fetch(graph)).arrayBuffer());
    const extra = { session: { disable_quant_qdq: "1" } };
    return runtime.InferenceSession.create(bytes, { executionProviders: ["wasm"], extra });
  });
  const at = (made) => made.then(() => performance.now() - began);
  const [engine, words] = await Promise.all([at(python), at(brain)]);
  return { engine, words };
}"""
MARKS = """() => new Promise((resolve) => {
  const at = (name) => performance.getEntriesByName(`tokenling:${name}`)[0]?.startTime;
  const look = () => {
    const [engine, words] = [at("living"), at("brain")];
    if (engine !== undefined && words !== undefined) resolve({ engine, words });
    else setTimeout(look, 20);
  };
  look();
})"""

Times = dict[str, float]


@contextmanager
def preview() -> Iterator[str]:
    """The origin of a real preview host with the built app."""
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "tokenling", "preview", "--port", "0", "--state", f"{state}/state"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as host:
            assert host.stdout is not None
            deadline = time.monotonic() + START_S_MAX
            try:
                for line in host.stdout:
                    if "http://" in line:
                        yield line.split()[-1]
                        break
                    assert time.monotonic() < deadline, "the host did not start"
            finally:
                host.terminate()  # also when the measurement fails: it would be waited for without end


def bare(browser: Browser, origin: str) -> Times:
    """Milliseconds of the two loads side by side, without the app."""
    context = browser.new_context(bypass_csp=True, service_workers="block")
    page = context.new_page()
    page.route("**/app/bare-ort.mjs", lambda route: route.fulfill(path=ORT_MODULE, content_type="text/javascript"))
    page.goto(f"{origin}/app/site.json")
    site = json.loads(page.evaluate("async () => (await fetch('/app/site.json')).text()"))
    graph = next(name for name in site["brain"]["files"] if name.endswith(".onnx"))
    where = {
        "pyodide": f"{origin}/{site['engine']['pyodide']}",
        "ort": f"{origin}/{site['ort']}",
        "graph": f"{origin}/{site['brain']['base']}{graph}",
    }
    found: Times = page.evaluate(BARE, where)
    context.close()
    return found


def without_snapshot(route: Route) -> None:
    answer = route.fetch()
    site = answer.json()
    site["engine"]["snapshot"] = None
    route.fulfill(response=answer, json=site)


def first_visit(context: BrowserContext, origin: str, *, snapshot: bool) -> Times:
    """Milliseconds from navigation until a pet that is named at once lives and can think."""
    page = context.new_page()
    if not snapshot:
        page.route("**/app/site.json", without_snapshot)
    page.goto(origin, wait_until="commit")
    page.get_by_role("textbox").first.fill("Pip")
    page.keyboard.press("Enter")
    found = marks(page)
    page.close()
    return found


def marks(page: Page) -> Times:
    found: Times = page.evaluate(MARKS)
    return found


def measure(browser: Browser, origin: str) -> dict[str, Times]:
    """One round of each."""
    found = {"bare": bare(browser, origin)}
    plain = browser.new_context(service_workers="block")
    found["plain"] = first_visit(plain, origin, snapshot=False)
    plain.close()
    visitor = browser.new_context()
    found["snapshot"] = first_visit(visitor, origin, snapshot=True)
    page = visitor.new_page()
    page.goto(origin, wait_until="commit")
    found["return"] = marks(page)
    visitor.close()
    return found


def report(rounds: list[dict[str, Times]]) -> dict[str, Times]:
    """Medians: the engine (a living body), the words (a brain that is ready), and both."""

    def middle(case: str, part: str) -> float:
        parts = ("engine", "words") if part == "both" else (part,)
        return statistics.median(max(r[case][one] for one in parts) for r in rounds)

    return {case: {part: round(middle(case, part)) for part in ("engine", "words", "both")} for case in rounds[0]}


def broken(medians: dict[str, Times]) -> list[str]:
    """The bounds of issue and docs/app.md that these medians break."""
    ratio = medians["plain"]["both"] / medians["bare"]["both"]
    found = [f"plain takes {ratio:.2f} of bare, at most {BARE_RATIO_MAX}"] if ratio > BARE_RATIO_MAX else []
    if medians["snapshot"]["both"] > LIVING_MS_MAX:
        found.append(f"with the snapshot {medians['snapshot']['both']} ms, at most {LIVING_MS_MAX}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to a living pet in a page.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    executable = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    with preview() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        medians = report([measure(browser, origin) for _ in range(chosen.rounds)])
        browser.close()
    faults = broken(medians)
    if chosen.json:
        print(json.dumps({"medians_ms": medians, "rounds": chosen.rounds, "broken": faults}))
    else:
        print(f"{'ms, median of ' + str(chosen.rounds):24} {'engine':>8} {'words':>8} {'both':>8}")
        for case, times in medians.items():
            print(f"{case:24} " + " ".join(f"{times[part]:8.0f}" for part in ("engine", "words", "both")))
        print("\n".join(faults) or "every bound holds")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
