"""`kill -9` at bad moments: what an owner was told is saved is saved, and nothing happens twice."""

import json
import signal
import socket
import threading
import uuid
from urllib.parse import urlsplit

import httpx
import pytest
from home_process import Owner
from saves import quiet_save

ROUNDS = 4


@pytest.fixture
def lived_in(start, brain_id):
    """A home of its own with an active pet: (home, owner)."""
    home = start()
    with Owner(home) as owner:
        owner.adopt(quiet_save(brain_id, "vole"))
        yield home, owner


def said(view, text):
    return [line["text"] for line in view["save"]["chat"] if line["who"] == "owner"].count(text)


def test_after_kill_9_the_epoch_is_the_same_and_no_told_revision_is_lost(lived_in, start):
    home, owner = lived_in
    told = []
    for round_number in range(ROUNDS):
        operation, text = str(uuid.uuid4()), f"line {round_number}"
        answer = owner.say(text, operation)
        told.append((operation, text, answer))
        home.stop(signal.SIGKILL)
        home = start()
        owner.move_to(home)
        view = owner.view()
        assert answer["epoch"] == view["epoch"]
        assert view["revision"] >= answer["revision"]
    for operation, text, answer in told:
        assert answer | {"replayed": True} == owner.say(text, operation)
        assert said(owner.view(), text) == 1
    _, line = owner.await_reply()
    assert line["text"]


def test_a_command_whose_answer_was_lost_to_the_kill_happens_once_when_repeated(lived_in, start):
    home, owner = lived_in
    for round_number in range(ROUNDS):
        operation, text = str(uuid.uuid4()), f"maybe {round_number}"

        def send(text=text, operation=operation):
            try:
                owner.say(text, operation)
            except httpx.TransportError:
                return

        sender = threading.Thread(target=send)
        sender.start()
        home.stop(signal.SIGKILL)
        sender.join()
        home = start()
        owner.move_to(home)
        owner.say(text, operation)
        assert said(owner.view(), text) == 1


def send_and_hang_up(owner, path, body):
    """The request arrives whole; its answer is never read."""
    address = urlsplit(str(owner.client.base_url))
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {owner.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(head.encode() + data)
        connection.recv(1)  # it was answered, so it is done


def test_a_park_whose_answer_was_lost_is_answered_with_the_parked_record_even_after_a_kill(lived_in, start):
    home, owner = lived_in
    owner.say("before we go")
    owner.await_reply()
    epoch, operation = owner.epoch, str(uuid.uuid4())
    body = {"to": "local", "operationId": operation, "epoch": epoch, "deviceId": owner.device_id}
    send_and_hang_up(owner, f"{owner.path}/transfer", body)
    again = owner.transfer("local", operation)
    assert ("parked", epoch + 1, owner.device_id) == (again["status"], again["epoch"], again["destinationDeviceId"])
    assert said(again, "before we go") == 1
    home.stop(signal.SIGKILL)
    owner.move_to(start())
    assert again == owner.transfer("local", operation)
    view = owner.view()
    assert (again["epoch"], again["revision"], again["save"]) == (view["epoch"], view["revision"], view["save"])


def test_an_activation_whose_answer_was_lost_is_completed_by_repeating_it(lived_in, start):
    home, owner = lived_in
    parked = owner.park()
    operation = str(uuid.uuid4())
    body = {
        "to": "remote", "operationId": operation, "epoch": owner.epoch, "deviceId": owner.device_id,
        "save": parked["save"],
    }  # fmt: skip
    send_and_hang_up(owner, f"{owner.path}/transfer", body)
    home.stop(signal.SIGKILL)
    owner.move_to(start())
    again = owner.activate(parked["save"], operation)
    assert ("active", parked["epoch"], True) == (again["status"], again["epoch"], again["replayed"])


def test_a_deleted_pet_stays_deleted_after_a_kill(lived_in, start, brain_id):
    home, owner = lived_in
    owner.say("goodbye")
    owner.delete()
    home.stop(signal.SIGKILL)
    owner.move_to(start())
    assert owner.client.get(owner.path).status_code == 404
    again = owner.client.post("/api/pets", json={"id": owner.pet_id, "save": quiet_save(brain_id)})
    assert (410, "pet_deleted") == (again.status_code, again.json()["code"])
