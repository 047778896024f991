"""`tokenling site`: what it writes runs from any web server at any path, and what it refuses changes nothing."""

import functools
import json
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from app_support import ROOT, Visitor

from tokenling.cli.brain_files import shipped_brain_dir


def write_site(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tokenling", "site", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def plain_server(tmp_path):
    """Any web server: no headers of ours, the site in a folder of it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_site_runs_below_any_path_of_a_plain_web_server(browser, plain_server, tmp_path):
    written = write_site(tmp_path / "deep" / "pets", "--default-host", "https://Pets.example/")
    assert written.returncode == 0, written.stderr
    site = json.loads((tmp_path / "deep" / "pets" / "app" / "site.json").read_bytes())
    assert (site["hosted"], site["defaultHost"]) == (False, "https://pets.example")
    for name in site["brain"]["files"]:
        assert (tmp_path / "deep" / "pets" / site["brain"]["base"] / name).is_file()
    visitor = Visitor(browser, plain_server)
    page = visitor.open("/deep/pets/")
    started = page.evaluate(
        """async () => {
          const registration = await navigator.serviceWorker.ready;
          return [registration.scope, document.querySelectorAll("meta[http-equiv=Content-Security-Policy]").length];
        }"""
    )
    assert started == [f"{plain_server}/deep/pets/", 1]
    visitor.close()
    assert visitor.errors == []


def test_a_site_is_written_over_an_older_one_only(built, tmp_path):
    out = tmp_path / "site"
    assert write_site(out).returncode == 0
    (out / "app" / "old-000000000000.js").write_text("of an older build")
    assert write_site(out).returncode == 0
    assert not (out / "app" / "old-000000000000.js").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    refused = write_site(tmp_path / "mine")
    assert (refused.returncode, (tmp_path / "mine" / "letter.txt").read_text()) == (2, "dear")
    assert "expected a new or an empty directory" in refused.stderr


@pytest.mark.parametrize(
    "address",
    [
        "http://pets.example",
        "https://pets.example/path",
        "https://u:p@pets.example",
        "pets.example",
        "https://",
        "https://a:b",
        "javascript:alert(1)",
    ],
)
def test_a_default_host_that_is_no_origin_is_refused(built, tmp_path, address):
    refused = write_site(tmp_path / "site", "--default-host", address)
    assert (refused.returncode, (tmp_path / "site").exists()) == (2, False)
    assert "expected an https origin" in refused.stderr


def test_a_brain_that_a_page_cannot_use_is_refused(built, tmp_path):
    missing = write_site(tmp_path / "site", "--dtype", "q8")
    empty = write_site(tmp_path / "site", "--brain", tmp_path)
    assert (missing.returncode, empty.returncode, Path(tmp_path / "site").exists()) == (3, 3, False)
    assert "onnx/model_quantized.onnx" in missing.stderr
    assert not (shipped_brain_dir() / "onnx" / "model_quantized.onnx").exists(), "else the first claim tests nothing"
