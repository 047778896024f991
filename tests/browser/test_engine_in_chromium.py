"""The built engine worker in a real Chromium: the same contract file, from the snapshot and from plain files."""

import json
from hashlib import sha256

import pytest

from tokenling.engine.contract import contract

ASK = """async ([calls, useSnapshot, breakSnapshot, breakArchive]) => {
  const site = await (await fetch("/app/site.json")).json();
  const at = (path) => new URL(path, document.baseURI).href;
  const worker = new Worker(at(site.workers.engine), { type: "module" });
  const heard = () => new Promise((resolve) => {
    worker.onmessage = ({ data }) => data.kind !== "progress" && resolve(data);
  });
  const file = (path, as = path) => ({ url: at(path), sha256: site.files[as].sha256 });
  const broken = { malformed: file("app/icon.svg"), changed: file("app/icon.svg", site.engine.snapshot) };
  const snapshot = useSnapshot ? (broken[breakSnapshot] ?? file(site.engine.snapshot)) : null;
  const archive = file(site.engine.archive, breakArchive ? "app/icon.svg" : undefined);
  const { pyodide, stdlib } = site.engine;
  worker.postMessage({ kind: "start", pyodide: at(pyodide), stdlib: at(stdlib), archive, snapshot, vigil: null });
  const started = await heard();
  const answers = [];
  for (const [id, [name, argumentsJson]] of calls.entries()) {
    worker.postMessage({ kind: "call", id, name, argumentsJson });
    answers.push(await heard());
  }
  worker.terminate();
  return { started, answers };
}"""


@pytest.fixture
def ask(visit):
    """Calls of the engine's worker in a page of its own; the page's policy would not let a test start a worker."""

    def asked(*calls, snapshot=True, broken=None, archive=None):
        page = visit(bypass_csp=True).open()
        return page.evaluate(ASK, [calls, snapshot, broken, archive])

    return asked


def test_the_contract_made_in_chromium_equals_the_native_one(ask):
    told = ask(["contract", "{}"])
    assert told["started"] == {"kind": "ready", "startedFrom": "snapshot", "snapshotProblem": None}
    assert sha256(contract().encode()).hexdigest() == sha256(told["answers"][0]["json"].encode()).hexdigest()


def test_a_deep_file_is_refused_and_the_engine_lives_on(ask):
    texts = ("[" * 200_000, '{"a":' * 50_000 + "1" + "}" * 50_000)
    deep = [["load_save", json.dumps({"state": text})] for text in texts]
    answers = ask(*deep, ["versions", "{}"])["answers"]
    assert ["too_deep", "too_deep"] == [json.loads(answer["json"])["refused"]["code"] for answer in answers[:2]]
    assert "ok" in json.loads(answers[2]["json"])


def test_without_a_snapshot_the_engine_starts_from_its_files_and_is_the_same(ask):
    told = ask(["contract", "{}"], snapshot=False)
    assert told["started"]["startedFrom"] == "files"
    assert sha256(contract().encode()).hexdigest() == sha256(told["answers"][0]["json"].encode()).hexdigest()


@pytest.mark.parametrize("broken", ["malformed", "changed"])
def test_a_broken_snapshot_falls_back_to_the_files_and_says_why(ask, broken):
    told = ask(["versions", "{}"], broken=broken)
    assert told["started"]["startedFrom"] == "files"
    assert told["started"]["snapshotProblem"]
    assert told["answers"][0]["kind"] == "answer"


def test_a_snapshot_that_is_refused_before_python_asks_for_it_is_no_fault_of_the_page(visit):
    """Python's own files are slower than the two tries for the snapshot."""
    visitor = visit(bypass_csp=True, service_workers="block")
    page = visitor.open()
    held, tries = [], []

    def go_on(request):
        if request.url.endswith("/app/icon.svg") and request.resource_type == "fetch":  # the page has it as its icon
            tries.append(request)
        while held and len(tries) >= 2:
            held.pop().continue_()

    visitor.context.on("requestfinished", go_on)
    visitor.context.route("**/pyodide.mjs", lambda route: route.continue_() if len(tries) >= 2 else held.append(route))
    told = page.evaluate(ASK, [[["versions", "{}"]], True, "changed", None])
    assert told["started"]["snapshotProblem"] == "FileChanged: icon.svg"
    assert len(tries) >= 2  # and the icon of the page


def test_an_archive_that_is_not_what_the_site_lists_is_never_run(ask):
    assert (ask(archive="changed")["started"] | {"reason": ""}) == {"kind": "failed", "code": "changed", "reason": ""}


def test_refusals_are_answers_and_faults_name_frames_only(ask):
    secret = "a line nobody may read"
    told = ask(
        ["load_save", '{"state": "{}"}'],
        ["no_such_function", "{}"],
        ["view", "[]"],
        ["contract", secret],
        ["versions", "{}"],
    )
    kinds = [answer["kind"] for answer in told["answers"]]
    assert kinds == ["answer"] * 5
    assert '"refused"' in told["answers"][0]["json"]
    assert secret not in str(told["answers"][1:3])
