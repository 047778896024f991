"""Signals end a host within two seconds, exit code 0, whoever is connected."""

import signal
import stat
import threading

import httpx
import pytest
from home_process import HomeProcess, Owner
from saves import quiet_save

STOP_S_MAX = 2.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_host_with_an_idle_client_and_answers_a_parked_poll(start, brain_id, number):
    home = start()
    answers = []
    with httpx.Client(base_url=home.address, trust_env=False) as idle, Owner(home) as owner:
        owner.adopt(quiet_save(brain_id))
        assert idle.get("/api/health").status_code == 200  # its connection stays open
        etag = owner.client.get(owner.path).headers["ETag"]
        parked = threading.Event()

        def poll():
            parked.set()
            answers.append(owner.client.get(owner.path, params={"wait": 50}, headers={"If-None-Match": etag}))

        poller = threading.Thread(target=poll)
        poller.start()
        parked.wait()
        idle.get("/api/health")  # the poll has had a round trip's time to arrive
        code, seconds = home.stop(number)
        poller.join(timeout=5)
    assert code == 0, home.output()
    assert seconds < STOP_S_MAX
    assert [answer.status_code for answer in answers] in ([304], [200], [503])


def test_a_stop_while_the_pet_thinks_loses_nothing_and_the_reply_comes_after_the_restart(start, brain_id):
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id))
        owner.say("tell me a story")
        code, seconds = home.stop()
        assert code == 0
        assert seconds < STOP_S_MAX
        owner.move_to(start())
        view, line = owner.await_reply()
        assert line["text"]
        assert [said["text"] for said in view["save"]["chat"]].count("tell me a story") == 1


def test_files_are_private_and_the_same_state_starts_again(start, brain_id):
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id))
        files = [path for path in home.state.iterdir() if path.is_file()]
        assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in files}
        home.stop()
        home = start()
        assert owner.move_to(home).view()["status"] == "active"


def test_a_signal_during_the_start_ends_it(tmp_path):
    state = tmp_path / "state"
    with HomeProcess("tests/process/odd_home.py", "slow-brain", str(state), state=state) as home:
        code, seconds = home.stop()
    assert code == 0, home.output()
    assert seconds < STOP_S_MAX
