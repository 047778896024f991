"""The page and the brain: exact names only, right types, tags and caching; nothing outside, whatever the path says."""

import hashlib
import json
from pathlib import Path

import pytest
from host_http_support import client, problem_of, request_bytes, running

from tokenling.host.errors import WebFilesError
from tokenling.host.site import GRAPHS, SiteBrain, site_json
from tokenling.host.static_files import FILES_MAX, brain_files, page_files
from tokenling.runtime.brain import GRAPH_FILES

INDEX = b"<!doctype html><title>Tokenling</title>"
SCRIPT = b"export const a = 1;\n"
MODEL = bytes(range(256)) * 1000
SECRET = b"not for anybody"


@pytest.fixture
def web_root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_bytes(SECRET)
    root = tmp_path / "web"
    (root / "deep").mkdir(parents=True)
    (root / "index.html").write_bytes(INDEX)
    (root / "main.js").write_bytes(SCRIPT)
    (root / "deep" / "ein bild.svg").write_bytes(b"<svg/>")
    (root / ".hidden").write_bytes(SECRET)
    (root / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (root / "inside.js").symlink_to(root / "main.js")
    return root


@pytest.fixture
def brain_dir(tmp_path: Path) -> Path:
    brain = tmp_path / "brain"
    (brain / "onnx").mkdir(parents=True)
    (brain / "onnx" / "model_q4.onnx").write_bytes(MODEL)
    (brain / "tokenizer.json").write_bytes(b"{}")
    (brain / "config.json").write_bytes(b"{}")
    (brain / "notes.txt").write_bytes(SECRET)
    files = {"onnx/model_q4.onnx": hashlib.sha256(MODEL).hexdigest(), "onnx/model.onnx": "00", "../secret.txt": "00"}
    (brain / "brain.json").write_text(json.dumps({"id": "sprout-0", "files": {**files, "/etc/passwd": "00"}}))
    (tmp_path / "secret.txt").write_bytes(SECRET)
    return brain


@pytest.mark.parametrize(
    ("path", "content", "content_type"),
    [
        ("/", INDEX, "text/html; charset=utf-8"),
        ("/?from=card", INDEX, "text/html; charset=utf-8"),
        ("/app/index.html", INDEX, "text/html; charset=utf-8"),
        ("/app/main.js", SCRIPT, "text/javascript; charset=utf-8"),
        ("/app/inside.js", SCRIPT, "text/javascript; charset=utf-8"),
        ("/app/deep/ein%20bild.svg", b"<svg/>", "image/svg+xml"),
    ],
)
async def test_the_page_s_files_have_their_types_tags_and_a_strict_policy(
    web_root: Path, path: str, content: bytes, content_type: str
) -> None:
    async with running(web_root=web_root) as host, client(host) as http:
        http.headers.pop("authorization")
        response = await http.get(path)
        head = await http.head(path)
        again = await http.get(path, headers={"if-none-match": response.headers["etag"]})
    assert (response.status_code, response.content) == (200, content)
    assert response.headers["content-type"] == content_type
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    policy = response.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "frame-ancestors 'none'"} <= set(policy)
    assert "unsafe-inline" not in response.headers["content-security-policy"]
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(content)))
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", response.headers["etag"])


async def test_the_brain_s_files_never_change_under_their_name(brain_dir: Path) -> None:
    async with running(brain_dir=brain_dir) as host, client(host) as http:
        model = await http.get("/brain/sprout-0/onnx/model_q4.onnx")
        contract = [await http.get(f"/brain/sprout-0/{name}.json") for name in ("brain", "config", "tokenizer")]
        missing = await http.get("/brain/sprout-0/onnx/model.onnx")
        unlisted = await http.get("/brain/sprout-0/notes.txt")
        other = await http.get("/brain/sprout-1/tokenizer.json")
    assert (model.status_code, model.content) == (200, MODEL)
    assert model.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert model.headers["content-type"] == "application/octet-stream"
    assert [answer.status_code for answer in contract] == [200, 200, 200]
    assert [answer.status_code for answer in (missing, unlisted, other)] == [404, 404, 404]
    assert problem_of(other)["code"] == "unknown_route"


TRAVERSALS = [
    "/app/../secret.txt",
    "/app/..%2fsecret.txt",
    "/app/%2e%2e/secret.txt",
    "/app/%2e%2e%2fsecret.txt",
    "/app/..%5csecret.txt",
    "/app/deep/../../secret.txt",
    "/app//etc/passwd",
    "/app/%2fetc%2fpasswd",
    "/app/main.js%00.txt",
    "/app/main.js/",
    "/app/",
    "/app",
    "/app/deep",
    "/app/.hidden",
    "/app/outside.txt",
    "/app/MAIN.JS",
    "/app/%ff",
    "/../secret.txt",
    "/secret.txt",
    "/brain/sprout-0/../secret.txt",
    "/brain/sprout-0//etc/passwd",
    "/brain/../brain/sprout-0/notes.txt",
    "/brain//sprout-0/tokenizer.json",
]


async def test_no_path_leads_out_of_the_tables(web_root: Path, brain_dir: Path) -> None:
    async with running(web_root=web_root, brain_dir=brain_dir) as host:
        for path in TRAVERSALS:
            answer = await host.raw(request_bytes("GET", path, b"", "Connection: close", key=None))
            assert answer.startswith(b"HTTP/1.1 404 "), path
            assert b'"unknown_route"' in answer, path
            assert SECRET not in answer, path


async def test_without_a_page_the_root_is_an_unknown_route() -> None:
    async with running() as host, client(host) as http:
        response = await http.get("/")
    assert (response.status_code, problem_of(response)["code"]) == (404, "unknown_route")


async def test_a_file_that_changed_or_vanished_under_the_server_is_served_as_it_is_now(web_root: Path) -> None:
    async with running(web_root=web_root) as host, client(host) as http:
        (web_root / "main.js").write_bytes(b"x")
        short = await http.get("/app/main.js")
        assert (short.status_code, short.content, short.headers["content-length"]) == (200, b"x", "1")
        (web_root / "main.js").unlink()
        assert (await http.get("/app/main.js")).status_code == 404
        assert (await http.get("/")).status_code == 200


def test_a_page_without_an_index_or_with_too_many_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WebFilesError, match=r"no index\.html"):
        page_files(tmp_path)
    for number in range(FILES_MAX + 1):
        (tmp_path / f"{number}.js").touch()
    with pytest.raises(WebFilesError, match=f"more than {FILES_MAX} files"):
        page_files(tmp_path)


def test_a_link_out_of_the_brain_is_not_served(brain_dir: Path) -> None:
    (brain_dir / "tokenizer.json").unlink()
    (brain_dir / "tokenizer.json").symlink_to(brain_dir.parent / "secret.txt")
    assert "/brain/b/tokenizer.json" not in brain_files(SiteBrain(brain_dir, "b", "fp32"))


def test_a_brain_without_a_manifest_offers_the_contract_s_files_only(brain_dir: Path) -> None:
    (brain_dir / "brain.json").unlink()
    assert set(brain_files(SiteBrain(brain_dir, "b", "fp32"))) == {"/brain/b/config.json", "/brain/b/tokenizer.json"}


BUILT_SCRIPT = "app/main-0123456789ab.js"


@pytest.fixture
def built_root(tmp_path: Path) -> Path:
    """A built site: hashed names, codings beside the files, a manifest."""
    root = tmp_path / "built"
    (root / "app" / "ort-1.30.0").mkdir(parents=True)
    files = {
        "index.html": INDEX,
        "service-worker.js": SCRIPT,
        "stray.js": SECRET,
        BUILT_SCRIPT: SCRIPT * 50,
        f"{BUILT_SCRIPT}.br": b"as brotli",
        f"{BUILT_SCRIPT}.gz": b"as gzip",
        "app/ort-1.30.0/ort.wasm": MODEL,
        "app/icon.svg": b"<svg/>",
        "app/alone.br": b"not a coding of anything",
        "app/site.json": json.dumps({"v": 1, "build": "b", "files": {}}).encode(),
        "app/site.json.br": b"older than the host's own",
    }
    for name, content in files.items():
        (root / name).write_bytes(content)
    return root


@pytest.mark.parametrize(
    ("accepted", "coding", "content"),
    [
        ("br, gzip", "br", b"as brotli"),
        ("gzip, deflate, br;q=0", "gzip", b"as gzip"),
        ("gzip;q=0.1", "gzip", b"as gzip"),
        ("BR", "br", b"as brotli"),
        ("identity", None, SCRIPT * 50),
        ("br;q=0.000, gzip; q=0", None, SCRIPT * 50),
        ("*", None, SCRIPT * 50),
        ("", None, SCRIPT * 50),
    ],
)
async def test_a_built_file_comes_in_the_best_coding_that_the_client_takes(
    built_root: Path, accepted: str, coding: str | None, content: bytes
) -> None:
    async with running(web_root=built_root) as host:
        answer = await host.raw(
            request_bytes("GET", f"/{BUILT_SCRIPT}", b"", f"Accept-Encoding: {accepted}", "Connection: close", key=None)
        )
        head, _, body = answer.partition(b"\r\n\r\n")
        names = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:])
        assert body == content
        assert names.get(b"content-encoding") == (coding.encode() if coding else None)
        assert names[b"content-length"] == str(len(content)).encode()
        assert b"accept-encoding" in head.lower()
        assert names[b"cache-control"] == b"public, max-age=31536000, immutable"
        tag = f"If-None-Match: {names[b'etag'].decode()}"
        again = await host.raw(request_bytes("GET", f"/{BUILT_SCRIPT}", b"", tag, "Connection: close", key=None))
        assert again.startswith(b"HTTP/1.1 304 ")


async def test_each_coding_has_a_tag_of_its_own(built_root: Path) -> None:
    async with running(web_root=built_root) as host, client(host) as http:
        codings = ("br", "gzip", "identity")
        tags = {(await http.head(f"/{BUILT_SCRIPT}", headers={"accept-encoding": c})).headers["etag"] for c in codings}
    assert len(tags) == 3


async def test_only_names_that_carry_their_content_are_immutable(built_root: Path) -> None:
    async with running(web_root=built_root) as host, client(host) as http:
        kept = {
            path: (await http.get(path)).headers["cache-control"]
            for path in ("/", "/service-worker.js", "/app/icon.svg", "/app/site.json", "/app/ort-1.30.0/ort.wasm")
        }
        missing = [(await http.get(path)).status_code for path in ("/stray.js", f"/{BUILT_SCRIPT}.br", "/app/main.js")]
        alone = await http.get("/app/alone.br")
    assert {path for path, control in kept.items() if "immutable" in control} == {"/app/ort-1.30.0/ort.wasm"}
    assert missing == [404, 404, 404]
    assert alone.status_code == 200


async def test_the_site_s_manifest_names_the_host_s_brain_and_no_stale_coding_of_it(
    built_root: Path, brain_dir: Path
) -> None:
    (brain_dir / "onnx" / "model_q4.onnx_data").write_bytes(b"more")
    async with running(web_root=built_root, brain_dir=brain_dir) as host, client(host) as http:
        answer = await http.get("/app/site.json", headers={"accept-encoding": "br"})
        brain = answer.json()["brain"]
        fetched = {name: (await http.get(f"/{brain['base']}{name}")).content for name in brain["files"]}
    assert "content-encoding" not in answer.headers
    assert answer.json()["hosted"] is True
    assert set(brain["files"]) == {
        "brain.json", "config.json", "tokenizer.json", "onnx/model_q4.onnx", "onnx/model_q4.onnx_data"
    }  # fmt: skip
    for name, entry in brain["files"].items():
        assert (entry["bytes"], entry["sha256"]) == (len(fetched[name]), hashlib.sha256(fetched[name]).hexdigest())


def test_a_brain_without_the_page_s_graph_is_told_as_not_portable(built_root: Path, brain_dir: Path) -> None:
    missing = json.loads(site_json(built_root, SiteBrain(brain_dir, "b", "q8"), hosted=True) or b"")
    assert (missing["brain"], missing["brainMissing"]) == (None, "not_portable")
    none = json.loads(site_json(built_root, None, hosted=False, default_host="https://pets.example") or b"")
    assert (none["brainMissing"], none["defaultHost"]) == ("not_bundled", "https://pets.example")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"v": 2}', b"\xff"])
def test_a_manifest_that_is_none_is_refused(built_root: Path, content: bytes) -> None:
    (built_root / "app" / "site.json").write_bytes(content)
    with pytest.raises(WebFilesError, match=r"app/site\.json"):
        site_json(built_root, None, hosted=True)


def test_the_graphs_of_the_site_are_the_runtime_s() -> None:
    assert dict(GRAPH_FILES) == GRAPHS
