"""The page and the brain: exact names only, right types, tags and caching; nothing outside, whatever the path says."""

import hashlib
import json
from pathlib import Path

import pytest
from host_http_support import client, problem_of, request_bytes, running

from tokenling.host.errors import WebFilesError
from tokenling.host.static_files import FILES_MAX, brain_files, page_files

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


async def test_a_file_that_shrank_under_the_server_ends_short_and_harms_nothing(web_root: Path) -> None:
    async with running(web_root=web_root) as host:
        (web_root / "main.js").write_bytes(b"x")
        answer = await host.raw(request_bytes("GET", "/app/main.js"))
        assert answer.endswith(b"\r\n\r\nx")
        async with client(host) as http:
            assert (await http.get("/api/health")).status_code == 200


async def test_a_file_that_vanished_under_the_server_harms_nothing(web_root: Path) -> None:
    async with running(web_root=web_root) as host, client(host) as http:
        (web_root / "main.js").unlink()
        answer = await host.raw(request_bytes("GET", "/app/main.js"))
        assert answer == b"", "closed without a word: no client takes that for the file"
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
    assert "/brain/b/tokenizer.json" not in brain_files(brain_dir, "b")


def test_a_brain_without_a_manifest_offers_the_contract_s_files_only(brain_dir: Path) -> None:
    (brain_dir / "brain.json").unlink()
    assert set(brain_files(brain_dir, "b")) == {"/brain/b/config.json", "/brain/b/tokenizer.json"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_the_newborns_path_is_no_file_and_takes_post_only(web_root: Path, method: str) -> None:
    async with running(web_root=web_root, newborn=lambda _body: b"{}") as host, client(host) as http:
        refused = await http.request(method, "/app/newborn")
        made = await http.post("/app/newborn", json={})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert (made.status_code, made.content) == (200, b"{}")
