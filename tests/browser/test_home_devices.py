"""One pet and several tabs, and several devices: one runs it, the others say so."""

import pytest
from home_support import HOST_WORDS, PAGE_WORDS, Refused, living_places, pets_of, settled, whole

pytestmark = pytest.mark.browser_long


def tab_of(page):
    return page.evaluate("() => tests.household().tab")


def test_of_two_tabs_one_runs_the_pet_and_the_other_says_so(house, host):
    pet = house.adopted("hello")
    first = house.page
    second = house.open()
    house.watch(pet)
    assert [tab_of(first), tab_of(second)] == ["leader", "waiting"]
    shown = house.pet(pet)
    assert (shown["link"], shown["view"]["save"]["name"]) == ("other_tab", "Pip")
    with pytest.raises(Refused, match="not_running"):
        house.send(pet, kind="say", text="me, too")
    with pytest.raises(Refused, match="other_tab"):
        house.ask("moveToHost", pet, host.origin)
    with pytest.raises(Refused, match="other_tab"):
        house.ask("adopt", {"name": "Pap", "petSeed": "b"})
    # what the first tab stores is seen in the second
    first.evaluate("pet => tests.send(pet, {kind: 'say', text: 'from the first'})", pet)
    house.until(lambda: house.texts(pet, "owner") == ["hello", "from the first"])


def test_a_tab_that_takes_over_goes_on_where_the_other_was(house):
    pet = house.adopted("hello")
    first = house.page
    second = house.open()
    house.watch(pet)
    house.ask("takeTab", page=second)
    house.until(lambda: house.pet(pet)["link"] == "running")
    assert [tab_of(first), tab_of(second)] == ["waiting", "leader"]
    assert house.pet(pet, page=first)["link"] == "other_tab"
    house.send(pet, kind="say", text="from the second")
    house.until(lambda: house.chat(pet)[-1]["text"] == PAGE_WORDS)
    refused = first.evaluate("pet => tests.send(pet, {kind: 'say', text: 'late'})", pet)
    assert refused["refused"]["code"] == "not_running"
    whole(house, pet, "hello", "from the second")
    # closed, it leaves the pet to the tab that is left
    second.close()
    house.page = first
    house.until(lambda: house.pet(pet)["link"] == "running")
    house.send(pet, kind="say", text="and back")
    whole(house, pet, "hello", "from the second", "and back")


def test_a_tab_that_hangs_is_robbed_of_the_lock_and_cannot_write_any_more(house):
    pet = house.adopted("hello")
    first = house.page
    second = house.open()
    house.watch(pet)
    first.evaluate("() => void setTimeout(() => { const end = Date.now() + 6000; while (Date.now() < end); }, 10)")
    second.wait_for_timeout(100)
    house.ask("takeTab", page=second)
    assert tab_of(second) == "leader"
    house.send(pet, kind="say", text="from the second")
    refused = first.evaluate("pet => tests.send(pet, {kind: 'say', text: 'late'})", pet)
    assert refused["refused"]["code"] == "not_running"
    house.until(lambda: tab_of(first) == "waiting")
    whole(house, pet, "hello", "from the second")


def test_a_move_goes_on_in_the_tab_that_is_left(house, host):
    pet = house.adopted("hello")
    first = house.page
    sent = house.lose_answers("/transfer", 1)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: sent)
    house.open()
    first.close()
    settled(house, pet, host, "live")
    assert len({body["operationId"] for body in sent}) == 1


def test_a_card_brings_the_pet_to_a_second_device_and_never_replaces_one(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    with pytest.raises(Refused, match="not_hosted"):
        mine.ask("card", mine.adopt("Home"))
    card = mine.ask("card", pet)
    facts = yours.ask("readCard", card["text"])
    assert facts == {"host": host.origin, "petId": mine.entry(pet)["id"], "known": None}
    assert yours.remote()["pets"] == {}
    # words as somebody writes them down
    there = yours.ask("joinCard", "\n".join(word.upper() for word in card["words"]))
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    whole(yours, there, "hello")
    assert yours.ask("joinCard", card["text"]) == there
    assert yours.ask("readCard", card["text"])["known"] == there
    assert len(yours.household()["pets"]) == 1
    yours.send(there, kind="say", text="from the second device")
    mine.until(lambda: mine.texts(pet, "owner") == ["hello", "from the second device"])
    assert pets_of(host) == ["active"]


def test_a_pet_that_came_home_on_one_device_waits_on_the_other_until_its_owner_takes_it_over(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    there = yours.ask("joinCard", mine.ask("card", pet)["text"])
    yours.watch(there)
    mine.ask("moveHere", pet)
    settled(mine, pet, host, "running")
    mine.send(pet, kind="say", text="only here")
    yours.until(lambda: yours.pet(there)["link"] == "paused")
    assert living_places(yours, there, host) == []
    with pytest.raises(Refused, match="other_device"):
        yours.ask("resume", there)
    with pytest.raises(Refused, match="other_device"):
        yours.ask("moveHere", there)
    assert pets_of(host) == ["parked"]
    yours.ask("takeOver", there)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    assert pets_of(host) == ["active"]
    # the first device finds out at its next look, and asks; what was lived there is not thrown away
    mine.reload()
    mine.watch(pet)
    mine.until(lambda: mine.pet(pet)["question"])
    assert mine.pet(pet)["question"] == {"kind": "two_places", "host": host.origin}
    mine.ask("resolveQuestion", pet, "there")
    mine.until(lambda: mine.pet(pet)["link"] == "live")
    older = dict(mine.records()["subtokenling.v1"])[pet]["checkpoints"][1]["save"]
    assert "only here" in [line["text"] for line in older["chat"]]
    whole(mine, pet, "hello")


def test_of_two_places_the_one_here_is_kept_when_the_owner_says_so(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    there = yours.ask("joinCard", mine.ask("card", pet)["text"])
    mine.ask("moveHere", pet)
    settled(mine, pet, host, "running")
    mine.send(pet, kind="say", text="only here")
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "paused")
    yours.ask("takeOver", there)
    mine.reload()
    mine.watch(pet)
    mine.until(lambda: mine.pet(pet)["question"])
    mine.ask("resolveQuestion", pet, "here")
    mine.until(lambda: mine.household()["stops"] == [])
    assert pets_of(host) == ["parked"]
    whole(mine, pet, "hello", "only here")
    mine.ask("moveToHost", pet, host.origin)
    mine.until(lambda: mine.pet(pet)["link"] == "live")
    yours.until(lambda: yours.texts(there, "owner") == ["hello", "only here"])


@pytest.mark.parametrize("lost", ["nothing", "answer"])
def test_a_new_key_locks_out_what_has_the_old_one(device, host, lost):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    old = mine.ask("card", pet)["text"]
    there = yours.ask("joinCard", old)
    yours.watch(there)
    sent = mine.lose_answers("/key", 1 if lost == "answer" else 0)
    if lost == "answer":
        mine.begin("changeKey", pet)
        mine.until(lambda: sent)
        mine.reload()
        mine.watch(pet)
    else:
        mine.ask("changeKey", pet)
    mine.until(lambda: mine.entry(pet)["intent"] is None)
    mine.until(lambda: mine.pet(pet)["link"] == "live")
    yours.until(lambda: yours.pet(there)["link"] == "gone")
    # what it had stays: key and copy
    assert yours.entry(there)["key"]
    whole(yours, there, "hello")
    with pytest.raises(Refused, match="not_found"):
        yours.ask("joinCard", old)
    assert yours.ask("joinCard", mine.ask("card", pet)["text"]) == there
    yours.until(lambda: yours.pet(there)["link"] == "live")
    mine.send(pet, kind="say", text="with the new key")
    mine.until(lambda: mine.chat(pet)[-1]["text"] == HOST_WORDS)
