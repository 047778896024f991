"""A host whose pets live on a GGUF file: the page says so before a pet is made, and before one is to come home."""

import sys
from pathlib import Path

import pytest
from app_support import AppHome

sys.path.append(str(Path(__file__).parents[1] / "process"))
from tiny_gguf import tiny_gguf

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
expect = sync_api.expect

LONG_MS = 120_000


@pytest.fixture
def gguf_host(browser, tmp_path):
    running = AppHome(tmp_path / "state", real=True, brain=tiny_gguf(tmp_path / "brain"))
    yield running
    running.kill()


def test_a_pet_on_a_gguf_file_is_adopted_to_its_host_and_cannot_come_local(visit, gguf_host):
    page = visit(gguf_host).open()
    where = gguf_host.origin.removeprefix("http://")
    expect(page.locator("#meet-where")).to_contain_text(f"It lives on {where}, which alone can run the model")
    page.get_by_label("Name").fill("Pip")
    page.get_by_role("button", name="Say hello").click()
    expect(page.locator(".who h1")).to_have_text("Pip", timeout=LONG_MS)
    page.get_by_role("tab", name="House").click()
    expect(page.locator(".where-now")).to_contain_text(f"Pip lives on {where}", timeout=LONG_MS)

    page.get_by_role("button", name="Bring it home").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator('[data-warning="not_portable"]')).to_have_text(
        f"Pip thinks with a model that only {where} can run, so it cannot come to live in this page."
    )
    expect(dialog.locator("[data-warning]")).to_have_count(1)
    expect(dialog.get_by_role("button", name="Bring it home")).to_be_disabled()
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator(".who h1")).to_have_text("Pip", timeout=LONG_MS)
    page.get_by_role("tab", name="House").click()
    expect(page.locator(".where-now")).to_contain_text(f"Pip lives on {where}", timeout=LONG_MS)
