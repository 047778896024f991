"""At the most verbose level nothing an owner wrote, nothing the pet said and no key is in the output."""

import base64
import json
import uuid

import httpx
from home_process import Owner, new_key
from saves import quiet_save

WORDS = ("umbrella-heron", "marmalade-lighthouse", "thimble-orchard", "velvet-anchor", "pickle-cathedral")


def test_nothing_an_owner_wrote_and_no_key_is_in_the_output(start, brain_id):
    home = start()  # at --log-level debug
    secrets = set(WORDS)
    with Owner(home) as owner:
        secrets |= {owner.key, base64.urlsafe_b64decode(owner.key + "=").hex()}
        save = quiet_save(brain_id) | {"name": "Velvet Anchor"}
        secrets.add("Velvet Anchor")
        owner.adopt(save)
        owner.say(f"hello {WORDS[0]}")
        _, line = owner.await_reply()
        secrets.add(line["text"])
        owner.command({"kind": "settings", "name": WORDS[3]})
        for provoke in (broken_requests, refused_requests):
            provoke(owner, home)
        owner.park()
        owner.delete()
    assert home.stop()[0] == 0
    output = home.output()
    assert "level=debug" in output or "level=info" in output, "the most verbose level says something"
    assert [] == sorted(secret for secret in secrets if secret in output)
    assert owner.pet_id not in output


def broken_requests(owner, home):
    """What breaks parsers: their exceptions like to quote what they met."""
    headers = {"Authorization": f"Bearer {owner.key}", "Content-Type": "application/json"}
    for body in (
        f'{{"{WORDS[1]}": '.encode(),
        json.dumps({WORDS[1]: WORDS[2]}).encode(),
        f'{{"text": "{WORDS[1]}\\ud800"}}'.encode(),
        WORDS[1].encode() + b"\xff\xfe",
        b'["' + WORDS[2].encode() + b'",' * 3,
        b"[" * 50_000 + WORDS[2].encode(),
    ):
        for path in (f"{owner.path}/commands", f"{owner.path}/transfer", "/api/pets"):
            answer = httpx.post(home.address + path, content=body, headers=headers, timeout=60, trust_env=False)
            assert 400 <= answer.status_code < 500


def refused_requests(owner, home):
    """What the rules refuse, with words in every place that a message could quote."""
    for command in (
        {"kind": WORDS[1]},
        {"kind": "say", "text": WORDS[2], WORDS[1]: 1},
        {"kind": "care", "action": WORDS[1]},
        {"kind": "settings", "timeZone": WORDS[4]},
        {"kind": "say", "text": WORDS[2] * 100},
    ):
        body = {"epoch": owner.epoch, "operationId": str(uuid.uuid4()), "command": command}
        answer = owner.client.post(f"{owner.path}/commands", json=body)
        assert answer.status_code == 422
    save = owner.view()["save"] | {"name": [WORDS[4]]}
    answer = owner.client.post("/api/pets", json={"id": str(uuid.uuid4()), "save": save})
    assert answer.status_code == 422
    stranger = {"Authorization": f"Bearer {new_key()}"}
    assert httpx.get(home.address + owner.path, headers=stranger, timeout=60, trust_env=False).status_code == 404
    for unknown in (f"/{WORDS[1]}", f"/api/pets/{WORDS[1]}", f"/?key={owner.key}"):
        httpx.get(home.address + unknown, headers={"Authorization": f"Bearer {WORDS[2]}"}, timeout=60, trust_env=False)
