"""A pet's way to a host and home again, cut in the middle: the short form that every run has."""

from home_support import HOST_WORDS, PAGE_WORDS, living_places, pets_of, settled, whole


def test_there_and_back_nothing_is_lost(house, host):
    pet = house.adopted("hello")
    house.ask("moveToHost", pet, host.origin)
    settled(house, pet, host, "live")
    assert living_places(house, pet, host) == [host.origin]
    house.send(pet, kind="say", text="are you there?")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    house.ask("moveHere", pet)
    settled(house, pet, host, "running")
    assert living_places(house, pet, host) == ["page"]
    house.send(pet, kind="say", text="home again")
    house.until(lambda: house.chat(pet)[-1]["text"] == PAGE_WORDS)
    whole(house, pet, "hello", "are you there?", "home again")
    events = [event["kind"] for event in house.pet(pet)["view"]["save"]["events"]]
    assert events.count("moved_house") == 2
    assert house.entry(pet)["epoch"] == 2


def test_a_round_trip_cut_at_each_step_loses_nothing(house, host):
    """The preparation's answer is lost and the page reloaded, then the activation's and the host killed, then the
    parking's and both."""
    pet = house.adopted("hello")
    prepared = house.lose_answers("/api/pets", 1)
    transfers = house.lose_answers("/transfer", 1)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: prepared)
    house.reload()
    house.until(lambda: transfers)
    host.restart()
    settled(house, pet, host, "live")
    assert len({body["operationId"] for body in transfers}) == 1
    parked = house.lose_answers("/transfer", 1)
    house.begin("moveHere", pet)
    house.until(lambda: parked)
    host.restart()
    house.reload()
    settled(house, pet, host, "running")
    assert len({body["operationId"] for body in parked}) == 1
    assert pets_of(host) == ["parked"]
    whole(house, pet, "hello")
