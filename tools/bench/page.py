"""How long a page takes to a living pet: `python -m tools.bench.page [--rounds 5] [--json]`.

In one run, interleaved, each in a browser profile of its own (nothing cached) against real hosts on this machine, all
from navigation:

- *bare*: a page that loads Pyodide and an ONNX Runtime session on the shipped graph side by side, by the few lines that
  their own documentation asks for, and has nothing else;
- *plain*: the app without its start-up snapshot, until the named pet lives and its brain is ready;
- *snapshot*: the same with the snapshot, as every visitor gets it;
- *return*: the second visit of that profile;
- and there *a reply*: from an owner's line to the pet's, committed and shown.

No request is intercepted: a browser that asks for each of them first is another one. Needs Chromium, playwright and the
built app. Prints medians, and exits with 1 when a bound is broken.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
WEB = ROOT / "tokenling" / "web"
BUILT = WEB / "built"
ORT_MODULE = WEB / "node_modules" / "onnxruntime-web" / "dist" / "ort.wasm.min.mjs"
PYODIDE_LIBRARY = WEB / "node_modules" / "pyodide" / "python_stdlib.zip"
BARE_RATIO_MAX = 1.3
LIVING_MS_MAX = 4000
START_MS_MAX = 60_000
REPLY_MS_MAX = 3000
LINE = "good morning, little one"

BARE = """
const { engine, ort, brain } = await (await fetch("site.json")).json();
const at = (path) => new URL(`../${path}`, import.meta.url).href;
const graph = at(brain.base + Object.keys(brain.files).find((name) => name.endsWith(".onnx")));
const mark = (name) => performance.mark(`tokenling:${name}`);
import(at(`${engine.pyodide}pyodide.mjs`))
  .then(({ loadPyodide }) => loadPyodide({ indexURL: at(engine.pyodide) }))
  .then(() => mark("living"));
import("./bare-ort.mjs")
  .then(async (runtime) => {
    runtime.env.wasm.wasmPaths = at(ort);
    runtime.env.wasm.numThreads = 1;
    const bytes = new Uint8Array(await (await fetch(graph)).arrayBuffer());
    const extra = { session: { disable_quant_qdq: "1" } };
    return runtime.InferenceSession.create(bytes, { executionProviders: ["wasm"], extra });
  })
  .then(() => mark("brain"));
"""
BARE_PAGE = '<!doctype html><meta charset="utf-8" /><title>bare</title><script type="module" src="bare.js"></script>'
MARKS = """(forMs) => new Promise((resolve, reject) => {
  const at = (name) => performance.getEntriesByName(`tokenling:${name}`)[0]?.startTime;
  const look = () => {
    const [engine, words] = [at("living"), at("brain")];
    if (engine !== undefined && words !== undefined) resolve({ engine, words });
    else if (performance.now() > forMs) reject(new Error(`not both within ${forMs} ms: ${engine}, ${words}`));
    else setTimeout(look, 20);
  };
  look();
})"""

Times = dict[str, float]


@contextmanager
def host(web_root: Path) -> Iterator[str]:
    """The origin of a real host that serves this page."""
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "tools.bench.page_host", str(web_root), f"{state}/state"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                address = process.stdout.readline().strip()
                assert address.startswith("http://"), "the host did not start"
                yield address
            finally:
                process.terminate()  # also when the measurement fails: it would be waited for without end


@contextmanager
def hosts() -> Iterator[dict[str, str]]:
    """Origins: of the built app beside which the bare page lies, and of the app as if no snapshot had been made."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        whole, plain = Path(directory, "whole"), Path(directory, "plain")
        for copy in (whole, plain):
            shutil.copytree(BUILT, copy)
        (whole / "app" / "bare.html").write_text(BARE_PAGE)
        (whole / "app" / "bare.js").write_text(BARE)
        shutil.copy(ORT_MODULE, whole / "app" / "bare-ort.mjs")
        [pyodide] = (whole / "app").glob("pyodide-*")
        shutil.copy(PYODIDE_LIBRARY, pyodide)  # as it comes; the app has it compiled
        site = json.loads((plain / "app" / "site.json").read_text())
        site["engine"]["snapshot"] = None
        (plain / "app" / "site.json").write_text(json.dumps(site))
        yield {"whole": stack.enter_context(host(whole)), "plain": stack.enter_context(host(plain))}


def bare(browser: Browser, origin: str) -> Times:
    """Milliseconds from navigation until both are loaded, without the app."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{origin}/app/bare.html", wait_until="commit")
    found = marks(page)
    context.close()
    return found


def first_visit(context: BrowserContext, origin: str) -> Times:
    """Milliseconds from navigation until a pet that is named at once lives and can think."""
    page = context.new_page()
    page.goto(origin, wait_until="commit")
    page.get_by_role("textbox").first.fill("Pip")
    page.keyboard.press("Enter")
    found = marks(page)
    page.close()
    return found


def marks(page: Page) -> Times:
    found: Times = page.evaluate(MARKS, START_MS_MAX)
    return found


def reply(page: Page) -> Times:
    """Milliseconds from an owner's line until the answer stands, with the characters that it has."""
    page.locator("#say").fill(LINE)
    began_ms: float = page.evaluate("() => performance.now()")
    page.locator("#say").press("Enter")
    said = page.locator(".line button.said").first
    said.wait_for()
    ended_ms: float = page.evaluate("() => performance.now()")
    return {"ms": ended_ms - began_ms, "characters": len(said.inner_text())}


def measure(browser: Browser, origins: dict[str, str]) -> dict[str, Times]:
    """One round of each."""
    found = {"bare": bare(browser, origins["whole"])}
    plain = browser.new_context()
    found["plain"] = first_visit(plain, origins["plain"])
    plain.close()
    visitor = browser.new_context()
    found["snapshot"] = first_visit(visitor, origins["whole"])
    page = visitor.new_page()
    page.goto(origins["whole"], wait_until="commit")
    found["return"] = marks(page)
    found["reply"] = reply(page)
    visitor.close()
    return found


def report(rounds: list[dict[str, Times]]) -> dict[str, Times]:
    """Medians: the engine (a living body), the words (a brain that is ready), and both; and of a reply."""
    visits = [
        {
            case: {**times, "both": max(times["engine"], times["words"])}
            for case, times in one.items()
            if case != "reply"
        }
        | {"reply": one["reply"]}
        for one in rounds
    ]
    return {
        case: {part: round(statistics.median(one[case][part] for one in visits)) for part in parts}
        for case, parts in visits[0].items()
    }


def broken(medians: dict[str, Times]) -> list[str]:
    """The bounds of issue and docs/app.md that these medians break."""
    ratio = medians["plain"]["both"] / medians["bare"]["both"]
    found = [f"plain takes {ratio:.2f} of bare, at most {BARE_RATIO_MAX}"] if ratio > BARE_RATIO_MAX else []
    if medians["snapshot"]["both"] > LIVING_MS_MAX:
        found.append(f"with the snapshot {medians['snapshot']['both']} ms, at most {LIVING_MS_MAX}")
    if medians["reply"]["ms"] > REPLY_MS_MAX:
        found.append(f"a reply takes {medians['reply']['ms']} ms, at most {REPLY_MS_MAX}")
    return found


def tell(medians: dict[str, Times], rounds: int) -> None:
    print(f"{'ms, median of ' + str(rounds):24} {'engine':>8} {'words':>8} {'both':>8}")
    for case, times in medians.items():
        if case != "reply":
            print(f"{case:24} " + " ".join(f"{times[part]:8.0f}" for part in ("engine", "words", "both")))
    print(f"plain over bare: {medians['plain']['both'] / medians['bare']['both']:.2f}")
    print("a reply: {ms:.0f} ms, {characters:.0f} characters".format(**medians["reply"]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to a living pet in a page.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    executable = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    with hosts() as origins, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        medians = report([measure(browser, origins) for _ in range(chosen.rounds)])
        browser.close()
    faults = broken(medians)
    if chosen.json:
        print(json.dumps({"medians_ms": medians, "rounds": chosen.rounds, "broken": faults}))
    else:
        tell(medians, chosen.rounds)
        print("\n".join(faults) or "every bound holds")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
