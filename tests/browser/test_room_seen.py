"""What an owner sees of the room and around it: room enough on a phone, notices, a hatching, a return, a move, words
that fade, pets that look alike."""

import pytest
from app_support import DESKTOP, PHONE
from room_gallery import show

LOW = {"width": 390, "height": 500}
"""A phone with its keyboard up."""
SMALLEST = {"width": 360, "height": 640}
HATCH = """() => {
  const { script } = gallery;
  const { view } = script.snapshot();
  const events = [{ kind: "hatched", atMs: Date.now(), item: "" }];
  const save = { ...view.save, stage: "hatchling", asleep: false, events };
  const effects = [{ id: 2, kind: "hatch", atMs: Date.now() }, { id: 3, kind: "feed", item: "plum", atMs: Date.now() }];
  script.change({ view: { ...view, revision: 9, save, effects } });
}"""
SET_OUT = """() => gallery.script.change({ link: "moving",
  move: { to: "remote", step: "activate", abandonable: false, problem: null } })"""
ARRIVE = (
    """() => gallery.script.change({ kind: "remote", host: "https://pets.example.org", link: "live", move: null })"""
)


def box(page, selector: str) -> dict:
    return page.locator(selector).first.bounding_box()


@pytest.mark.parametrize("size", [PHONE, SMALLEST, LOW], ids=["phone", "smallest", "keyboard up"])
def test_notices_come_one_at_a_time_and_never_lie_over_the_talk(guest, size):
    page = show(guest(viewport=size), "notices")
    notices = page.locator(".banner")
    for at in (1, 2, 3, 4):
        assert 1 == notices.count()
        assert f"{at} of 4" == page.locator(".banner .next").inner_text()
        notice, speak, log = box(page, ".banners"), box(page, "#say"), box(page, ".log")
        assert notice["y"] + notice["height"] <= log["y"] + 0.5
        assert log["height"] >= 44
        assert speak["y"] + speak["height"] <= size["height"]
        page.get_by_role("button", name="Next notice").click()
    assert "1 of 4" == page.locator(".banner .next").inner_text()


def test_notices_are_put_aside_and_brought_back_by_key_alone(guest):
    page = show(guest(), "notices")
    aside = page.locator(".notices")
    assert aside.is_hidden()
    page.locator("#notice-close").focus()
    for left in (3, 2, 1):
        page.keyboard.press("Enter")
        assert str(4 - left) == aside.locator(".count").inner_text()
        assert "notice-close" == page.evaluate("document.activeElement.id")
    page.keyboard.press("Enter")
    assert page.locator(".banners").is_hidden()
    assert "4 notices put aside. Show them" == page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    assert "1 of 4" == page.locator(".banner .next").inner_text()
    assert aside.is_hidden()


def test_a_pressing_notice_is_spoken_once(guest):
    page = show(guest(), "day")
    page.evaluate("gallery.script.change({ question: { kind: 'two_places', host: 'https://pets.example.org' } })")
    page.get_by_text("lives in two places", exact=False).first.wait_for()
    page.locator("#live", has_text="lives in two places").wait_for(state="attached")
    page.evaluate("document.querySelector('#live').textContent = ''")
    page.evaluate("gallery.script.change({ words: null })")
    page.wait_for_timeout(200)
    assert "" == page.locator("#live").inner_text()


@pytest.mark.parametrize("tab", ["Diary", "Life", "House"])
def test_a_phone_gives_its_height_to_what_is_read(guest, tab):
    page = show(guest(viewport=PHONE), "adult")
    page.get_by_role("tab", name=tab).click()
    pane, panel = box(page, ".pane"), box(page, f"#panel-{tab.lower()}")
    assert pane["height"] <= 160
    assert panel["height"] >= 0.7 * PHONE["height"]
    body, flower, face = (box(page, f".room .stage-adult {part}") for part in (".coat-dark", ".flower", ".face"))
    assert pane["y"] <= flower["y"]
    assert body["y"] + body["height"] <= pane["y"] + pane["height"]
    who = box(page, ".who")
    assert who["x"] + who["width"] <= face["x"]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_hatching_is_seen_said_and_kept(guest, motion):
    page = show(guest(reduced_motion=motion), "egg")
    page.get_by_role("tab", name="House").click()
    page.evaluate("localStorage.setItem('tokenling.room.played.v1', JSON.stringify({ juno: 1 }))")
    page.evaluate(HATCH)
    room = page.locator('.room[data-act="hatch"]')
    room.wait_for()
    assert "talk" == page.locator(".app").get_attribute("data-tab")
    assert page.locator(".stage-egg").is_visible()
    page.locator(".moment", has_text="Juno hatched!").wait_for()
    page.locator("#live", has_text="Juno hatched!").wait_for(state="attached")
    page.locator('.room[data-act="eat"]').wait_for()  # what hatched it is played, too, and only then
    assert page.locator(".stage-egg").is_hidden()
    page.get_by_role("tab", name="Diary").click()
    assert "A piece of its shell" == page.locator(".flyleaf figcaption").inner_text()
    assert page.get_by_text("Hatched on Wed 14 Oct").is_visible()


def test_an_egg_can_be_stroked_before_it_is_anybody_s(guest):
    page = show(guest(), "meet")
    page.get_by_role("button", name="Stroke the egg").press("Enter")
    page.locator('.room[data-act="stroke"]').wait_for()
    assert "Its nest: 62 %" in page.locator(".loads").inner_text()


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_return_is_told_first_and_what_is_new_is_marked(guest, size):
    page = show(guest(viewport=size), "away")
    card, log = box(page, ".card.away"), box(page, ".log")
    assert log["y"] <= card["y"]
    assert card["y"] + card["height"] <= log["y"] + log["height"]
    assert 9 == page.locator(".line.fresh").count()
    assert 0 == page.locator(".line.mine.fresh").count()
    assert page.locator(".banner").count() == 0  # nothing else wants to be read now
    newest = page.get_by_role("button", name="Newest")
    if newest.is_visible():
        newest.click()
        last = box(page, ".log > :last-child")
        assert last["y"] + last["height"] <= log["y"] + log["height"] + 1


def test_a_return_that_was_read_leaves_the_first_new_line_in_sight(guest):
    page = show(guest(), "away")
    page.get_by_role("button", name="Got it").click()
    assert page.locator(".card.away").count() == 0
    first, log = box(page, ".line.fresh"), box(page, ".log")
    assert log["y"] <= first["y"] < log["y"] + log["height"]
    assert "say" == page.evaluate("document.activeElement.id")


def test_an_owner_s_own_words_lead_to_the_end(guest):
    page = show(guest(), "away")
    page.locator("#say").fill("i am back")
    page.locator("#say").press("Enter")
    mine, log = page.get_by_text("i am back").first.bounding_box(), box(page, ".log")
    assert mine["y"] + mine["height"] <= log["y"] + log["height"]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_words_by_the_pet_fade_when_they_have_been_read(guest, motion):
    visitor = guest(reduced_motion=motion)
    visitor.context.clock.install()
    page = show(visitor, "day")
    words = page.locator(".speech")
    assert words.is_visible()
    words.hover()
    page.clock.run_for(20_000)
    assert words.is_visible()  # under a pointer they wait
    page.mouse.move(5, 700)
    page.clock.run_for(3000)
    assert words.is_hidden()
    page.evaluate("gallery.script.change({})")
    assert words.is_hidden()
    assert page.locator(".line button.said", has_text="To the pond").is_visible()


def test_words_by_the_pet_lie_over_neither_its_name_nor_its_clouds(guest):
    visitor = guest(viewport=PHONE)
    visitor.context.clock.install()
    page = show(visitor, "hungry")
    label, words = box(page, ".who"), box(page, ".speech")
    assert label["y"] + label["height"] <= words["y"]
    assert page.locator(".room .wish").is_hidden()
    page.clock.run_for(20_000)
    assert page.locator(".speech").is_hidden()
    assert page.locator(".room .wish").is_visible()
    assert "would like something to eat" in page.locator(".who .state").inner_text()


@pytest.mark.parametrize("scenario", ["day", "adult", "hearth", "window", "pond", "attic"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_words_by_the_pet_stand_over_its_head(guest, scenario, size):
    page = show(guest(viewport=size), scenario)
    words, body, pane = box(page, ".speech"), box(page, ".room .coat-dark >> visible=true"), box(page, ".pane")
    assert words["y"] + words["height"] <= body["y"]
    assert body["y"] + body["height"] <= pane["y"] + pane["height"]


def test_a_move_empties_the_nest_and_is_told_where_it_ends(guest):
    page = show(guest(), "day")
    page.evaluate(SET_OUT)
    page.locator('.room[data-away="true"]').wait_for()
    assert "on its way between two homes" == page.locator(".who .state").inner_text()
    assert page.locator(".speech").is_hidden()
    page.evaluate(ARRIVE)
    page.locator('.room[data-away="false"]').wait_for()
    page.locator(".moment", has_text="Juno lives on pets.example.org now.").wait_for()
    page.locator("#live", has_text="Juno lives on pets.example.org now.").wait_for(state="attached")
    assert "lives on pets.example.org" == page.locator(".pill").inner_text()


REFUSES_TO_RESUME = """() => { gallery.resume = async () => {
  const { kind, link } = gallery.script.snapshot();
  gallery.script.change({ link: "moving", move: { to: "remote", step: "resume", abandonable: true, problem: null } });
  gallery.script.change({ kind, link, move: null });
  throw Object.assign(new Error("refused"), { code: "other_device", fields: {}, lost: false });
} }"""


@pytest.mark.parametrize("where", ["notice", "house"])
def test_a_host_that_refuses_to_let_a_pet_live_on_is_asked_about_and_no_success_is_told(guest, where):
    page = show(guest(), "paused")
    page.evaluate(REFUSES_TO_RESUME)
    if where == "house":
        page.get_by_role("tab", name="House").click()
    part = ".banner" if where == "notice" else "[data-part=home]"
    page.locator(part).get_by_role("button", name="Let it live on").click()
    page.get_by_role("dialog").get_by_role("heading", name="Take Juno over?").wait_for()
    assert "lives on pets.example.org now" not in page.locator("body").inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Never mind").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert "Paused" == page.locator(".pill").inner_text()
    assert "does not live on pets.example.org now" in page.locator(".banner").inner_text()


def test_the_steps_of_a_move_stay_until_its_end_has_been_seen(guest):
    page = show(guest(), "day")
    page.evaluate("() => { gallery.moveToHost = () => new Promise((resolve) => (globalThis.arrive = resolve)); }")
    page.get_by_role("tab", name="House").click()
    for name in ("Move to a host", "Ask this host", "Move Juno"):
        page.get_by_role("button", name=name).click()
    assert "The host makes room" == page.locator(".steps .now").inner_text()
    page.evaluate(SET_OUT)
    assert "It moves in" == page.locator(".steps .now").inner_text()
    page.evaluate(ARRIVE)
    page.evaluate("arrive()")
    sheet = page.get_by_role("dialog")
    sheet.get_by_text("Juno lives on pets.example.org now.").wait_for()
    assert 2 == sheet.locator(".steps .done").count()
    assert "is moving to" not in sheet.inner_text()
    assert "Done" == page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert 0 == page.get_by_role("dialog").count()


def test_pets_of_one_name_are_told_apart(guest):
    page = show(guest(), "namesakes")
    page.get_by_role("tab", name="House").click()
    rows = [row.inner_text().split("\n") for row in page.locator(".pets .pet-name").all()]
    assert ["Juno", "Juno (2)"] == [name for name, _ in rows]
    assert "in this page · from a file, Mon 12 Oct" in rows[1][1]
    assert page.get_by_role("button", name="Show Juno (2)").is_visible()


def test_a_year_s_diary_opens_at_any_day(guest):
    page = show(guest(), "year")
    page.get_by_role("tab", name="Diary").click()
    page.get_by_label("Go to the page of").select_option(label="Wednesday 24 December")
    assert "2025-12-24" == page.locator(".page .date").get_attribute("datetime")
    assert "73 of 366" == page.locator(".where").inner_text()


@pytest.mark.parametrize("scenario", ["day", "hearth", "window", "asleep"])
def test_nothing_in_the_room_is_blended_or_filtered_for_each_frame(guest, scenario):
    page = show(guest(reduced_motion="no-preference"), scenario, NIGHT_MS)
    costly = page.evaluate(
        """() => [...document.querySelectorAll(".room, .room *")].map((each) => [each, getComputedStyle(each)])
             .filter(([, { mixBlendMode, filter, backdropFilter }]) =>
               mixBlendMode !== "normal" || filter !== "none" || backdropFilter !== "none")
             .map(([each]) => each.getAttribute("class"))"""
    )
    assert [] == costly
    assert "inset(" in page.evaluate("getComputedStyle(document.querySelector('.sky')).clipPath")  # the window's box


NIGHT_MS = 1_791_980_400_000 + 9 * 3_600_000


def test_the_dark_of_the_night_is_in_the_colours(guest):
    page = show(guest(), "day")
    at_noon = page.evaluate("getComputedStyle(document.querySelector('.room .wall')).fill")
    page = show(guest(), "day", NIGHT_MS)
    assert at_noon != page.evaluate("getComputedStyle(document.querySelector('.room .wall')).fill")
    assert "rgb" in page.evaluate("document.querySelector('.room .wall').style.fill")


WIDE = """() => {
  const { script } = globalThis.gallery;
  const { view } = script.snapshot();
  const name = "W".repeat(24);
  const line = (who, text) => ({ who, text: text.repeat(300), atMs: Date.now(), turn: "r1" });
  const chat = [line("owner", "m"), line("pet", "w")];
  const save = { ...view.save, name, memories: [{ text: "x".repeat(40) }], chat };
  script.change({ view: { ...view, save } });
  const { pets } = globalThis.gallery.snapshot();
  globalThis.gallery.change({ pets: pets.map((pet) => ({ ...pet, name, host: `https://${"h".repeat(60)}.example` })) });
}"""
OUT_OF_REACH = """() => [...document.querySelectorAll(".panel *, dialog *")].filter((each) => {
  const { width, right } = each.getBoundingClientRect();
  return width > 0 && right > innerWidth + 1 && !each.closest("svg") && !each.closest(".unseen");
}).map((each) => each.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("tab", ["Talk", "Diary", "Life", "House"])
def test_a_wide_name_pushes_nothing_out_of_a_narrow_phone(guest, tab):
    page = show(guest(viewport={"width": 320, "height": 568}), "day")
    page.evaluate(WIDE)
    page.get_by_role("tab", name=tab).click()
    assert [] == page.evaluate(OUT_OF_REACH)
    if tab == "House":
        page.get_by_role("button", name="Delete for good").click()
        page.get_by_role("dialog").wait_for()
        assert [] == page.evaluate(OUT_OF_REACH)
