"""What an owner said when it could not be heard: shown at once, kept over a reload, heard once or given back."""

import pytest
from home_support import HOST_WORDS, Refused, settled, whole

CLOSE = """() => { window.callEngine = () => new Promise(() => {}); }"""


def pending(house, pet):
    return [(one["command"].get("text"), one["state"]) for one in house.pet(pet)["pending"]]


def kept(house, pet):
    return dict(house.records()["subtokenling.outbox.v1"]).get(pet)


def test_words_to_a_pet_whose_rules_are_busy_are_shown_and_said_once_after_a_reload(house):
    pet = house.adopted("hello")
    house.page.evaluate(CLOSE)
    house.begin_send(pet, kind="say", text="are you awake?")
    house.begin_send(pet, kind="say", text="i came back")
    house.until(lambda: len((kept(house, pet) or {}).get("wishes", [])) == 2)
    assert pending(house, pet) == [("are you awake?", "sending"), ("i came back", "sending")]
    house.reload()
    house.watch(pet)
    house.until(lambda: len(house.texts(pet, "owner")) == 3)
    whole(house, pet, "hello", "are you awake?", "i came back")
    assert (kept(house, pet), pending(house, pet)) == (None, [])
    house.reload()
    house.watch(pet)
    whole(house, pet, "hello", "are you awake?", "i came back")


def test_words_sent_to_a_host_that_died_come_back_and_are_said_again_at_home(house, host):
    pet = house.hosted(host, "hello")
    host.kill()
    house.begin_send(pet, kind="say", text="can you hear me?")
    house.until(lambda: kept(house, pet))
    house.ask("recover", pet)
    house.until(lambda: house.pet(pet)["link"] == "running")
    house.until(lambda: pending(house, pet) == [("can you hear me?", "returned")])
    house.reload()
    house.watch(pet)
    house.until(lambda: pending(house, pet) == [("can you hear me?", "returned")])
    (back,) = house.pet(pet)["pending"]
    house.page.evaluate("([pet, id]) => tests.again(pet, id)", [pet, back["operationId"]])
    whole(house, pet, "hello", "can you hear me?")
    assert (kept(house, pet), pending(house, pet)) == (None, [])
    house.send(pet, kind="say", text="good")
    whole(house, pet, "hello", "can you hear me?", "good")


@pytest.mark.browser_long
def test_words_that_came_back_can_be_let_go(house, host):
    pet = house.hosted(host, "hello")
    host.kill()
    house.begin_send(pet, kind="say", text="can you hear me?")
    house.until(lambda: kept(house, pet))
    house.ask("recover", pet)
    house.until(lambda: pending(house, pet) == [("can you hear me?", "returned")])
    (back,) = house.pet(pet)["pending"]
    house.page.evaluate("([pet, id]) => tests.letGo(pet, id)", [pet, back["operationId"]])
    house.until(lambda: kept(house, pet) is None)
    assert pending(house, pet) == []
    whole(house, pet, "hello")


@pytest.mark.browser_long
def test_words_said_while_it_moves_out_are_heard_by_whoever_runs_it_then(house, host):
    """They are on the disk before the activation ends the executor, and go to the host under one operation id."""
    pet = house.adopted("hello")
    sent = house.lose_answers("/commands", 1)
    house.page.evaluate(CLOSE)
    house.begin_send(pet, kind="say", text="on my way")
    house.until(lambda: kept(house, pet))
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: house.pet(pet)["link"] == "live")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    house.until(lambda: pending(house, pet) == [])
    whole(house, pet, "hello", "on my way")
    assert len(sent) == 2
    assert len({body["operationId"] for body in sent}) == 1


@pytest.mark.browser_long
def test_a_wish_that_a_host_answered_is_not_on_its_way_any_more_when_the_pet_is_home(house, host):
    """Its answer said at which revision it would be seen; that view never comes, for the pet is here."""
    pet = house.hosted(host, "hello")
    house.context.route(
        "**/api/pets/*", lambda route: route.abort() if route.request.method == "GET" else route.fallback()
    )
    house.context.route("**/api/pets/*?wait=*", lambda route: route.abort())
    house.reload()  # a poll that was under way would bring the view
    house.watch(pet)
    house.send(pet, kind="say", text="answered, unseen")
    assert pending(house, pet) == [("answered, unseen", "sending")]
    house.ask("recover", pet)
    house.until(lambda: house.pet(pet)["link"] == "running")
    assert pending(house, pet) == []


@pytest.mark.browser_long
def test_what_was_said_at_a_host_can_be_looked_into_after_the_pet_came_home(house, host):
    pet = house.hosted(host, "hello")
    house.send(pet, kind="say", text="at the host")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    spoken = house.chat(pet)[-1]["turn"]
    lost = house.lose_requests("/receipts", 1, method="GET")
    house.ask("moveHere", pet)
    settled(house, pet, host, "running")
    house.until(lambda: lost)
    assert house.entry(pet)["turnsDue"]["host"] == host.origin
    house.reload()
    house.watch(pet)
    house.until(lambda: "turnsDue" not in house.entry(pet))
    host.kill()
    turns = house.page.evaluate("pet => tests.turns(pet)", pet)
    assert spoken in [turn["turnId"] for turn in turns]


@pytest.mark.browser_long
def test_words_that_no_host_will_ever_hear_go_back_to_their_owner(house, host):
    """Said under an epoch that is over: the host refuses them, and nobody waits for its answer after the reload."""
    pet = house.hosted(host, "hello")
    house.lose_requests("/commands", 100)
    house.begin_send(pet, kind="say", text="too late")
    house.until(lambda: kept(house, pet))
    house.ask("moveHere", pet)
    settled(house, pet, host, "running")
    house.context.unroute_all()
    house.context.route("**/home-harness.html", house._serve)
    house.reload()
    house.watch(pet)
    house.until(lambda: pending(house, pet) == [("too late", "returned")])
    whole(house, pet, "hello")


@pytest.mark.browser_long
def test_a_pet_that_is_not_here_takes_no_words(house, host):
    pet = house.hosted(host, "hello")
    house.open()
    with pytest.raises(Refused, match="not_running"):
        house.send(pet, kind="say", text="to the wrong tab")
