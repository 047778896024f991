"""The contract of a build is the same text every time, and follows its own replay."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

import tokenling
from tokenling.engine.contract import REPLAY_STEPS, SCENES, STATES, ZONES, contract
from tokenling.engine.lists import EFFECTS, EVENTS, LISTS
from tokenling.engine.zones import local_minute

TEXT = contract()
ROOT = Path(tokenling.__file__).parent.parent
DAY_MS = 86_400_000
UNSTOPPABLE = ("Three?", "Four!")
"""The reply to the third word in a row, which no fourth one may end, and the reply to that one."""


def test_the_contract_holds_lists_states_and_two_replays() -> None:
    value = json.loads(TEXT)
    assert value["lists"] == {name: list(members) for name, members in LISTS.items()}
    assert len(value["states"]) == STATES == 300
    assert [replay["zone"] for replay in value["replays"]] == list(ZONES)
    for replay in value["replays"]:
        assert len(replay["steps"]) == REPLAY_STEPS + len(SCENES)
        assert REPLAY_STEPS >= 40
        assert replay["steps"][-1]["save"] == sha256(replay["last"].encode()).hexdigest()


def test_the_states_differ_and_show_every_kind_of_turn() -> None:
    states = json.loads(TEXT)["states"]
    assert {state["turn"][1] for state in states} == {"reactive", "idle", "diary"}
    assert len({state["save"] for state in states}) > 290
    assert {state["wakeChancePpm"] > 0 for state in states} == {True, False}


def test_the_replay_crosses_a_daylight_shift_and_does_everything() -> None:
    for replay in json.loads(TEXT)["replays"]:
        done = {step["do"] for step in replay["steps"]}
        assert done == {"reply", "command", "advance", "rehome", "live", "skip"}
        clocks = [step["nowMs"] for step in replay["steps"]]
        first, last = (local_minute(replay["zone"], at // 60_000) - at // 60_000 for at in (clocks[0], clocks[-1]))
        assert first != last


@pytest.mark.parametrize("number", range(len(ZONES)))
def test_a_replay_meets_what_draws_seldom_do(number: int) -> None:
    replay = json.loads(TEXT)["replays"][number]
    scenes = replay["steps"][REPLAY_STEPS:]
    told = [[effect["kind"] for effect in step["effects"]] for step in scenes]
    assert [7] == [effect["n"] for step in scenes for effect in step["effects"] if effect["kind"] == "game_end"]
    assert ["game_expire"] == [kind for kinds in told for kind in kinds if kind == "game_expire"]
    assert [["clock_rebased"]] == [[notice["kind"] for notice in step["notices"]] for step in scenes if step["notices"]]
    assert 18 * DAY_MS <= max(after["nowMs"] - before["nowMs"] for before, after in pairwise(scenes))
    last = json.loads(replay["last"])
    assert ("adult", 1, 7) == (last["stage"], last["games"], last["bestScore"])
    assert ("Asia/Kathmandu", "contract-2") == (last["hosting"]["timeZone"], last["hosting"]["brainId"])
    turns = [line.get("turn", "") for line in last["chat"]]
    three, four = (next(at for at, line in enumerate(last["chat"]) if line["text"] == text) for text in UNSTOPPABLE)
    assert four == three + 1
    assert turns[three] != turns[four]


def test_every_effect_but_growing_and_every_kind_of_event_is_in_a_replay() -> None:
    replays = json.loads(TEXT)["replays"]
    effects = {effect["kind"] for replay in replays for step in replay["steps"] for effect in step["effects"]}
    events = {event["kind"] for replay in replays for event in json.loads(replay["last"])["events"]}
    assert {"grow"} == set(EFFECTS) - effects, "the pet grows while it is away, behind the last 32 effects"
    assert set(EVENTS) == events


def test_hash_seed_locale_and_zone_of_the_machine_change_nothing() -> None:
    digests = []
    for extra in ({"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"}, {"PYTHONHASHSEED": "77", "LC_ALL": "C", "TZ": "UTC"}):
        script = "import sys, tokenling.engine.contract as c; sys.stdout.buffer.write(c.contract().encode())"
        env = {**os.environ, **extra, "PYTHONPATH": str(ROOT)}
        found = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
        digests.append(sha256(found.stdout).hexdigest())
    assert digests == [sha256(TEXT.encode()).hexdigest()] * 2
