"""A brain in a process of its own: what owners and operators see when it is well, dies, hangs, or is exchanged."""

import ctypes
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from home_process import HomeProcess, Owner
from promises import in_time
from saves import quiet_save
from test_exit_codes import run

from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.runtime import open_brain, verify

PR_SET_CHILD_SUBREAPER = 36
LISTENING = r"listening on (http://127\.0\.0\.1:\d+)"
COMMAND = ("-m", "tokenling", "serve", "--log-level", "debug")
CODE = "otter-lamp-42"
STOP_S_MAX = 2.0
BACK_S_MAX = 30.0
"""A process that ended is there again: a start takes under a second, on a loaded machine several."""


def environ_of(folder, **more):
    settings = {
        "LISTEN": "127.0.0.1:0", "DB": str(folder / "pets.sqlite"), "MODEL_DIR": str(shipped_brain_dir()),
        "ALLOWED_ORIGIN": "https://pets.example", "THREADS": "1", "BRAIN_PROCESS": "own", **more,
    }  # fmt: skip
    return {f"SUBTOKENLING_{name}": value for name, value in settings.items()}


@pytest.fixture
def begin(tmp_path):
    """Start hosts over one database, each with its brain in a process of its own; all are ended at the end."""
    homes = []

    def begin(**more):
        homes.append(
            HomeProcess(*COMMAND, state=tmp_path / "state", environ=environ_of(tmp_path, **more), pattern=LISTENING)
        )
        return homes[-1]

    yield begin
    for home in homes:
        brains = brains_of(home)
        home.close()
        assert all(gone(brain) for brain in brains), "no brain outlives its host"


def brains_of(home):
    """The processes that the host has started and that live."""
    try:
        tasks = list(Path(f"/proc/{home.process.pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def gone(pid, within_s=STOP_S_MAX):
    """Whether the process has ended within this."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def health(home):
    return httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()


def await_health(home, wanted):
    deadline = time.monotonic() + BACK_S_MAX
    while time.monotonic() < deadline:
        if wanted(seen := health(home)):
            return seen
        time.sleep(0.02)
    raise AssertionError(seen)


def await_metric(home, name, value):
    """The metrics page, once it says so."""
    page = next(word for word in home.stdout.split() if word.endswith("/metrics"))
    deadline = time.monotonic() + BACK_S_MAX
    while time.monotonic() < deadline:
        told = httpx.get(page, timeout=60, trust_env=False).text
        if f"\n{name} {float(value)}\n" in told:
            return told
        time.sleep(0.02)
    raise AssertionError(re.findall(rf"^{name} .*", told, re.MULTILINE))


def said_to_a_halted_brain(home, owner, text):
    """The brain's process stands still with a turn of the owner's under way; its number."""
    (brain,) = brains_of(home)
    os.kill(brain, signal.SIGSTOP)
    owner.say(text)
    owner.await_view(lambda view: view["thinking"])
    return brain


def times_said(view, text):
    return [line["text"] for line in view["save"]["chat"]].count(text)


def test_a_pet_talks_and_its_turn_is_proved_as_on_any_other_host(begin):
    home = begin()
    (brain,) = brains_of(home)
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        owner.say("hello little one")
        _, line = owner.await_reply()
        receipt = owner.receipts()[-1]
    assert line["text"]
    assert verify(json.dumps(receipt).encode(), open_brain(shipped_brain_dir())).kind == "identical"
    assert f"process {brain}" in home.stderr
    shown = health(home)
    assert (True, SHIPPED_BRAIN) == (shown["ready"], shown["release"])
    assert ["CPUExecutionProvider"] == [worker["provider"] for worker in shown["workers"]]
    assert [brain] == brains_of(home)


def test_a_brain_that_dies_under_a_turn_is_started_again_and_the_pet_answers_once(begin):
    home = begin(METRICS_LISTEN="127.0.0.1:0")
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        brain = said_to_a_halted_brain(home, owner, "are you there?")
        os.kill(brain, signal.SIGKILL)
        down = await_health(home, lambda seen: not seen["ready"])
        assert (["brain_down"], "failed") == (down["reasons"], down["workers"][0]["state"])
        view, line = owner.await_reply()
        assert (line["text"] != "", 1) == (True, times_said(view, "are you there?"))
        assert await_health(home, lambda seen: seen["ready"])
        owner.say("and again?")
        assert owner.await_reply()[1]["text"]
    (other,) = brains_of(home)
    assert other != brain
    assert "the brain's process ended and is started again" in home.stderr
    assert "SIGKILL" in home.stderr
    assert f'serves again" pid={other}' in home.stderr
    told = await_metric(home, "tokenling_brain_restarts_total", 1)
    assert float(re.findall(r"^tokenling_brain_process_resident_memory_bytes (.*)", told, re.MULTILINE)[0]) > 2**24


def test_a_brain_that_hangs_is_ended_when_its_turn_is_called_off_and_the_newer_words_are_answered(begin):
    home = begin()
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        brain = said_to_a_halted_brain(home, owner, "first words")
        owner.say("other words")
        view, line = owner.await_reply()
    assert line["text"]
    assert (1, 1) == (times_said(view, "first words"), times_said(view, "other words"))
    assert [brain] != brains_of(home)
    assert "does not answer" in home.stderr


def test_a_turn_that_was_called_off_leaves_the_process_as_it_is(begin):
    home = begin()
    (brain,) = brains_of(home)
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        for number in range(8):
            owner.say(f"words {number}")
        assert owner.await_reply()[1]["text"]
    assert [brain] == brains_of(home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("halted", [False, True])
def test_a_signal_ends_both_within_two_seconds_in_the_middle_of_a_turn(begin, number, halted):
    def attempt(count):
        home = begin()
        with Owner(home) as owner:
            owner.adopt(quiet_save(SHIPPED_BRAIN))
            owner.say(f"a story {count}")
            (brain,) = brains_of(home)
            os.kill(brain, signal.SIGSTOP if halted else number)  # a terminal's Ctrl-C and systemd reach both
            code, seconds = home.stop(number)
        assert (0, True) == (code, gone(brain, 0.1)), home.output()
        return seconds

    in_time(STOP_S_MAX, attempt)


def test_a_host_that_is_killed_leaves_no_process_behind(begin):
    home = begin()
    (brain,) = brains_of(home)
    home.process.kill()
    assert gone(brain)


@contextmanager
def orphans_come_here():
    """As under a supervisor of the same session, as in a container: the kernel then wakes no stopped orphan."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ends it")
@pytest.mark.parametrize("lives", ["first", "again"])
def test_a_host_that_is_killed_leaves_not_even_a_halted_process_behind(begin, lives):
    home = begin()
    (brain,) = brains_of(home)
    if lives == "again":
        os.kill(brain, signal.SIGKILL)
        assert gone(brain)
        await_health(home, lambda seen: seen["ready"] and brains_of(home) not in ([], [brain]))
        (brain,) = brains_of(home)
    os.kill(brain, signal.SIGSTOP)
    with orphans_come_here():
        home.process.kill()
        home.process.wait()
        try:
            assert gone(brain)
        finally:
            os.kill(brain, signal.SIGKILL)
            os.waitpid(brain, 0)


def test_the_process_learns_no_setting_of_the_host_that_is_not_its_own(begin):
    home = begin(ENROL_CODE=CODE)
    (brain,) = brains_of(home)
    told = Path(f"/proc/{brain}/environ").read_bytes() + Path(f"/proc/{brain}/cmdline").read_bytes()
    assert b"SUBTOKENLING_" not in told
    assert CODE.encode() not in told
    assert not any("pets.sqlite" in str(link.readlink()) for link in Path(f"/proc/{brain}/fd").iterdir())


def test_a_brain_that_is_refused_is_refused_as_if_it_were_opened_in_the_host(tmp_path):
    brain = tmp_path / "brain"
    shutil.copytree(shipped_brain_dir(), brain)
    (brain / "tokenizer.json").write_text("{")
    done = [
        run("serve", environ=environ_of(tmp_path, MODEL_DIR=str(brain), BRAIN_PROCESS=whose))
        for whose in ("host", "own")
    ]
    assert [3, 3] == [each.returncode for each in done]
    assert done[0].stderr == done[1].stderr
    assert "tokenizer" in done[0].stderr


def test_a_check_opens_the_brain_and_leaves_nothing(tmp_path):
    done = run("serve", "--check", environ=environ_of(tmp_path))
    assert (0, "check passed: brain sprout-2 is warm\n") == (
        done.returncode,
        done.stdout.replace(SHIPPED_BRAIN, "sprout-2"),
    )


def test_another_brain_in_the_place_of_the_one_that_died_ends_the_host(begin, tmp_path):
    directory = tmp_path / "brain"
    shutil.copytree(shipped_brain_dir(), directory)
    home = begin(MODEL_DIR=str(directory))
    told = json.loads((directory / "brain.json").read_text())
    (directory / "brain.json").write_text(json.dumps(told | {"id": "sprout-99"}))
    (brain,) = brains_of(home)
    os.kill(brain, signal.SIGKILL)
    assert home.process.wait(timeout=BACK_S_MAX) == 3
    home.close()
    assert "changed under the host" in home.stderr


def test_a_host_that_is_stopped_while_its_brain_loads_again_leaves_no_process(begin):
    home = begin()
    (brain,) = brains_of(home)
    os.kill(brain, signal.SIGKILL)
    deadline = time.monotonic() + BACK_S_MAX
    while brains_of(home) in ([], [brain]) and time.monotonic() < deadline:
        time.sleep(0.002)
    (loading,) = brains_of(home)
    assert home.stop()[0] == 0
    assert gone(loading, 1.0)


def test_a_brain_of_the_same_id_and_other_bytes_ends_the_host(begin, tmp_path):
    directory = tmp_path / "brain"
    shutil.copytree(shipped_brain_dir(), directory)
    home = begin(MODEL_DIR=str(directory))
    told = json.loads((directory / "brain.json").read_text())
    (directory / "brain.json").write_text(json.dumps(told, indent=3))  # the same, said otherwise
    card = directory / "tokenizer.json"
    card.write_text(json.dumps(json.loads(card.read_text()), indent=1))
    told["files"]["tokenizer.json"] = hashlib.sha256(card.read_bytes()).hexdigest()
    (directory / "brain.json").write_text(json.dumps(told))
    (brain,) = brains_of(home)
    os.kill(brain, signal.SIGKILL)
    assert home.process.wait(timeout=BACK_S_MAX) == 3
    home.close()
    assert "changed under the host" in home.stderr


def test_a_process_that_cannot_start_again_is_tried_until_it_can(begin, tmp_path):
    directory = tmp_path / "brain"
    shutil.copytree(shipped_brain_dir(), directory)
    home = begin(MODEL_DIR=str(directory), METRICS_LISTEN="127.0.0.1:0")
    with Owner(home) as owner:
        owner.adopt(quiet_save(SHIPPED_BRAIN))
        (directory / "tokenizer.json").rename(directory / "kept.json")
        (brain,) = brains_of(home)
        os.kill(brain, signal.SIGKILL)
        deadline = time.monotonic() + BACK_S_MAX
        while "tokenizer.json" not in home.stderr and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "did not start" in home.stderr
        owner.say("can you hear me?")  # the pet is served all the same, and takes its time
        assert health(home)["reasons"] == ["brain_down"]
        await_metric(home, "tokenling_turns_waiting", 1)
        (directory / "kept.json").rename(directory / "tokenizer.json")
        assert owner.await_reply()[1]["text"]
    await_metric(home, "tokenling_turns_waiting", 0)
