"""Settings, files, moves and play in Chromium before a real host, for every owner."""

import json
import re
import uuid

import pytest
from page_support import eventually, expect, heard, living, settings, transfer


def test_a_pet_is_renamed_and_its_chatter_kept(guest):
    guest.meet()
    living(guest)
    settings(guest)
    guest.page.get_by_label("Name").fill("Momo")
    guest.page.get_by_role("button", name="Rename").click()
    living(guest, "Momo")
    guest.page.get_by_label("Never").check()
    expect(guest.page.get_by_role("status")).to_have_text("Saved.")
    guest.reopen()
    living(guest, "Momo")
    settings(guest)
    expect(guest.page.get_by_label("Never")).to_be_checked()


def test_a_paused_pet_waits_and_lives_on(owner, home):
    owner.meet()
    living(owner)
    settings(owner)
    owner.page.get_by_role("button", name="Pause its life").click()
    expect(owner.page.locator("[data-banner=parked]")).to_be_visible()
    assert home.pets() == ["parked"]
    assert owner.entry()["epoch"] == 2
    owner.page.get_by_role("button", name="Let it live on").first.click()
    expect(owner.page.locator("[data-banner=parked]")).to_have_count(0)
    owner.page.get_by_role("tab", name="Talk").click()
    owner.say("awake?")
    heard(owner)
    assert home.pets() == ["active"]


def test_a_pet_that_was_paused_for_another_device_is_taken_over_only_on_purpose(owner, home):
    owner.meet()
    living(owner)
    entry = owner.entry()
    transfer(owner, entry, str(uuid.uuid4()), to="local", epoch=entry["epoch"])
    banner = owner.page.locator("[data-banner=parked]")
    banner.get_by_role("button", name="Let it live on").click()
    asking = owner.page.locator("[data-banner=move]")
    expect(asking).to_contain_text("paused for another device")
    assert home.pets() == ["parked"]
    asking.get_by_role("button", name="Let it live on from here all the same").click()
    expect(asking).to_have_count(0)
    expect(banner).to_have_count(0)
    assert home.pets() == ["active"]
    assert owner.entry()["intent"] is None


def test_a_lost_park_answer_and_a_reload_park_once(owner, home):
    owner.meet()
    living(owner)
    owner.lose_answers("/transfer", times=9)
    settings(owner)
    owner.page.get_by_role("button", name="Pause its life").click()
    expect(owner.page.locator("[data-banner=move]")).to_contain_text("No answer yet.")
    assert owner.entry()["intent"]["to"] == "local"
    owner.reopen()
    expect(owner.page.locator("[data-banner=parked]")).to_be_visible()
    entry = owner.entry()
    assert (entry["epoch"], entry["intent"]) == (2, None)


def test_a_file_holds_the_save_without_the_key_and_comes_in_as_another_pet(owner, home, tmp_path):
    owner.meet()
    living(owner)
    owner.say("remember me")
    heard(owner)
    settings(owner)
    with owner.page.expect_download() as downloading:
        owner.page.get_by_role("button", name="Keep a copy").click()
    path = tmp_path / "pip.json"
    downloading.value.save_as(path)
    entry = owner.entry()
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["name"] == "Pip"
    assert entry["key"] not in text
    assert entry["id"] not in text
    owner.page.locator("[data-import]").set_input_files(path)
    expect(owner.page.get_by_role("tab", name="Talk")).to_have_attribute("aria-selected", "true")
    living(owner)
    expect(owner.page.locator(".line.mine .said").first).to_have_text("remember me")
    assert sorted(home.pets()) == ["active", "active"]
    assert len(owner.records()["remote"]["pets"]) == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{", "some other kind of file"), (b"[]", "was not kept from a pet"), (b"x" * 1_048_577, "larger than any pet")],
    ids=["json", "shape", "size"],
)
def test_a_file_that_is_no_save_is_refused_plainly(owner, home, content, told):
    owner.page.locator("[data-import]").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": content}
    )
    expect(owner.page.get_by_role("alert")).to_contain_text(told)
    assert home.pets() == []


def test_a_save_that_the_host_refuses_can_be_given_up(owner, home):
    content = json.dumps({"v": 2, "name": "Nobody"}).encode()
    owner.page.locator("[data-import]").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": content}
    )
    expect(owner.page.get_by_role("alert")).to_contain_text("The host takes no pet from this file")
    owner.page.get_by_role("button", name="Cancel").click()
    expect(owner.page.get_by_role("button", name="Say hello")).to_be_visible()
    eventually(owner, lambda: owner.records()["remote"]["pets"] == {})
    assert home.pets() == []


def test_a_quarantined_pet_is_shown_with_its_fault_and_can_be_kept_as_a_file(guest):
    def quarantine(route):
        if route.request.method != "GET":
            return route.fallback()
        answer = route.fetch(url=route.request.url.split("?")[0])
        view = answer.json() if answer.status == 200 else None
        if view is None:
            return route.fulfill(response=answer)
        broken = {**view, "status": "quarantined", "error": "ZeroDivisionError\n  life.py:7 advance"}
        return route.fulfill(status=200, json=broken, headers={"ETag": answer.headers["etag"]})

    guest.meet()
    living(guest)
    guest.context.route(re.compile(r"/api/pets/[^/]+$"), quarantine)
    guest.reopen()
    banner = guest.page.locator("[data-banner=quarantined]")
    expect(banner).to_contain_text("(ZeroDivisionError)")
    expect(banner).not_to_contain_text("life.py")
    expect(guest.page.get_by_role("button", name="Wash")).to_be_disabled()
    settings(guest)
    with guest.page.expect_download() as downloading:
        guest.page.get_by_role("button", name="Keep a copy").click()
    assert downloading.value.suggested_filename.endswith(".tokenling.json")


def test_deleting_asks_for_the_name_and_removes_everything(owner, home):
    owner.meet()
    living(owner)
    settings(owner)
    owner.page.get_by_role("button", name="Delete for good").click()
    dialog = owner.page.get_by_role("dialog")
    go = dialog.get_by_role("button", name="Delete for good")
    expect(go).to_be_disabled()
    dialog.get_by_label("Type its name to go on").fill("pip")
    go.click()
    expect(owner.page.get_by_role("button", name="Say hello")).to_be_visible()
    assert owner.records()["remote"]["pets"] == {}
    assert home.pets() == []


def test_catch_starts_after_acceptance_and_its_score_is_sent_once(guest):
    guest.meet()
    living(guest)
    sent = guest.lose_answers("/commands", times=0)
    guest.page.get_by_role("tab", name="Together").click()
    guest.page.get_by_role("button", name="Play catch").click()
    guest.page.get_by_role("button", name="Play", exact=True).click()
    catch = guest.page.get_by_role("button", name="Catch!")
    for throw in range(2, 6):
        catch.click()
        expect(guest.page.get_by_text(f"Throw {throw} of 5")).to_be_visible()
    catch.click()
    guest.page.get_by_role("button", name="Done").click()
    guest.page.get_by_role("tab", name="Diary").click()
    expect(guest.page.locator(".happening", has_text="You two played catch")).to_be_visible()
    assert len([body for body in sent if body["command"]["kind"] == "game"]) == 1


def test_an_offer_is_accepted_by_the_pet(guest):
    guest.meet()
    living(guest)
    guest.page.get_by_role("tab", name="Together").click()
    guest.page.get_by_role("button", name="A gift").click()
    guest.page.get_by_role("button", name="a feather").click()
    guest.page.get_by_role("tab", name="Diary").click()
    expect(guest.page.locator(".happening", has_text="Pip accepted a feather.")).to_be_visible()


def test_the_page_is_met_and_talked_to_with_the_keyboard_alone(guest):
    keys = guest.page.keyboard
    expect(guest.page.get_by_label("Name")).to_be_focused()
    keys.type("Pip")
    keys.press("Enter")
    living(guest)
    guest.page.get_by_role("button", name="Stroke").focus()
    keys.press("Enter")
    expect(guest.page.get_by_role("status")).to_contain_text("You stroked Pip.")
    guest.page.get_by_role("tab", name="Talk").focus()
    keys.press("ArrowRight")
    expect(guest.page.get_by_role("tab", name="Together")).to_be_focused()
    keys.press("ArrowLeft")
    keys.press("Tab")
    keys.press("Tab")
    keys.type("hello from the keys")
    keys.press("Enter")
    heard(guest)


def test_there_is_one_polite_live_region_and_it_speaks_the_reply(guest):
    guest.meet()
    living(guest)
    assert guest.page.locator("[aria-live]").count() == 1
    guest.say("hello")
    expect(guest.page.locator("[aria-live=polite]")).to_contain_text("Pip: i heard you.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_sideways(guest, scheme):
    guest.page.emulate_media(color_scheme=scheme)
    guest.meet("M" * 24)
    living(guest, "M" * 24)
    wide = []
    for width in (320, 360, 700, 1280):
        guest.page.set_viewport_size({"width": width, "height": 740})
        for tab in ("Talk", "Together", "Diary", "Settings"):
            guest.page.get_by_role("tab", name=tab).click()
            over = guest.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
            wide += [(width, tab, over)] if over > 0 else []
    assert wide == []


def test_reduced_motion_stops_every_animation(guest):
    guest.page.emulate_media(reduced_motion="reduce")
    guest.meet()
    living(guest)
    assert guest.page.evaluate("() => document.getAnimations().length") == 0


def test_an_owner_who_comes_back_is_told_what_happened(owner, home):
    owner.meet()
    living(owner)
    owner.say("hello")
    heard(owner)
    owner.page.goto("about:blank")
    owner.page.goto(f"{home.address}/app/icon.svg")
    owner.page.evaluate(LOOKED_LONG_AGO)
    owner.page.goto(home.address)
    card = owner.page.locator(".card.away")
    expect(card).to_contain_text("While you were away")
    expect(card).to_contain_text("Pip hatched!")
    card.get_by_role("button", name="Got it").click()
    expect(card).to_have_count(0)


LOOKED_LONG_AGO = """async () => {
  const database = await new Promise((resolve) => {
    const asked = indexedDB.open("subtokenling");
    asked.onsuccess = () => resolve(asked.result);
  });
  const store = database.transaction("records", "readwrite").objectStore("records");
  const asked = store.get("subtokenling.page.v1");
  await new Promise((resolve) => (asked.onsuccess = resolve));
  const notes = asked.result;
  for (const seen of Object.values(notes.seen)) seen.atMs -= 3600000;
  await new Promise((resolve) => (store.put(notes, "subtokenling.page.v1").onsuccess = resolve));
  database.close();
}"""
