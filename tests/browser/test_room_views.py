"""Every view of the room: accessible, within the screen, within the policy, and nothing that is said becomes markup."""

import re

import pytest
from app_support import DESKTOP, PHONE
from room_gallery import MIDNIGHT_MS, NOON_MS, WEB, open_steps, show

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
SMALLEST = {"width": 360, "height": 640}
ZOOMED = {"width": 640, "height": 450}
"""What 200 % leaves of 1280 by 900."""
TARGET_PX = 44
"""CSS pixels of a touch target; half a pixel is rounding."""

VIEWS = {
    "meeting an egg": ("meet", ""),
    "an egg": ("egg", ""),
    "talk": ("day", ""),
    "talk, thinking": ("thinking", ""),
    "talk, writing": ("writing", ""),
    "talk, not confirmed": ("stuck", ""),
    "talk, a help line": ("day", "say i want to die > see Find a helpline"),
    "diary": ("day", "tab Diary"),
    "diary, empty": ("egg", "tab Diary"),
    "life": ("day", "tab Life"),
    "house, local": ("day", "tab House"),
    "house, on a host": ("remote", "tab House"),
    "an open offer": ("offer", ""),
    "offers": ("day", "press Offer"),
    "foods": ("day", "press Feed"),
    "catch": ("game", "press Play > see Throw 1"),
    "mind": ("day", "line > see What it nearly did"),
    "mind, identical": ("day", "line > press Prove it > see Identical"),
    "mind, different": ("different", "line > press Prove it > see Different"),
    "mind, not kept": ("gonemind", "line > see too long ago"),
    "moving, address": ("day", "tab House > press Move to a host"),
    "moving, what it means": ("day", "tab House > press Move to a host > press Ask this host > see whoever runs it"),
    "moving, forbidden": ("warned", "tab House > press Move to a host > press Ask this host > see older rules"),
    "coming home": ("remote", "tab House > press Bring it home > see hands it over"),
    "recovery": ("lost", "press Go on from the copy > see may think on"),
    "a card": ("remote", "tab House > press Show the card > see like a house key"),
    "taking a card": ("day", "tab House > press I have a card"),
    "goodbye": ("day", "tab House > press Delete for good > see Type its name"),
    "host silent": ("lost", ""),
    "offline": ("offline", ""),
    "gone": ("gone", ""),
    "in two places": ("two", ""),
    "paused": ("paused", ""),
    "stopped": ("stopped", ""),
    "moving": ("moving", ""),
    "catching up": ("catching", ""),
    "a return": ("away", ""),
    "several notices": ("notices", ""),
    "notices put aside": ("lost", "press Put this notice aside"),
    "an egg being waited for": ("meet", "press Stroke the egg"),
    "diary, flyleaf": ("day", "tab Diary > press Page before > press Page before > press Page before"),
    "diary, a year": ("year", "tab Diary"),
    "long words": ("long", ""),
    "long words, diary": ("long", "tab Diary"),
    "long words, life": ("long", "tab Life"),
    "long words, house": ("long", "tab House"),
    "another script": ("rtl", ""),
    "nothing yet, life": ("bare", "tab Life"),
    "pets of one name": ("namesakes", "tab House"),
    "moving, its steps": (
        "day",
        "tab House > press Move to a host > press Ask this host > press Move Juno > see makes room",
    ),
    "another tab": ("other", ""),
    "a newer app": ("outdated", ""),
}
SHORT = (
    "meeting an egg",
    "talk",
    "diary",
    "life",
    "house, local",
    "mind, identical",
    "catch",
    "in two places",
    "a return",
)
"""The default run's: one of each kind."""


def faults_of(page) -> list[str]:
    """What axe finds, targets that are too small, and content beyond the sides, once what fades in has done so."""
    page.evaluate(STILL, FADES_MS)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    faults = [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in found for node in each["nodes"]]
    return faults + page.evaluate(SMALL_TARGETS, TARGET_PX - 0.5) + page.evaluate(BEYOND_THE_SIDES)


STILL = """(withinMs) => Promise.allSettled(
  document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().endTime <= withinMs)
    .map((one) => one.finished),
)"""
FADES_MS = 1000
"""What comes to stay is there by then; longer ones are of the room."""

SMALL_TARGETS = """(least) => [...document.querySelectorAll("button, a, input:not([type=file]), summary, textarea")]
  .filter((element) => element.offsetParent && !element.closest("[inert]"))
  .map((element) => element.closest("label.choice, .toggle label") ?? element)
  .map((element) => [element, element.getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && (box.width < least || box.height < least))
  .map(([element, box]) => `small: ${element.className || element.id} ${box.width}x${box.height}`)"""

BEYOND_THE_SIDES = """() => document.documentElement.scrollWidth > innerWidth ? ["wider than the screen"] : []"""


@pytest.mark.parametrize("view", SHORT)
def test_a_view_has_no_fault_on_a_phone(guest, view):
    scenario, steps = VIEWS[view]
    page = show(guest(viewport=PHONE, reduced_motion="reduce"), scenario)
    open_steps(page, steps)
    assert [] == faults_of(page)


@pytest.mark.browser_long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [SMALLEST, PHONE, ZOOMED, DESKTOP], ids=["smallest", "phone", "zoomed", "desktop"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_no_fault(guest, view, size, scheme):
    scenario, steps = VIEWS[view]
    page = show(guest(viewport=size, color_scheme=scheme, reduced_motion="reduce"), scenario)
    open_steps(page, steps)
    assert [] == faults_of(page)


@pytest.mark.browser_long
@pytest.mark.parametrize("view", SHORT)
def test_a_view_has_no_fault_with_more_contrast_or_the_system_s_colours(guest, view):
    scenario, steps = VIEWS[view]
    for wish in ({"contrast": "more"}, {"forced_colors": "active"}):
        page = show(guest(**wish, reduced_motion="reduce"), scenario)
        open_steps(page, steps)
        assert [] == faults_of(page)


def test_what_pet_and_owner_say_is_text_and_never_markup(guest):
    page = show(guest(), "hostile")
    for tab in ("Talk", "Diary", "Life", "House"):
        page.get_by_role("tab", name=tab).click()
    assert page.title() == "<b>x</b> · Tokenling"
    assert 0 == page.locator("#page script, #page style, #page b, #page [onload], #page [onerror], .said img").count()
    assert page.locator(".line button.said").first.inner_text().startswith("<img src=x")


def test_no_style_stands_in_the_markup(guest):
    page = show(guest(), "day")
    assert re.search(r"\sstyle=", page.content().split("<body", 1)[0]) is None
    assert 0 == page.locator("style").count()


def test_day_and_night_follow_the_pet_s_own_clock(guest):
    visitor = guest(timezone_id="Pacific/Auckland")
    assert show(visitor, "day", NOON_MS).locator('.room[data-sky="day"]').count() == 1
    assert show(visitor, "day", MIDNIGHT_MS).locator('.room[data-sky="night"]').count() == 1


@pytest.mark.parametrize("place", ["nest", "window", "hearth", "garden", "pond", "attic"])
def test_each_place_is_drawn_and_told(guest, place):
    scenario = {"nest": "day", "garden": "adult"}.get(place, place)
    page = show(guest(), scenario)
    assert 1 == page.locator(f".room .place-{place}.back").count()
    told = {
        "nest": "nest",
        "window": "window",
        "hearth": "hearth",
        "garden": "garden",
        "pond": "pond",
        "attic": "attic",
    }
    assert told[place] in page.get_by_role("img", name="Juno").first.get_attribute("aria-label")


def test_a_new_effect_is_played_once_and_an_old_one_never_again(guest):
    page = show(guest(reduced_motion="no-preference"), "day")
    page.get_by_role("button", name="Wash").click()
    page.locator(".spark").first.wait_for(state="attached")
    played = page.evaluate("localStorage.getItem('tokenling.room.played.v1')")
    assert '{"juno":1}' == played
    page.evaluate("gallery.script.change({})")
    assert 3 >= page.locator(".spark").count()
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert 0 == page.locator(".spark").count()


@pytest.mark.browser_long
def test_a_frame_costs_the_page_no_style(guest):
    page = show(guest(reduced_motion="no-preference"), "day")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def recalculated() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "RecalcStyleCount")

    before = recalculated()
    page.wait_for_timeout(1000 * WATCHED_S)
    assert recalculated() - before < 15 * WATCHED_S  # blinks and looks about; a frame each would be 60 a second


WATCHED_S = 4
