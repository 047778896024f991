"""A new release brings the next brain: a preview's pets follow it by themselves, when it succeeds theirs."""

import json
import shutil
import stat

import pytest
from home_process import HomeProcess, Owner
from saves import quiet_save

from tokenling.cli.brain_files import shipped_brain_dir

ODD = "tests/process/odd_home.py"


def next_brain(path, **members):
    brain = shutil.copytree(shipped_brain_dir(), path)
    manifest = brain / "brain.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | members))
    return {"NEXT_BRAIN": str(brain)}


@pytest.fixture
def moved_in(start, brain_id):
    """A stopped preview with one active pet: (state directory, owner)."""
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id, "newt"))
        owner.say("remember me")
        owner.await_reply()
        assert home.stop()[0] == 0
        yield home.state, owner


def test_pets_follow_to_the_brain_that_succeeds_theirs_and_a_backup_is_kept(moved_in, tmp_path, brain_id):
    state, owner = moved_in
    before = owner.revision
    environ = next_brain(tmp_path / "next", id="sprout-next", succeeds=[brain_id])
    with HomeProcess(ODD, "next-brain", str(state), "--check", state=state, environ=environ, must_start=False) as check:
        assert check.process.wait(timeout=30) == 0
        assert list(state.glob("*before-rebrain*")) == [], "a check changes nothing"
    with HomeProcess(ODD, "next-brain", str(state), state=state, environ=environ) as home:
        view = owner.move_to(home).view()
        assert ("active", "sprout-next") == (view["status"], view["save"]["hosting"]["brainId"])
        assert view["revision"] > before
        assert "new_brain" in [event["kind"] for event in view["save"]["events"]]
        assert "remember me" in [line["text"] for line in view["save"]["chat"]]
        owner.say("are you still you?")
        _, line = owner.await_reply()
        assert line["text"]
        (backup,) = state.glob("pets.sqlite.before-rebrain-*")
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert home.stop()[0] == 0


def test_pets_do_not_follow_a_brain_that_does_not_name_theirs(moved_in, tmp_path):
    state, _ = moved_in
    environ = next_brain(tmp_path / "next", id="acorn-0", succeeds=["acorn-none"])
    with HomeProcess(ODD, "next-brain", str(state), state=state, environ=environ, must_start=False) as home:
        assert home.process.wait(timeout=30) == 4
        home.close()
    assert "select another brain than acorn-0" in home.stderr
    assert list(state.glob("*before-rebrain*")) == []
