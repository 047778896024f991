"""The capacity bench measures what it says: its traffic, its reading of the host, its verdicts; and a short run."""

import argparse
import inspect
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from tokenling import engine
from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.hosting import available_cores
from tokenling.protocol import Status
from tokenling.store import open_store
from tools.bench.capacity import __main__ as command
from tools.bench.capacity import bare, idle_turns, owners, population, profile, registered, reports, traffic
from tools.bench.capacity.owners import Findings, Owed, Present, Seen, report
from tools.bench.capacity.people import person
from tools.bench.capacity.served import Usage, parse_metrics
from tools.bench.capacity.window import KEPT_UP_MIN, Look, Window

ROOT = Path(__file__).parents[2]
NOW_MS = 1_780_315_200_000
LANES = min(2, available_cores())


def test_twenty_minutes_a_day_are_spread_over_the_clock() -> None:
    stays = traffic.stays(14_400, 600.0, as_of=14_400)
    here = [stay for stay in stays if stay.from_s == 0]
    assert (200, 100) == (len(here), len(stays) - len(here))
    assert len(stays) == len({stay.number for stay in stays})
    assert all(0 <= stay.from_s < stay.until_s <= 600 for stay in stays if stay.until_s < 600)
    assert 0.4 < sum(stay.until_s for stay in here) / sum(600 for _ in here) < 0.9


def test_as_many_owners_come_as_of_a_larger_population() -> None:
    assert 200 == sum(stay.from_s == 0 for stay in traffic.stays(1_000, 60.0, as_of=14_400))


def test_the_turns_that_the_traffic_asks_for_are_those_of_the_arithmetic() -> None:
    asked = traffic.turns_per_s(1000)
    assert math.isclose(4000 / 3600, asked["idle"])
    assert math.isclose(1000 * 20 / 1440 / 20, asked["reactive"])


def test_a_person_is_the_same_in_every_process_and_no_two_are() -> None:
    assert person(7) == person(7)
    assert 3 == len({person(1).pet_id, person(2).pet_id, person(1).device_id})
    assert 43 == len(person(1).key)


@pytest.mark.parametrize("days", [1, 14])
def test_a_life_is_lived_up_to_now_with_nothing_due_and_awake(days: int) -> None:
    life = population.lived(days, 0, "sprout-1", NOW_MS)
    assert engine.pending_turn(life) is None
    assert not life.asleep
    step = engine.advance(life, NOW_MS + 3_600_000)
    assert step.turn is not None
    assert "idle" == step.turn.kind


async def test_a_population_is_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite"
    written = await population.write(path, active=5, parked=20, brain_id="sprout-1")
    assert (5, 20) == (written.active, written.parked)
    async with open_store(path, now_ms=NOW_MS) as store:
        counts = await store.counts()
        assert (5, 20) == (counts.by_status[Status.ACTIVE], counts.by_status[Status.PARKED])
        held = [await store.load(person(number).pet_id) for number in range(25)]
    states = [engine.load_save(record.save) for record in held]
    assert 25 == len({state.pet_seed for state in states})
    assert [record.save for record in held] == [engine.dump_save(state) for state in states]


PAGE = """# HELP x
tokenling_turn_seconds_bucket{kind="idle",le="2.0"} 3.0
tokenling_pets_due 7.0
"""


def test_a_metrics_page_is_read() -> None:
    expected = {'tokenling_turn_seconds_bucket{kind="idle",le="2.0"}': 3.0, "tokenling_pets_due": 7.0}
    assert expected == parse_metrics(PAGE)


def look(at_s: float, **metrics: float) -> Look:
    named = {
        "idle": 'tokenling_turn_seconds_count{kind="idle"}',
        "in_time": 'tokenling_turn_seconds_bucket{kind="idle",le="1800.0"}',
        "due": "tokenling_pets_due",
    }
    return Look(Usage(at_s, 0, 0, 1, 1, 1), {named[name]: value for name, value in metrics.items()}, 0.0, 0)


KEPT = Window(
    900, 900, look(0, idle=0, in_time=0, due=0), look(60, idle=60, in_time=60, due=0), {"within2s": 0.95}, 1.0
)


def test_a_window_is_kept_when_owners_and_idle_turns_were_served_in_time() -> None:
    assert KEPT.kept()
    assert 1.0 == KEPT.turns_per_s


def test_a_window_is_not_kept_when_any_promise_is_broken() -> None:
    backlog = 1.2 * (1 - KEPT_UP_MIN) * 60 * sum(traffic.turns_per_s(900).values())
    for broken in (
        replace(KEPT, owners={"within2s": 0.94}),
        replace(KEPT, owners={"within2s": None}),
        replace(KEPT, after=look(60, idle=60, in_time=59, due=0)),
        replace(KEPT, after=look(60, idle=60, in_time=60, due=backlog)),
    ):
        assert not broken.kept()


@pytest.mark.parametrize(
    ("carried", "asked", "found"),
    [
        (7_000, [10_000, 5_000, 7_500, 6_250, 6_875], 6_875),
        (16_000, [10_000, 20_000, 15_000, 17_500, 16_250], 15_000),
        (10**9, [10_000, 20_000, 40_000, 80_000, 160_000], 160_000),
    ],
)
def test_a_search_doubles_until_it_is_too_much_and_then_halves_the_rest(
    carried: int, asked: list[int], found: int
) -> None:
    seen: list[int] = []

    def window(pets: int) -> command.Figures:
        seen.append(pets)
        return {"kept": pets <= carried, "pets": pets}

    assert found == command.largest_kept(window, 10_000)["pets"]
    assert asked == seen


def test_a_search_that_finds_nothing_says_how_few_were_too_many() -> None:
    with pytest.raises(SystemExit, match="not even 1 pets"):
        command.largest_kept(lambda pets: {"kept": False, "pets": pets}, 3)


def owner(findings: Findings) -> Present:
    return Present("http://127.0.0.1:1", traffic.Stay(1, 0, 10, 0), findings)


def test_a_reply_counts_once_a_view_that_holds_the_words_owes_none() -> None:
    findings = Findings(from_s=0.0)
    present = owner(findings)
    present._owed = Owed(7, 100.0)
    for seen in (Seen(6, False, 100.5), Seen(7, True, 101.0)):
        present._seen = seen
        present._settle()
    assert [] == findings.reply_s
    present._seen = Seen(8, False, 101.5)
    present._settle()
    present._settle()
    assert [1.5] == findings.reply_s


def test_words_that_were_never_answered_count_as_late() -> None:
    findings = Findings(from_s=50.0)
    for took in (0.1, 0.2, 3.0):
        findings.note_reply(60.0, took)
    findings.note_unanswered(60.0)
    findings.note_unanswered(40.0)  # before the window
    assert (3, 1, 0.5) == tuple(report(findings)[name] for name in ("replies", "unanswered", "within2s"))


def test_a_sample_belongs_to_its_innermost_room() -> None:
    collapsed = """run (trio/_core/_run.py:1);_drive (tokenling/host/executor.py:9);load (tokenling/engine/codec.py:3) 3
run (trio/_core/_run.py:1);_drive (tokenling/host/executor.py:9);loads (json/__init__.py:3) 2
run (trio/_core/_run.py:1);handle (hypercorn/protocol/h11.py:3) 4
run (trio/_core/_run.py:1) 1
"""
    assert {"http": 0.4, "rules": 0.3, "dispatch": 0.2, "loop": 0.1} == profile.shares_of(collapsed)
    assert profile.shares_of("") is None


async def test_a_window_without_owners_lasts_as_long_as_any(autojump_clock: trio.testing.MockClock) -> None:
    assert not list(traffic.stays(1, 30.0, as_of=1))
    began = trio.current_time()
    found = await owners.run("http://127.0.0.1:1", 1, 30.0, 0.0, 1)
    assert 30.0 == trio.current_time() - began
    assert (0, None, {}) == (found["said"], found["within2s"], found["faults"])


async def test_an_idle_turn_is_one_write() -> None:
    found = await idle_turns.measure(8)
    assert found["turns"] >= 24  # four slots each, some of them behind the end of the hour
    assert 1.0 <= found["writesPerTurn"] <= 1.2
    assert min(found["loopMsPerTurn"], found["storeMsPerTurn"], found["firstLookMs"]) > 0


def test_a_house_of_parked_pets_starts_soon_and_small() -> None:
    found = registered.measure(1000, 95, lanes=LANES)
    assert found.kept
    assert 50 == found.active
    assert found.in_memory < 10  # those whose turn it is just now
    assert found.ready_mib < 250


def test_every_field_of_a_window_is_documented_and_no_other() -> None:
    table = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8").partition("| Field | Meaning |\n|---|---|\n")[2]
    documented = set(re.findall(r"`(\w+)`", table))
    makers = (command.one_window, command.saturated, Window.figures, report, bare.turns_per_s)
    assert {name for maker in makers for name in re.findall(r'"(\w+)":', inspect.getsource(maker))} == documented


def test_every_option_says_what_it_does_and_its_default() -> None:
    for option in command.parser()._actions:
        assert option.help
        assert option.default in (None, False, argparse.SUPPRESS) or "(%(default)s)" in option.help


@pytest.mark.parametrize(
    ("module", "arguments", "told"),
    [
        ("tools.bench.capacity", ["--profile"], "--profile needs py-spy"),
        ("tools.bench.capacity.plot", ["windows.jsonl", "out.png"], "a picture needs matplotlib"),
    ],
)
def test_what_is_not_installed_is_told_at_once(tmp_path: Path, module: str, arguments: list[str], told: str) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    bare_python = tmp_path / "python"  # beside it lies no py-spy, and none in PATH
    bare_python.symlink_to(sys.executable)
    begin = (
        "import runpy, sys; _, sys.executable, name, *sys.argv[1:] = sys.argv; runpy.run_module(name, None, '__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin, str(bare_python), module, *arguments],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (2, "") == (done.returncode, done.stdout)
    assert f"{told}: pip install --require-hashes -r tools/locks/bench.txt\n" == done.stderr


def test_a_short_window_over_a_real_host_is_whole(tmp_path: Path) -> None:
    from tools.bench.capacity.served import Served
    from tools.bench.capacity.window import Plan, asked_in, measure, wait_until_looked_round

    database = tmp_path / "pets.sqlite"
    brain_id = str(json.loads((shipped_brain_dir() / "brain.json").read_text())["id"])
    trio.run(lambda: population.write(database, active=40, parked=0, brain_id=brain_id, behind_ms=30 * 60_000))
    with Served(database, lanes=LANES, numerics="exact", pets_max=40) as host:
        wait_until_looked_round(host, 40, 2)
        window = measure(host, Plan(40, 12.0, 1.0, as_of=400))
        host.stop()
    found = window.figures()
    assert window.turns("idle") + window.turns("reactive") > 0
    owners = found["owners"]
    assert isinstance(owners, dict)
    assert owners["replies"] > 0
    assert {} == owners["faults"]
    receipts = asked_in(database, 0, 2**60, 6)
    assert bare.turns_per_s(registered.shipped_brain_dir(), receipts, lanes=2, numerics="exact")["turns"] == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--seconds", "45"), "whole minutes"),
        (("--seconds", "0"), "whole minutes"),
        (("--settle", "-5"), "expected 0 or more"),
        (("--pets", "0"), "expected 1 or more"),
        (("--as-of", "0"), "expected 1 or more"),
        (("--rows", "17"), "expected 1 to 16"),
        (("--brain", "nowhere"), "expected a directory"),
        (("--dir", "nowhere"), "expected a directory"),
        (("--search", "--as-of", "100"), "goes without"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_is_written(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["capacity", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.run(command.parser())
    assert 2 == ended.value.code
    assert told in capsys.readouterr().err


REPORT = {
    "asOf": 1000, "owners": {"within2s": 1.0}, "idleWithin60s": None, "turnsPerS": 1.8, "askedPerS": 1.81,
    "bare": {"turnsPerS": 40.0}, "cpu": {"brain": 0.1, "loop": 0.02, "store": 0.01, "others": 0.0}, "kept": True,
}  # fmt: skip


def test_reports_are_read_however_they_are_broken_into_lines(tmp_path: Path) -> None:
    file = tmp_path / "reports"
    file.write_text(json.dumps({**REPORT, "asOf": 5000}, indent=1) + "\n" + json.dumps(REPORT) + "\n")
    assert [1000, 5000] == [point.pets for point in reports.read(file)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "found 0 reports"),
        (json.dumps(REPORT), "found 1 reports"),
        ("no report", "Expecting value"),
        ('{"asOf": 1}', "without the field 'owners'"),
        ("[]", "a report without"),
    ],
)
def test_a_file_without_reports_says_what_it_lacks(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "reports"
    file.write_text(text)
    with pytest.raises(reports.NoPicture, match=told):
        reports.read(file)


def test_a_file_that_is_not_there_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(reports.NoPicture):
        reports.read(tmp_path / "nowhere")
