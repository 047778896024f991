"""The native run in short form: the CPU's for real, the GPU's courses over a stand-in, and every way it can end."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import native_campaign
import native_checks
import pytest
from home_process import HomeProcess, Owner
from native_owner import ORIGIN, PROMPT_LINES, WORDS, pet_of
from native_settings import NativeSettings

from tokenling import engine
from tokenling.cli.brain_files import shipped_brain_dir

CAMPAIGN = Path(native_campaign.__file__)
HOST = {"SUBTOKENLING_MODEL_DIR": str(shipped_brain_dir())}
SHORT = {"counts": (1, 4), "rounds": 1, "repetitions": 1, "cancels": 1, "continuation_ms": 0, "host": HOST}
WAIT_S = 60


def short(profile, tmp_path, **more):
    return NativeSettings(profile, tmp_path / "receipt.json", **{**SHORT, **more})


def receipt_of(settings):
    return json.loads(settings.out.read_text())


def partial_of(settings):
    assert not settings.out.exists()
    return json.loads(settings.out.with_name("receipt.json.partial").read_text())


def test_the_cpu_profile_holds_and_its_receipt_tells_nothing_of_an_owner(tmp_path):
    settings = short("cpu", tmp_path, steady_s=1.0)
    assert 0 == native_campaign.run_native(settings)
    receipt = receipt_of(settings)
    assert (True, "whole", "q4", "exact") == tuple(receipt[name] for name in ("complete", "ended", "dtype", "numerics"))
    assert all(receipt["checks"].values())
    assert [("short", 1), ("short", 4), ("varied", 1), ("varied", 4)] == [
        (burst["kind"], burst["pets"]) for burst in receipt["bursts"]
    ]
    assert 8 == len(receipt["steady"]["turns"])
    assert re.fullmatch("[0-9a-f]{64}", receipt["graphSha256"])
    text = settings.out.read_text()
    for private in ("Bearer", WORDS[:20], "Pip", *native_checks.LINES):
        assert private not in text
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-4", text), "no id of a pet"
    assert [settings.out] == list(tmp_path.iterdir())


@pytest.mark.parametrize("profile", ["gpu", "mixed"])
def test_the_courses_of_the_gpu_profiles_hold_over_a_stand_in(profile, tmp_path):
    settings = short(profile, tmp_path, stand_in=True, counts=(8,))
    assert 0 == native_campaign.run_native(settings)
    receipt = receipt_of(settings)
    states = {worker["name"]: worker["state"] for worker in receipt["workers"]}
    assert {"cpu": "disabled" if profile == "gpu" else "ready", "cuda": "ready"} == states
    assert receipt["standIn"] is True
    ran = {provider for burst in receipt["bursts"] for provider in burst["providers"]}
    assert native_checks.PROVIDERS["gpu"] == ran if profile == "gpu" else "CUDAExecutionProvider" in ran


@pytest.mark.parametrize("profile", ["gpu", "mixed"])
def test_without_a_gpu_its_profiles_say_what_is_missing_and_end_with_2(profile, tmp_path, capfd):
    settings = short(profile, tmp_path, host=HOST | {"SUBTOKENLING_GPU_DEVICE": "63"})
    assert 2 == native_campaign.run_native(settings)
    told = capfd.readouterr().err
    assert (
        f"profile {profile} needs a GPU: tokenling: SUBTOKENLING_GPU_DEVICE is 63: no CUDA worker was started" in told
    )
    assert (False, "refused") == (partial_of(settings)["complete"], partial_of(settings)["ended"])


def test_a_check_that_does_not_hold_is_named_and_what_was_measured_is_kept(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(native_checks, "NEAR_LIMIT_SHARE", 0.99)
    settings = short("cpu", tmp_path)
    assert 1 == native_campaign.run_native(settings)
    partial = partial_of(settings)
    assert "failed: one prompt is near the limit" == partial["ended"]
    assert partial["checks"]["one prompt is near the limit"] is False
    assert {"short", "middle", "near_limit"} == partial["cases"].keys()
    assert "receipt.json.partial" in capfd.readouterr().err


def test_an_interrupted_run_keeps_what_it_measured(tmp_path):
    out = tmp_path / "receipt.json"
    own = {"PROFILE": "cpu", "OUT": str(out), "COUNTS": "1", "ROUNDS": "100"}
    environ = {**os.environ, **{f"SUBTOKENLING_NATIVE_{name}": value for name, value in own.items()}}
    with subprocess.Popen([sys.executable, CAMPAIGN], env=environ, stderr=subprocess.PIPE, text=True) as run:
        while "native: bursts" not in run.stderr.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=WAIT_S)[1]
    assert 130 == run.returncode, told
    partial = json.loads(out.with_name("receipt.json.partial").read_text())
    assert (False, "interrupted") == (partial["complete"], partial["ended"])
    assert {"short", "middle", "near_limit"} == partial["cases"].keys()
    assert not out.exists()


def test_a_run_without_a_profile_says_so_and_ends_with_2():
    environ = {name: value for name, value in os.environ.items() if "NATIVE" not in name}
    done = subprocess.run([sys.executable, CAMPAIGN], env=environ, capture_output=True, text=True, check=False)
    assert (2, True) == (done.returncode, "SUBTOKENLING_NATIVE_PROFILE: found nothing" in done.stderr)


def test_a_host_that_is_killed_while_a_gpu_writes_lives_the_turn_once_after_the_next_start(tmp_path):
    """`kill -9` amid a turn of seconds; without the GPU it goes on where the rows say."""
    state = tmp_path / "state"
    own = {"LISTEN": "127.0.0.1:0", "DB": str(state / "pets.sqlite"), "ALLOWED_ORIGIN": ORIGIN}
    environ = HOST | {f"SUBTOKENLING_{name}": value for name, value in own.items()}
    options = {"state": state, "environ": environ, "pattern": r"listening on (\S+)"}
    with HomeProcess(native_campaign.HOME, "gpu", "0", "stand-in", **options) as home:
        brain_id = httpx.get(f"{home.address}/api/health", timeout=60, trust_env=False).json()["release"]
        owner = Owner(home)
        owner.adopt(json.loads(engine.dump_save(pet_of(brain_id, "killed", long_lines=PROMPT_LINES))))
        owner.say("hello")
        home.process.kill()
    with HomeProcess(native_campaign.HOME, "cpu", "0", **options) as home, owner.move_to(home):
        view = owner.await_view(lambda view: "asked" not in view["save"] and not view["thinking"])
        said = [line for line in view["save"]["chat"] if line["text"] == "hello"]
        answers = [line for line in view["save"]["chat"] if line["who"] == "pet"]
        assert (1, len(answers)) == (len(said), len(owner.receipts()))
        assert len(answers) <= 1
        assert home.stop()[0] == 0
