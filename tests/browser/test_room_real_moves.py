"""Moving house, cards, files, tabs and the time without a network, by the page's own buttons and on real hosts."""

import json
import re

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
expect = sync_api.expect

pytestmark = pytest.mark.browser_long

LONG_MS = 120_000
"""The first load of engine and brain, and a reply of the brain in the page, on a loaded machine."""


def adopted(visitor, name: str = "Pip"):
    page = visitor.open()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Say hello").click()
    living(page, name)
    return page


def living(page, name: str = "Pip") -> None:
    expect(page.locator(".who h1")).to_have_text(name, timeout=LONG_MS)
    expect(page.locator('[data-care="stroke"]')).to_be_enabled(timeout=LONG_MS)


def house(page) -> None:
    page.get_by_role("tab", name="House").click()


def move_to_host(page, origin: str) -> None:
    house(page)
    page.get_by_role("button", name="Move to a host").click()
    expect(page.get_by_label("Address of the host")).to_have_value(re.compile("^http"))
    page.get_by_label("Address of the host").fill(origin)
    page.get_by_role("button", name="Ask this host").click()
    expect(page.get_by_role("dialog")).to_contain_text("its chat with you, diary, memories")
    page.get_by_role("button", name="Move Pip").click()
    expect(page.locator(".where-now")).to_contain_text("Pip lives on", timeout=LONG_MS)
    arrived(page, "Pip lives on")


def arrived(page, where: str) -> None:
    """The end of a move is told, in the sheet and in the room, and stays until it has been seen."""
    expect(page.locator("dialog .told")).to_contain_text(where)
    expect(page.locator(".steps .done")).to_have_count(2)
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator('.room[data-away="false"]')).to_be_visible()


def said(page, text: str) -> None:
    page.get_by_role("tab", name="Talk").click()
    page.locator("#say").fill(text)
    page.locator("#say").press("Enter")


def test_a_pet_moves_to_a_host_is_joined_by_card_and_comes_home(visit, host):
    page = adopted(visit(host))
    said(page, "remember the sea")
    expect(page.locator(".line button.said")).to_have_count(1, timeout=LONG_MS)
    move_to_host(page, host.origin)
    said(page, "are you there?")
    expect(page.locator(".line button.said").last).to_contain_text("the host heard you.", timeout=LONG_MS)

    house(page)
    page.get_by_role("button", name="Show the card").click()
    words = page.locator(".card-words li").all_inner_texts()
    assert page.locator(".qr path").count() == 1
    page.keyboard.press("Escape")

    other = visit(host).open()
    other.get_by_role("button", name="I have a card").click()
    other.get_by_label("Words of the card").fill("not a card")
    other.get_by_role("button", name="Read the card").click()
    expect(other.get_by_role("alert").last).to_be_visible()
    other.get_by_label("Words of the card").fill(" ".join(words))
    other.get_by_role("button", name="Read the card").click()
    expect(other.get_by_role("dialog")).to_contain_text(host.origin)
    other.get_by_role("button", name="Visit it").click()
    living(other)
    expect(other.locator(".line.mine .said").first).to_have_text("remember the sea")

    house(page)
    page.get_by_role("button", name="Bring it home").click()
    page.get_by_role("dialog").get_by_role("button", name="Bring it home").click()
    expect(page.locator(".where-now")).to_contain_text("lives in this page", timeout=LONG_MS)
    arrived(page, "lives in this page now")
    page.get_by_role("tab", name="Talk").click()
    assert page.locator(".line.mine .said").all_inner_texts() == ["remember the sea", "are you there?"]
    lets_live_on(other, host.origin)


def lets_live_on(page, origin: str) -> None:
    """A pet that another device brought home: asked about before any success is told, and told once it is one."""
    paused = page.locator('[data-banner="paused"]')
    question = page.get_by_role("dialog")
    arrival = page.locator(".moment", has_text=f"Pip lives on {origin.removeprefix('http://')} now.")
    paused.get_by_role("button", name="Let it live on").click(timeout=LONG_MS)
    expect(question).to_contain_text("Take Pip over?")
    expect(arrival).to_have_count(0)
    question.get_by_role("button", name="Never mind").click()
    expect(page.locator(".pill")).to_have_text("Paused")
    expect(paused).to_contain_text("does not live on")
    paused.get_by_role("button", name="Let it live on").click()
    question.get_by_role("button", name="Take it over").click()
    expect(arrival).to_be_visible(timeout=LONG_MS)
    expect(page.locator(".pill")).to_contain_text("lives on")


def test_a_silent_host_is_told_and_the_copy_can_go_on(visit, host):
    page = adopted(visit(host))
    move_to_host(page, host.origin)
    host.kill()
    expect(page.locator('[data-banner="lost"]')).to_contain_text("does not answer", timeout=LONG_MS)
    page.locator('[data-banner="lost"]').get_by_role("button", name="Go on from the copy").click()
    expect(page.get_by_role("dialog")).to_contain_text("will be missing here")
    page.get_by_role("dialog").get_by_role("button", name="Go on from the copy").click()
    house(page)
    expect(page.locator(".where-now")).to_contain_text("lives in this page", timeout=LONG_MS)
    expect(page.locator('[data-part="home"]')).to_contain_text("still has to be told")
    host.start()
    expect(page.locator('[data-part="home"]')).not_to_contain_text("still has to be told", timeout=LONG_MS)


def test_a_file_makes_another_pet_and_goodbye_wants_the_name(visit, host):
    page = adopted(visit(host))
    house(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Keep a copy", exact=True).click()
    save = json.loads(download.value.path().read_text())
    assert save["name"] == "Pip"
    assert "key" not in save
    expect(page.locator(".export-age")).to_have_text("Last copy: today.")
    page.locator("[data-import]").set_input_files(download.value.path())
    house(page)
    expect(page.locator(".pets li")).to_have_count(2, timeout=LONG_MS)
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_label("Type its name").fill("Pip")
    page.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    living(page)
    house(page)
    expect(page.locator(".pets li")).to_have_count(1)


def test_a_file_that_is_no_pet_is_refused_in_words(visit, host, tmp_path):
    page = visit(host).open()
    for content, why in (("{", "some other kind of file"), ('{"v": 2}', "not kept from a pet")):
        file = tmp_path / "file.json"
        file.write_text(content)
        page.locator("[data-import]").set_input_files(file)
        expect(page.get_by_role("alert")).to_contain_text(re.compile(why), timeout=LONG_MS)


def test_one_tab_lives_with_the_pets_and_the_other_can_take_over(visit, host):
    visitor = visit(host)
    first = adopted(visitor)
    second = visitor.open()
    expect(second.get_by_role("heading", name="Your pet is in another tab")).to_be_visible(timeout=LONG_MS)
    second.get_by_role("button", name="Be here instead").click()
    living(second)
    expect(first.get_by_role("heading", name="Your pet is in another tab")).to_be_visible(timeout=LONG_MS)


def test_the_app_lives_on_without_its_server(visit, host):
    page = adopted(visit(host))
    house(page)
    expect(page.locator('[data-part="home"]')).to_contain_text("works without a network", timeout=LONG_MS)
    host.kill()
    page.reload()
    living(page)
    said(page, "it is only us now")
    expect(page.locator(".line button.said")).to_have_count(1, timeout=LONG_MS)
