"""Being with the pet by keyboard, mouse and finger; movement both ways; the mind, the game, the diary."""

import pytest
from app_support import DESKTOP
from room_gallery import show, until

HOLD_IN_THE_RING = """() => {
  const hold = () => {
    for (const flight of document.querySelector(".catch-ball")?.getAnimations() ?? [])
      if (flight.playState === "running") {
        flight.pause();
        flight.currentTime = 0.62 * flight.effect.getTiming().duration;
      }
    requestAnimationFrame(hold);
  };
  hold();
}"""
"""Each ball stays over the ring's middle, at 0.62 of its way: no test is quick enough for a ball on every machine."""
HELD = """(throws) => new Promise((resolve) => {
  const look = () => {
    const [flight] = document.querySelector(".catch-ball")?.getAnimations() ?? [];
    const thrown = document.body.textContent.includes(`Throw ${throws} of 5`);
    if (thrown && flight?.playState === "paused") resolve();
    else requestAnimationFrame(look);
  };
  look();
})"""


def focused(page) -> str:
    return page.evaluate(
        "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
    )


def sent(page) -> list[dict]:
    return page.evaluate("gallery.script.sent")


def tab_to(page, wanted: str, most: int = 40) -> None:
    """Presses Tab until the focus is on what `wanted` selects."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_a_day_together_by_keyboard_alone(guest):
    page = show(guest(viewport=DESKTOP), "day")
    tab_to(page, "[data-care=feed]")
    page.keyboard.press("Enter")
    tab_to(page, "[data-item=plum]")
    page.keyboard.press("Enter")
    assert "feed" in focused(page) or page.evaluate("document.activeElement.dataset.care") == "feed"
    tab_to(page, "[data-care=gift]")
    page.keyboard.press("Enter")
    tab_to(page, "[data-item=gift]")
    page.keyboard.press("Enter")
    tab_to(page, "[data-item=shell]")
    page.keyboard.press("Enter")
    tab_to(page, "#say")
    page.keyboard.type("good morning")
    page.keyboard.press("Enter")
    expected = [
        {"kind": "care", "action": "feed", "item": "plum"},
        {"kind": "offer", "offer": "gift", "item": "shell"},
        {"kind": "say", "text": "good morning"},
    ]
    assert expected == sent(page)


def test_a_pet_hears_that_its_owner_is_back_after_hours_and_a_sleeper_does_not(guest):
    """An owner's act that changes nothing: the engine owes the pet's words then (docs/engine.md)."""
    back = show(guest(), "back")
    until(back, lambda: sent(back))
    assert [{"kind": "settings", "chatter": 2}] == sent(back)
    asleep = show(guest(), "back_asleep")
    asleep.wait_for_timeout(300)
    assert [] == sent(asleep)


def test_arrows_walk_the_tabs(guest):
    page = show(guest(), "day")
    page.get_by_role("tab", name="Talk").focus()
    for tab in ("diary", "life", "house", "talk"):
        page.keyboard.press("ArrowRight")
        assert f"tab-{tab}" == focused(page)
        assert page.locator(f"#panel-{tab}").is_visible()
    page.keyboard.press("ArrowLeft")
    assert "tab-house" == focused(page)


def test_a_sheet_keeps_the_focus_and_gives_it_back(guest):
    page = show(guest(), "day")
    page.get_by_role("button", name="Feed").click()
    for _ in range(14):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
    page.keyboard.press("Escape")
    assert "feed" == page.evaluate("document.activeElement.dataset.care")
    assert [] == sent(page)


def test_a_stroke_by_hand_by_key_and_by_button_is_the_same_to_the_pet(guest):
    page = show(guest(), "day")
    touch = page.get_by_role("button", name="Stroke Juno")
    box = touch.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    touch.focus()
    page.keyboard.press("Enter")
    page.locator("[data-care=stroke]").click()
    assert [{"kind": "care", "action": "stroke"}] * 3 == sent(page)


@pytest.mark.parametrize("system", ["reduce", "no-preference"])
def test_movement_follows_the_system_and_the_switch_goes_over_it_both_ways(guest, system):
    page = show(guest(reduced_motion=system), "day")
    moves = {"reduce": "calm", "no-preference": "full"}
    root = page.locator("html")
    assert moves[system] == root.get_attribute("data-motion")
    page.get_by_role("tab", name="House").click()
    page.get_by_role("radio", name="Full").check()
    assert "full" == root.get_attribute("data-motion")
    assert running(page, "breathe")
    page.get_by_role("radio", name="Calm").check()
    assert "calm" == root.get_attribute("data-motion")
    assert not running(page, "breathe")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert "calm" == root.get_attribute("data-motion")


def running(page, animation: str) -> bool:
    return page.evaluate("(name) => document.getAnimations().some((one) => one.animationName === name)", animation)


def test_the_calm_room_is_alive_and_nothing_in_it_travels(guest):
    page = show(guest(reduced_motion="reduce"), "hearth")
    moving = page.evaluate(
        """() => document.getAnimations().filter((one) => one.effect.getKeyframes().some((frame) =>
             frame.transform && frame.transform !== "none")).map((one) => one.animationName)"""
    )
    assert [] == moving
    assert 0 < page.evaluate("document.getAnimations().length")


def test_movement_is_of_transforms_and_opacities_only(guest):
    page = show(guest(reduced_motion="no-preference"), "window")
    animated = page.evaluate(
        """() => [...new Set(document.getAnimations().flatMap((one) => one.effect.getKeyframes().flatMap(
             ({ offset, computedOffset, easing, composite, ...properties }) => Object.keys(properties))))].sort()"""
    )
    assert {"opacity", "transform"} >= set(animated)


def test_sound_is_off_until_it_is_wanted_and_quiet_silences_it(guest):
    page = show(guest(), "day")
    sound = page.get_by_role("button", name="Sound", exact=True)
    assert "false" == sound.get_attribute("aria-pressed")
    sound.click()
    assert "true" == sound.get_attribute("aria-pressed")
    assert "Sounds are on" == sound.get_attribute("title")
    page.get_by_role("button", name="Quiet", exact=True).click()
    assert "true" == page.locator("html").get_attribute("data-quiet")
    assert page.locator(".speech").is_hidden()


def test_the_mind_view_tells_the_question_the_lookup_and_the_shares(guest):
    page = show(guest(), "day")
    page.locator(".line button.said").last.click()
    mind = page.get_by_role("dialog")
    assert "Ana likes the sea; the pond stone is warm." in mind.locator(".noticed dd").all_inner_texts()
    assert "look at the weather: sun" in mind.locator(".looked").inner_text()
    assert ["be down at the pond", "47 %"] == mind.locator(".bars li").first.inner_text().split("\n")
    track = mind.locator(".track").first.bounding_box()["width"]
    assert pytest.approx(0.47, abs=0.01) == mind.locator(".bars i").first.bounding_box()["width"] / track
    mind.get_by_role("button", name="Prove it").click()
    assert "identical" == mind.locator(".told").get_attribute("data-verdict")
    page.keyboard.press("Escape")
    assert "said" == focused(page)


def test_the_mind_view_says_that_not_every_line_was_shown_to_the_pet(guest):
    page = show(guest(), "day")
    page.locator(".line button.said").last.click()
    assert "without the older ones where it spoke several times in a row" in page.locator(".mind-asked").inner_text()


def test_a_line_of_the_pet_is_named_by_its_words_and_what_it_opens(guest):
    page = show(guest(), "day")
    name = "Ana! I like that name. I'm Juno. (How it came to say this)"
    assert 1 == page.get_by_role("button", name=name, exact=True).count()


def test_whoever_named_the_egg_by_keyboard_goes_on_in_the_conversation(guest):
    page = show(guest(viewport=DESKTOP), "meet")
    page.evaluate("() => { gallery.adopt = async () => 'juno'; }")
    page.keyboard.type("Juno")
    page.keyboard.press("Enter")
    page.locator("#say:focus").wait_for()
    page.keyboard.type("good morning")
    page.keyboard.press("Enter")
    assert [{"kind": "say", "text": "good morning"}] == sent(page)


def test_a_host_that_gives_no_answer_is_told_with_both_causes_and_what_its_operator_must_allow(guest):
    page = show(guest(), "day")
    page.evaluate(
        """() => { gallery.previewMove = async () => {
             throw Object.assign(new Error("silent"), { code: "unreachable", fields: {}, lost: true });
           }; }"""
    )
    page.get_by_role("tab", name="House").click()
    page.get_by_role("button", name="Move to a host").click()
    page.get_by_label("Address of the host").fill("127.0.0.1:8460")
    page.get_by_role("button", name="Ask this host").click()
    told = page.get_by_role("dialog").get_by_role("alert").inner_text()
    assert told.startswith(
        "http://127.0.0.1:8460 gave this page no answer. Is the address right, and does the host run?"
    )
    assert f"must add {page.evaluate('location.origin')} to SUBTOKENLING_ALLOWED_ORIGIN" in told
    assert "127.0.0.1:8460" == page.get_by_label("Address of the host").input_value()


def test_the_words_over_an_egg_name_buttons_that_are_there(guest):
    page = show(guest(), "egg")
    told = page.locator(".log .empty").inner_text()
    assert "press Stroke or Tuck in:" in told
    for name in ("Stroke", "Tuck in"):
        assert page.get_by_role("button", name=name, exact=True).is_enabled()


def test_a_blank_name_is_told_what_a_name_needs_and_nothing_is_sent(guest):
    page = show(guest(), "day")
    page.get_by_role("tab", name="House").click()
    page.locator("#rename").fill("   ")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("alert").get_by_text("A name needs at least one letter.").wait_for()
    assert "rename" == focused(page)
    assert [] == sent(page)


@pytest.mark.parametrize(
    ("scenario", "told"),
    [("day", "Identical"), ("tie", "A near tie"), ("different", "Different"), ("unprovable", "Not provable here")],
)
def test_each_verdict_is_told_in_plain_words(guest, scenario, told):
    page = show(guest(), scenario)
    page.locator(".line button.said").first.click()
    page.get_by_role("button", name="Prove it").click()
    assert told == page.locator(".told").inner_text()


def test_a_game_is_played_by_keyboard_and_its_score_is_sent_once(guest):
    page = show(guest(reduced_motion="reduce"), "game")
    page.evaluate(HOLD_IN_THE_RING)
    page.get_by_role("button", name="Play", exact=True).click()
    for throw in range(1, 6):
        page.evaluate(HELD, throw)
        page.keyboard.press(" ")
    done = page.get_by_role("button", name="Done")
    done.wait_for()
    assert "Caught 5 of 5." == page.locator(".game-state").inner_text().strip()
    done.press("Enter")
    (game,) = sent(page)
    assert {"kind": "game", "gameId": "g1", "score": 5} == game
    assert page.get_by_role("dialog").count() == 0


def test_a_game_that_is_left_sends_no_score(guest):
    page = show(guest(), "game")
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_text("Throw 1 of 5").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("wants to play catch").first.wait_for()
    assert [] == sent(page)


def test_the_diary_is_leafed_through_by_key_button_and_finger(guest):
    page = show(guest(has_touch=True), "day")
    page.get_by_role("tab", name="Diary").click()
    date = page.locator(".page .date")
    assert "2026-10-13" == date.get_attribute("datetime")
    page.get_by_role("button", name="Page before").click()
    assert "2026-10-12" == date.get_attribute("datetime")
    assert "Kept from this day: the shell" == page.locator(".keepsake figcaption").inner_text()
    page.keyboard.press("ArrowLeft")
    assert "2026-10-11" == date.get_attribute("datetime")
    page.keyboard.press("ArrowLeft")
    assert "A piece of its shell" == page.locator(".flyleaf figcaption").inner_text()
    page.keyboard.press("ArrowLeft")
    assert "Flyleaf" == page.locator(".where").inner_text()
    page.get_by_role("button", name="Newest page").click()
    assert "2026-10-13" == date.get_attribute("datetime")
    assert "3 of 3" == page.locator(".where").inner_text()


def test_the_help_line_comes_from_an_owner_s_words_and_asks_nobody_else(guest):
    page = show(guest(), "day")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#say").fill("i don't want to live anymore")
    page.locator("#say").press("Enter")
    help_line = page.get_by_role("complementary", name="If you are not well")
    help_line.wait_for()
    link = help_line.get_by_role("link")
    assert "https://findahelpline.com" == link.get_attribute("href")
    assert "noreferrer noopener" == link.get_attribute("rel")
    assert [] == asked
    help_line.get_by_role("button", name="Not now").click()
    assert help_line.is_hidden()
    assert [{"kind": "say", "text": "i don't want to live anymore"}] == sent(page)


def test_words_of_the_pet_bring_no_help_line(guest):
    page = show(guest(), "day")
    page.evaluate(
        """() => { const { script } = gallery; const { view } = script.snapshot();
             script.change({ view: { ...view, revision: 9, save: { ...view.save, chat: [...view.save.chat,
               { who: "pet", text: "i want to die", atMs: Date.now(), turn: "r9" }] } } }); }"""
    )
    page.get_by_text("i want to die").first.wait_for()
    assert page.get_by_role("complementary", name="If you are not well").is_hidden()


def test_another_tab_is_told_and_can_be_taken_over(guest):
    page = show(guest(), "other")
    take = page.get_by_role("button", name="Be here instead")
    assert page.evaluate("document.querySelector('.app').inert")
    take.click()
    take.wait_for(state="detached")
    assert not page.evaluate("document.querySelector('.app').inert")


def test_deletion_offers_the_file_first_and_wants_the_name(guest):
    page = show(guest(), "day")
    page.get_by_role("tab", name="House").click()
    page.get_by_role("button", name="Delete for good").click()
    sheet = page.get_by_role("dialog")
    go = sheet.get_by_role("button", name="Delete for good")
    assert go.is_disabled()
    with page.expect_download() as download:
        sheet.get_by_role("button", name="Keep a copy first").click()
    assert "juno.json" == download.value.suggested_filename
    sheet.get_by_role("textbox").fill("June")
    assert go.is_disabled()
    sheet.get_by_role("textbox").fill("juno ")
    assert go.is_enabled()


def test_words_that_were_refused_go_back_into_the_input(guest):
    page = show(guest(), "day")
    page.evaluate(
        """() => { const refusal = Object.assign(new Error(), { code: "stale_epoch", fields: {} });
             gallery.script.send = () => Promise.reject(refusal); }"""
    )
    page.locator("#say").fill("hold on to this")
    page.locator("#say").press("Enter")
    page.get_by_text("please do that again").first.wait_for()
    assert "hold on to this" == page.locator("#say").input_value()


def test_one_polite_region_speaks_and_says_equal_words_twice(guest):
    page = show(guest(), "day")
    assert ["live"] == page.evaluate("[...document.querySelectorAll('body > [aria-live]')].map((each) => each.id)")
    page.get_by_role("button", name="Lamp").click()
    page.locator("#live", has_text="The lamp is on.").wait_for(state="attached")
    assert "The lamp is on." == page.locator("#live").inner_text()


CHOOSE_TWICE = """() => {
  const choice = document.querySelector('.pets [aria-label="Show Moss"]');
  choice.click();
  choice.click();
}"""
SPEAK = """(text) => {
  const { script } = globalThis.gallery;
  const { view } = script.snapshot();
  const line = { who: "pet", text, atMs: Date.now(), turn: "r9" };
  const save = { ...view.save, chat: [...view.save.chat, line] };
  script.change({ view: { ...view, revision: view.revision + 1, save } });
}"""


def test_a_pet_chosen_at_once_a_second_time_speaks_once(guest):
    page = show(guest(), "day")
    page.get_by_role("tab", name="House").click()
    page.evaluate(CHOOSE_TWICE)
    page.locator(".room").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.log .line').length > 0")
    page.evaluate(SPEAK, "I am here once.")
    page.locator("#live", has_text="I am here once.").wait_for(state="attached")
    assert 1 == page.locator("#live").inner_text().count("I am here once.")


def test_a_day_that_comes_twice_is_named_twice(guest):
    page = show(guest(), "day")
    page.evaluate(
        """() => {
          const { script } = globalThis.gallery;
          const { view } = script.snapshot();
          const day = 86_400_000;
          const at = [0, day, 0].map((back) => Date.now() - back);
          const chat = at.map((atMs, number) => ({ who: "owner", text: `line ${number}`, atMs }));
          script.change({ view: { ...view, save: { ...view.save, chat } } });
        }"""
    )
    page.locator(".log .line", has_text="line 2").wait_for()
    rows = [row.inner_text().split("\n")[0] for row in page.locator(".log > li").all()]
    assert ["Wed 14 Oct", "line 0", "Tue 13 Oct", "line 1", "Wed 14 Oct", "line 2"] == rows


TAB = "(tab) => globalThis.gallery.change({ tab })"


def test_the_focus_goes_to_the_name_of_a_pet_that_was_chosen(guest):
    page = show(guest(), "day")
    assert "BODY" == page.evaluate("document.activeElement.tagName")  # a page that opens takes no focus
    page.get_by_role("tab", name="House").click()
    page.get_by_role("button", name="Show Moss").press("Enter")
    until(page, lambda: "H1" == page.evaluate("document.activeElement.tagName"))


def test_the_focus_comes_back_with_the_pets_from_another_tab(guest):
    page = show(guest(), "day")
    page.locator("#say").fill("half a sentence")
    page.evaluate(TAB, "waiting")
    until(page, lambda: "main" == focused(page))
    page.keyboard.press("Enter")
    until(page, lambda: "say" == page.evaluate("document.activeElement.id"))
    assert "half a sentence" == page.locator("#say").input_value()


def test_a_question_about_a_pet_goes_when_another_tab_takes_it_or_it_has_gone(guest):
    page = show(guest(), "day")
    page.get_by_role("tab", name="House").click()
    page.get_by_role("button", name="Move to a host").click()
    page.evaluate(TAB, "waiting")
    page.get_by_role("dialog").wait_for(state="detached")
    until(page, lambda: "main" == focused(page))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete for good").click()
    page.evaluate("() => globalThis.gallery.change({ pets: globalThis.gallery.snapshot().pets.slice(1) })")
    page.get_by_role("dialog").wait_for(state="detached")
    until(page, lambda: "H1" == page.evaluate("document.activeElement.tagName"))
