"""The built app as files: what a first visit costs, what the manifest claims, what must not be in it."""

import hashlib
import json
import re
import struct
import zipfile

import pytest

from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.host.site import SiteBrain

FIRST_VISIT_BYTES_MAX = 14_000_000
SNAPSHOT_BYTES_MAX = 6_000_000
UNCHECKED_HASH = 0b01
"""The flags of a .pyc that names its source by hash and is taken without a look at it (PEP 552)."""
WORST_CASE_NAMES = (".br", ".gz")


@pytest.fixture(scope="module")
def site(built):
    return json.loads((built / "app" / "site.json").read_bytes())


def wire_bytes(path) -> int:
    """What the file costs a browser that takes brotli."""
    sibling = path.with_name(f"{path.name}.br")
    return (sibling if sibling.is_file() else path).stat().st_size


def test_the_manifest_names_every_file_with_its_size_and_digest(built, site):
    there = {
        path.relative_to(built).as_posix()
        for path in built.rglob("*")
        if path.is_file() and path.suffix not in WORST_CASE_NAMES and not path.name.startswith(".")
    }
    assert there - {"app/site.json", "service-worker.js"} == set(site["files"])
    for name, entry in site["files"].items():
        content = (built / name).read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest()), name


def test_a_first_visit_fits_its_budget_and_the_snapshot_its_own(built, site):
    snapshot = site["engine"]["snapshot"]
    app = sum(wire_bytes(built / name) for name in site["files"] if name != snapshot)
    directory = shipped_brain_dir()
    brain = SiteBrain(directory, succession_of(directory)[0], "q4")
    assert app + sum((directory / name).stat().st_size for name in brain.files()) <= FIRST_VISIT_BYTES_MAX
    assert wire_bytes(built / snapshot) <= SNAPSHOT_BYTES_MAX


def test_no_python_is_compiled_in_a_page(built, site):
    """Each module comes compiled by one Python, in the form taken without a source: it was most of a start."""
    library, engine = (zipfile.ZipFile(built / site["engine"][part]) for part in ("stdlib", "archive"))
    ours = [name for name in engine.namelist() if name.startswith("tokenling/")]
    assert {name for name in ours if name.endswith(".pyc")} == {f"{name}c" for name in ours if name.endswith(".py")}
    assert not [name for name in library.namelist() if name.endswith(".py")]
    heads = {
        packed.read(name)[:8] for packed in (library, engine) for name in packed.namelist() if name.endswith(".pyc")
    }
    [(magic, flags)] = {struct.unpack("<4sI", head) for head in heads}
    assert (magic[2:], flags) == (b"\r\n", UNCHECKED_HASH)
    assert {"asyncio/__init__.pyc", "_pyodide/_base.pyc", "zoneinfo/__init__.pyc"} <= set(library.namelist())


def test_our_own_scripts_name_no_address_of_a_third_party(built, site):
    """Pyodide's and ONNX Runtime's own files hold addresses that the page's policy and tests keep unused."""
    ours = [name for name in site["files"] if re.fullmatch(r"app/(main|engine-worker)-\w+\.(js|css)", name)]
    assert len(ours) == 3
    for name in ours:
        found = set(re.findall(r"https?://([\w.-]+\.[a-z]{2,})", (built / name).read_text()))
        assert found <= {"www.w3.org", "findahelpline.com"}, name


def test_the_index_holds_no_script_or_style_of_its_own(built):
    index = (built / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", index)
