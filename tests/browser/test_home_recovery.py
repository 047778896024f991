"""A host that cannot be reached, and what it says when it can be again."""

import pytest
from home_support import HOST_WORDS, PAGE_WORDS, Refused, living_places, pets_of, settled, whole

pytestmark = pytest.mark.browser_long


def recovered(house, host, *words):
    """A pet that was on a host that died, and lives on here."""
    pet = house.hosted(host, *words)
    host.kill()
    house.ask("recover", pet)
    house.until(lambda: house.pet(pet)["link"] == "running")
    return pet


def delivered(house):
    """The stop has reached its host; what waits 30 s is asked for by the network's return."""
    house.page.evaluate("() => window.dispatchEvent(new Event('online'))")
    return house.household()["stops"] == []


def test_a_pet_is_recovered_from_the_copy_and_its_host_is_stopped_as_soon_as_it_answers(house, host):
    pet = house.hosted(host, "hello")
    house.send(pet, kind="say", text="on the host")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    house.until(lambda: house.ask("copies", pet)[0]["revision"] == house.pet(pet)["view"]["revision"])
    host.kill()
    house.until(lambda: house.pet(pet)["link"] in ("lost", "offline"))
    assert house.ask("copies", pet)[0]["atMs"] > 0
    house.ask("recover", pet)
    house.until(lambda: house.pet(pet)["link"] == "running")
    house.send(pet, kind="say", text="are you well?")
    house.until(lambda: house.chat(pet)[-1]["text"] == PAGE_WORDS)
    (stop,) = house.household()["stops"]
    assert (stop["host"], stop["localId"], stop["name"], stop["asks"]) == (host.origin, pet, "Pip", False)
    house.reload()
    house.watch(pet)
    assert house.household()["stops"] == [stop]
    host.start()
    house.until(lambda: delivered(house))
    assert pets_of(host) == ["parked"]
    assert living_places(house, pet, host) == ["page"]
    whole(house, pet, "hello", "on the host", "are you well?")
    house.ask("moveToHost", pet, host.origin)
    settled(house, pet, host, "live")
    whole(house, pet, "hello", "on the host", "are you well?")


def test_a_move_back_waits_for_the_stop(house, host):
    pet = recovered(house, host, "hello")
    with pytest.raises(Refused, match="stop_pending"):
        house.ask("moveToHost", pet, host.origin)
    house.reload()
    house.watch(pet)
    house.until(lambda: house.pet(pet)["link"] == "running")


def test_an_activation_nobody_answered_is_given_up_by_recovery_alone(house, host):
    pet = house.adopted("hello")
    sent = house.lose_answers("/transfer", 1)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: sent)
    host.kill()
    house.ask("recover", pet)
    house.until(lambda: house.pet(pet)["link"] == "running")
    house.send(pet, kind="say", text="here after all")
    host.start()
    house.until(lambda: delivered(house))
    assert pets_of(host) == ["parked"]
    whole(house, pet, "hello", "here after all")
    assert living_places(house, pet, host) == ["page"]


@pytest.mark.parametrize("fault", ["answer", "request"])
def test_a_stop_whose_answer_is_lost_is_delivered_once(house, host, fault):
    pet = recovered(house, host, "hello")
    spoil = house.lose_answers if fault == "answer" else house.lose_requests
    sent = spoil("/transfer", 2)
    host.start()
    house.until(lambda: delivered(house))
    assert len(sent) == 3
    assert len({body["operationId"] for body in sent}) == 1
    assert pets_of(host) == ["parked"]
    assert house.entry(pet)["epoch"] == 2


def moved_on(device, host):
    """One device recovered its pet; meanwhile the other took the host's copy on to another epoch."""
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    there = yours.ask("joinCard", mine.ask("card", pet)["text"])
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    mine.context.set_offline(True)
    mine.ask("recover", pet)
    mine.until(lambda: mine.pet(pet)["link"] == "running")
    mine.send(pet, kind="say", text="only here")
    yours.ask("moveHere", there)
    yours.ask("moveToHost", there, host.origin)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    yours.send(there, kind="say", text="only there")
    mine.context.set_offline(False)
    mine.until(lambda: mine.household()["stops"][0]["asks"])
    assert mine.pet(pet)["question"] == {"kind": "two_places", "host": host.origin}
    assert mine.pet(pet)["link"] == "running"
    return mine, pet, yours, there


@pytest.mark.parametrize("keep", ["here", "there"])
def test_a_late_stop_that_meets_a_living_pet_asks_which_copy_to_keep(device, host, keep):
    mine, pet, yours, there = moved_on(device, host)
    (stop,) = mine.household()["stops"]
    mine.ask("resolveStop", stop["stopId"], keep)
    mine.until(lambda: mine.household()["stops"] == [] and mine.pet(pet)["question"] is None)
    if keep == "here":
        assert pets_of(host) == ["parked"]
        whole(mine, pet, "hello", "only here")
        yours.until(lambda: yours.pet(there)["link"] == "paused")
    else:
        mine.until(lambda: mine.pet(pet)["link"] == "live")
        whole(mine, pet, "hello", "only there")
        assert pets_of(host) == ["active"]
        older = dict(mine.records()["subtokenling.v1"])[pet]["checkpoints"][1]["save"]
        assert "only here" in [line["text"] for line in older["chat"]]


def test_a_host_that_forgot_the_pet_takes_neither_key_nor_copy_and_the_copy_can_go_on_as_another(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    there = yours.ask("joinCard", mine.ask("card", pet)["text"])
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    before = yours.entry(there)
    mine.ask("remove", pet)
    yours.until(lambda: yours.pet(there)["link"] == "gone")
    yours.reload()
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "gone")
    assert yours.entry(there)["key"] == before["key"]
    assert yours.pet(there)["copyAtMs"]
    whole(yours, there, "hello")
    yours.ask("keepAsAnother", there)
    yours.until(lambda: yours.pet(there)["link"] == "running")
    yours.ask("moveToHost", there, host.origin)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    assert yours.entry(there)["id"] != before["id"]
    whole(yours, there, "hello")


def test_a_stop_that_finds_the_pet_gone_makes_the_copy_another_pet(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    there = yours.ask("joinCard", mine.ask("card", pet)["text"])
    mine.context.set_offline(True)
    mine.ask("recover", pet)
    yours.ask("remove", there)
    mine.context.set_offline(False)
    mine.until(lambda: mine.household()["stops"] == [])
    entry = mine.entry(pet)
    assert (entry["id"], entry["former"][0]["host"]) == ("", host.origin)
    mine.watch(pet)
    mine.until(lambda: mine.pet(pet)["link"] == "running")
    whole(mine, pet, "hello")


def test_a_late_stop_reaches_an_old_host_while_the_pet_lives_on_a_new_one(house, host, tmp_path):
    """The second host serves no page here; it takes this page's origin as an operator would allow it."""
    other = type(host)(tmp_path / "other", allow=host.origin)
    try:
        pet = house.hosted(other, "hello")
        other.kill()
        house.ask("recover", pet)
        house.until(lambda: house.pet(pet)["link"] == "running")
        house.send(pet, kind="say", text="on my way")
        house.ask("moveToHost", pet, host.origin)
        settled(house, pet, host, "live")
        assert [stop["host"] for stop in house.household()["stops"]] == [other.origin]
        house.reload()
        house.watch(pet)
        other.start()
        house.until(lambda: delivered(house))
        assert (pets_of(other), pets_of(host)) == (["parked"], ["active"])
        house.until(lambda: house.pet(pet)["link"] == "live")
        whole(house, pet, "hello", "on my way")
    finally:
        other.kill()


def test_a_host_that_asks_for_a_code_gets_it_and_another_one_is_refused(house, host, tmp_path):
    other = type(host)(tmp_path / "other", allow=host.origin, enrol="sesame")
    try:
        pet = house.adopted("hello")
        for code, options in (("enrol_required", {}), ("enrol_wrong", {"enrolCode": "open"})):
            with pytest.raises(Refused, match=code):
                house.ask("moveToHost", pet, other.origin, options)
            shown = house.pet(pet)
            assert (shown["link"], shown["move"]["problem"]["code"]) == ("running", code)
            assert shown["move"]["abandonable"]
        house.ask("moveToHost", pet, other.origin, {"enrolCode": "sesame"})
        settled(house, pet, other, "live")
        assert "sesame" not in str(house.records())
        whole(house, pet, "hello")
    finally:
        other.kill()


def test_a_pet_that_wanders_between_hosts_is_deleted_at_each_of_them(house, host, tmp_path):
    other = type(host)(tmp_path / "other", allow=host.origin)
    try:
        pet = house.hosted(host, "hello")
        house.ask("moveHere", pet)
        house.ask("moveToHost", pet, other.origin)
        settled(house, pet, other, "live")
        assert (pets_of(host), pets_of(other)) == (["parked"], ["active"])
        house.ask("moveHere", pet)
        first = house.entry(pet)
        house.ask("moveToHost", pet, host.origin)
        settled(house, pet, host, "live")
        assert house.entry(pet)["past"][0]["id"] == first["id"]
        assert (pets_of(host), pets_of(other)) == (["active"], ["parked"])
        house.ask("remove", pet)
        assert house.household()["pets"] == []
        assert (pets_of(host), pets_of(other)) == ([], [])
    finally:
        other.kill()
