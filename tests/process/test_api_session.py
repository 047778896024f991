"""The session of docs/api.md, from adoption to a reply and home again, as it stands there, against a real host."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from home_process import ROOT, HomeProcess, importable

from tokenling import engine

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
HOME = "home=http://127.0.0.1:8460\n"
SESSION_S_MAX = 120.0


def session():
    """The shell blocks of the section, in order."""
    section = PAGE.partition("## From adoption to a reply\n")[2].partition("\n## ")[0]
    return "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_session_of_the_page_brings_a_pet_to_a_host_gets_its_answer_and_takes_it_home(tmp_path):
    assert session().startswith(HOME)
    command = tmp_path / "tokenling"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tokenling "$@"\n')
    command.chmod(0o755)
    place = tmp_path / "place"
    place.mkdir()
    with HomeProcess.preview(tmp_path / "state") as home:
        done = subprocess.run(
            ["sh", "-euc", session().replace(HOME, f"home={home.address}\n")],
            check=False,
            cwd=place,
            env={**os.environ, **importable(), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=SESSION_S_MAX,
        )
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    parked = json.loads((place / "parked.json").read_text())
    chat = engine.load_save((place / "home.json").read_bytes()).chat
    assert ("parked", "hello, who are you?") == (parked["status"], chat[0].text)
    answer = json.loads((place / "view.json").read_text())["save"]["chat"][-1]
    assert ("pet", True) == (answer["who"], f"{answer['text']}\n" in done.stdout)
    assert 0o600 == (place / "key").stat().st_mode & 0o777
    assert (place / "key").read_text().split()[-1] not in done.stdout
