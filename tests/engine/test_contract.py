"""The contract of a build is the same text every time, and follows its own replay."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import tokenling
from tokenling.engine.contract import REPLAY_STEPS, STATES, ZONES, contract
from tokenling.engine.lists import LISTS
from tokenling.engine.zones import local_minute

TEXT = contract()
ROOT = Path(tokenling.__file__).parent.parent


def test_the_contract_holds_lists_states_and_two_replays() -> None:
    value = json.loads(TEXT)
    assert value["lists"] == {name: list(members) for name, members in LISTS.items()}
    assert len(value["states"]) == STATES == 300
    assert [replay["zone"] for replay in value["replays"]] == list(ZONES)
    for replay in value["replays"]:
        assert len(replay["steps"]) == REPLAY_STEPS >= 40
        assert replay["steps"][-1]["save"] == sha256(replay["last"].encode()).hexdigest()


def test_the_states_differ_and_show_every_kind_of_turn() -> None:
    states = json.loads(TEXT)["states"]
    assert {state["turn"][1] for state in states} == {"reactive", "idle", "diary"}
    assert len({state["save"] for state in states}) > 290
    assert {state["wakeChancePpm"] > 0 for state in states} == {True, False}


def test_the_replay_crosses_a_daylight_shift_and_does_everything() -> None:
    for replay in json.loads(TEXT)["replays"]:
        done = {step["do"] for step in replay["steps"]}
        assert done == {"reply", "command", "advance", "rehome"}
        clocks = [step["nowMs"] for step in replay["steps"]]
        first, last = (local_minute(replay["zone"], at // 60_000) - at // 60_000 for at in (clocks[0], clocks[-1]))
        assert first != last


def test_hash_seed_locale_and_zone_of_the_machine_change_nothing() -> None:
    digests = []
    for extra in ({"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"}, {"PYTHONHASHSEED": "77", "LC_ALL": "C", "TZ": "UTC"}):
        script = "import sys, tokenling.engine.contract as c; sys.stdout.buffer.write(c.contract().encode())"
        env = {**os.environ, **extra, "PYTHONPATH": str(ROOT)}
        found = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
        digests.append(sha256(found.stdout).hexdigest())
    assert digests == [sha256(TEXT.encode()).hexdigest()] * 2
