"""Every exit code of `serve` and `preview`, each with a line that says why, and nothing changed."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import time

import httpx
import pytest
import trio
from home_process import ROOT, HomeProcess, Owner, importable
from promises import in_time
from saves import quiet_save

from tokenling.cli.brain_child import WATCH
from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.runtime.lane_thread import NAME
from tokenling.store import open_store

NEWER_SCHEMA = 1000
ANSWER_S_MAX = 5.0


def run(*arguments, environ=None, stdin=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUBTOKENLING_")}
    return subprocess.run(
        [sys.executable, "-m", "tokenling", *map(str, arguments)],
        cwd=ROOT,
        env={**clean, **importable(), **(environ or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def environ(tmp_path):
    """Settings that a host starts with."""
    return {
        "SUBTOKENLING_LISTEN": "127.0.0.1:0",
        "SUBTOKENLING_DB": str(tmp_path / "pets.sqlite"),
        "SUBTOKENLING_MODEL_DIR": str(shipped_brain_dir()),
        "SUBTOKENLING_ALLOWED_ORIGIN": "https://pets.example",
        "SUBTOKENLING_THREADS": "1",
    }


@pytest.fixture
def brain_copy(tmp_path):
    """A copy of the shipped brain to spoil."""
    return shutil.copytree(shipped_brain_dir(), tmp_path / "brain")


def test_serve_without_settings_names_each_that_it_needs(tmp_path):
    done = run("serve")
    assert done.returncode == 2
    needed = ("LISTEN", "DB", "MODEL_DIR", "ALLOWED_ORIGIN")
    assert [f"SUBTOKENLING_{name}" for name in needed] == re.findall(r"SUBTOKENLING_\w+", done.stderr)
    assert len(done.stderr.splitlines()) == len(needed)


@pytest.mark.parametrize("options", [[], ["--print-config"], ["--check"]])
def test_a_mistyped_name_is_told_beside_the_setting_that_it_leaves_missing(environ, options):
    environ["SUBTOKENLING_LISTN"] = environ.pop("SUBTOKENLING_LISTEN")
    done = run("serve", *options, environ=environ)
    assert done.returncode == 2
    hint, refusal = done.stderr.splitlines()
    assert "tokenling: SUBTOKENLING_LISTN: no such setting, not read; is SUBTOKENLING_LISTEN meant?" == hint
    assert refusal.startswith("tokenling: error: SUBTOKENLING_LISTEN: found nothing")


def test_a_mistyped_name_is_told_with_the_configuration_that_is_whole_without_it(environ):
    done = run("serve", "--print-config", environ=environ | {"SUBTOKENLING_MAX_PET": "3"})
    assert (0, 1) == (done.returncode, done.stderr.count("\n"))
    assert "is SUBTOKENLING_MAX_PETS meant?" in done.stderr


def test_a_check_passes_and_leaves_no_database_behind(environ, tmp_path):
    done = run("serve", "--check", environ=environ)
    assert (0, "") == (done.returncode, done.stderr)
    assert "check passed" in done.stdout
    assert list(tmp_path.iterdir()) == []


FILES_TOO_FEW = 8


@pytest.mark.parametrize("whose", ["host", "own"])
def test_a_limit_that_leaves_no_file_to_start_with_is_named_in_one_line(environ, whose):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = subprocess.run(
        [sys.executable, "-m", "tokenling", "serve"],
        cwd=ROOT,
        env={**os.environ, **importable(), **environ, "SUBTOKENLING_BRAIN_PROCESS": whose},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_TOO_FEW, hard)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (1, ["tokenling: error: cannot start: this process gets no more open files (ulimit -n)"]) == (
        done.returncode,
        done.stderr.splitlines(),
    )


NO_THREAD = """
import threading

start = threading.Thread.start

def start_others(thread):
    if thread.name == "{name}":
        raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = start_others
"""


@pytest.mark.parametrize(("whose", "name"), [("host", NAME), ("own", NAME), ("own", WATCH)])
def test_a_host_that_has_no_thread_for_its_lanes_does_not_start_and_says_why(environ, tmp_path, whose, name):
    (tmp_path / "sitecustomize.py").write_text(NO_THREAD.format(name=name))
    path = os.pathsep.join([str(tmp_path), *filter(None, [importable().get("PYTHONPATH")])])
    done = run("serve", environ=environ | {"PYTHONPATH": path, "SUBTOKENLING_BRAIN_PROCESS": whose})
    who = {"host": "this process", "own": "the brain's process"}[whose]
    assert (1, [f"tokenling: error: cannot start: {who} gets no more threads or processes (ulimit -u)"]) == (
        done.returncode,
        done.stderr.splitlines(),
    )


STACK_TOO_LARGE = 2**46
"""What a thread gets that asks for no size of its own: more than there is to be had."""
ONLY_PYTHON_ASKS = """
import os, threading

threading.stack_size(2**20)
os.sched_getaffinity = lambda pid: {0, 1}  # on one core a lane needs no other thread
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a thread's stack is as large as the limit with glibc")
@pytest.mark.parametrize("whose", ["host", "own"])
def test_a_brain_that_gets_no_thread_is_not_to_blame_and_the_limit_is_named(environ, tmp_path, whose):
    (tmp_path / "sitecustomize.py").write_text(ONLY_PYTHON_ASKS)
    path = os.pathsep.join([str(tmp_path), importable()["PYTHONPATH"]])
    threads = {"OPENBLAS_NUM_THREADS": "1", "SUBTOKENLING_CPU_LANES": "1", "SUBTOKENLING_THREADS": "2"}
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if 0 <= hard < STACK_TOO_LARGE:
        pytest.skip("this machine bounds the stacks itself")
    done = subprocess.run(
        [sys.executable, "-m", "tokenling", "serve"],
        cwd=ROOT,
        env={**os.environ, **environ, **threads, "PYTHONPATH": path, "SUBTOKENLING_BRAIN_PROCESS": whose},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK_TOO_LARGE, hard)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    who = {"host": "this process", "own": "the brain's process"}[whose]
    assert (1, [f"tokenling: error: cannot start: {who} gets no more memory (ulimit -v)"]) == (
        done.returncode,
        done.stderr.splitlines(),
    )


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_check_starts_on_a_copy_and_changes_nothing_of_a_database_that_a_start_would_change(start, environ, brain_id):
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id, "newt"))
        home.process.kill()
        home.process.wait()
    before = contents(home.state)
    assert len(before["pets.sqlite-wal"]) > 0, "a start folds this in"
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_DB": str(home.state / "pets.sqlite")})
    assert (0, "") == (done.returncode, done.stderr)
    assert before == contents(home.state)


def test_a_check_does_not_migrate_and_names_the_database_itself(environ, tmp_path):
    database = tmp_path / "host" / "pets.sqlite"
    database.parent.mkdir()
    database.touch()  # the oldest schema: none
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_DB": str(database)})
    assert (0, {"pets.sqlite": b""}) == (done.returncode, contents(database.parent)), done.stderr
    database.write_bytes(b"no database" * 1000)
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_DB": str(database)})
    assert (4, True) == (done.returncode, f"{database}: found corrupt" in done.stderr), done.stderr


def test_a_check_of_a_database_that_a_host_holds_is_refused(start, environ):
    home = start()
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_DB": str(home.state / "pets.sqlite")})
    assert (4, True) == (done.returncode, "locked" in done.stderr)


@pytest.mark.parametrize("setting", ["LISTEN", "METRICS_LISTEN"])
def test_a_check_says_when_an_address_is_taken(environ, setting):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", "--check", environ=environ | {f"SUBTOKENLING_{setting}": address})
    assert (2, True) == (done.returncode, f"cannot listen on {address}: another program" in done.stderr)


def test_a_warm_brain_leaves_nothing_in_the_user_s_directories(environ, tmp_path):
    """ONNX Runtime's own telemetry would keep a device id there."""
    home = tmp_path / "home"
    home.mkdir()
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(tmp_path)}
    done = run("serve", "--check", environ=environ | places)
    assert (0, "") == (done.returncode, done.stderr)
    assert list(home.rglob("*")) == []


def test_the_configuration_is_shown_with_its_sources_and_without_the_enrol_code(environ):
    done = run("serve", "--print-config", environ=environ | {"SUBTOKENLING_ENROL_CODE": "otter-lamp-42"})
    assert (0, "") == (done.returncode, done.stderr)
    assert re.search(r"^SUBTOKENLING_LISTEN +environment +127\.0\.0\.1:0$", done.stdout, re.MULTILINE)
    assert re.search(r"^SUBTOKENLING_MAX_PETS +default +64$", done.stdout, re.MULTILINE)
    assert "otter" not in done.stdout


def test_a_taken_port_is_told_in_one_line(environ):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", environ=environ | {"SUBTOKENLING_LISTEN": address})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"cannot listen on {address}: another program listens there" in done.stderr


@pytest.mark.parametrize("option", [["--port", "65536"], ["--port", "x"], ["--log-level", "all"], ["--what"]])
def test_a_wrong_option_is_a_matter_of_settings(option):
    assert run("preview", *option).returncode == 2


def test_settings_do_not_reach_a_preview_and_it_says_so(tmp_path, environ):
    done = run("preview", "--check", "--port", "0", "--state", tmp_path / "state", environ=environ)
    assert done.returncode == 0, done.stderr
    assert "preview reads no settings" in done.stderr


SPOILED = {
    "no tokenizer": lambda brain: (brain / "tokenizer.json").unlink(),
    "no graph of the precision": lambda brain: (brain / "onnx" / "model_q4.onnx").unlink(),
    "a graph cut short": lambda brain: os.truncate(brain / "onnx" / "model_q4.onnx", 5000),
    "a changed file": lambda brain: (brain / "config.json").write_bytes((brain / "config.json").read_bytes() + b"\n"),
    "a manifest that is not JSON": lambda brain: (brain / "brain.json").write_bytes(b"{"),
    "another prompt version": lambda brain: set_in_manifest(brain, promptVersion=9999),
}


def set_in_manifest(brain, **members):
    path = brain / "brain.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=list(SPOILED))
def test_a_brain_that_breaks_the_contract_is_refused(environ, brain_copy, spoil):
    spoil(brain_copy)
    done = run("serve", "--check", environ=environ | {"SUBTOKENLING_MODEL_DIR": str(brain_copy)})
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tokenling: error: ")


def test_settings_that_contradict_the_brain_are_refused(environ):
    for name, value in (("MODEL_ID", "another-brain"), ("FEATURES", '["no-such-feature"]')):
        done = run("serve", "--check", environ=environ | {f"SUBTOKENLING_{name}": value})
        assert done.returncode == 3, name
        assert f"see SUBTOKENLING_{name}" in done.stderr


def test_a_foreign_export_needs_its_id_and_features_set_and_then_serves(environ, brain_copy):
    (brain_copy / "brain.json").unlink()
    foreign = environ | {"SUBTOKENLING_MODEL_DIR": str(brain_copy)}
    done = run("serve", "--check", environ=foreign)
    assert done.returncode == 3
    assert "see SUBTOKENLING_MODEL_ID, SUBTOKENLING_FEATURES" in done.stderr
    named = foreign | {"SUBTOKENLING_MODEL_ID": "foreign-1", "SUBTOKENLING_FEATURES": "[]"}
    done = run("serve", "--check", environ=named)
    assert (0, "check passed: brain foreign-1 is warm\n") == (done.returncode, done.stdout)


def test_a_missing_precision_is_never_replaced_by_another(environ, brain_copy):
    (brain_copy / "onnx" / "model.onnx").unlink(missing_ok=True)
    done = run(
        "serve", "--check",
        environ=environ | {"SUBTOKENLING_MODEL_DIR": str(brain_copy), "SUBTOKENLING_MODEL_DTYPE": "fp32"},
    )  # fmt: skip
    assert done.returncode == 3
    assert "onnx/model.onnx" in done.stderr


def test_a_database_that_another_process_holds_is_refused(start, environ):
    home = start()
    database = str(home.state / "pets.sqlite")
    done = run("serve", environ=environ | {"SUBTOKENLING_DB": database})
    assert done.returncode == 4
    assert "locked" in done.stderr


def test_a_corrupt_database_is_refused_and_left_as_it_is(environ, tmp_path):
    path = tmp_path / "pets.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    before = path.read_bytes()
    done = run("serve", environ=environ)
    assert done.returncode == 4
    assert before == path.read_bytes()


def test_a_newer_schema_is_refused(environ, tmp_path):
    path = tmp_path / "pets.sqlite"

    async def make():
        async with open_store(path, now_ms=0):
            pass

    trio.run(make)
    import apsw

    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {NEWER_SCHEMA}")
    connection.close()
    done = run("serve", environ=environ)
    assert done.returncode == 4
    assert "newer_schema" in done.stderr


def test_pets_of_another_brain_keep_the_host_from_starting_until_the_operator_decides(
    start, environ, brain_copy, brain_id
):
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id, "stoat"))
    assert home.stop()[0] == 0
    set_in_manifest(brain_copy, id="sprout-next", succeeds=[brain_id])
    database = str(home.state / "pets.sqlite")
    other = environ | {"SUBTOKENLING_DB": database, "SUBTOKENLING_MODEL_DIR": str(brain_copy)}
    done = run("serve", environ=other)
    assert done.returncode == 4
    assert f"1 active or prepared pets select another brain than sprout-next: {brain_id} (1)" in done.stderr
    moved = run("pets", "rebrain", "--from", brain_id, "--to", "sprout-next", environ=other)
    assert moved.returncode == 0, moved.stderr
    with HomeProcess("-m", "tokenling", "serve", state=home.state, environ=other) as next_home:
        view = owner.move_to(next_home).view()
        assert ("active", "sprout-next") == (view["status"], view["save"]["hosting"]["brainId"])
        assert "new_brain" in [event["kind"] for event in view["save"]["events"]]
        owner.client.close()


def test_serve_serves_and_stops_without_a_gpu_that_does_not_start(environ, tmp_path):
    asked = environ | {"SUBTOKENLING_GPU_DEVICE": "63", "TOKENLING_DB": "x", "ORT_DYLIB_PATH": "y"}
    with HomeProcess("-m", "tokenling", "serve", state=tmp_path / "state", environ=asked) as home:
        health = httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()
        assert health["ready"] is True
        assert [("cpu", "CPUExecutionProvider", "ready"), ("cuda", "CUDAExecutionProvider", "failed")] == [
            (worker["name"], worker["provider"], worker["state"]) for worker in health["workers"]
        ]
        assert home.stop()[0] == 0
    for told in (
        "SUBTOKENLING_GPU_DEVICE is 63: no CUDA worker was started, the CPU serves: device cuda:63: found ",
        "the GPU did not start; the CPU serves",
        "old names are not read",
        "ORT_DYLIB_PATH is not needed",
    ):
        assert told in home.stderr


def test_a_preview_answers_within_five_seconds_of_its_start(tmp_path):
    def attempt(number):
        with HomeProcess.preview(tmp_path / f"state-{number}") as home:
            assert httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()["ready"] is True
            seconds = time.monotonic() - home.started
            assert re.search(r"  brain    \S+ \(q4, exact\)\n", home.process.stdout.readline().decode())
            return seconds

    in_time(ANSWER_S_MAX, attempt)


def test_open_shows_the_page_in_the_owners_browser(tmp_path):
    os.mkfifo(tmp_path / "opened")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nexec echo "$1" > {tmp_path}/opened\n')
    browser.chmod(0o700)
    with HomeProcess.preview(tmp_path / "state", "--open", environ={"BROWSER": str(browser)}) as home:
        assert (tmp_path / "opened").read_text().strip() == home.address
