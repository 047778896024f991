"""`tokenling brain`: where a brain is and whether it is whole, for a person and for a script."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokenling.cli import main
from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.runtime import open_brain


def call(*arguments):
    return CliRunner().invoke(main, ["brain", *map(str, arguments)])


@pytest.fixture
def copy(tmp_path):
    """A copy of the shipped brain to spoil."""
    return shutil.copytree(shipped_brain_dir(), tmp_path / "brain")


def test_the_shipped_brain_is_shown_with_its_place_and_digests():
    done = call()
    assert 0 == done.exit_code, done.output
    assert f"id        {SHIPPED_BRAIN}\npath      {shipped_brain_dir()}\n" in done.output
    digest = sha256((shipped_brain_dir() / "onnx" / "model_q4.onnx").read_bytes()).hexdigest()
    assert any(line.split() == ["onnx/model_q4.onnx", "as", "listed", digest] for line in done.output.splitlines())


def test_the_path_it_gives_a_script_is_a_brain_that_opens_with_these_digests():
    done = call("--json")
    found = json.loads(done.output)
    opened = open_brain(found["path"])
    assert (0, opened.id, []) == (done.exit_code, found["id"], found["changed"])
    assert opened.file_sha256.items() <= found["files"].items()
    assert sorted(found["files"]) == sorted(
        str(path.relative_to(found["path"]))
        for path in Path(found["path"]).rglob("*")
        if path.is_file() and path.name != "brain.json"
    )


def test_a_changed_file_is_named_and_a_precision_that_is_not_here_is_no_fault(copy):
    (copy / "config.json").write_bytes(b"{}")
    (copy / "onnx" / "model.onnx").unlink(missing_ok=True)
    done = call("--dir", copy)
    assert 3 == done.exit_code
    lines = [line.split() for line in done.output.splitlines()]
    assert ["config.json", "changed", sha256(b"{}").hexdigest()] in lines
    assert ["onnx/model.onnx", "not", "here"] in lines
    found = json.loads(call("--dir", copy, "--json").output)
    assert (["config.json"], True) == (found["changed"], "onnx/model.onnx" in found["absent"])


SPOILED = {
    "no directory": shutil.rmtree,
    "no manifest": lambda brain: (brain / "brain.json").unlink(),
    "no object": lambda brain: (brain / "brain.json").write_bytes(b"[]"),
    "a name that leads out": lambda brain: (brain / "brain.json").write_text(
        json.dumps({"id": "x", "promptVersion": 1, "features": [], "files": {"../secret": "0" * 64}})
    ),
    "a directory for a file": lambda brain: (brain / "brain.json").write_text(
        json.dumps({"id": "x", "promptVersion": 1, "features": [], "files": {"onnx": "0" * 64}})
    ),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=list(SPOILED))
def test_what_is_no_brain_is_told_in_one_line(copy, spoil):
    spoil(copy)
    done = call("--dir", copy)
    assert (3, "") == (done.exit_code, done.stdout)
    assert 1 == done.stderr.count("\n")
    assert done.stderr.startswith(f"tokenling: error: brain {copy}: ")
