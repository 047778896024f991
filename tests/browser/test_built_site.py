"""The built app as files: what a first visit costs, what the manifest claims, what must not be in it."""

import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import zipfile

import pytest
from app_support import ROOT

from tokenling.cli.brain_files import shipped_brain_dir, succession_of
from tokenling.host.site import SiteBrain
from tools.build_web import write_archive

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


def test_no_file_of_the_app_knows_where_it_was_built(built):
    place = str(ROOT).encode()
    assert [path.name for path in built.rglob("*") if path.is_file() and place in path.read_bytes()] == []


@pytest.mark.browser_long
def test_the_same_sources_give_the_same_bytes_in_another_place_and_language(built, tmp_path):
    """As two builds of a wheel, each in a directory of its own."""
    archive = tmp_path / "engine.zip"
    write_archive(archive)

    def digests(place: str, language: str) -> dict[str, str]:
        web, out = tmp_path / place / "web", tmp_path / place / "out"
        shutil.copytree(ROOT / "tokenling" / "web" / "src", web / "src")
        for name in ("build.mjs", "package.json", "tsconfig.json"):
            shutil.copy(ROOT / "tokenling" / "web" / name, web)
        (web / "node_modules").symlink_to(ROOT / "tokenling" / "web" / "node_modules")
        command = ["node", "build.mjs", "--archive", str(archive), "--out", str(out), "--brotli", "1"]
        subprocess.run(command, cwd=web, check=True, env={**os.environ, "LANG": language, "TZ": place})
        files = (path for path in out.rglob("*") if path.is_file())
        return {path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    assert digests("UTC", "C.UTF-8") == digests("Asia/Tokyo", "de_DE.UTF-8")
