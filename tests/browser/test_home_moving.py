"""Moving house with every step cut: nothing is lost, the pet is in one place, and the page says the truth."""

import pytest
from home_support import HOST_WORDS, PAGE_WORDS, Refused, pets_of, settled, whole

pytestmark = pytest.mark.browser_long


def spoil(house, fault, path, times):
    return (house.lose_answers if fault == "answer" else house.lose_requests)(path, times)


def cut(house, host, how):
    """What happens to the page and to the host in the middle of a step."""
    if "host" in how:
        host.restart()
    if "page" in how:
        house.reload()


@pytest.mark.parametrize("how", ["nothing", "page", "host", "host and page"])
@pytest.mark.parametrize("fault", ["answer", "request"])
@pytest.mark.parametrize("path", ["/api/pets", "/transfer"])
def test_a_move_to_a_host_that_is_cut_comes_to_its_end(house, host, path, fault, how):
    pet = house.adopted("hello")
    sent = spoil(house, fault, path, 2)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: sent)
    cut(house, host, how)
    settled(house, pet, host, "live")
    assert len({body.get("operationId") for body in sent}) == 1
    assert len({str(body["save"]) for body in sent if path == "/transfer"}) <= 1
    assert pets_of(host) == ["active"]
    whole(house, pet, "hello")


@pytest.mark.parametrize("how", ["nothing", "page", "host", "host and page"])
@pytest.mark.parametrize("fault", ["answer", "request"])
def test_a_move_home_that_is_cut_comes_to_its_end(house, host, fault, how):
    pet = house.hosted(host, "hello")
    house.send(pet, kind="say", text="come home")
    house.until(lambda: house.chat(pet)[-1]["text"] == HOST_WORDS)
    sent = spoil(house, fault, "/transfer", 2)
    house.begin("moveHere", pet)
    house.until(lambda: sent)
    cut(house, host, how)
    settled(house, pet, host, "running")
    assert len({body["operationId"] for body in sent}) == 1
    assert pets_of(host) == ["parked"]
    whole(house, pet, "hello", "come home")
    assert house.entry(pet)["epoch"] == 2


def test_while_an_activation_is_open_the_page_does_not_run_the_pet_and_says_so(house, host):
    pet = house.adopted("hello")
    house.lose_answers("/transfer", times=99)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: (house.pet(pet)["move"] or {}).get("problem"))
    for _ in range(2):
        shown = house.pet(pet)
        assert (shown["link"], shown["move"]["step"], shown["move"]["abandonable"]) == ("moving", "activate", False)
        with pytest.raises(Refused, match="not_running"):
            house.send(pet, kind="care", action="stroke")
        with pytest.raises(Refused, match="not_safe"):
            house.ask("abandonMove", pet)
        house.reload()
        house.until(lambda: house.pet(pet)["link"] == "moving" and house.pet(pet)["move"])


def test_a_preparation_that_gets_no_answer_lets_the_pet_live_here_and_can_be_given_up(house, host):
    pet = house.adopted("hello")
    house.lose_requests("/api/pets", times=99)
    house.begin("moveToHost", pet, host.origin)
    house.until(lambda: (house.pet(pet)["move"] or {}).get("problem"))
    shown = house.pet(pet)
    assert (shown["link"], shown["move"]["abandonable"], shown["move"]["problem"]["lost"]) == ("running", True, True)
    house.send(pet, kind="say", text="still here")
    house.until(lambda: house.chat(pet)[-1]["text"] == PAGE_WORDS)
    house.ask("abandonMove", pet)
    settled(house, pet, host, "running")
    assert pets_of(host) == []


def test_a_prepared_record_that_expired_is_prepared_again_under_the_same_activation(house, host):
    pet = house.adopted("hello")
    sent = house.lose_requests("/transfer", times=1)
    gone = []

    def forget(route):
        if not gone:
            gone.append(route.request.method)
            return route.fulfill(status=404, content_type="application/problem+json", body='{"code":"not_found"}')
        return route.fallback()

    house.context.route("**/transfer", forget)
    house.ask("moveToHost", pet, host.origin)
    settled(house, pet, host, "live")
    assert gone == ["POST"]
    assert sent == [] or len({body["operationId"] for body in sent}) == 1
    whole(house, pet, "hello")


def test_a_host_with_another_brain_is_told_before_the_move_and_refuses_it(house, host):
    house.reload()
    house.page.close()
    house.open("another-brain-9")
    pet = house.adopt()
    preview = house.ask("previewMove", pet, host.origin)
    assert preview["warnings"] == [{"code": "other_brain", "forbids": True}]
    with pytest.raises(Refused, match="brain_mismatch"):
        house.ask("moveToHost", pet, host.origin)
    shown = house.pet(pet)
    assert (shown["link"], shown["move"]["problem"]["code"]) == ("running", "brain_mismatch")
    house.ask("abandonMove", pet)
    settled(house, pet, host, "running")
    assert pets_of(host) == []


def test_a_wish_whose_answer_was_lost_outlives_the_page_and_happens_once(house, host):
    pet = house.hosted(host, "hello")
    sent = house.lose_answers("/commands", times=2)
    house.begin_send(pet, kind="say", text="did you hear?")
    house.until(lambda: sent)
    house.reload()
    house.until(lambda: len(sent) >= 3)
    house.until(lambda: house.pet(pet)["view"] and house.texts(pet, "owner") == ["hello", "did you hear?"])
    house.until(lambda: house.records()["subtokenling.outbox.v1"] == [])
    assert len({body["operationId"] for body in sent}) == 1


def test_wishes_rest_in_order_while_the_host_is_down_and_go_on_when_asked(house, host):
    pet = house.hosted(host, "hello")
    host.kill()
    for text in ("one", "two"):
        house.begin_send(pet, kind="say", text=text)
    house.until(lambda: [item["state"] for item in house.pet(pet)["pending"]] == ["repeating", "sending"])
    house.until(lambda: house.pet(pet)["link"] in ("lost", "offline"))
    assert house.pet(pet)["copyAtMs"]
    host.start()
    house.page.evaluate("pet => tests.retry(pet)", pet)
    house.until(lambda: house.texts(pet, "owner") == ["hello", "one", "two"])
    house.until(lambda: house.pet(pet)["pending"] == [])


def test_a_deletion_waits_for_its_host_and_is_final(house, host):
    pet = house.hosted(host, "hello")
    host.kill()
    house.begin("remove", pet)
    house.until(lambda: house.household()["pets"][0]["leaving"])
    house.reload()
    assert house.household()["pets"][0]["leaving"]
    host.start()
    house.until(lambda: house.household()["pets"] == [])
    assert pets_of(host) == []
    kept = house.records()
    assert (kept["subtokenling.v1"], kept["subtokenling.turns.v1"], house.remote()["pets"]) == ([], [], {})


def test_a_file_holds_the_pet_without_its_key_and_comes_in_as_another(house, host):
    pet = house.hosted(host, "remember me")
    exported = house.ask("exportSave", pet)
    entry = house.entry(pet)
    assert not [secret for secret in (entry["key"], entry["id"], host.origin) if secret in exported["text"]]
    house.ask("keepExported", pet)
    assert house.household()["pets"][0]["exportedAtMs"] > 0
    other = house.ask("importSave", exported["text"])
    assert other != pet
    house.watch(other)
    house.until(lambda: house.pet(other)["link"] == "running")
    whole(house, other, "remember me")
    assert house.pet(pet)["kind"] == "remote"
    with pytest.raises(Refused) as refused:
        house.ask("importSave", exported["text"].replace('"v":2', '"v":2.5'))
    assert refused.value.fields["path"]
    assert len(house.household()["pets"]) == 2


def test_receipts_of_local_turns_are_kept_and_name_their_lines(house, host):
    pet = house.adopted("hello", "again")
    turns = house.page.evaluate("pet => tests.turns(pet)", pet)
    lines = [line["turn"] for line in house.chat(pet) if line["who"] == "pet"]
    assert [turn["turnId"] for turn in turns][::-1][-len(lines) :] == lines
    house.reload()
    assert house.page.evaluate("pet => tests.turns(pet)", pet) == turns


def test_a_pet_whose_brain_this_page_does_not_have_stays_at_its_host(house, host):
    pet = house.hosted(host, "hello")
    assert house.ask("previewMoveHere", pet)["warnings"] == []
    house.page.close()
    house.open("another-brain-9")
    house.until(lambda: house.pet(pet)["link"] == "live")
    assert {"code": "other_brain", "forbids": True} in house.ask("previewMoveHere", pet)["warnings"]
    with pytest.raises(Refused, match="other_brain"):
        house.ask("moveHere", pet)
    assert pets_of(host) == ["active"]
    assert house.entry(pet)["intent"] is None
