"""What a browser does to a page that keeps a pet: a full disk, deleted records, a clock that is set, a tab that takes
over in the middle of a turn, records of newer rules."""

import json
import logging
import os
import time

import pytest
from home_support import BRAIN_ID, PAGE_WORDS, Refused, whole

from tokenling.engine import bridge

log = logging.getLogger(__name__)
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


def spoil_newest(house, pet, change: str) -> None:
    """The newest copy on the disk is changed by other hands."""
    house.page.evaluate(
        f"""async (pet) => {{
          const database = await new Promise((resolve) => {{
            const asked = indexedDB.open("subtokenling");
            asked.onsuccess = () => resolve(asked.result);
          }});
          const store = database.transaction("subtokenling.v1", "readwrite").objectStore("subtokenling.v1");
          const kept = await new Promise((resolve) => {{
            const asked = store.get(pet);
            asked.onsuccess = () => resolve(asked.result);
          }});
          const behind = {{ ...structuredClone(kept.checkpoints[0]), atMs: kept.checkpoints[0].atMs - 60_000 }};
          kept.checkpoints = [kept.checkpoints[0], behind];
          ({change})(kept.checkpoints[0].save);
          await new Promise((resolve) => (store.put(kept, pet).onsuccess = resolve));
          database.close();
        }}""",
        pet,
    )


def lived(house, pet) -> bool:
    """Nothing is due any more: the stored pet has come to now."""
    shown = house.pet(pet)
    behind = house.page.evaluate("() => tests.now()") - shown["view"]["save"]["bodyClockMs"]
    return shown["link"] == "running" and not shown["view"]["thinking"] and behind < 2 * 60_000


@pytest.mark.browser_long
def test_a_page_closed_for_a_day_ends_in_the_bytes_of_one_that_stayed_open_by_its_own_engine(house):
    """Both lives in one browser, with the rules in WebAssembly: one file, two pets, one of them attended each hour."""
    house.reload(inPage=True)
    pet = house.adopt()
    house.send(pet, kind="say", text="good night")
    house.until(lambda: house.chat(pet)[-1]["text"] == PAGE_WORDS)
    text = house.ask("exportSave", pet)["text"]
    for hour in range(1, 25):
        house.page.evaluate("ms => tests.shift(ms)", hour * HOUR_MS)
        house.until(lambda: lived(house, pet))
    attended = house.pet(pet)["view"]["save"]
    late = house.ask("importSave", text)
    house.watch(late)
    house.until(lambda: lived(house, late))
    closed = house.pet(late)["view"]["save"]
    assert closed["bodyClockMs"] == attended["bodyClockMs"]
    assert json.dumps(closed, sort_keys=True) == json.dumps(attended, sort_keys=True)
    assert len([line for line in closed["chat"] if line["who"] == "pet"]) > 2


def grown_save(now_ms: int) -> str:
    """A grown pet at `now_ms` that never speaks up by itself, with no turn due in the week that follows."""

    def ask(function: str, **given):
        return json.loads(bridge.call(function, json.dumps(given)))["ok"]

    def live(state: str, until_ms: int) -> tuple[str, int]:
        turns = 0
        while (step := ask("advance", state=state, nowMs=until_ms))["turn"] is not None:
            reply = {"text": "so it is.", "stop": "eos"}
            state = ask("apply_reply", state=step["state"], turn=step["turn"], reply=reply)["state"]
            turns += 1
        return step["state"], turns

    at_ms = now_ms - 40 * DAY_MS
    pet = {"petSeed": "5e" * 16, "name": "Pip", "timeZone": "UTC", "brainId": BRAIN_ID, "weatherSeed": ""}
    state = ask("new_pet", **pet, nowMs=at_ms)["state"]
    for command in ({"kind": "settings", "chatter": 0}, {"kind": "say", "text": "grow well"}):
        state = ask("apply_command", state=state, command=command, nowMs=at_ms)["state"]
    grown, _ = live(state, now_ms)
    assert live(grown, now_ms + 7 * DAY_MS)[1] == 0, "else the week is not one without turns"
    return grown


def test_a_week_without_turns_is_caught_up_within_two_seconds_by_the_pages_own_engine(house):
    pet = house.ask("importSave", grown_save(time.time_ns() // 1_000_000))
    before = house.newest(pet)["save"]["minutesLived"]
    house.reload(inPage=True, shift=7 * DAY_MS)
    took_ms = house.page.evaluate("pet => tests.caughtUp(pet)", pet)
    log.info("a week without turns: %.0f ms", took_ms)
    house.until(lambda: house.newest(pet)["save"]["minutesLived"] - before >= 7 * 24 * 60)
    assert house.page.evaluate("pet => tests.turns(pet)", pet) == []
    assert took_ms <= 2000


@pytest.mark.browser_long
@pytest.mark.parametrize(("shift", "kind"), [(-3 * DAY_MS, "clock_rebased"), (500 * DAY_MS, "quiet_time")])
def test_a_clock_that_was_set_while_the_page_was_closed_is_told_and_nothing_is_lost(house, shift, kind):
    pet = house.adopted("hello")
    house.send(pet, kind="settings", chatter=0)  # else every day of a year is lived with its words
    before = house.pet(pet)["view"]["save"]["minutesLived"]
    house.reload(shift=shift)
    house.watch(pet)
    house.until(lambda: [notice["kind"] for notice in house.pet(pet)["notices"]] == [kind])
    house.until(lambda: lived(house, pet), within_s=120)
    whole(house, pet, "hello")
    if shift < 0:
        assert house.pet(pet)["view"]["save"]["minutesLived"] - before < 5
    (notice,) = house.pet(pet)["notices"]
    assert abs(notice["toMs"] - notice["fromMs"]) >= 3 * DAY_MS - 600_000
    house.page.evaluate("pet => tests.noticed(pet)", pet)
    assert house.pet(pet)["notices"] == []


ROOM_BYTES = 100_000
"""Enough for an adoption and some talk."""
PROBE = """async () => {
  const database = await new Promise((resolve, reject) => {
    const asked = indexedDB.open("probe", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("probe");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  const transaction = database.transaction("probe", "readwrite");
  transaction.objectStore("probe").put("x", 1);
  const ended = await new Promise((resolve) => {
    transaction.oncomplete = () => resolve("written");
    transaction.onabort = () => resolve(transaction.error.name);
  });
  database.close();
  return ended;
}"""
SAY = """([pet, text]) => {
  window.outcome = null;
  void tests.send(pet, { kind: "say", text }).then((outcome) => (window.outcome = outcome));
}"""


@pytest.fixture
def roomy(device):
    """A browser whose disk has as many bytes as `roomy.room(BYTES)` says, `None` for all there are."""
    house = device(opened=False)
    devtools = house.context.new_cdp_session(house.context.new_page())

    def room(size: int | None) -> None:
        quota = {} if size is None else {"quotaSize": size}
        devtools.send("Storage.overrideQuotaForOrigin", {"origin": house.origin, **quota})

    house.room = room
    return house


@pytest.mark.browser_long
def test_words_that_a_full_disk_does_not_take_are_refused_and_no_other_is_lost(roomy):
    roomy.open()
    pet = roomy.adopted("hello")
    roomy.room(1)
    # Chromium remembers for half a minute what room there was
    roomy.until(lambda: roomy.page.evaluate(PROBE) == "QuotaExceededError", within_s=60)
    with pytest.raises(Refused, match="storage_full"):
        roomy.send(pet, kind="say", text="no room for this")
    assert roomy.pet(pet)["pending"] == []
    roomy.room(None)
    roomy.send(pet, kind="say", text="room again")
    roomy.reload()
    roomy.watch(pet)
    whole(roomy, pet, "hello", "room again")


@pytest.mark.browser_long
def test_words_while_a_disk_fills_up_are_told_as_saved_or_wait_for_room(roomy):
    """The limit stands from the start: the disk is full in the middle of a talk, wherever that may be."""
    roomy.room(ROOM_BYTES)
    roomy.open()
    told = ["hello"]
    pet = roomy.adopted(*told)

    def fate(text: str) -> str | None:
        waiting = [one["state"] for one in roomy.pet(pet)["pending"] if one["command"]["text"] == text]
        if waiting in (["repeating"], ["stuck"]):
            return "waits"
        outcome = roomy.page.evaluate("() => window.outcome")
        return outcome and (outcome.get("refused") or {"code": "said"})["code"]

    for count in range(60):
        text = f"{count} {os.urandom(190).hex()}"  # nothing that a disk could make smaller
        roomy.page.evaluate(SAY, [pet, text])
        became = roomy.until(lambda said=text: fate(said))
        told += [text] * (became in ("said", "waits"))
        if became != "said":
            break
    log.info("words until the disk was full: %d, the last one %s", len(told), became)
    assert became in ("waits", "storage_full")
    assert len(told) > 2, "else the disk was full before the talk began"
    roomy.room(None)
    roomy.until(lambda: roomy.texts(pet, "owner") == told)
    roomy.until(lambda: roomy.pet(pet)["pending"] == [])
    roomy.send(pet, kind="say", text="room again")
    roomy.reload()
    roomy.watch(pet)
    whole(roomy, pet, *told, "room again")


@pytest.mark.browser_long
@pytest.mark.parametrize("by", ["another tab", "the browser"])
def test_records_that_are_deleted_under_a_page_are_told_and_its_pets_can_still_be_taken_out(house, by):
    pet = house.adopted("hello")
    if by == "another tab":
        house.page.evaluate("() => void indexedDB.deleteDatabase('subtokenling')")
    else:
        devtools = house.context.new_cdp_session(house.page)
        devtools.send("IndexedDB.deleteDatabase", {"securityOrigin": house.origin, "databaseName": "subtokenling"})
    house.until(lambda: house.household()["outdated"] == "deleted")
    text = house.ask("exportSave", pet)["text"]
    assert [line["text"] for line in json.loads(text)["chat"] if line["who"] == "owner"] == ["hello"]
    house.reload()
    assert house.household()["pets"] == []
    again = house.ask("importSave", text)
    house.watch(again)
    house.until(lambda: house.pet(again)["link"] == "running")
    whole(house, again, "hello")


@pytest.mark.browser_long
@pytest.mark.parametrize("hangs", [False, True])
def test_a_tab_that_takes_over_in_the_middle_of_a_turn_has_it_once(house, hangs):
    pet = house.adopted("hello")
    first = house.page
    first.evaluate("() => tests.think(2500)")
    house.begin_send(pet, kind="say", text="think long")
    house.until(lambda: house.pet(pet)["view"]["thinking"])
    second = house.open()
    house.watch(pet)
    if hangs:
        first.evaluate("() => void setTimeout(() => { const end = Date.now() + 5000; while (Date.now() < end); }, 10)")
    house.ask("takeTab", page=second)
    house.until(lambda: [line["who"] for line in house.chat(pet)] == ["owner", "pet"] * 2)
    second.wait_for_timeout(3500)
    assert [line["who"] for line in house.chat(pet)] == ["owner", "pet"] * 2
    whole(house, pet, "hello", "think long")
    assert len(second.evaluate("pet => tests.turns(pet)", pet)) == 2


@pytest.mark.browser_long
def test_a_tab_of_older_rules_writes_nothing_over_newer_ones(house):
    """As after an update that another tab already has: the pet stands still here, whole, until its page is loaded."""
    pet = house.adopted("hello")
    spoil_newest(house, pet, "save => { save.engine += 1; }")
    house.reload()
    house.watch(pet)
    house.until(lambda: house.pet(pet)["link"] == "stopped")
    assert "newer_engine" in house.pet(pet)["view"]["error"]
    before = house.newest(pet)
    with pytest.raises(Refused, match="quarantined"):
        house.send(pet, kind="say", text="hello?")
    house.page.evaluate("() => tests.shift(3600000)")
    house.page.wait_for_timeout(500)
    assert house.newest(pet) == before


@pytest.mark.browser_long
def test_a_newer_app_that_opens_the_records_makes_this_tab_let_go(house):
    pet = house.adopted("hello")
    house.page.evaluate("() => void indexedDB.open('subtokenling', 99)")
    house.until(lambda: house.household()["outdated"] == "newer_app")
    with pytest.raises(Refused):
        house.send(pet, kind="say", text="hello?")
