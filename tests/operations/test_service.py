"""A real `serve` process as an operator's machine runs it: service manager, metrics, proxies, drain, refusals."""

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from promises import in_time

from tokenling.host.rates import LIMITS
from tools.bench.quiet_host import Keeper, quiet_save

ROOT = Path(__file__).parents[2]
STOP_S_MAX = 2.0
WAIT_S = 30.0


class Service:
    """The process, started under a service manager that listens."""

    def __init__(self, tmp_path, **environ):
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(tmp_path / "notify"))
        self._heard = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        settings = {
            "SUBTOKENLING_LISTEN": "127.0.0.1:0",
            "SUBTOKENLING_DB": str(tmp_path / "pets.sqlite"),
            "SUBTOKENLING_MODEL_DIR": str(tmp_path),
            "SUBTOKENLING_ALLOWED_ORIGIN": "https://pets.example",
            "SUBTOKENLING_THREADS": "1",
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
        }
        self._log = (tmp_path / "stderr").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("quiet_serve.py"))],
            env={**os.environ, **settings, **environ},
            stdout=subprocess.PIPE,
            stderr=self._log.fileno(),  # not a pipe: one that nobody reads fills up
            text=True,
        )

    @property
    def stderr(self):
        return Path(self._log.name).read_text()

    def _listen(self):
        """As service managers do: a socket that nobody reads takes ten messages, and the next are lost."""
        while heard := self.manager.recv(200):
            self._heard.put(heard.decode())

    def told(self):
        return self._heard.get(timeout=WAIT_S)

    def lines_until(self, pattern):
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(self.stderr)

    def stop(self):
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT_S)
        return code, time.monotonic() - begun

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.manager.getsockname())
        self._listener.join()
        self.manager.close()
        self._log.close()


def test_the_service_manager_hears_ready_then_the_watchdog_then_stopping(tmp_path):
    def attempt(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Service(folder, WATCHDOG_USEC="200000") as service:
            heard = [service.told() for _ in range(4)]
            assert {"READY=1", "WATCHDOG=1"} == set(heard)
            address = service.lines_until(r"listening on (http://\S+)")
            assert httpx.get(f"{address}/api/health", timeout=60, trust_env=False).status_code == 200
            code, seconds = service.stop()
            assert code == 0, service.stderr
            while (last := service.told()) == "WATCHDOG=1":
                pass
            assert last == "STOPPING=1"
            return seconds

    in_time(STOP_S_MAX, attempt)


def test_metrics_stand_on_their_own_address_and_not_on_the_apis(tmp_path):
    with Service(tmp_path, SUBTOKENLING_METRICS_LISTEN="127.0.0.1:0") as service:
        metrics = service.lines_until(r"metrics on (http://\S+)")
        address = service.lines_until(r"listening on (http://\S+)")
        with httpx.Client(timeout=60, trust_env=False, base_url=address) as client:
            Keeper(client).adopt(quiet_save(2000))
            assert client.get("/metrics").status_code == 404
        page = httpx.get(metrics, timeout=60, trust_env=False).text
        assert 'tokenling_pets{status="active"} 1.0' in page.splitlines()
        assert "tokenling_ready 1.0" in page.splitlines()
        assert service.stop()[0] == 0


def test_a_taken_metrics_address_is_told_in_one_line_before_the_brain_loads(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with Service(tmp_path, SUBTOKENLING_METRICS_LISTEN=f"127.0.0.1:{taken.getsockname()[1]}") as service:
            assert service.process.wait(WAIT_S) == 2
            assert re.fullmatch(r"tokenling: error: cannot listen on .*another program.*\n", service.stderr)


REFUSED = {
    "a clock of 1970": ({"WALL_CLOCK_NS": "1000000000"}, r"tokenling: error: the wall clock says \d+ ms.*"),
    "a brain id that no save can hold": (
        {"BRAIN_ID": "b" * 300},
        r"tokenling: error: the host's brainId does not fit.*",
    ),
}


@pytest.mark.parametrize(("environ", "line"), REFUSED.values(), ids=REFUSED.keys())
def test_what_no_pet_could_live_with_ends_the_start_with_a_line_and_code_2(tmp_path, environ, line):
    with Service(tmp_path, **environ) as service:
        code, said = service.process.wait(WAIT_S), service.stderr
    assert (2, True) == (code, re.fullmatch(line + "\n", said) is not None), said


def test_limits_count_the_real_clients_behind_a_trusted_proxy(tmp_path):
    with Service(tmp_path, SUBTOKENLING_TRUSTED_PROXIES="127.0.0.1") as service:
        address = service.lines_until(r"listening on (http://\S+)")
        with httpx.Client(timeout=60, trust_env=False, base_url=address) as client:

            def ask(_number):
                return client.get("/nowhere", headers={"X-Forwarded-For": "198.51.100.9, 192.0.2.7"}).status_code

            first = [ask(number) for number in range(LIMITS.client.burst)]
            with ThreadPoolExecutor(8) as asking:  # together they ask faster than a share comes back
                then = list(asking.map(ask, range(1500)))
            other = client.get("/nowhere", headers={"X-Forwarded-For": "192.0.2.8"})
        assert {404} == set(first)
        assert {404, 429} == set(then)
        assert other.status_code == 404
        assert service.stop()[0] == 0


def test_a_stop_finishes_what_is_under_way_and_says_draining_to_what_comes(tmp_path):
    def attempt(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        return stopped_amid_strokes(folder)

    in_time(STOP_S_MAX, attempt)


def stopped_amid_strokes(folder):
    """How long it took."""
    with Service(folder) as service:
        address = service.lines_until(r"listening on (http://\S+)")
        with httpx.Client(trust_env=False, base_url=address, timeout=30) as client:
            keeper = Keeper(client)
            keeper.adopt(quiet_save(2000))
            answers, stopped = [], threading.Event()

            def stroke():
                while True:
                    path = f"{keeper.path}/commands"
                    try:
                        answers.append(client.post(path, headers=keeper.headers, json=keeper.stroke_body()).status_code)
                    except httpx.TransportError:
                        return stopped.set()

            worker = threading.Thread(target=stroke)
            worker.start()
            while len(answers) < 5:
                time.sleep(0.005)
            code, seconds = service.stop()
            worker.join(WAIT_S)
        assert code == 0, service.stderr
        assert stopped.is_set()
        assert set(answers) <= {200, 429, 503}, service.stderr
        return seconds


def test_every_log_line_of_a_request_has_its_id_and_no_path(tmp_path):
    with Service(tmp_path) as service:
        address = service.lines_until(r"listening on (http://\S+)")
        with httpx.Client(timeout=60, trust_env=False, base_url=address) as client:
            keeper = Keeper(client)
            keeper.adopt(quiet_save(2000))
            answer = client.get(keeper.path, headers=keeper.headers)
        assert service.stop()[0] == 0
        log = service.stderr
    requests = [line for line in log.splitlines() if "event=request" in line]
    assert len(requests) >= 4
    assert all(re.search(r" request_id=[0-9a-f]{16}( |$)", line) for line in requests), requests
    assert answer.headers["x-request-id"] in log
    for private in (keeper.pet_id, keeper.key, "Pip", "192.0.2"):
        assert private not in log
