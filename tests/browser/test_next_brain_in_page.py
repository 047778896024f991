"""A site comes to serve the next brain: a pet that lives in the page goes on with it, whole, and its owner is told."""

import functools
import json
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from app_support import ROOT, Visitor
from home_support import READ_RECORDS
from test_room_real_life import REPLY_MS, adopt, sync_api, talk

from tokenling.cli.brain_files import shipped_brain_dir, succession_of

OLDER_ID = "sprout-elder"
"""The shipped brain's own files under the id of one before it: what changes for the pet is the id."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def folder(browser, tmp_path):
    """A folder that a plain web server serves: (its path, its address)."""
    (tmp_path / "site").mkdir()
    handler = functools.partial(Quiet, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path / "site", f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def older_brain(path):
    brain = shutil.copytree(shipped_brain_dir(), path)
    manifest = brain / "brain.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"id": OLDER_ID, "succeeds": []}))
    return brain


def write_site(out, *options) -> None:
    command = [sys.executable, "-m", "tokenling", "site", str(out), *map(str, options)]
    written = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert written.returncode == 0, written.stderr


def kept_save(page):
    """The newest save of the one pet that this browser keeps."""
    ((_, record),) = page.evaluate(READ_RECORDS)["subtokenling.v1"]
    return record["checkpoints"][0]["save"]


def test_a_pet_in_the_page_follows_its_site_to_the_next_brain_and_its_owner_is_told(browser, folder, tmp_path):
    out, origin = folder
    write_site(out, "--brain", older_brain(tmp_path / "elder"))
    visitor = Visitor(browser, origin)
    page = visitor.open()
    adopt(page, "Pip")
    page.get_by_role("button", name="Feed").click()
    page.get_by_role("button", name="a plum").click()
    talk(page, "my name is Julia")
    before = kept_save(page)["hosting"]
    page.close()

    write_site(out)
    page = visitor.open()
    sync_api.expect(page.get_by_role("heading", level=1, name="Pip", exact=True)).to_be_visible(timeout=REPLY_MS)
    assert page.locator(".line.mine .said").first.inner_text() == "my name is Julia"
    page.get_by_role("tab", name="Life").click()
    sync_api.expect(page.get_by_text("Pip got a new brain.")).to_be_visible(timeout=REPLY_MS)
    page.get_by_role("tab", name="Talk").click()
    assert talk(page, "are you still you?").inner_text().split("(How it came")[0].strip()
    after = kept_save(page)["hosting"]
    visitor.close()
    assert (OLDER_ID, succession_of(shipped_brain_dir())[0]) == (before["brainId"], after["brainId"])
    assert visitor.errors == []
