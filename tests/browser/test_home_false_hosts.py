"""A host that answers well and wrongly: what it sends is asked of the page's rules, and the good copy stays."""

import json
import re

import pytest
from home_support import HOST_WORDS, Refused, pets_of, settled, whole

pytestmark = pytest.mark.browser_long

STRANGER = "ff" * 16


def another_pet(save: dict) -> dict:
    return {**save, "petSeed": STRANGER, "name": "Mallory", "chat": []}


def newer_rules(save: dict) -> dict:
    return {**save, "engine": save["engine"] + 1}


def garbage(save: dict) -> dict:
    return {"v": 2, "name": save["name"], "petSeed": save["petSeed"], "chat": "none"}


def no_object(_save: dict) -> list:
    return [1, 2, 3]


def not_alike(house, change, *, only: str | None = None):
    """From now on every save that the host sends is another one; `only` at this end of an address."""

    def spoil(route):
        if only is not None and not route.request.url.endswith(only):
            return route.fallback()
        if "wait=" in route.request.url:  # the page then asks once a second
            return route.abort()
        headers = {name: text for name, text in route.request.headers.items() if name != "if-none-match"}
        answer = route.fetch(headers=headers)
        value = json.loads(answer.body() or b"null")
        if isinstance(value, dict) and value.get("save") is not None:
            value["save"] = change(value["save"])
        return route.fulfill(response=answer, json=value)

    house.context.route(re.compile(r"/api/pets/[^/]+(/transfer)?(\?.*)?$"), spoil)


def truth(house) -> None:
    for page in house.context.pages:
        page.unroute_all(behavior="ignoreErrors")
    house.context.unroute_all(behavior="ignoreErrors")
    house.context.route("**/home-harness.html", house._serve)


FALSE = {"other_pet": another_pet, "save_newer": newer_rules, "save_refused": garbage}


@pytest.mark.parametrize("problem", FALSE)
def test_a_snapshot_that_is_not_this_pet_never_becomes_its_copy(house, host, problem):
    pet = house.hosted(host, "hello")
    house.until(lambda: house.newest(pet)["save"]["hosting"]["mode"] == "remote")
    before = house.newest(pet)
    not_alike(house, FALSE[problem])
    house.page.evaluate("pet => tests.retry(pet)", pet)
    house.until(lambda: (house.pet(pet)["trouble"] or {}).get("code") == problem)
    house.page.wait_for_timeout(6000)  # longer than copies are apart
    assert house.newest(pet)["save"] == before["save"]
    if problem == "other_pet":
        assert house.pet(pet)["view"]["save"]["name"] == "Pip"
        assert house.pet(pet)["link"] == "lost"
    with pytest.raises(Refused, match=problem):
        house.ask("moveHere", pet)
    assert pets_of(host) == ["active"]
    assert house.newest(pet)["save"] == before["save"]
    truth(house)
    house.page.evaluate("pet => tests.retry(pet)", pet)
    house.until(lambda: house.pet(pet)["link"] == "live")
    house.send(pet, kind="say", text="still you?")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    house.until(lambda: house.pet(pet)["trouble"] is None)
    whole(house, pet, "hello", "still you?")


def test_a_file_is_made_of_the_good_copy_while_the_host_sends_something_else(house, host):
    pet = house.hosted(host, "hello")
    house.until(lambda: house.newest(pet)["save"]["hosting"]["mode"] == "remote")
    not_alike(house, garbage)
    house.page.evaluate("pet => tests.retry(pet)", pet)
    house.until(lambda: (house.pet(pet)["trouble"] or {}).get("code") == "save_refused")
    text = house.ask("exportSave", pet)["text"]
    assert house.newest(pet)["save"] == json.loads(text)
    assert house.ask("importSave", text) != pet
    truth(house)


@pytest.mark.parametrize(("problem", "change"), [*FALSE.items(), ("save_refused", no_object)])
def test_a_parking_answered_with_something_else_takes_nothing_and_is_finished_when_the_answer_is_right(
    house, host, problem, change
):
    pet = house.hosted(host, "hello")
    before = house.newest(pet)
    not_alike(house, change, only="/transfer")
    with pytest.raises(Refused, match=problem):
        house.ask("moveHere", pet)
    shown = house.pet(pet)
    assert shown["move"]["problem"]["code"] == problem
    assert shown["move"]["abandonable"]
    assert house.newest(pet)["save"]["petSeed"] == before["save"]["petSeed"]
    assert "chat" in house.newest(pet)["save"]
    assert pets_of(host) == ["parked"]
    truth(house)
    house.reload()
    house.watch(pet)
    settled(house, pet, host, "running")
    whole(house, pet, "hello")


def test_a_card_whose_host_answers_with_no_pet_adds_none(device, host):
    mine, yours = device(), device()
    pet = mine.hosted(host, "hello")
    card = mine.ask("card", pet)["text"]
    not_alike(yours, garbage)
    with pytest.raises(Refused, match="save_refused"):
        yours.ask("joinCard", card)
    assert yours.household()["pets"] == []
    truth(yours)
    there = yours.ask("joinCard", card)
    yours.watch(there)
    yours.until(lambda: yours.pet(there)["link"] == "live")
    not_alike(yours, another_pet)
    with pytest.raises(Refused, match="other_pet"):
        yours.ask("joinCard", card)


def spoilt(house, pet, change: str) -> None:
    """The newest copy on the disk is no pet any more, as after a fault of the disk."""
    house.page.evaluate(
        f"""async (pet) => {{
          const database = await new Promise((resolve) => {{
            const asked = indexedDB.open("subtokenling");
            asked.onsuccess = () => resolve(asked.result);
          }});
          const store = database.transaction("subtokenling.v1", "readwrite").objectStore("subtokenling.v1");
          const asked = store.get(pet);
          await new Promise((resolve) => (asked.onsuccess = resolve));
          const kept = asked.result;
          const [newest, , oldest] = kept.checkpoints;
          const behind = {{ ...structuredClone(newest), atMs: newest.atMs - 60_000, revision: newest.revision - 1 }};
          kept.checkpoints = [newest, behind, ...(oldest ? [oldest] : [])];
          ({change})(newest.save);
          await new Promise((resolve) => (store.put(kept, pet).onsuccess = resolve));
          database.close();
        }}""",
        pet,
    )


def test_a_recovery_offers_every_copy_with_its_age_and_refuses_the_one_that_cannot_be_lived(house, host):
    pet = house.hosted(host, "hello")
    host.kill()
    spoilt(house, pet, "save => { save.chat = 7; }")
    house.reload()
    house.watch(pet)
    copies = house.ask("copies", pet)
    assert [copy["problem"] for copy in copies] == ["save_refused", *[None] * (len(copies) - 1)]
    assert [copy["atMs"] for copy in copies] == sorted((copy["atMs"] for copy in copies), reverse=True)
    with pytest.raises(Refused, match="save_refused"):
        house.ask("recover", pet)
    assert house.entry(pet)["mode"] == "remote"
    house.ask("recover", pet, {"atMs": copies[1]["atMs"], "revision": copies[1]["revision"]})
    house.until(lambda: house.pet(pet)["link"] == "running")
    whole(house, pet, "hello")
    house.send(pet, kind="say", text="it is me")
    whole(house, pet, "hello", "it is me")


def test_a_pet_of_this_page_that_its_rules_stopped_goes_on_from_an_older_copy(house):
    pet = house.adopted("hello")
    spoilt(house, pet, "save => { save.chat = 7; }")
    house.reload()
    house.watch(pet)
    house.until(lambda: house.pet(pet)["link"] == "stopped")
    with pytest.raises(Refused, match="quarantined"):
        house.send(pet, kind="say", text="hello?")
    stopped, older, *_ = house.ask("copies", pet)
    assert stopped["problem"] == "save_refused"
    house.ask("goBack", pet, {"atMs": older["atMs"], "revision": older["revision"]})
    house.until(lambda: house.pet(pet)["link"] == "running")
    whole(house, pet, "hello")
