"""The shipped brain in a real browser against the runtime: the same words, the same receipts, proofs across the two."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from app_support import ROOT
from brain_sites import WEB, BenchPage, BrainSites, lived, request_of

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime import DecodePlan, Sampling, decode, open_brain, open_lane, plan_turn, verify
from tokenling.runtime.documents import canonical_json, parse_value
from tokenling.runtime.receipts import ids_sha256

log = logging.getLogger("wasm")
"""What was counted and measured: `pytest -o log_cli_level=INFO`."""

ORT_WEB = json.loads((WEB / "package.json").read_text())["dependencies"]["onnxruntime-web"]
PROMPTS = 20
GREEDY_TOKENS = 64
NEAR_GAP = 1e-3
"""Two logits closer than this may change places by rounding (docs/sampling.md)."""
TURNS, TURNS_LONG = 30, 300
REPLY_TOKENS, REPLY_PROMPT, REPLY_MS_MAX = 30, 500, 3000
"""The promise to an owner: a reply of thirty tokens within three seconds."""
MEASURED = {"ortVersion", "processor", "provider", "prefillMicros", "decodeMicros", "nearTies"}
"""What a receipt of the page may say otherwise than the host's: where and how fast it ran, which draws were near."""
HARD_TEXTS = (
    *(
        "",
        " ",
        "\n",
        "\n\n\n",
        "a",
        " a",
        "  a  b ",
        "don't I'll we've'd",
        "[end]",
        "[eat] [remember the sea]",
        "<|endoftext|>",
    ),
    *(
        "12345 1,000.50",
        "naïve café Grüße",
        "日本語の文",
        "🙂🐱👩‍👩‍👧",
        "\ufeffa\ufeff",
        "a\tb\r\nc",
        "\u2028\u00a0\u200b\x85\x1c",
        "ſtraße Å",
    ),
    *(
        "\x00\x01\x7f",
        "((()))[[[]]]",
        "A" * 300,
        "Ж" * 40,
        "e\u0301 é",
        "١٢٣ ½ ²",
        "Owner: hi\nPip:",
        "᠎ ﷽ \U0001f1e9\U0001f1ea",
    ),
)


@pytest.fixture(scope="module")
def native():
    return open_brain(shipped_brain_dir())


@pytest.fixture(scope="module")
def sites(built, native, tmp_path_factory):
    served = BrainSites(built, tmp_path_factory.mktemp("bench"))
    served.add("shipped", shipped_brain_dir(), native.id)
    yield served
    served.close()


@pytest.fixture(scope="module")
def bench(browser, sites):
    """A page with the shipped brain open; at the end it must not have complained."""
    page = BenchPage(browser, sites, "shipped")
    page.info = page.ok("open")
    yield page
    page.close()
    assert page.errors == []


@pytest.fixture(scope="module")
def turns(native):
    """A life lived natively: request, generation, owner's receipt of each turn."""
    return [turn for turn, _ in zip(lived(native, "browser"), range(TURNS), strict=False)]


@pytest.fixture(scope="module")
def longest(turns):
    """The turn with the most tokens: stopped, crowded and tampered with."""
    return max(turns, key=lambda turn: len(turn[1].token_ids))


def test_the_page_knows_which_brain_it_opened(bench, native) -> None:
    expected = {"id": native.id, "features": list(native.features), "promptVersion": native.prompt_version}
    assert expected | {"precision": native.precision, "files": dict(native.file_sha256)} == bench.info


def test_a_load_is_told_in_bytes_up_to_the_last_one(bench) -> None:
    told = bench.page.evaluate("window.bench.progress")
    assert len(told) > 4
    assert told == sorted(told, key=lambda at: at["loaded"])
    assert told[-1]["loaded"] == told[-1]["total"] == max(at["total"] for at in told)


def test_text_becomes_the_same_tokens(bench, native) -> None:
    texts = [*HARD_TEXTS, *(f"{a}{b}" for a in HARD_TEXTS[:20] for b in HARD_TEXTS[:20])]
    assert [list(native.tokenizer.encode(text)) for text in texts] == bench.call(
        "raw", {"kind": "encode", "texts": texts}
    )


def native_logits(native, ids: list[int]) -> np.ndarray:
    """The logits (vocabulary,) behind `ids`, natively, with nothing cached."""
    inputs = native.ort_session.get_inputs()
    shape = (1, native.config.kv_heads, 0, native.config.head_dim)
    feeds = {item.name: np.zeros(shape, dtype=np.float32) for item in inputs if item.name.startswith("past")}
    feeds |= {
        "input_ids": np.array([ids]),
        "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
        "position_ids": np.arange(len(ids))[None],
    }
    known = {item.name for item in inputs}
    [logits] = native.ort_session.run(["logits"], {name: value for name, value in feeds.items() if name in known})
    return logits[0, -1].astype(np.float64)


def top_two_gap(native, ids: list[int]) -> float:
    """How far the two greatest logits lie apart."""
    second, first = np.sort(native_logits(native, ids))[-2:]
    return float(first - second)


def test_logits_agree_far_better_than_a_near_tie_allows_for(bench, native, turns) -> None:
    prompts = [list(plan_turn(request, native).prompt_ids) for request, _, _ in turns[:8]]
    found = [np.array(bench.call("raw", {"kind": "logits", "promptIds": prompt})) for prompt in prompts]
    apart = [np.abs(native_logits(native, ids) - logits).max() for ids, logits in zip(prompts, found, strict=True)]
    log.info("logits apart: %.1e at most", max(apart))
    assert max(apart) < NEAR_GAP / 10


def test_greedy_replies_over_64_tokens_are_the_hosts(bench, native, turns) -> None:
    """Equal, or first different where two logits are closer than rounding; how many, is said."""
    prompts = [plan_turn(request, native).prompt_ids for request, _, _ in turns[:PROMPTS]]
    assert len(set(prompts)) == PROMPTS
    lane, parted = open_lane(native), []
    for prompt in prompts:
        expected = decode(
            lane, DecodePlan(prompt, GREEDY_TOKENS, Sampling(0, 0, 1000, 0), (), ignore_eos=True)
        ).token_ids
        found = bench.call("raw", {"kind": "greedy", "promptIds": list(prompt), "count": GREEDY_TOKENS})
        assert len(found) == GREEDY_TOKENS
        first = next((at for at, pair in enumerate(zip(expected, found, strict=True)) if pair[0] != pair[1]), None)
        if first is not None:
            parted.append((first, top_two_gap(native, [*prompt, *expected[:first]])))
    log.info("greedy: %d of %d equal over %d tokens", PROMPTS - len(parted), PROMPTS, GREEDY_TOKENS)
    log.info("parted (step, gap of the two greatest logits): %s", parted)
    assert [gap for _, gap in parted if gap >= NEAR_GAP] == []


def assert_same_turn(bench, native, turn) -> bool:
    """Whether the page wrote the host's tokens. Where it did not, both sides must call the first difference near."""
    _, generation, receipt = turn
    made = bench.ok("generate", request_of(receipt))
    own = json.loads(made["receipt"])
    assert canonical_json(parse_value(made["receipt"].encode())) == made["receipt"].encode()
    assert set(own) == set(json.loads(receipt))
    assert {"text": made["texts"][-1] if made["texts"] else "", "stop": own["stop"]} == made["reply"]
    assert all(late.startswith(early) for early, late in zip(made["texts"], made["texts"][1:], strict=False))
    assert verify(made["receipt"].encode(), native).kind in ("identical", "near_tie")
    host = json.loads(receipt)
    assert own["requestSha256"] == host["requestSha256"]
    assert ("wasm", "exact", ["wasm32", "simd128"]) == (own["provider"], own["numerics"], own["processor"])
    assert own["ortVersion"] == ORT_WEB
    if own["tokens"] != host["tokens"]:
        assert "near_tie" == bench.ok("verify", host)["verdict"] == verify(made["receipt"].encode(), native).kind
        return False
    assert {name: host[name] for name in host if name not in MEASURED} == {
        name: own[name] for name in host if name not in MEASURED
    }
    assert [(choice.step, list(choice.shares_ppm)) for choice in generation.choices] == [
        (choice["step"], list(choice["sharesPpm"])) for choice in made["choices"]
    ]
    for ours, theirs in zip(generation.choices, made["choices"], strict=True):
        assert ours.shares_ppm == pytest.approx(theirs["sharesPpm"], abs=200)
    return True


def test_a_life_is_written_token_for_token(bench, native, turns) -> None:
    same = [assert_same_turn(bench, native, turn) for turn in turns]
    log.info("sampled turns: %d of %d equal, the others parted at a near tie", sum(same), len(same))
    assert sum(same) >= len(same) * 0.95  # near ties are rare, or the comparison shows nothing
    assert any(generation.insertions_used for _, generation, _ in turns)
    assert any(generation.choices for _, generation, _ in turns)


@pytest.mark.browser_long
def test_long_lives_are_written_token_for_token(bench, native) -> None:
    lives = (lived(native, seed) for seed in ("moss", "fern", "alder"))
    turns = [turn for life in lives for turn, _ in zip(life, range(TURNS_LONG // 3), strict=False)]
    same = [assert_same_turn(bench, native, turn) for turn in turns]
    log.info("sampled turns: %d of %d equal, the others parted at a near tie", sum(same), len(same))
    assert sum(same) >= len(same) * 0.95
    assert {"line", "diary"} == {request.mode for request, _, _ in turns}


def test_what_a_host_wrote_is_proved_in_the_page(bench, turns) -> None:
    verdicts = [bench.ok("verify", json.loads(receipt)) for _, _, receipt in turns]
    assert {"identical"} == {verdict["verdict"] for verdict in verdicts}
    shown = [len(generation.choices) for _, generation, _ in turns]
    assert shown == [len(verdict["choices"]) for verdict in verdicts]


def test_the_command_proves_what_a_page_wrote(bench, turns, tmp_path) -> None:
    file = tmp_path / "receipt.json"
    file.write_text(bench.ok("generate", request_of(turns[1][2]))["receipt"])
    run = subprocess.run(
        [sys.executable, "-m", "tokenling", "verify", str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "identical\n", "")


def changed(name: str, value: object) -> Callable[[dict], object]:
    return lambda receipt: receipt.update({name: value})


def with_tokens(change: Callable[[list[int]], list[int]]) -> Callable[[dict], object]:
    """Other tokens, with a digest that fits them."""

    def tamper(receipt: dict) -> None:
        receipt["tokens"] = change(receipt["tokens"])
        receipt["outputSha256"] = ids_sha256(receipt["tokens"])

    return tamper


TAMPERED: dict[str, tuple[str, str | None, int | None, Callable[[dict], object]]] = {
    "a token less": ("different", "tokens", -1, with_tokens(lambda ids: ids[:-1])),
    "a token more": ("different", "tokens", 0, with_tokens(lambda ids: [*ids, 7])),
    "a token that is none": ("different", "tokens", 2, with_tokens(lambda ids: [*ids[:2], 999_999, *ids[3:]])),
    "no token": ("different", "tokens", None, with_tokens(lambda _: [])),
    "tokens changed, digest left": ("different", "outputSha256", None, lambda r: r["tokens"].append(1)),
    "other words asked": ("different", "requestSha256", None, lambda r: r["request"].update(prefix="Pup:")),
    "another seed": ("different", "requestSha256", None, lambda r: r["request"].update(seed=99)),
    "a request that never fitted": ("different", "request", None, lambda r: r["request"].update(maxNew=1024)),
    "another text": ("different", "textSha256", None, changed("textSha256", "0" * 64)),
    "another end": ("different", "stop", None, changed("stop", "length")),
    "a chunk that never was": ("different", "prefillChunk", None, changed("prefillChunk", 8)),
    "another count": ("different", "outputTokens", None, changed("outputTokens", 1)),
    "another brain": ("not_provable_here", "brainId", None, changed("brainId", "another")),
    "other files": ("not_provable_here", "files", None, lambda r: r["files"].update({"config.json": "0" * 64})),
    "another precision": ("not_provable_here", "precision", None, changed("precision", "q8")),
    "fast numerics": ("not_provable_here", "numerics", None, changed("numerics", "fast")),
    "a GPU": ("not_provable_here", "provider", None, changed("provider", "CUDAExecutionProvider")),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_receipt_is_found_out_and_said_where(bench, longest, name: str) -> None:
    verdict, reason, step, change = TAMPERED[name]
    receipt = json.loads(longest[2])
    length = len(receipt["tokens"])
    change(receipt)
    found = bench.ok("verify", receipt)
    assert (verdict, reason) == (found["verdict"], found["reason"])
    places = {None: {None, 0}, -1: {length - 1}, 0: {length}, 2: {2}}
    assert found["step"] in places[step]


MALFORMED: dict[str, tuple[str, Callable[[dict], object]]] = {
    "another version": ("receipt_version", changed("receiptVersion", 2)),
    "the public copy": ("receipt_public", lambda r: r.pop("tokens")),
    "a field too many": ("receipt_field", changed("toString", "x")),
    "a field too few": ("receipt_field", lambda r: r.pop("stop")),
    "a count that is a text": ("receipt_field", changed("promptTokens", "7")),
    "a seed that is a fraction": ("receipt_field", changed("seed", 0.5)),
    "an end that is none": ("receipt_field", changed("stop", "bored")),
    "tokens below zero": ("receipt_field", changed("tokens", [-1])),
    "more tokens than any turn writes": ("receipt_field", changed("tokens", [1] * 2000)),
    "a request that is none": ("receipt_field", changed("request", [])),
    "a request with a seed below zero": ("receipt_field", lambda r: r["request"].update(seed=-1)),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_owners_receipt_is_refused_with_its_field(bench, turns, name: str) -> None:
    code, change = MALFORMED[name]
    receipt = json.loads(turns[0][2])
    change(receipt)
    problem = bench.call("verify", receipt)["problem"]
    assert (code, "receipt") == (problem["code"], problem["kind"])


REFUSED: dict[str, tuple[str, str, dict[str, object]]] = {
    "a header longer than any budget": ("does_not_fit", "header and prefix", {"header": "word " * 2000, "maxNew": 64}),
    "a budget that leaves no room": ("does_not_fit", "header and prefix", {"ctx": 32, "maxNew": 64}),
    "nothing asked": ("prompt_empty", "header, lines and prefix", {"header": "", "lines": [], "prefix": ""}),
    "no tag": ("tag_malformed", "tags", {"tags": ["eat"]}),
    "a mode that is none": ("field_malformed", "mode", {"mode": "song"}),
    "a fraction": ("field_malformed", "temperatureMilli", {"temperatureMilli": 0.85}),
    "a seed too large": ("field_malformed", "seed", {"seed": 2**53}),
    "a field of its own": ("field_unknown", "prompt", {"prompt": "x"}),
    "an answer of a page": (
        "insertion_malformed",
        "insertions",
        {"tags": ["[look x]"], "answers": {"[look x]": "so " * 500}},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_cannot_be_asked_is_refused_by_its_field(bench, turns, name: str) -> None:
    code, subject, change = REFUSED[name]
    problem = bench.call("generate", request_of(turns[0][2]) | change)["problem"]
    assert (code, subject, "request") == (problem["code"], problem["subject"], problem["kind"])


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stopped_turn_leaves_nothing_behind(bench, longest, after: int) -> None:
    """Stopped before and between tokens; the turn right behind it is a fresh one."""
    _, _, receipt = longest
    told = bench.ok("stopped", request_of(receipt), after)
    assert {"problem": {"code": "AbortError"}} == told["outcome"]
    assert after == told["texts"]
    assert json.loads(receipt)["tokens"] == json.loads(told["again"]["receipt"])["tokens"]


def test_two_turns_at_once_are_refused_and_harm_neither(bench, longest) -> None:
    _, generation, receipt = longest
    told = bench.ok("crowded", request_of(receipt))
    assert "lane_busy" == told["second"]["problem"]["code"]
    assert generation.text == told["first"]["text"]


DIES_WHEN_ASKED = b"""
self.addEventListener("message", ({ data }) => {
  if (data.kind === "ask") setTimeout(() => { throw new Error("gone"); });
});
"""


@pytest.fixture
def fragile(browser, sites, native):
    """A page of its own, and the path of its worker's script."""
    sites.add("fragile", shipped_brain_dir(), native.id)
    page = BenchPage(browser, sites, "fragile")
    yield page, f"/fragile/{json.loads(sites.answer('/fragile/app/site.json'))['workers']['brain']}"
    page.close()
    sites.spoilt.clear()


def test_a_worker_that_dies_in_a_turn_is_replaced_and_the_turn_is_the_same(fragile, sites, longest) -> None:
    page, script = fragile
    sites.spoilt_once[script] = sites.answer(script) + DIES_WHEN_ASKED
    page.ok("open")
    _, _, receipt = longest
    made = json.loads(page.ok("generate", request_of(receipt))["receipt"])
    assert json.loads(receipt)["tokens"] == made["tokens"]


def test_a_turn_that_takes_two_workers_down_is_told_and_the_next_one_runs(fragile, sites, longest) -> None:
    page, script = fragile
    whole = sites.answer(script)
    sites.spoilt[script] = whole + DIES_WHEN_ASKED
    page.ok("open")
    _, generation, receipt = longest
    problem = page.call("generate", request_of(receipt))["problem"]
    assert ("worker_crashed", "lost") == (problem["code"], problem["kind"])
    del sites.spoilt[script]
    assert generation.text == page.ok("generate", request_of(receipt))["reply"]["text"]


def test_a_worker_that_does_not_come_is_told_and_may_come_later(fragile, sites) -> None:
    page, script = fragile
    sites.spoilt[script] = None
    assert "worker_crashed" == page.call("open")["problem"]["code"]
    del sites.spoilt[script]
    page.ok("open")


def test_a_reply_of_thirty_tokens_comes_within_three_seconds(bench, longest) -> None:
    job = {"kind": "speed", "promptIds": [5 + at % 1000 for at in range(REPLY_PROMPT)], "count": REPLY_TOKENS}
    runs = [bench.call("raw", job | {"tags": list(longest[0].tags)}) for _ in range(3)]
    told = min(runs, key=lambda run: run["prefillMs"] + run["decodeMs"])
    log.info("%d tokens in %d ms, then %d in %d ms", REPLY_PROMPT, told["prefillMs"], REPLY_TOKENS, told["decodeMs"])
    log.info("choosing: %.3f ms of a token's %.1f ms", told["choosingMs"], told["decodeMs"] / REPLY_TOKENS)
    assert told["prefillMs"] + told["decodeMs"] <= REPLY_MS_MAX
    assert told["choosingMs"] < told["decodeMs"] / REPLY_TOKENS / 10  # the step is what costs


def test_turns_leave_no_memory_behind_whether_they_end_or_are_stopped(bench) -> None:
    """What WebAssembly holds after the longest prompt stays what it holds after many."""
    job = {"kind": "memory", "promptIds": [7] * 600, "count": 4, "rounds": 16}
    held = bench.call("raw", job)
    log.info("WebAssembly holds %.0f MiB", held[-1] / 2**20)
    assert held[0] > 0
    assert set(held[4:]) == {held[4]}
