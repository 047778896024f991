"""The page in Chromium before a real host with a scripted brain: meeting, living together, and what can go wrong."""

import base64
import json
import re
import time
import uuid

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
expect = sync_api.expect
expect.set_options(timeout=15_000)


def living(owner, name="Pip"):
    """The owner's pet is on the screen and the host answers."""
    expect(owner.page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(owner.page.locator(".pill")).to_have_text("Live")


def heard(owner, text="i heard you."):
    return expect(owner.page.locator(".line:not(.mine) .said").last).to_have_text(text)


def eventually(visitor, is_so, within_s=15.0):
    """Waits inside the browser's own loop: routes and events are served meanwhile."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        visitor.page.wait_for_timeout(50)


# --- meeting ------------------------------------------------------------------------------------------------------


def test_a_pet_is_met_fed_talked_to_and_is_there_again_after_the_tab_was_closed(owner, home):
    owner.meet()
    living(owner)
    owner.say("good morning")
    heard(owner)
    owner.page.get_by_role("button", name="Feed").click()
    owner.page.get_by_role("button", name="a plum").click()
    owner.page.get_by_role("tab", name="Diary").click()
    expect(owner.page.locator(".happening", has_text="You fed Pip: a plum.")).to_be_visible()
    expect(owner.page.locator(".happening", has_text="Pip hatched!")).to_be_visible()
    owner.reopen()
    living(owner)
    expect(owner.page.locator(".line.mine .said").first).to_have_text("good morning")
    assert home.pets() == ["active"]


def test_the_record_is_exactly_what_the_later_app_reads(owner, home):
    owner.meet()
    living(owner)
    kept = owner.records()
    assert kept["version"] == 1
    assert kept["stores"] == ["records", "subtokenling.v1"]
    assert set(kept["remote"]) == {"v", "deviceId", "pets"}
    assert kept["remote"]["v"] == 1
    assert uuid.UUID(kept["remote"]["deviceId"]).version == 4
    ((local_id, entry),) = kept["remote"]["pets"].items()
    assert uuid.UUID(local_id).version == 4
    assert set(entry) == {"host", "id", "key", "epoch", "intent", "checkpointRevision"}
    assert uuid.UUID(entry["id"]).version == 4
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", entry["key"])
    assert len(base64.urlsafe_b64decode(entry["key"] + "=")) == 32
    assert (entry["host"], entry["epoch"], entry["intent"]) == (home.address, 1, None)
    newest = kept["checkpoints"][local_id]["checkpoints"][0]
    assert set(newest) == {"atMs", "epoch", "revision", "save"}
    assert newest["revision"] == entry["checkpointRevision"]
    assert newest["save"]["name"] == "Pip"
    assert entry["key"] not in json.dumps(kept["checkpoints"])


def test_the_intent_is_on_disk_before_the_activation_leaves(owner, home):
    seen = []

    def look(route):
        if route.request.url.endswith("/transfer"):
            seen.append((owner.entry()["intent"], json.loads(route.request.post_data)))
        return route.fallback()

    owner.page.route("**/*", look)
    owner.meet()
    living(owner)
    ((intent, sent),) = seen
    assert (intent["to"], intent["step"]) == ("remote", "activate")
    assert (intent["operationId"], intent["epoch"]) == (sent["operationId"], sent["epoch"])


@pytest.mark.parametrize("path_end", ["/api/pets", "/transfer"], ids=["prepare", "activate"])
def test_a_lost_answer_and_a_reload_leave_exactly_one_pet(owner, home, path_end):
    sent = owner.lose_answers(path_end, times=9)
    owner.meet()
    expect(owner.page.get_by_text("No answer yet.")).to_be_visible()
    before = owner.entry()
    assert before["intent"] is not None
    owner.reopen()
    living(owner)
    after = owner.entry()
    assert (before["id"], before["key"], None) == (after["id"], after["key"], after["intent"])
    assert home.pets() == ["active"]
    assert len({json.dumps(body, sort_keys=True) for body in sent}) == 1


@pytest.mark.parametrize("path_end", ["/app/newborn", "/api/pets", "/transfer"])
def test_a_lost_answer_is_mended_without_a_reload(owner, home, path_end):
    owner.lose_answers(path_end)
    owner.meet()
    if path_end == "/app/newborn":
        expect(owner.page.get_by_role("alert")).to_contain_text("does not answer")
        owner.meet()
    living(owner)
    assert home.pets() == ["active"]
    assert len(owner.records()["remote"]["pets"]) == 1


def test_a_prepared_pet_can_be_given_up_and_leaves_nothing_behind(owner, home):
    owner.lose_answers("/transfer", times=99)
    owner.page.route("**/transfer", lambda route: route.abort())
    owner.meet()
    owner.page.get_by_role("button", name="Cancel").click()
    expect(owner.page.get_by_label("Name")).to_be_visible()
    owner.reopen()
    expect(owner.page.get_by_label("Name")).to_be_visible()
    eventually(owner, lambda: owner.records()["remote"]["pets"] == {})
    assert home.pets() == []


@pytest.mark.parametrize("letter", ["x", "\N{HATCHING CHICK}"])
def test_a_name_is_cut_at_what_the_engine_takes(guest, letter):
    guest.meet(letter * 25)
    living(guest, letter * (24 // len(letter.encode("utf-16-le")) * 2))


def test_a_host_that_wants_a_code_gets_it_and_the_code_is_kept_nowhere(owner, home):
    def guard(route):
        code = json.loads(route.request.post_data).get("enrolCode")
        refusal = {None: "enrol_required", "open": None}.get(code, "enrol_wrong")
        return route.fulfill(status=403, json={"code": refusal}) if refusal else route.fallback()

    owner.page.route("**/api/pets", guard)
    owner.meet()
    expect(owner.page.get_by_role("alert")).to_contain_text("asks for a code")
    for code in ("closed", "open"):
        owner.page.get_by_label("Enrol code").fill(code)
        owner.page.get_by_role("button", name="Try again").click()
        if code == "closed":
            expect(owner.page.get_by_role("alert")).to_contain_text("not this host's code")
    living(owner)
    assert home.pets() == ["active"]
    assert "enrol" not in json.dumps(owner.records())


# --- talking --------------------------------------------------------------------------------------------------------


def test_what_the_pet_says_is_text_and_never_markup(guest):
    guest.meet()
    living(guest)
    guest.say("markup please")
    heard(guest, "<img src=x onerror=document.title='pwned'> hm")
    assert guest.page.locator(".log img").count() == 0
    assert guest.page.title() == "Pip · Tokenling"


def test_thinking_is_shown_until_the_reply_is_committed(guest):
    guest.meet()
    living(guest)
    guest.say("hello")
    expect(guest.page.locator(".line.thinking")).to_be_visible()
    heard(guest)
    expect(guest.page.locator(".line.thinking")).to_have_count(0)
    times = guest.page.locator(".line time")
    assert re.fullmatch(r"\d\d:\d\d", times.last.inner_text())


def test_a_command_whose_answer_was_lost_is_repeated_under_its_id_and_happens_once(guest):
    guest.meet()
    living(guest)
    sent = guest.lose_answers("/commands", times=2)
    guest.say("only once")
    heard(guest)
    expect(guest.page.locator(".line.pending")).to_have_count(0)
    assert [sent[0]] * len(sent) == sent
    assert len(sent) >= 2
    assert guest.page.locator(".line.mine .said", has_text="only once").count() == 1


def test_a_stale_epoch_is_explained_and_the_words_are_given_back(owner, home):
    # without long-polls the page learns of the move by its next poll, so that a command can be faster
    owner.page.route(re.compile(r"\?wait="), lambda route: route.abort())
    owner.meet()
    living(owner)
    entry = owner.entry()
    owner.page.route("**/api/pets/*", lambda route: route.abort())
    move_on(owner, entry)
    owner.say("too late")
    expect(owner.page.locator("[data-banner=problem]")).to_contain_text("has moved")
    expect(owner.page.get_by_label("Say something to")).to_have_value("too late")
    owner.page.unroute("**/api/pets/*")
    living(owner)
    owner.page.get_by_role("button", name="Send", exact=True).click()
    heard(owner)
    assert owner.page.locator(".line.mine .said", has_text="too late").count() == 1


def transfer(owner, entry, device, **body):
    """What another device of the same owner does."""
    url = f"{entry['host']}/api/pets/{entry['id']}/transfer"
    headers = {"Authorization": f"Bearer {entry['key']}"}
    data = {"deviceId": device, "operationId": str(uuid.uuid4()), **body}
    answer = owner.context.request.post(url, headers=headers, data=data)
    assert answer.status == 200, answer.text()
    return answer.json()


def move_on(owner, entry):
    """Another device parks the pet and activates it again: the epoch is then one further."""
    device = str(uuid.uuid4())
    parked = transfer(owner, entry, device, to="local", epoch=entry["epoch"])
    transfer(owner, entry, device, to="remote", epoch=parked["epoch"], save=parked["save"])


def test_an_older_snapshot_is_ignored(guest):
    old, served = [], []

    def answer_old(route):
        if not re.search(r"/api/pets/[^/]+$", route.request.url.split("?")[0]) or route.request.method != "GET":
            return route.fallback()
        if len(old) == 2:
            served.append(route.request.url)
            return route.fulfill(status=200, json=old[0], headers={"ETag": '"old"'})
        answer = route.fetch()
        if answer.status == 200 and not old:
            old.append(answer.json())
        return route.fulfill(response=answer)

    guest.page.route("**/*", answer_old)
    guest.meet()
    living(guest)
    guest.say("newer")
    heard(guest)
    old.append("from now on")
    guest.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    eventually(guest, lambda: len(served) >= 3)
    heard(guest)
    assert len(served) < 20, "ignored answers must not make the page ask faster"


def test_a_hidden_page_holds_no_long_poll(guest):
    guest.meet()
    living(guest)
    asked = []
    guest.page.on("request", lambda request: asked.append(request.url) if "/api/pets/" in request.url else None)
    guest.page.evaluate(HIDE)
    eventually(guest, lambda: len(asked) >= 1)
    assert [url for url in asked if "wait=" in url] == []
    asked.clear()
    guest.page.evaluate(HIDE.replace("true", "false"))
    eventually(guest, lambda: any("wait=50" in url for url in asked))


HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_two_tabs_show_the_same_life(guest):
    guest.meet()
    living(guest)
    first = guest.page
    guest.open()
    living(guest)
    guest.say("from the second tab")
    heard(guest)
    expect(first.locator(".line.mine .said", has_text="from the second tab")).to_have_count(1)
    expect(first.locator(".line:not(.mine) .said").last).to_have_text("i heard you.")


# --- the host goes away ---------------------------------------------------------------------------------------------


def test_a_host_that_is_killed_and_comes_back_finds_the_page_waiting(owner, home):
    owner.meet()
    living(owner)
    home.kill()
    expect(owner.page.locator("[data-banner=silence]")).to_contain_text("The host does not answer.")
    expect(owner.page.get_by_role("heading", name="Pip", exact=True)).to_be_visible()
    owner.say("are you there?")
    expect(owner.page.locator(".line.pending")).to_be_visible()
    home.start()
    living(owner)
    heard(owner)
    assert owner.page.locator(".line.mine .said", has_text="are you there?").count() == 1


def test_the_retry_button_asks_at_once(guest):
    guest.meet()
    living(guest)
    tries = []

    def silent(route):
        tries.append(time.monotonic())
        return route.abort()

    guest.page.route("**/api/pets/*", silent)
    guest.page.route(re.compile(r"/api/pets/.*wait="), silent)
    guest.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    # pauses have grown to 4 s by the sixth try
    eventually(guest, lambda: len(tries) >= 6, within_s=30)
    before, asked_at = len(tries), time.monotonic()
    guest.page.get_by_role("button", name="Try now").click()
    eventually(guest, lambda: len(tries) > before)
    assert tries[before] - asked_at < 1.0


def test_a_page_opened_while_the_host_is_down_shows_the_browsers_copy(owner, home, browser):
    owner.meet()
    living(owner)
    blank = owner.page
    home.kill()
    blank.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    expect(owner.page.locator("[data-banner=silence]")).to_contain_text("you see it as of")
    home.start()
    owner.reopen()
    living(owner)


def test_being_offline_is_told_as_such(guest):
    guest.meet()
    living(guest)
    guest.context.set_offline(True)
    expect(guest.page.locator("[data-banner=silence]")).to_contain_text("This device is offline.")
    guest.context.set_offline(False)
    living(guest)


def test_a_pet_that_the_host_does_not_know_keeps_its_key_and_its_copy(owner, home):
    owner.meet()
    living(owner)
    owner.context.route("**/api/pets/*", lambda route: route.fulfill(status=404, json={"code": "not_found"}))
    owner.reopen()
    expect(owner.page.locator("[data-banner=gone]")).to_contain_text("What is kept here stays here.")
    kept = owner.records()
    assert len(kept["remote"]["pets"]) == 1
    assert list(kept["checkpoints"]) == list(kept["remote"]["pets"])


# --- settings -------------------------------------------------------------------------------------------------------


def settings(owner):
    owner.page.get_by_role("tab", name="Settings").click()


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
    asking.get_by_role("button", name="Wake it from here all the same").click()
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
        owner.page.get_by_role("button", name="Keep a file").click()
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
    [(b"{", "it is not JSON"), (b"[]", "does not look like a save"), (b"x" * 1_048_577, "larger than 1 MiB")],
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
    expect(owner.page.get_by_role("alert")).to_contain_text("The host refused this save.")
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
        guest.page.get_by_role("button", name="Keep a file").click()
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


# --- together -------------------------------------------------------------------------------------------------------


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


# --- for everyone -----------------------------------------------------------------------------------------------------


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


# --- decisions of the page's own modules, in the browser that runs them ---------------------------------------------

MODULE = """async ([name, call, args]) => (await import(`/app/${name}`))[call](...args)"""


def ask(owner, name, call, *args):
    return owner.page.evaluate(MODULE, [name, call, list(args)])


def stamp(epoch, revision, at_ms):
    return {"epoch": epoch, "revision": revision, "atMs": at_ms}


ADDRESSES = {
    "https://pets.example/": True,
    "http://127.0.0.1:8460/": True,
    "http://127.1.2.3/": True,
    "http://localhost:8460/": True,
    "http://[::1]:8460/": True,
    "http://192.168.0.7:8460/": False,
    "http://127.0.0.1.evil.example/": False,
    "http://localhost.evil.example/": False,
    "file:///tmp/index.html": False,
}


def test_a_key_travels_over_https_or_inside_this_machine_only(guest):
    judge = """async (urls) => {
      const { isPrivate } = await import("/app/api.js");
      return Object.fromEntries(urls.map((url) => [url, isPrivate(new URL(url))]));
    }"""
    assert guest.page.evaluate(judge, list(ADDRESSES)) == ADDRESSES


@pytest.mark.parametrize(
    ("older", "a", "b"),
    [
        (True, stamp(1, 9, 9), stamp(2, 1, 1)),
        (True, stamp(2, 1, 9), stamp(2, 2, 1)),
        (True, stamp(2, 2, 1), stamp(2, 2, 2)),
        (False, stamp(2, 2, 2), stamp(2, 2, 2)),
        (False, stamp(3, 1, 1), stamp(2, 9, 9)),
    ],
)
def test_snapshots_are_ordered_by_epoch_revision_and_clock(guest, older, a, b):
    assert older is ask(guest, "records.js", "isOlder", a, b)


def test_checkpoints_are_three_and_reach_back_hours(guest):
    hour = 3_600_000
    kept = None
    for minute in range(0, 60 * 7, 10):
        kept = ask(guest, "records.js", "withCheckpoint", kept, {**stamp(1, minute, minute * 60_000), "save": {}})
    ages = [round((410 * 60_000 - one["atMs"]) / hour, 1) for one in kept["checkpoints"]]
    assert len(ages) == 3
    assert ages[0] == 0
    assert ages[1] < ages[2]
    assert 1 <= ages[2] <= 2


def test_an_older_snapshot_never_replaces_a_checkpoint(guest):
    kept = {"v": 1, "checkpoints": [{**stamp(2, 5, 100), "save": {"n": 1}}]}
    assert kept == ask(guest, "records.js", "withCheckpoint", kept, {**stamp(1, 9, 200), "save": {"n": 2}})


def test_the_ball_is_caught_inside_the_ring_only(guest):
    caught = [ask(guest, "catch.js", "isCaught", x / 100) for x in (0, 40, 50, 52, 62, 72, 74, 99)]
    assert caught == [False, False, False, True, True, True, False, False]
