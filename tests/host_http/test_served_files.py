"""A page that is replaced under a running host: every answer is whole, of one build, and soon of the new one."""

import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
import trio
import trio.lowlevel
from host_http_support import Running, client, header_of, problem_of, request_bytes, running

from tokenling.host import served_files

CODINGS = ("br", "gzip", "identity")
OLD, NEW = "old", "newer"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits less for a page to keep still, and looks again at once."""
    monkeypatch.setattr(served_files, "STILL_S", 0.02)
    monkeypatch.setattr(served_files, "REST_S", 0.0)


def site_of(build: str) -> dict[str, bytes]:
    """A site with a manifest and codings. Each content tells its build, its name and its coding, each has a length of
    its own."""
    script = f"app/main-{hashlib.sha256(build.encode()).hexdigest()[:12]}.js"
    plain = {
        "app/icon.svg": f"<svg>{build}</svg>".encode(),
        script: f"// {build} main\n".encode() * 30_000 * len(build),
        "index.html": f"<!doctype html><title>{build}</title><script src='{script}'></script>".encode(),
    }
    files = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in plain.items()}
    manifest = json.dumps({"v": 1, "build": build, "files": files}).encode()
    every = {**plain, "service-worker.js": f"// {build} worker".encode(), "app/site.json": manifest}
    coded = {f"{name}.br": b"br of " + data[:-3] for name, data in every.items()}
    zipped = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in every.items()}
    return {**every, **coded, **zipped}


def write(root: Path, build: str) -> Path:
    for name, data in site_of(build).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def script_in(index: bytes) -> str:
    found = re.search(rb"app/main-\w+\.js", index)
    assert found is not None, index
    return found[0].decode()


async def ask(host: Running, path: str, coding: str, *extra: str, method: str = "GET") -> tuple[int, bytes, bytes]:
    """Status, head and body. An answer that does not have the length it tells fails."""
    extra = (f"Accept-Encoding: {coding}", "Connection: close", *extra)
    head, _, body = (await host.raw(request_bytes(method, path, b"", *extra, key=None))).partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if method == "GET" and status != 304:
        assert header_of(head, b"content-length") == str(len(body)).encode(), (path, coding)
    return status, head, body


def content(build: str, name: str, coding: str) -> bytes:
    return site_of(build)[name + {"br": ".br", "gzip": ".gz", "identity": ""}[coding]]


def forms(build: str, name: str, coding: str) -> tuple[bytes, bytes]:
    """A coding may be missing while files are replaced: plain is right then."""
    return content(build, name, coding), content(build, name, "identity")


async def assert_all_of(host: Running, build: str) -> None:
    script = script_in(site_of(build)["index.html"])
    for name, path in {"index.html": "/", script: f"/{script}", "app/icon.svg": "/app/icon.svg"}.items():
        for coding in CODINGS:
            assert (200, content(build, name, coding)) == (await ask(host, path, coding))[::2], (path, coding)


@pytest.mark.parametrize("first", ["/", "/service-worker.js", "/app/icon.svg", "/app/site.json"])
async def test_a_page_that_is_swapped_for_another_build_is_served_without_a_restart(tmp_path: Path, first: str) -> None:
    root = write(tmp_path / "built", OLD)
    write(tmp_path / "fresh", NEW)
    async with running(web_root=root) as host:
        await assert_all_of(host, OLD)
        _, head, _ = await ask(host, "/", "br")
        tag = f"If-None-Match: {(header_of(head, b'etag') or b'').decode()}"
        root.rename(tmp_path / "gone")
        (tmp_path / "fresh").rename(root)
        assert (await ask(host, first, "br"))[0] == 200
        await assert_all_of(host, NEW)
        assert json.loads((await ask(host, "/app/site.json", "br"))[2])["build"] == NEW
        assert (await ask(host, f"/{script_in(site_of(OLD)['index.html'])}", "br"))[0] == 404
        assert (await ask(host, "/", "br", tag))[0] == 200
        _, head, _ = await ask(host, "/", "br", method="HEAD")
        assert header_of(head, b"content-length") == str(len(content(NEW, "index.html", "br"))).encode()
        tag = f"If-None-Match: {(header_of(head, b'etag') or b'').decode()}"
        assert (await ask(host, "/", "br", tag))[0] == 304


async def test_whoever_asks_while_builds_are_swapped_has_whole_answers_of_one_build(tmp_path: Path) -> None:
    root = write(tmp_path / "built", OLD)
    served = {OLD: trio.Event(), NEW: trio.Event()}
    swapped = trio.Event()

    async def visit(host: Running, coding: str) -> None:
        while not swapped.is_set() or not served[NEW].is_set():
            status, _, index = await ask(host, "/", coding)
            build = next((one for one in (OLD, NEW) if index == content(one, "index.html", coding)), None)
            assert build is not None or status == 503, (status, index)
            if build is None:
                continue
            script = script_in(site_of(build)["index.html"])
            status, _, body = await ask(host, f"/{script}", coding)
            assert (status, body == content(build, script, coding)) in ((200, True), (404, False), (503, False))
            served[build].set()

    async with running(web_root=root) as host:
        with trio.fail_after(60):
            async with trio.open_nursery() as visitors:
                for coding in CODINGS:
                    visitors.start_soon(visit, host, coding)
                await served[OLD].wait()  # who comes behind the last swap sees the new one only
                for number, build in enumerate([NEW, OLD] * 6 + [NEW]):
                    fresh = write(tmp_path / "fresh", build)
                    await trio.to_thread.run_sync(root.rename, tmp_path / f"gone{number}")
                    await trio.lowlevel.checkpoint()
                    fresh.rename(root)
                    await trio.sleep(0.03)
                swapped.set()
            await assert_all_of(host, NEW)


@pytest.mark.parametrize("backwards", [False, True])
async def test_a_page_that_is_overwritten_file_by_file_stays_one_build_until_it_is_the_other(
    tmp_path: Path, backwards: bool
) -> None:
    root = write(tmp_path / "built", OLD)
    seen = []
    async with running(web_root=root) as host:
        for name in sorted(site_of(NEW), reverse=backwards):
            (root / name).write_bytes(site_of(NEW)[name])
            for coding in CODINGS:
                status, head, index = await ask(host, "/", coding)
                if status == 503:
                    assert (header_of(head, b"retry-after"), b"files_changing" in index) == (b"2", True)
                    continue
                build = NEW if index in forms(NEW, "index.html", coding) else OLD
                assert index in forms(build, "index.html", coding)
                seen.append(build)
                script = script_in(site_of(build)["index.html"])
                status, _, body = await ask(host, f"/{script}", coding)
                assert (status, body in forms(build, script, coding)) == (200, True)
        assert seen == sorted(seen, key=(OLD, NEW).index), "no way back to the old build"
        for path in ("/", f"/{script_in(site_of(NEW)['index.html'])}"):
            assert (await ask(host, path, "identity"))[2] in site_of(NEW).values()


async def test_half_a_build_is_refused_and_the_whole_one_is_served(tmp_path: Path) -> None:
    root = write(tmp_path / "built", OLD)
    async with running(web_root=root) as host, client(host) as http:
        (root / "index.html").write_bytes(site_of(NEW)["index.html"])
        refused = await http.get("/", headers={"accept-encoding": "identity"})
        assert (refused.status_code, problem_of(refused)["code"]) == (503, "files_changing")
        assert (refused.headers["retry-after"], refused.headers["cache-control"]) == ("2", "no-store")
        old = script_in(site_of(OLD)["index.html"])
        assert (await ask(host, f"/{old}", "br"))[::2] == (200, content(OLD, old, "br")), "what is left of it stands"
        assert (await http.get("/app/none.js")).status_code == 503, "it may be on its way"
        write(root, NEW)
        await assert_all_of(host, NEW)
        assert (await http.get("/app/none.js")).status_code == 404


async def test_a_page_that_is_taken_away_is_refused_until_it_is_there_again(tmp_path: Path) -> None:
    root = write(tmp_path / "built", OLD)
    async with running(web_root=root) as host:
        root.rename(tmp_path / "away")
        assert (await ask(host, "/", "br"))[0] == 503
        shutil.copytree(tmp_path / "away", root)
        await assert_all_of(host, OLD)


async def test_a_large_file_that_is_overwritten_while_it_is_sent_ends_short(tmp_path: Path) -> None:
    root = write(tmp_path / "built", OLD)
    large = root / "app" / "large.bin"
    large.write_bytes(b"o" * 64_000_000)
    async with running(web_root=root) as host, await host.connect() as stream:
        await stream.send_all(request_bytes("GET", "/app/large.bin", b"", "Connection: close", key=None))
        received = bytearray(await stream.receive_some())
        with large.open("r+b") as file:
            file.write(b"n" * 64_000_000)
        with trio.fail_after(30):
            while data := await stream.receive_some():
                received += data
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        assert header_of(head, b"content-length") == b"64000000"
        assert 0 < len(body) < 64_000_000
        assert set(body) == {ord("o")}, "nothing of the new one behind the old one"
        assert (await ask(host, "/app/large.bin", "br"))[2] == b"n" * 64_000_000


async def test_a_brain_that_is_installed_anew_is_served_only_with_the_same_bytes(tmp_path: Path) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (brain / name).write_bytes(b'{"same": true}')
    async with running(brain_dir=brain) as host:
        (brain / "config.json").unlink()
        (brain / "config.json").write_bytes(b'{"same": true}')
        (brain / "tokenizer.json").write_bytes(b'{"same": false}')
        same = await ask(host, "/brain/sprout-0/config.json", "br")
        other = await ask(host, "/brain/sprout-0/tokenizer.json", "br")
    assert same[::2] == (200, b'{"same": true}')
    assert (other[0], b"files_changing" in other[2]) == (503, True)
