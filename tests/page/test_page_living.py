"""Living together in Chromium before a real host: talk, snapshots, commands, and a host that goes away."""

import re
import time
import uuid

from page_support import eventually, expect, heard, living, transfer


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
