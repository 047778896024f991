"""What somebody who met the page for the first time stumbled over, each thing held as a test."""

import re

import pytest
from page_support import eventually, expect, heard, living, settings

from tokenling.engine.draws import draw


def tab(visitor, name):
    return visitor.page.get_by_role("tab", name=name)


def give_feather(visitor):
    tab(visitor, "Together").click()
    visitor.page.get_by_role("button", name="A gift").click()
    visitor.page.get_by_role("button", name="a feather").click()


def spoken_from_now_on(visitor):
    """What the live region says after the next load."""
    spoken = []

    def overheard(text):
        spoken.append(text)

    visitor.page.expose_function("overheard", overheard)
    visitor.page.add_init_script(OVERHEAR)
    return spoken


OVERHEAR = """addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const tell = () => live.textContent && window.overheard(live.textContent);
  new MutationObserver(tell).observe(live, { childList: true, characterData: true, subtree: true });
});"""


# --- the pet's words on every tab -------------------------------------------------------------------------------------


def test_words_that_answer_a_gift_hang_by_the_pet_on_every_tab_and_talk_is_marked(guest):
    guest.meet()
    living(guest)
    give_feather(guest)
    bubble = guest.page.locator(".speech")
    expect(bubble).to_have_text("oh yes!")
    expect(tab(guest, "Talk (something new)")).to_have_class("waiting")
    for name in ("Diary", "Settings"):
        tab(guest, name).click()
        expect(bubble).to_be_visible()
        expect(tab(guest, "Talk")).to_have_class("waiting")
    bubble.click()
    expect(tab(guest, "Talk")).to_have_attribute("aria-selected", "true")
    expect(tab(guest, "Talk")).not_to_have_class("waiting")
    expect(tab(guest, "Talk (something new)")).to_have_count(0)
    heard(guest, "oh yes!")


def test_words_that_were_read_leave_no_mark_on_the_next_tab(guest):
    guest.meet()
    living(guest)
    guest.say("hello")
    heard(guest)
    tab(guest, "Diary").click()
    # an answer of the host brings the next picture
    guest.page.get_by_role("button", name="Stroke").click()
    expect(guest.page.locator(".happening", has_text="You stroked Pip.")).to_be_visible()
    expect(tab(guest, "Talk")).not_to_have_class("waiting")


def test_a_bubble_covers_neither_the_pets_eyes_nor_leaves_its_room(guest):
    guest.meet()
    living(guest)
    guest.say("hello")
    heard(guest)
    for width, height in ((360, 740), (320, 568), (1280, 800)):
        guest.page.set_viewport_size({"width": width, "height": height})
        bubble = guest.page.locator(".speech").bounding_box()
        room = guest.page.locator(".home .stage-box").bounding_box()
        eyes = guest.page.locator(".stage-hatchling .eyes.open").bounding_box()
        assert bubble["y"] + bubble["height"] <= (eyes["y"] if eyes else room["y"] + room["height"])
        assert room["x"] <= bubble["x"]
        assert room["y"] <= bubble["y"]
        assert bubble["x"] + bubble["width"] <= room["x"] + room["width"]


# --- what was heard is not told again ---------------------------------------------------------------------------------


def test_a_reload_speaks_no_old_reply(guest):
    guest.meet()
    living(guest)
    guest.say("hello")
    heard(guest)
    spoken = spoken_from_now_on(guest)
    # a browser that ends a tab without a word leaves an older copy of the pet
    guest.page.evaluate("() => Object.defineProperty(document, 'hidden', { value: false })")
    guest.page.reload()
    living(guest)
    guest.page.get_by_role("button", name="Stroke").click()
    eventually(guest, lambda: any("You stroked Pip." in text for text in spoken))
    assert [text for text in spoken if "i heard you" in text] == []


def test_a_line_that_the_owner_watched_is_no_news_later(guest):
    noted = news(guest, said=[(1_000, "watched"), (9_000, "missed")], last=500, watched=1_000)
    assert noted["lines"] == ["Pip said something."]
    assert news(guest, said=[(1_000, "watched")], last=500, watched=1_000)["lines"] == []
    assert news(guest, said=[(1_000, "a"), (1_001, "b")], last=500, watched=0)["lines"] == ["Pip said 2 things."]


def news(guest, said, last, watched):
    chat = [{"mine": False, "atMs": at, "text": text} for at, text in said]
    model = {"name": "Pip", "events": [], "diary": [], "chat": chat}
    ask = "async ([model, last, watched]) => (await import('/app/events.js')).newsSince(model, last, watched)"
    return guest.page.evaluate(ask, [model, last, watched])


def test_watched_words_are_noted_at_once_and_not_when_the_tab_closes(guest):
    guest.meet()
    living(guest)
    guest.say("hello")
    heard(guest)
    eventually(guest, lambda: guest.page.evaluate(NOTED_WATCHED_MS) > 0)


NOTED_WATCHED_MS = """async () => {
  const database = await new Promise((resolve) => {
    const asked = indexedDB.open("subtokenling");
    asked.onsuccess = () => resolve(asked.result);
  });
  const asked = database.transaction("records").objectStore("records").get("subtokenling.page.v1");
  await new Promise((resolve) => (asked.onsuccess = resolve));
  database.close();
  return Math.max(0, ...Object.values(asked.result.seen).map((seen) => seen.watchedMs ?? 0));
}"""


def test_the_card_stands_above_the_line_that_it_tells_of(guest):
    rows = guest.page.evaluate(ROWS_WITH_CARD)
    assert rows == ["old words", "THE CARD", "new words", "newer words"]


ROWS_WITH_CARD = """async () => {
  const { makeTalk } = await import("/app/talk.js");
  const talk = makeTalk({});
  const line = (atMs, text) => ({ key: text, mine: false, atMs, text });
  const chat = [line(1000, "old words"), line(3000, "new words"), line(4000, "newer words")];
  const card = document.createElement("p");
  card.textContent = "THE CARD";
  talk.showAway(card, 2000);
  talk.update({ name: "Pip", chat, zone: "UTC", status: "active", thinking: false }, []);
  return [...talk.element.querySelectorAll(".said, .log p")].map((row) => row.textContent);
}"""


# --- the newest line stays in sight -----------------------------------------------------------------------------------


def talked_long(visitor):
    visitor.meet()
    living(visitor)
    for number in range(1, 5):
        visitor.say(f"line {number} of a talk that is longer than a small phone shows at once")
        expect(visitor.page.locator(".line:not(.mine):not(.thinking)")).to_have_count(number)


def newest_in_sight(visitor):
    expect(visitor.page.locator(".line .said").last).to_be_in_viewport(ratio=0.9)
    hidden = visitor.page.evaluate(HIDDEN_BELOW)
    return hidden <= 1


HIDDEN_BELOW = """() => {
  const log = document.querySelector(".log");
  return log.scrollHeight - log.scrollTop - log.clientHeight;
}"""


def test_the_newest_line_stays_in_sight_when_the_page_takes_another_shape(guest):
    talked_long(guest)
    for width, height in ((320, 568), (740, 360), (360, 740), (360, 420), (1280, 800), (320, 568)):
        guest.page.set_viewport_size({"width": width, "height": height})
        eventually(guest, lambda: newest_in_sight(guest))


def test_the_newest_line_is_in_sight_below_a_banner_after_a_load(owner):
    talked_long(owner)
    owner.page.set_viewport_size({"width": 320, "height": 568})
    settings(owner)
    owner.page.get_by_role("button", name="Pause its life").click()
    expect(owner.page.locator("[data-banner=parked]")).to_be_visible()
    owner.reopen()
    owner.page.set_viewport_size({"width": 320, "height": 568})
    expect(owner.page.locator("[data-banner=parked]")).to_be_visible()
    eventually(owner, lambda: newest_in_sight(owner))


def test_an_owner_who_reads_older_lines_is_left_there(guest):
    talked_long(guest)
    guest.page.evaluate("() => document.querySelector('.log').scrollTo(0, 0)")
    guest.page.wait_for_timeout(100)
    guest.page.set_viewport_size({"width": 360, "height": 700})
    guest.page.wait_for_timeout(200)
    assert guest.page.evaluate("() => document.querySelector('.log').scrollTop") < 20


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_name_of_spaces_is_explained_when_meeting_and_when_renaming(guest):
    guest.meet("   ")
    expect(guest.page.get_by_role("alert")).to_have_text("A name needs at least one letter.")
    expect(guest.page.get_by_label("Name")).to_be_focused()
    guest.meet()
    living(guest)
    settings(guest)
    guest.page.get_by_label("Name").fill("   ")
    guest.page.get_by_role("button", name="Rename").click()
    expect(guest.page.get_by_role("alert")).to_have_text("A name needs at least one letter.")
    guest.page.get_by_label("Name").fill("Momo")
    expect(guest.page.get_by_role("alert")).to_have_count(0)
    guest.page.get_by_role("button", name="Rename").click()
    living(guest, "Momo")


WRONG_FILE = {"name": "x.json", "mimeType": "application/json", "buffer": b"{"}


def test_a_wrong_file_is_told_once_and_its_banner_can_be_closed(guest):
    spoken = spoken_from_now_on(guest)
    guest.page.reload()
    guest.meet()
    living(guest)
    settings(guest)
    guest.page.locator("[data-import]").set_input_files(WRONG_FILE)
    banner = guest.page.locator("[data-banner=problem]")
    expect(banner).to_contain_text("No pet came out of that file")
    eventually(guest, lambda: any("No pet" in text for text in spoken))
    assert sum(text.count("No pet came out") for text in spoken) == 1
    banner.get_by_role("button", name="Close").click()
    expect(banner).to_have_count(0)


def test_the_next_thing_that_the_owner_does_closes_the_problem_before_it(guest):
    guest.meet()
    living(guest)
    settings(guest)
    guest.page.locator("[data-import]").set_input_files(WRONG_FILE)
    expect(guest.page.locator("[data-banner=problem]")).to_be_visible()
    guest.page.get_by_role("button", name="Feed").click()
    expect(guest.page.get_by_role("dialog")).to_be_visible()
    expect(guest.page.locator("[data-banner=problem]")).to_have_count(0)


def test_a_paused_pet_is_not_called_live_and_the_way_back_has_one_name(owner):
    owner.meet()
    living(owner)
    settings(owner)
    expect(owner.page.locator("#panel-settings")).to_contain_text("“Let it live on” starts it again")
    owner.page.get_by_role("button", name="Pause its life").click()
    expect(owner.page.locator(".pill")).to_have_text("Paused")
    expect(owner.page.locator(".pill")).to_have_class(re.compile("rest"))
    owner.page.get_by_role("button", name="Let it live on").first.click()
    living(owner)


def test_the_settings_say_that_a_file_is_a_copy_and_comes_back_as_another_pet(guest):
    guest.meet()
    living(guest)
    settings(guest)
    panel = guest.page.locator("#panel-settings")
    expect(panel).to_contain_text("A copy of Pip as a file")
    expect(panel).to_contain_text("moves in as another pet with a life of its own")


def test_a_newborns_first_happening_is_that_it_moved_in(guest):
    guest.meet()
    living(guest)
    tab(guest, "Diary").click()
    expect(guest.page.locator(".happening").last).to_contain_text("Pip moved in here.")
    expect(guest.page.locator("#panel-diary")).not_to_contain_text("moved house")


# --- looks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", ["a" * 32, "0f" * 16, "seed-7"])
def test_the_first_egg_has_the_hue_that_the_engine_draws_from_its_seed(guest, seed):
    ask = "async (seed) => (await import('/app/snapshot.js')).hueOfSeed(seed)"
    assert draw(seed, "character", "hue", 360) == guest.page.evaluate(ask, seed)


SCENE = """(root) => {
  const scene = document.querySelector(`${root} .scene`);
  const { stage, asleep, face, place } = scene.dataset;
  return { stage, asleep, face, place, hue: scene.style.getPropertyValue("--hue") };
}"""


def test_the_egg_that_was_met_is_the_egg_that_moves_in_and_the_one_that_plays(guest):
    expect(guest.page.locator(".meet .scene")).to_be_visible()  # the page's modules load after the page
    met = guest.page.evaluate(SCENE, ".meet")
    saves = []
    guest.page.on("response", lambda got: saves.append(got) if got.url.endswith("/app/newborn") else None)
    guest.meet()
    living(guest)
    save = saves[0].json()
    born = (save["stage"], str(save["asleep"]).lower(), save["place"], str(save["character"]["hue"]))
    assert born == (met["stage"], met["asleep"], met["place"], met["hue"])
    tab(guest, "Together").click()
    guest.page.get_by_role("button", name="Play catch").click()
    guest.page.get_by_role("button", name="Play", exact=True).click()
    hue = "() => document.querySelector('.field-of-play').style.getPropertyValue('--hue')"
    assert met["hue"] == guest.page.evaluate(hue)


def test_every_meter_says_its_name_and_no_word_is_broken_or_covered(guest):
    guest.page.set_viewport_size({"width": 320, "height": 568})
    guest.meet()
    living(guest)
    meters = guest.page.locator(".meter")
    expect(meters).to_have_count(6)
    assert guest.page.locator(".meter .called").all_inner_texts() == ["Food", "Energy", "Mood", "Clean", "Warm", "Bond"]
    for width in (320, 360, 1280):
        guest.page.set_viewport_size({"width": width, "height": 740})
        assert guest.page.evaluate(MISFITS) == []


MISFITS = """async () => {
  const { bandWords } = await import("/app/strings.js");
  const wrong = [];
  for (const meter of document.querySelectorAll(".meter")) {
    const edge = meter.getBoundingClientRect().right + 0.5;
    const word = meter.querySelector(".word");
    const kept = word.textContent;
    for (const text of bandWords(meter.dataset.meter)) {
      word.textContent = text;
      const range = document.createRange();
      range.selectNodeContents(word);
      if (range.getClientRects().length > 1 || range.getBoundingClientRect().right > edge) wrong.push(text);
    }
    word.textContent = kept;
    if (meter.querySelector(".bands").lastChild.getBoundingClientRect().right > edge) wrong.push(meter.dataset.meter);
  }
  return wrong;
}"""


def test_a_legend_keeps_its_distance(guest):
    guest.meet()
    living(guest)
    settings(guest)
    legend = guest.page.locator("legend").bounding_box()
    boxes = guest.page.locator(".choices").bounding_box()
    assert boxes["y"] - (legend["y"] + legend["height"]) >= 4


def test_the_code_that_a_host_asks_for_can_be_typed_at_once(guest):
    guest.page.route("**/api/pets", lambda route: route.fulfill(status=403, json={"code": "enrol_required"}))
    guest.meet()
    expect(guest.page.get_by_label("Enrol code")).to_be_focused()
    expect(guest.page.get_by_role("heading")).to_have_text("Pip is moving in")
