"""The pet's file: private, for one process, replaced whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from tokenling.cli.pet_file import held
from tokenling.engine.bounds import SAVE_BYTES_MAX
from tokenling.host.exits import ExitCode, HostRefused


def test_the_file_and_what_is_made_for_it_are_private(tmp_path):
    with held(tmp_path / "deep" / "er" / "pet.json") as file:
        assert file.load() is None
        file.keep(b"one")
        assert b"one" == file.load()
    assert 0o700 == stat.S_IMODE((tmp_path / "deep" / "er").stat().st_mode)
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep" / "er").iterdir()}


def test_a_file_that_others_could_read_becomes_private_with_the_next_step(tmp_path):
    path = tmp_path / "pet.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with held(path) as file:
        file.keep(b"new")
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_a_second_process_is_refused_and_a_later_one_is_not(tmp_path):
    path = tmp_path / "pet.json"
    script = f"from tokenling.cli.pet_file import held\nfrom pathlib import Path\nwith held(Path({str(path)!r})): pass"
    with held(path):
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
        assert b"another process that has this pet" in other.stderr
    assert 0 == subprocess.run([sys.executable, "-c", script], check=False).returncode


def test_what_a_crash_left_beside_it_is_no_hindrance(tmp_path):
    path = tmp_path / "pet.json"
    (tmp_path / "pet.json.new").write_bytes(b"half a sa")
    with held(path) as file:
        file.keep(b"whole")
    assert b"whole" == path.read_bytes()
    assert not (tmp_path / "pet.json.new").exists()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept" / "pet.json")
    with held(tmp_path / "link") as file:
        file.keep(b"x")
    assert (tmp_path / "link").is_symlink()
    assert b"x" == (tmp_path / "kept" / "pet.json").read_bytes()


@pytest.mark.parametrize("call", ["open", "fchmod", "fsync", "replace"])
def test_when_a_call_fails_the_file_is_as_it_was(tmp_path, monkeypatch, call):
    path = tmp_path / "pet.json"

    def fail(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    with held(path) as file:
        file.keep(b"before")
        with monkeypatch.context() as broken:
            if call == "replace":
                broken.setattr("pathlib.Path.replace", fail)
            else:
                broken.setattr(os, call, fail)
            with pytest.raises(HostRefused) as raised:
                file.keep(b"after")
        assert ExitCode.DATABASE == raised.value.exit_code
        assert "no space left on device" in raised.value.lines[0]
        assert b"before" == file.load()
        file.keep(b"after")
        assert b"after" == file.load()


def test_the_new_bytes_are_on_disk_before_they_take_the_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, type(tmp_path).replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("fsync"), fsync(handle)))
    monkeypatch.setattr(type(tmp_path), "replace", lambda *names: (calls.append("replace"), replace(*names))[1])
    with held(tmp_path / "pet.json") as file:
        file.keep(b"x")
    assert ["fsync", "replace", "fsync"] == calls


def test_a_huge_file_is_read_only_as_far_as_shows_that_it_is_none(tmp_path):
    path = tmp_path / "pet.json"
    with path.open("wb") as target:
        target.truncate(3 * SAVE_BYTES_MAX)
    with held(path) as file:
        assert SAVE_BYTES_MAX + 1 == len(file.load())


def test_something_that_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pet.json")
    with held(tmp_path / "pet.json") as file, pytest.raises(HostRefused) as raised:
        file.load()
    assert "not a file" in raised.value.lines[0]


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "taken").write_bytes(b"")
    with pytest.raises(HostRefused) as raised, held(tmp_path / "taken" / "pet.json"):
        pass
    assert ExitCode.DATABASE == raised.value.exit_code
