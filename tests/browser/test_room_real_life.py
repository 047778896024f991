"""The whole app as it ships: a real host, the engine in Pyodide, the brain in WebAssembly, one life from the egg."""

import re

import pytest
from app_support import DESKTOP

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

REPLY_MS = 120_000
"""The first reply waits for the brain to be loaded and runs on a loaded machine."""
COUNT_FRAMES = """(forMs) => new Promise((done) => {
  let frames = 0;
  const began = performance.now();
  const count = (now) => (frames += 1, now - began < forMs ? requestAnimationFrame(count) : done(frames));
  requestAnimationFrame(count);
})"""
FRAMES_MS = 3000


def adopt(page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Say hello").click()
    sync_api.expect(page.get_by_role("heading", level=1, name=name, exact=True)).to_be_visible(timeout=REPLY_MS)
    sync_api.expect(page.locator(".living")).to_be_visible()


def talk(page, text: str):
    """Says it; returns the pet's line behind it once it is committed. The pet may have spoken up before, by itself."""
    page.locator("#say").fill(text)
    page.locator("#say").press("Enter")
    said = page.locator(".line.mine:not(.pending)").filter(has_text=text).last
    answer = said.locator("xpath=following-sibling::li").locator("button.said").first
    sync_api.expect(answer).to_be_visible(timeout=REPLY_MS)
    return answer


def test_from_the_egg_to_a_proved_reply_and_back_after_a_reload(visit):
    visitor = visit()
    asked = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.open()
    adopt(page, "Pip")
    page.get_by_role("button", name="Feed").click()
    page.get_by_role("button", name="a plum").click()
    sync_api.expect(page.locator('.room[data-stage="hatchling"]')).to_be_visible()
    reply = talk(page, "hello! do you like it here?")
    words = reply.inner_text().split("(How it came")[0]
    assert words.strip()
    reply.click()
    page.get_by_role("button", name="Prove it").click()
    sync_api.expect(page.locator(".told")).to_have_text("Identical", timeout=REPLY_MS)
    assert page.locator(".bars li, .nearly .soft").count() > 0
    page.keyboard.press("Escape")
    played = page.evaluate("localStorage.getItem('tokenling.room.played.v1')")

    page.reload()
    sync_api.expect(page.get_by_role("heading", level=1, name="Pip", exact=True)).to_be_visible(timeout=REPLY_MS)
    assert page.locator(".line.mine .said").first.inner_text() == "hello! do you like it here?"
    assert page.locator(".spark").count() == 0
    assert int(re.search(r":(\d+)", played)[1]) > 0
    assert {visitor.origin} == {re.match(r"https?://[^/]+", url)[0] for url in asked if url.startswith("http")}


@pytest.mark.browser_long
def test_the_room_keeps_its_frames_while_the_brain_thinks(visit):
    page = visit(viewport=DESKTOP).open()
    adopt(page, "Moss")
    talk(page, "hi")
    idle = page.evaluate(COUNT_FRAMES, FRAMES_MS)
    page.locator("#say").fill("tell me about the weather and the pond")
    page.locator("#say").press("Enter")
    thinking = page.evaluate(COUNT_FRAMES, FRAMES_MS)
    # a share, not a rate: the machine of the tests draws without a graphics card and has two cores for everything
    assert thinking >= 0.7 * idle, f"frames in {FRAMES_MS} ms: {idle} at rest, {thinking} while it thinks"
