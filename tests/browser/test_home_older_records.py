"""A browser that kept pets with the plain page, the app's forerunner, has each of them in the app."""

import uuid

import pytest
from home_support import HOST_WORDS, PAGE_WORDS, pets_of, settled, whole

pytestmark = pytest.mark.browser_long

LOCAL_ID = "0b7e36ba-5b1f-4c43-9d0a-6e0f5b8f7a11"

WRITE_PLAIN = """async ({ localId, entry, checkpoint, notes }) => {
  const database = await new Promise((resolve, reject) => {
    const asked = indexedDB.open("subtokenling", 1);
    asked.onupgradeneeded = () => {
      asked.result.createObjectStore("records");
      asked.result.createObjectStore("subtokenling.v1");
    };
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  const transaction = database.transaction(["records", "subtokenling.v1"], "readwrite");
  const remote = { v: 1, deviceId: "5a2d0f6e-3c34-4b7e-8f6a-0d1c2b3a4f5e", pets: { [localId]: entry } };
  transaction.objectStore("records").put(remote, "subtokenling.remote.v1");
  transaction.objectStore("records").put(notes, "subtokenling.page.v1");
  transaction.objectStore("subtokenling.v1").put({ v: 1, checkpoints: [checkpoint] }, localId);
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.onversionchange = () => database.close();
}"""
NOTES = {"current": LOCAL_ID, "seen": {LOCAL_ID: {"atMs": 1, "name": "Pip", "watchedMs": 1}}}


def plain(device, entry, checkpoint):
    """A browser with the plain page's records, and its tab still open while the app opens."""
    house = device(opened=False)
    written = {name: entry[name] for name in ("host", "id", "key", "epoch", "intent", "checkpointRevision")}
    house.page.evaluate(WRITE_PLAIN, {"localId": LOCAL_ID, "entry": written, "checkpoint": checkpoint, "notes": NOTES})
    house.open()
    house.watch(LOCAL_ID)
    return house


def test_a_pet_on_its_host_is_followed_and_can_come_home(device, host):
    first = device()
    pet = first.hosted(host, "hello")
    entry, checkpoint = first.entry(pet), first.newest(pet)
    first.close()
    house = plain(device, entry, checkpoint)
    settled(house, LOCAL_ID, host, "live")
    assert house.ask("notes") == NOTES
    house.send(LOCAL_ID, kind="say", text="in the app")
    house.until(lambda: house.chat(LOCAL_ID)[-1]["text"] == HOST_WORDS)
    house.ask("moveHere", LOCAL_ID)
    settled(house, LOCAL_ID, host, "running")
    house.send(LOCAL_ID, kind="say", text="at home")
    house.until(lambda: house.chat(LOCAL_ID)[-1]["text"] == PAGE_WORDS)
    whole(house, LOCAL_ID, "hello", "in the app", "at home")


@pytest.mark.parametrize("step", ["prepare", "activate"])
def test_a_newborn_that_was_moving_in_is_brought_there(device, host, step):
    first = device()
    pet = first.adopted("hello")
    sent = first.lose_answers("/api/pets" if step == "prepare" else "/transfer", 99)
    first.begin("moveToHost", pet, host.origin)
    first.until(lambda: sent)
    entry, checkpoint = first.entry(pet), first.newest(pet)
    assert entry["intent"]["step"] == step
    first.close()
    if step == "activate":  # this was another device's: the plain page's own never reached the host
        entry["intent"]["operationId"] = str(uuid.uuid4())
    house = plain(device, entry, checkpoint)
    if step == "prepare":
        settled(house, LOCAL_ID, host, "live")
    else:
        house.until(lambda: house.pet(LOCAL_ID)["question"])
        house.ask("resolveQuestion", LOCAL_ID, "there")
        house.until(lambda: house.pet(LOCAL_ID)["link"] == "live")
    assert pets_of(host) == ["active"]
    whole(house, LOCAL_ID, "hello")
