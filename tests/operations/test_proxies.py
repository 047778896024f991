"""The proxy examples of docs/operations.md, run by the real programs in front of a real host."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from test_service import Service

from tokenling.host.polls import WAIT_S_MAX
from tools.bench.quiet_host import Keeper, quiet_save

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
UPSTREAM = "127.0.0.1:8460"
STRANGER = "127.0.0.2"
"""A client that is not the proxy's own address, which is trusted."""
START_S = 60.0


def example(program):
    return re.search(rf"^{program}:\n\n```\w*\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)[1]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def nginx(tmp_path, port, upstream):
    """nginx with the example's server block, without its TLS."""
    block = example("nginx").replace(UPSTREAM, upstream).replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    block = re.sub(r" *ssl_certificate.*\n", "", block)
    folder = tmp_path / "nginx"
    folder.mkdir()
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.getuid() == 0 else ""  # its workers write large bodies into this folder
    config = folder / "nginx.conf"
    config.write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/error; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{block} }}"
    )
    return [shutil.which("nginx"), "-c", str(config), "-e", str(folder / "error")], {}


def caddy(tmp_path, port, upstream):
    """Caddy with the example's site, on plain HTTP."""
    site = example("Caddy").replace(UPSTREAM, upstream).replace("pets.example {", f"http://pets.example:{port} {{")
    config = tmp_path / "Caddyfile"
    config.write_text("{\n    admin off\n    auto_https off\n}\n" + site)
    return [shutil.which("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"], {"HOME": str(tmp_path)}


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def proxied(request, tmp_path):
    """A client of a host behind the proxy; the client has an address of its own."""
    if shutil.which(request.param.__name__) is None:
        pytest.skip(f"{request.param.__name__} is not installed")
    environ = {"SUBTOKENLING_TRUSTED_PROXIES": "127.0.0.1", "SUBTOKENLING_ALLOWED_HOSTS": "pets.example"}
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(Service(tmp_path, **environ))
        upstream = service.lines_until(r"listening on http://(\S+)")
        port = free_port()
        command, more = request.param(tmp_path, port, upstream)
        with (
            (tmp_path / "proxy.log").open("w") as log,
            subprocess.Popen(command, stdout=log, stderr=log, env=more) as proxy,
        ):
            transport = httpx.HTTPTransport(local_address=STRANGER)
            headers = {"Host": "pets.example"}
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", headers=headers, transport=transport, timeout=60
            ) as client:
                try:
                    wait_for(client)
                    yield client
                finally:
                    proxy.terminate()


def wait_for(client):
    until = time.monotonic() + START_S
    while True:
        try:
            assert client.get("/api/health").status_code == 200
        except httpx.ConnectError:
            assert time.monotonic() < until, "the proxy did not start"
            time.sleep(0.05)
        else:
            return


def test_a_pet_lives_behind_the_proxy_and_a_long_poll_wakes_through_it(proxied):
    keeper = Keeper(proxied)
    tag = keeper.adopt(quiet_save(40_000))
    answers = []

    def poll():
        headers = {**keeper.headers, "If-None-Match": tag}
        answers.append(proxied.get(keeper.path, params={"wait": 50}, headers=headers))

    poller = threading.Thread(target=poll)
    poller.start()
    time.sleep(0.5)
    assert answers == []
    keeper.stroke()
    poller.join(60)
    assert [200] == [answer.status_code for answer in answers]
    assert answers[0].headers["etag"] != tag


def test_limits_count_the_proxys_client_and_not_what_it_claims(proxied):
    def ask(number):
        return proxied.get("/nowhere", headers={"X-Forwarded-For": f"198.51.100.{number % 250}"}).status_code

    with ThreadPoolExecutor(8) as asking:  # together they ask faster than a share comes back
        assert {404, 429} == set(asking.map(ask, range(2000)))


def test_the_proxies_wait_longer_than_a_long_poll():
    times = [int(found) for found in re.findall(r"read_timeout (\d+)s", PAGE)]
    assert len(times) == 2
    assert min(times) > WAIT_S_MAX
