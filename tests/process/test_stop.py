"""Signals end a host within two seconds, exit code 0, whoever is connected."""

import contextlib
import http.client
import signal
import stat
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from home_process import START_S_MAX, HomeProcess, Owner
from promises import in_time
from saves import quiet_save

STOP_S_MAX = 2.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_host_with_an_idle_client_and_answers_a_parked_poll(start, brain_id, number):
    in_time(STOP_S_MAX, lambda _try: stopped_with_a_parked_poll(start(), brain_id, number))


def stopped_with_a_parked_poll(home, brain_id, number):
    """How long it took."""
    with httpx.Client(base_url=home.address, timeout=60, trust_env=False) as idle, Owner(home) as owner:
        owner.adopt(quiet_save(brain_id))
        with contextlib.closing(http.client.HTTPConnection(urlsplit(home.address).netloc, timeout=60)) as poll:
            headers = {"Authorization": f"Bearer {owner.key}"}
            poll.request("GET", owner.path, headers=headers)
            seen = poll.getresponse()
            seen.read()
            poll.request("GET", f"{owner.path}?wait=50", headers=headers | {"If-None-Match": seen.headers["ETag"]})
            assert idle.get("/api/health").status_code == 200  # it came later, and its connection stays open
            code, seconds = home.stop(number)
            assert poll.getresponse().status in (304, 200, 503)
    assert code == 0, home.output()
    return seconds


def test_a_stop_while_the_pet_thinks_loses_nothing_and_the_reply_comes_after_the_restart(start, brain_id):
    with Owner(start()) as owner:
        owner.adopt(quiet_save(brain_id))

        def attempt(number):
            owner.say(f"tell me story {number}")
            code, seconds = owner.home.stop()
            assert code == 0
            owner.move_to(start())
            view, line = owner.await_reply()
            assert line["text"]
            assert [said["text"] for said in view["save"]["chat"]].count(f"tell me story {number}") == 1
            return seconds

        in_time(STOP_S_MAX, attempt)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process has mapped")
@pytest.mark.parametrize("after_s", [0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25])
def test_a_stop_while_the_brain_is_loaded_is_an_orderly_one(start, after_s):
    home = start(must_start=False)
    maps = Path(f"/proc/{home.process.pid}/maps")
    while "onnxruntime_pybind11_state" not in maps.read_text():
        assert home.process.poll() is None
        time.sleep(0.001)
    time.sleep(after_s)  # where half of the stops ended with SIGABRT: the thread came back from its session too late
    assert home.stop()[0] == 0, home.output()


def test_files_are_private_and_the_same_state_starts_again(start, brain_id):
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id))
        files = [path for path in home.state.iterdir() if path.is_file()]
        assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in files}
        home.stop()
        home = start()
        assert owner.move_to(home).view()["status"] == "active"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_that_go_on_until_the_process_has_ended_end_it_as_one_does(start, number):
    def attempt(_try):
        home = start()
        begun = time.monotonic()
        while home.process.poll() is None and time.monotonic() - begun < START_S_MAX:
            home.process.send_signal(number)
            time.sleep(0.001)  # a key that is held down; slower than that, none would meet the last moments
        seconds = time.monotonic() - begun
        assert home.stop()[0] == 0, home.output()
        assert home.stderr.count(" event=stopping ") <= 1
        assert "Traceback" not in home.stderr
        return seconds

    in_time(STOP_S_MAX, attempt)


def test_a_signal_during_the_start_ends_it(tmp_path):
    def attempt(number):
        state = tmp_path / f"state-{number}"
        with HomeProcess("tests/process/odd_home.py", "slow-brain", str(state), state=state) as home:
            code, seconds = home.stop()
        assert code == 0, home.output()
        return seconds

    in_time(STOP_S_MAX, attempt)
