"""The checks of a native run, phase by phase, each over a running host and real HTTP."""

import hashlib
import itertools
import json
import statistics
import time
import uuid
from pathlib import Path

import trio
from native_owner import LONG_TEXT, PROMPT_LINES, Keeper, now_ms, pet_of
from native_receipt import CheckFailed

from tokenling import engine
from tokenling.engine.request import CONTEXT_TOKENS_MAX
from tokenling.runtime.documents import canonical_json

CASES = {"short": 0, "middle": 3, "near_limit": PROMPT_LINES}
"""Prompt cases: how many long lines the owner has said before."""
NEAR_LIMIT_SHARE = 0.75
"""A near-limit prompt fills at least this much of what it may take: of one that is over, whole lines are dropped."""
LINES = ("hello little one", "are you hungry?", "what is the weather like?", "shall we play?", "good night")
PROVIDERS = {"cpu": {"CPUExecutionProvider"}, "gpu": {"CUDAExecutionProvider"}}
SETTLE_S = 3.0
CONTINUATION_NOT_BEFORE_MS = 3_000
SEEDS_MAX = 300
STREAMS = 8
CANCEL_TRIES_MAX = 60


class Run:
    """What the phases share: the host's client and release, the receipt, the run's settings."""

    def __init__(self, http, metrics, release, receipt, settings) -> None:
        self.http, self.metrics, self.release = http, metrics, release
        self.receipt, self.settings = receipt, settings
        config = json.loads((Path(settings.host["SUBTOKENLING_MODEL_DIR"]) / "config.json").read_bytes())
        self.positions = config.get("max_position_embeddings") or config["n_positions"]

    def keeper(self, seed, **more):
        return Keeper(self.http, pet_of(self.release, seed, **more))

    async def turns(self, outcome):
        """Turns that ended so, over all workers, as the host's metrics tell."""
        page = (await self.metrics.get("/metrics")).raise_for_status().text
        lines = [line for line in page.splitlines() if line.startswith("tokenling_worker_turns_total{")]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if f'outcome="{outcome}"' in line)


async def prompt_cases(run):
    """Three prompt sizes, each so many times after a warm-up: the same prompt gives the same words, in what time."""
    found = {}
    for case, long_lines in CASES.items():
        turns, seconds = [], []
        for _ in range(run.settings.repetitions + 1):
            keeper = await run.keeper("case", long_lines=long_lines).move_in()
            seconds.append(await keeper.ask(LINES[0]))
            turns += await keeper.receipts()
            await check_parked(run, keeper)
        found[case] = case_of(turns[1:], seconds[1:])
        run.receipt.note(cases=found)
        by_prompt = {}
        for turn in turns:
            by_prompt.setdefault(turn["promptSha256"], set()).add(turn["outputSha256"])
        run.receipt.require("the same prompt is answered in the same tokens", max(map(len, by_prompt.values())) == 1)
        check_providers(run, turns)
    limit = min(CONTEXT_TOKENS_MAX, run.positions) - turns[-1]["request"]["maxNew"]
    near = found["near_limit"]["promptTokens"][-1] / limit
    run.receipt.require("one prompt is near the limit", NEAR_LIMIT_SHARE <= near <= 1)


def case_of(turns, seconds):
    """One case's figures. Digests are of ids; an owner's words cannot be found in them."""
    names = (
        "promptTokens",
        "outputTokens",
        "promptSha256",
        "outputSha256",
        "provider",
        "prefillMicros",
        "decodeMicros",
    )
    return {"seconds": rounded(seconds), **{name: [turn[name] for turn in turns] for name in names}}


def check_providers(run, turns):
    """Every turn ran where the profile says."""
    allowed = PROVIDERS.get(run.settings.profile, set.union(*PROVIDERS.values()))
    run.receipt.require("every turn ran on the profile's workers", {turn["provider"] for turn in turns} <= allowed)


async def bursts(run):
    """So many pets spoken to at once, round after round: each gets each answer once, in what time."""
    found = []
    for kind, sizes in (("short", [0]), ("varied", list(CASES.values()))):
        for count in run.settings.counts:
            found.append({"kind": kind, "pets": count, **await burst(run, kind, count, sizes)})
            run.receipt.note(bursts=found)
    ran = {provider for each in found for provider in each["providers"]}
    wanted = set.union(*PROVIDERS.values()) if run.settings.profile == "mixed" else PROVIDERS[run.settings.profile]
    if run.settings.profile != "mixed" or max(run.settings.counts) >= STREAMS:
        run.receipt.require("the bursts ran on every worker of the profile", ran == wanted)


async def burst(run, kind, count, sizes):
    """One burst of `count` pets, `rounds` times."""
    of_size = itertools.cycle(sizes)
    keepers = [run.keeper(f"{kind}-{count}-{number}", long_lines=next(of_size)) for number in range(count)]
    for keeper in keepers:
        await keeper.move_in()
    walls, latencies = [], []
    for number in range(run.settings.rounds):
        begun = time.perf_counter()
        latencies += await together(keepers, LINES[number % len(LINES)])
        walls.append(time.perf_counter() - begun)
    turns = [turn for keeper in keepers for turn in await keeper.receipts()]
    check_providers(run, turns)
    answers = [await check_parked(run, keeper) for keeper in keepers]
    run.receipt.require("every answer has its turn receipt", len(turns) == sum(answers))
    providers = {name: sum(turn["provider"] == name for turn in turns) for name in {t["provider"] for t in turns}}
    return {
        "wallSeconds": rounded(walls), "medianSeconds": round(statistics.median(latencies), 4),
        "slowestSeconds": round(max(latencies), 4), "providers": providers,
        "tokens": sum(turn["outputTokens"] for turn in turns),
    }  # fmt: skip


async def together(keepers, text):
    """Everyone says the line at once; each one's seconds."""
    seconds = []

    async def one(keeper):
        seconds.append(await keeper.ask(text))

    async with trio.open_nursery() as nursery:
        for keeper in keepers:
            nursery.start_soon(one, keeper)
    return seconds


async def continuation(run):
    """A pet that nobody looks at lives a turn of its own when the real clock says so."""
    if not run.settings.continuation_ms:
        return
    state, due_ms = soon_due(run)
    keeper = await Keeper(run.http, state).move_in()
    await trio.sleep(max(0, due_ms - now_ms()) / 1000 + SETTLE_S)  # no request of anyone's
    turns = await keeper.receipts()
    run.receipt.note(continuation={"turns": len(turns), "waitedSeconds": round(SETTLE_S, 1)})
    run.receipt.require("a pet goes on by the real clock", len(turns) >= 1)
    check_providers(run, turns)
    view = await keeper.view()
    run.receipt.require("its time has moved to the turn's", view["save"]["slotMs"] >= due_ms)
    await check_parked(run, keeper, turns_of_its_own=True)


def soon_due(run):
    """A pet whose first turn of its own is near, and when."""
    now = now_ms()
    for number in range(SEEDS_MAX):
        state = pet_of(run.release, f"own-{number}", chatter=4)
        zone = engine.hosting_of(state).time_zone
        moved = engine.rehome(state, mode="remote", time_zone=zone, brain_id=run.release, now_ms=now).state
        turn = engine.advance(moved, now + run.settings.continuation_ms).turn
        if turn is not None and turn.kind == "idle" and turn.at_ms >= now + CONTINUATION_NOT_BEFORE_MS:
            return state, turn.at_ms
    raise CheckFailed("no pet has a turn of its own soon enough")


async def cancellation(run):
    """An owner who speaks into a running turn stops it: both lines get one answer, and the stale one none."""
    keeper = await run.keeper("cancel", long_lines=PROMPT_LINES).move_in()
    seconds, before = [], await run.turns("cancelled")
    for _ in range(CANCEL_TRIES_MAX):
        stopped = await run.turns("cancelled")
        await keeper.say(LONG_TEXT)
        begun = time.perf_counter()
        await keeper.say(LINES[1])
        view = await keeper.replied()
        if await run.turns("cancelled") > stopped:
            seconds.append(time.perf_counter() - begun)
            said = "".join(line["who"][0] for line in view["save"]["chat"])
            run.receipt.require("a stopped turn says nothing", said.endswith(("oop", "oo")))
        if len(seconds) >= run.settings.cancels:
            break
    run.receipt.note(cancellation={"cancelled": await run.turns("cancelled") - before, "seconds": rounded(seconds)})
    run.receipt.require("turns were cancelled while they ran", len(seconds) >= run.settings.cancels)
    await check_parked(run, keeper, cancelled=True)


async def steady(run):
    """Eight owners, each with one line after the other, until the time is over; the last ones are answered yet."""
    keepers = [await run.keeper(f"steady-{number}", chatter=2).move_in() for number in range(STREAMS)]
    until = trio.current_time() + run.settings.steady_s
    streams = [[] for _ in keepers]

    async def stream(keeper, seconds):
        for number in itertools.count():
            if trio.current_time() >= until:
                return
            seconds.append(await keeper.ask(LINES[number % len(LINES)]))

    async def show_progress():
        while True:
            await trio.sleep(1)
            run.receipt.note(steady=steady_figures(run, streams))

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as owners:
            nursery.start_soon(show_progress)
            for keeper, seconds in zip(keepers, streams, strict=True):
                owners.start_soon(stream, keeper, seconds)
        nursery.cancel_scope.cancel()
    run.receipt.note(steady=steady_figures(run, streams))
    run.receipt.require("every stream went on", all(streams))
    for keeper in keepers:
        check_providers(run, await keeper.receipts())
        await check_parked(run, keeper, turns_of_its_own=True)


def steady_figures(run, streams):
    whole = sorted(itertools.chain.from_iterable(streams))
    figures = {"seconds": run.settings.steady_s, "turns": [len(each) for each in streams]}
    if whole:
        figures["medianSeconds"] = round(statistics.median(whole), 4)
        figures["p95Seconds"] = round(whole[int(0.95 * (len(whole) - 1))], 4)
        figures["slowestSeconds"] = round(whole[-1], 4)
    return figures


async def check_parked(run, keeper, *, turns_of_its_own=False, cancelled=False):
    """Park a pet: its whole state comes back, the same to a retry and to a look, and no turn runs after it."""
    operation_id = str(uuid.uuid4())
    parked = await keeper.park(operation_id)
    require = run.receipt.require
    require("a parked pet is parked, one epoch on", (parked["status"], parked["epoch"]) == ("parked", 2))
    keeper.epoch, save = 1, parked["save"]
    again = await keeper.park(operation_id)
    require("a repeated park is the same park", digest(again["save"]) == digest(save))
    seen = await keeper.view()
    require("the stored state is the one that was given", digest(seen["save"]) == digest(save))
    require("the state is a whole save", digest_of_engine(save) == digest(save))
    spoken = [line["text"] for line in save["chat"] if line["who"] == "owner"][-len(keeper.spoken) :]
    require("every line of the owner's is in it, once, in order", not keeper.spoken or spoken == keeper.spoken)
    require("nothing is owed any more", "asked" not in save)
    answers = sum(line["who"] == "pet" for line in save["chat"]) - keeper.heard
    if not turns_of_its_own:
        # a brain that twice found no words leaves a line without an answer: counted, and no fault of the host's
        require("no line has two answers", answers <= len(keeper.spoken))
        silent = 0 if cancelled else len(keeper.spoken) - answers
        run.receipt.note(linesWithoutWords=run.receipt.fields.get("linesWithoutWords", 0) + silent)
    await keeper.leave()
    return answers


def digest(save):
    return hashlib.sha256(canonical_json(save)).hexdigest()


def digest_of_engine(save):
    """The digest of what the engine makes of a save when it reads and writes it."""
    return hashlib.sha256(engine.dump_save(engine.load_save(canonical_json(save)))).hexdigest()


def rounded(seconds):
    return [round(each, 4) for each in seconds]
