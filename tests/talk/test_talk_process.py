"""`tokenling talk` as a process with the shipped brain: a script goes in, a pet stays in its file."""

import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.cli.pet_file import held
from tokenling.cli.save_view import view_of
from tokenling.engine import dump_save, load_save, new_pet, rehome

ROOT = Path(__file__).parents[2]
START_S_MAX = 30
"""A loaded test machine."""


def arguments(path, *options):
    return [sys.executable, "-m", "tokenling", "talk", "--state", str(path), *options]


def run(path, script, *options):
    return subprocess.run(
        arguments(path, *options),
        input=script.encode() if isinstance(script, str) else script,
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=120,
    )


def saved(path):
    return load_save(path.read_bytes())


def stored(path, *, brain_id=SHIPPED_BRAIN, mode="local", minutes_ago=0):
    now_ms = time.time_ns() // 1_000_000 - minutes_ago * 60_000
    pet = new_pet(pet_seed="x", name="Pip", time_zone="Etc/UTC", brain_id=brain_id, weather_seed="", now_ms=now_ms)
    if mode == "remote":
        pet = rehome(pet, mode=mode, time_zone="Etc/UTC", brain_id=brain_id, now_ms=now_ms).state
    path.write_bytes(dump_save(pet))


def test_a_scripted_talk_lives_in_its_file_from_one_process_to_the_next(tmp_path):
    path = tmp_path / "pet.json"
    first = run(path, "hello you\n/feed plum\n/offer toy kite\n/quit\nnever read\n", "--seed", "4", "--name", "Momo")
    assert (0, b"") == (first.returncode, first.stderr)
    assert b"An egg lies in the nest." in first.stdout
    assert b"\nMomo: " in first.stdout
    assert b"never" not in first.stdout
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    before = saved(path)
    chat = view_of(before).all("chat")
    assert "hello you" == chat[1].text("text") or "hello you" == chat[0].text("text")
    assert any(line.text("who") == "pet" for line in chat)
    second = run(path, "/diary\n")
    assert b"Momo is here." in second.stdout
    assert view_of(before).text("petSeed") == view_of(saved(path)).text("petSeed") == "seed-4"


def test_time_missed_is_lived_at_the_start(tmp_path):
    path = tmp_path / "pet.json"
    stored(path, minutes_ago=3 * 60)
    done = run(path, "", "--json")
    assert 0 == done.returncode
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["pet", "catchingUp"] == [value["kind"] for value in values][:2]
    assert "caughtUp" == values[-1]["kind"]
    turns = [value for value in values if value["kind"] == "turn"]
    assert "reactive" == turns[0]["turnKind"]  # the egg hatched by itself
    assert any(turn["text"] for turn in turns)
    assert time.time_ns() // 1_000_000 - view_of(saved(path)).number("bodyClockMs") < 10 * 60_000


def test_the_same_brain_pet_and_turn_say_the_same(tmp_path):
    said = []
    stored(tmp_path / "one.json")
    (tmp_path / "two.json").write_bytes((tmp_path / "one.json").read_bytes())
    for name in ("one.json", "two.json"):
        done = run(tmp_path / name, "hello you\n", "--json")
        said.append([json.loads(line)["text"] for line in done.stdout.splitlines() if b'"kind": "turn"' in line])
    assert said[0] == said[1]
    assert "".join(said[0])


REFUSED = [
    ("not a save", 4, b"save refused: not_json"),
    ("locked", 4, b"another process that has this pet"),
    ("remote", 4, b"a pet that lives on a host"),
    ("remote names the way", 4, b"tokenling talk --import "),
    ("other brain", 3, f"found {SHIPPED_BRAIN}, expected oak-9".encode()),
    ("no brain", 3, b"brain "),
    ("--seed -1", 2, b"--seed"),
    ("--seed of a pet that is there", 2, b"--seed: found a pet in"),
    ("--name too long", 2, b"--name"),
    ("--zone unknown", 2, b"--zone"),
    ("state is a directory", 2, b"--state"),
]


@pytest.mark.parametrize(("what", "code", "told"), REFUSED, ids=[what for what, _, _ in REFUSED])
def test_what_cannot_begin_says_why_and_changes_nothing(tmp_path, what, code, told):
    path = tmp_path / "pet.json"
    options = ()
    match what:
        case "not a save":
            path.write_bytes(b"{")
        case "remote" | "remote names the way":
            stored(path, mode="remote")
        case "other brain":
            stored(path, brain_id="oak-9")
        case "no brain":
            options = ("--brain", str(tmp_path))
        case "--seed -1":
            options = ("--seed", "-1")
        case "--seed of a pet that is there":
            stored(path)
            options = ("--seed", "5")
        case "--name too long":
            options = ("--name", "x" * 25)
        case "--zone unknown":
            options = ("--zone", "Mars/Base")
        case "state is a directory":
            path = tmp_path
    before = path.read_bytes() if path.is_file() else None
    if what == "locked":
        with held(path):
            done = run(path, "hello\n", *options)
    else:
        done = run(path, "hello\n", *options)
    assert code == done.returncode, done.stderr
    assert told in done.stderr
    assert b"" == done.stdout
    assert b"Traceback" not in done.stderr
    assert before == (path.read_bytes() if path.is_file() else None)


@pytest.mark.parametrize(("brain_id", "told"), [(SHIPPED_BRAIN, b""), ("oak-9", b"thought with oak-9")])
def test_an_export_of_a_page_becomes_another_pet_and_stays_as_it_is(tmp_path, brain_id, told):
    export, path = tmp_path / "export.json", tmp_path / "mine.json"
    stored(export, brain_id=brain_id, mode="remote", minutes_ago=3 * 60)
    before = export.read_bytes()
    done = run(path, "hello you\n", "--import", str(export), "--json")
    assert 0 == done.returncode, done.stderr
    assert told in done.stderr
    assert bool(told) == bool(done.stderr)
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert "catchingUp" not in kinds  # a move replays no time
    assert before == export.read_bytes()
    hosting = view_of(saved(path)).inner("hosting")
    assert ("local", SHIPPED_BRAIN) == (hosting.text("mode"), hosting.text("brainId"))
    assert "hello you" in [line.text("text") for line in view_of(saved(path)).all("chat")]
    assert 0 == run(path, "").returncode


IMPORTS = [
    ("over a pet", (), b"--import: found a pet in"),
    ("nothing there", (), b"found no such file or directory, expected a save"),
    ("no save", (), b"save refused: not_json"),
    ("beside --name", ("--name", "Momo"), b"--name: found --import beside it"),
]


@pytest.mark.parametrize(("what", "options", "told"), IMPORTS, ids=[what for what, _, _ in IMPORTS])
def test_an_import_that_cannot_be_made_says_why_and_makes_and_changes_nothing(tmp_path, what, options, told):
    export, path = tmp_path / "export.json", tmp_path / "mine.json"
    if what == "no save":
        export.write_bytes(b"{")
    elif what != "nothing there":
        stored(export, mode="remote")
    if what == "over a pet":
        stored(path)
    before = path.read_bytes() if path.exists() else None
    done = run(path, "hello\n", "--import", str(export), *options)
    assert (2, b"") == (done.returncode, done.stdout)
    assert told in done.stderr
    assert before == (path.read_bytes() if path.exists() else None)


def test_a_script_with_a_line_that_is_refused_goes_on_and_ends_with_1(tmp_path):
    done = run(tmp_path / "pet.json", b"\xff\xfe\n/dance\nhello\n")
    assert 1 == done.returncode
    assert b"line 1: not_utf8" in done.stderr
    assert b"line 2: unknown_command" in done.stderr
    assert "hello" in [line.text("text") for line in view_of(saved(tmp_path / "pet.json")).all("chat")]


def test_killed_at_any_moment_the_file_holds_a_whole_pet(tmp_path):
    path = tmp_path / "pet.json"
    stored(path, minutes_ago=20 * 60)
    with subprocess.Popen(
        arguments(path, "--json"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        heard = [next(line for line in process.stdout if b'"kind": "turn"' in line) for _ in range(6)]
        process.kill()
    state = saved(path)
    last = json.loads(heard[-1])
    assert view_of(state).number("bodyClockMs") >= last["atMs"] // 60_000 * 60_000
    assert 0 == run(path, "").returncode


class Terminal:
    """A talk at a pseudo-terminal."""

    def __init__(self, path, *options):
        # a run in the background of a shell has SIGINT ignored, and would hand that down
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.handle, inner = pty.openpty()
        self.process = subprocess.Popen(
            arguments(path, *options), stdin=inner, stdout=inner, stderr=inner, cwd=ROOT, start_new_session=True
        )
        os.close(inner)
        self.seen = ""

    def type(self, text):
        os.write(self.handle, text.encode())

    def expect(self, text):
        end = time.monotonic() + START_S_MAX
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.handle], [], [], 1)[0]:
                self.seen += self._read()

    def _read(self):
        try:
            return os.read(self.handle, 4096).decode()
        except OSError:  # the other end is closed
            raise AssertionError(self.seen) from None

    def end(self):
        code = self.process.wait(START_S_MAX)
        os.close(self.handle)
        return code


def test_at_a_terminal_a_refused_line_is_no_failure_and_quit_ends_it(tmp_path):
    terminal = Terminal(tmp_path / "pet.json", "--seed", "1")
    terminal.expect("> ")
    terminal.type("hello\n")
    terminal.expect("Pip: ")
    terminal.type("/dance\n")
    terminal.expect("unknown_command")
    terminal.type("/wait 2h\n")
    terminal.expect("2 hours went by.")
    assert "living 2 hours" in terminal.seen
    assert "100%" in terminal.seen
    assert "00:00" not in terminal.seen  # how long the bar thinks it takes is over when it is told
    terminal.type("/quit\n")
    assert 0 == terminal.end()


def test_interrupted_it_ends_with_130_and_keeps_the_pet(tmp_path):
    terminal = Terminal(tmp_path / "pet.json", "--seed", "1")
    terminal.expect("> ")
    terminal.type("remember me\n")
    terminal.expect("Pip: ")
    terminal.expect("\n> ")
    terminal.process.send_signal(signal.SIGINT)
    assert 130 == terminal.end()
    assert "Traceback" not in terminal.seen
    assert "remember me" in [line.text("text") for line in view_of(saved(tmp_path / "pet.json")).all("chat")]


def test_the_shipped_brain_is_the_one_that_talks():
    assert (shipped_brain_dir() / "brain.json").is_file()
