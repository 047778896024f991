"""The whole app when something under it breaks: a worker that ends in the middle of a turn, a site that lies about
itself, a newer build behind an open tab."""

import json
import re
import shutil

import pytest
from app_support import AppHome, Visitor

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
expect = sync_api.expect

LONG_MS = 120_000


def adopt(page, name: str = "Pip") -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Say hello").click()
    expect(page.locator(".who h1")).to_have_text(name, timeout=LONG_MS)
    expect(page.locator('[data-care="stroke"]')).to_be_enabled(timeout=LONG_MS)


def say(page, text: str) -> None:
    page.locator("#say").fill(text)
    page.locator("#say").press("Enter")


def end(page, kind: str) -> None:
    """The worker ends as when the browser ends it: it says nothing."""
    (worker,) = [one for one in page.workers if f"{kind}-worker" in one.url]
    worker.evaluate("() => self.close()")


@pytest.mark.browser_long
def test_workers_that_end_in_the_middle_of_a_turn_cost_the_pet_no_word(visit):
    page = visit().open()
    adopt(page)
    say(page, "hello")
    expect(page.locator(".line button.said")).to_have_count(1, timeout=LONG_MS)
    for kind in ("brain", "engine"):
        before = page.locator(".line button.said").count()
        say(page, f"do you still have your {kind}?")
        expect(page.locator(".line.thinking, .line.pending").first).to_be_visible()
        end(page, kind)
        expect(page.locator(".line button.said")).to_have_count(before + 1, timeout=LONG_MS)
    assert page.locator(".line.mine").count() == 3
    assert page.locator('[data-banner="trouble"], [data-banner="stopped"]').count() == 0


HOSTILE = {
    "a step up": {"engine": {"pyodide": "app/../../", "archive": "app/x.zip", "snapshot": None}},
    "another origin": {"ort": "https://evil.example/ort/"},
    "a huge file": {"files": {"app/x": {"bytes": 2**50, "sha256": "0" * 64}}},
    "a script": {"workers": {"engine": "javascript:alert(1)", "brain": "data:text/javascript,alert(1)"}},
    "no object": None,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_site_that_lies_about_itself_is_told_and_nothing_of_it_is_fetched(visit, shared_host, name):
    visitor = visit(service_workers="block")
    asked = []

    def lie(route):
        site = route.fetch().json()
        change = HOSTILE[name]
        route.fulfill(content_type="application/json", body=json.dumps(change and site | change))

    visitor.context.route("**/app/site.json", lie)
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.open()
    expect(page.get_by_role("alert")).to_contain_text("makes no sense", timeout=LONG_MS)
    assert [url for url in asked if not re.match(rf"{shared_host.origin}/(app/|$)", url)] == []
    assert [url for url in asked if "worker" in url or "pyodide" in url] == []


@pytest.mark.browser_long
def test_rules_that_are_not_what_the_site_lists_are_not_run_and_the_pet_rests(visit):
    visitor = visit(service_workers="block")
    page = visitor.open()
    adopt(page)

    def lie(route):
        site = route.fetch().json()
        site["files"][site["engine"]["archive"]]["sha256"] = "0" * 64
        route.fulfill(content_type="application/json", body=json.dumps(site))

    visitor.context.route("**/app/site.json", lie)
    page.reload()
    expect(page.locator('[data-banner="engine"]')).to_contain_text("not what this page’s site lists", timeout=LONG_MS)
    visitor.context.unroute_all()
    page.reload()
    expect(page.locator('[data-care="stroke"]')).to_be_enabled(timeout=LONG_MS)


@pytest.mark.browser_long
def test_a_browser_without_storage_and_a_site_that_is_away_are_told_apart(visit):
    visitor = visit(service_workers="block")
    visitor.context.add_init_script(
        "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); }"
    )
    expect(visitor.open().get_by_role("alert")).to_contain_text("keeps no data", timeout=LONG_MS)
    away = visit(service_workers="block")
    away.context.route("**/app/site.json", lambda route: route.abort())
    expect(away.open().get_by_role("alert")).to_contain_text("does not answer", timeout=LONG_MS)


def newer_build(built, out):
    """The same app as another build: another name for its script, another worker, another manifest."""
    shutil.copytree(built, out)
    site = json.loads((out / "app" / "site.json").read_bytes())
    old, new = site["build"], "feedc0ffee12"
    main = next(name for name in site["files"] if re.fullmatch(r"app/main-\w+\.js", name))
    renamed = "app/main-feedc0ffee12.js"
    for packed in (*out.rglob("*.br"), *out.rglob("*.gz")):
        packed.unlink()
    (out / main).rename(out / renamed)
    (out / renamed).write_text((out / renamed).read_text() + "\n//")
    for name in ("index.html", "service-worker.js", "app/site.json"):
        text = (out / name).read_text().replace(main, renamed).replace(old, new)
        (out / name).write_text(text)
    return out


@pytest.mark.browser_long
def test_a_newer_build_behind_an_open_tab_waits_and_when_it_is_taken_the_older_tab_lets_go(browser, built, tmp_path):
    host = AppHome(tmp_path / "state")
    visitor = Visitor(browser, host.origin)
    try:
        older = visitor.open()
        adopt(older)
        expect(older.locator(".who h1")).to_have_text("Pip")
        older.evaluate("() => navigator.serviceWorker.ready.then(() => undefined)")
        host.kill()
        host.web = newer_build(built, tmp_path / "newer")
        host.start()
        newer = visitor.open()
        expect(newer.get_by_role("heading", name="Your pet is in another tab")).to_be_visible(timeout=LONG_MS)
        # the older tab goes on meanwhile, by its own files
        say(older, "are you well?")
        expect(older.locator(".line button.said")).to_have_count(1, timeout=LONG_MS)
        newer.get_by_role("button", name="Be here instead").click()
        update = newer.locator('[data-banner="update"]')
        expect(update).to_be_visible(timeout=LONG_MS)
        with newer.expect_navigation():
            update.get_by_role("button", name="Use it now").click()
        expect(older.get_by_role("alert")).to_contain_text("newer version", timeout=LONG_MS)
        expect(newer.locator(".who h1")).to_have_text("Pip", timeout=LONG_MS)
        expect(newer.locator('[data-care="stroke"]')).to_be_enabled(timeout=LONG_MS)
        assert newer.locator(".line.mine .said").all_inner_texts() == ["are you well?"]
    finally:
        visitor.close()
        host.kill()
    assert visitor.errors == []
