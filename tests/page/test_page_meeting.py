"""Meeting in Chromium before a real host with a scripted brain: from an egg to exactly one pet, whatever is lost."""

import base64
import json
import re
import uuid

import pytest
from page_support import eventually, expect, heard, living


def test_a_pet_is_met_fed_talked_to_and_is_there_again_after_the_tab_was_closed(owner, home):
    owner.meet()
    living(owner)
    owner.say("good morning")
    heard(owner)
    owner.page.get_by_role("button", name="Feed").click()
    owner.page.get_by_role("button", name="a plum").click()
    owner.page.get_by_role("tab", name="Diary").click()
    expect(owner.page.locator(".happening", has_text="You fed Pip: a plum.")).to_be_visible()
    expect(owner.page.locator(".happening", has_text="Pip hatched!")).to_be_visible()
    owner.reopen()
    living(owner)
    expect(owner.page.locator(".line.mine .said").first).to_have_text("good morning")
    assert home.pets() == ["active"]


def test_the_record_is_exactly_what_the_later_app_reads(owner, home):
    owner.meet()
    living(owner)
    kept = owner.records()
    assert kept["version"] == 1
    assert kept["stores"] == ["records", "subtokenling.v1"]
    assert set(kept["remote"]) == {"v", "deviceId", "pets"}
    assert kept["remote"]["v"] == 1
    assert uuid.UUID(kept["remote"]["deviceId"]).version == 4
    ((local_id, entry),) = kept["remote"]["pets"].items()
    assert uuid.UUID(local_id).version == 4
    assert set(entry) == {"host", "id", "key", "epoch", "intent", "checkpointRevision"}
    assert uuid.UUID(entry["id"]).version == 4
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", entry["key"])
    assert len(base64.urlsafe_b64decode(entry["key"] + "=")) == 32
    assert (entry["host"], entry["epoch"], entry["intent"]) == (home.address, 1, None)
    newest = kept["checkpoints"][local_id]["checkpoints"][0]
    assert set(newest) == {"atMs", "epoch", "revision", "save"}
    assert newest["revision"] == entry["checkpointRevision"]
    assert newest["save"]["name"] == "Pip"
    assert entry["key"] not in json.dumps(kept["checkpoints"])


def test_the_intent_is_on_disk_before_the_activation_leaves(owner, home):
    seen = []

    def look(route):
        if route.request.url.endswith("/transfer"):
            seen.append((owner.entry()["intent"], json.loads(route.request.post_data)))
        return route.fallback()

    owner.page.route("**/*", look)
    owner.meet()
    living(owner)
    ((intent, sent),) = seen
    assert (intent["to"], intent["step"]) == ("remote", "activate")
    assert (intent["operationId"], intent["epoch"]) == (sent["operationId"], sent["epoch"])


@pytest.mark.parametrize("path_end", ["/api/pets", "/transfer"], ids=["prepare", "activate"])
def test_a_lost_answer_and_a_reload_leave_exactly_one_pet(owner, home, path_end):
    sent = owner.lose_answers(path_end, times=9)
    owner.meet()
    expect(owner.page.get_by_text("No answer yet.")).to_be_visible()
    before = owner.entry()
    assert before["intent"] is not None
    owner.reopen()
    living(owner)
    after = owner.entry()
    assert (before["id"], before["key"], None) == (after["id"], after["key"], after["intent"])
    assert home.pets() == ["active"]
    assert len({json.dumps(body, sort_keys=True) for body in sent}) == 1


@pytest.mark.parametrize("path_end", ["/api/pets", "/transfer"], ids=["prepare", "activate"])
def test_a_lost_request_and_a_reload_leave_exactly_one_pet(owner, home, path_end):
    owner.page.route(f"**{path_end}", lambda route: route.abort())
    owner.meet()
    expect(owner.page.get_by_text("No answer yet.")).to_be_visible()
    before = owner.entry()
    owner.reopen()
    living(owner)
    assert owner.entry()["id"] == before["id"]
    assert home.pets() == ["active"]


@pytest.mark.parametrize("path_end", ["/api/pets", "/transfer"], ids=["prepare", "activate"])
def test_a_host_that_is_killed_in_the_middle_of_a_move_ends_it_after_its_restart(owner, home, path_end):
    owner.lose_answers(path_end, times=1)
    owner.meet()
    expect(owner.page.get_by_text("No answer yet.")).to_be_visible()
    home.kill()
    home.start()
    living(owner)
    assert home.pets() == ["active"]
    assert owner.entry()["intent"] is None


@pytest.mark.parametrize("path_end", ["/app/newborn", "/api/pets", "/transfer"])
def test_a_lost_answer_is_mended_without_a_reload(owner, home, path_end):
    owner.lose_answers(path_end)
    owner.meet()
    if path_end == "/app/newborn":
        expect(owner.page.get_by_role("alert")).to_contain_text("does not answer")
        owner.meet()
    living(owner)
    assert home.pets() == ["active"]
    assert len(owner.records()["remote"]["pets"]) == 1


def test_a_prepared_pet_can_be_given_up_and_leaves_nothing_behind(owner, home):
    owner.lose_answers("/transfer", times=99)
    owner.page.route("**/transfer", lambda route: route.abort())
    owner.meet()
    owner.page.get_by_role("button", name="Cancel").click()
    expect(owner.page.get_by_label("Name")).to_be_visible()
    owner.reopen()
    expect(owner.page.get_by_label("Name")).to_be_visible()
    eventually(owner, lambda: owner.records()["remote"]["pets"] == {})
    assert home.pets() == []


@pytest.mark.parametrize("letter", ["x", "\N{HATCHING CHICK}"])
def test_a_name_is_cut_at_what_the_engine_takes(guest, letter):
    guest.meet(letter * 25)
    living(guest, letter * (24 // len(letter.encode("utf-16-le")) * 2))


def test_a_host_that_wants_a_code_gets_it_and_the_code_is_kept_nowhere(owner, home):
    def guard(route):
        code = json.loads(route.request.post_data).get("enrolCode")
        refusal = {None: "enrol_required", "open": None}.get(code, "enrol_wrong")
        return route.fulfill(status=403, json={"code": refusal}) if refusal else route.fallback()

    owner.page.route("**/api/pets", guard)
    owner.meet()
    expect(owner.page.get_by_role("alert")).to_contain_text("asks for a code")
    for code in ("closed", "open"):
        owner.page.get_by_label("Enrol code").fill(code)
        owner.page.get_by_role("button", name="Try again").click()
        if code == "closed":
            expect(owner.page.get_by_role("alert")).to_contain_text("not this host's code")
    living(owner)
    assert home.pets() == ["active"]
    assert "enrol" not in json.dumps(owner.records())
