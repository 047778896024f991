"""Who is counted, what each may ask, and that no table grows."""

import base64

import pytest
import trio
from host_http_support import PET, client, command_body, problem_of, read_answer, request_bytes, running, until

from tokenling.host.client_address import client_of, networks_of
from tokenling.host.errors import ApiError
from tokenling.host.in_flight import OWN_PLACES, InFlight
from tokenling.host.rates import LIMITS, Buckets, Rate, RateLimits, Rates
from tokenling.host.shell import Doors

TRUSTED = networks_of(("127.0.0.1", "10.0.0.0/8", "fd00::/8"))

CHAINS: dict[str, tuple[str, tuple[str, ...], tuple[object, ...], str | None]] = {
    "a stranger": ("192.0.2.7", (), (), "192.0.2.7"),
    "a stranger who claims to be another": ("192.0.2.7", ("198.51.100.1",), TRUSTED, "192.0.2.7"),
    "this machine, and no proxy named": ("127.0.0.1", ("198.51.100.1",), (), None),
    "this machine in IPv6, and no proxy named": ("::1", (), (), None),
    "the proxy itself": ("127.0.0.1", (), TRUSTED, "127.0.0.1"),
    "behind one proxy": ("127.0.0.1", ("198.51.100.1",), TRUSTED, "198.51.100.1"),
    "behind two": ("127.0.0.1", ("198.51.100.1, 10.1.2.3",), TRUSTED, "198.51.100.1"),
    "on two lines": ("127.0.0.1", ("198.51.100.1", "10.1.2.3"), TRUSTED, "198.51.100.1"),
    "who wrote a chain of its own": ("127.0.0.1", ("10.9.9.9, 198.51.100.1, 203.0.113.5",), TRUSTED, "203.0.113.5"),
    "who claims to be trusted": ("127.0.0.1", ("127.0.0.1, 203.0.113.5",), TRUSTED, "203.0.113.5"),
    "trusted all the way": ("127.0.0.1", ("10.0.0.1, 10.0.0.2",), TRUSTED, "10.0.0.1"),
    "garbage": ("127.0.0.1", ("unknown",), TRUSTED, "127.0.0.1"),
    "garbage behind a hop": ("127.0.0.1", ("<script>, 10.1.2.3",), TRUSTED, "10.1.2.3"),
    "empty": ("127.0.0.1", ("",), TRUSTED, "127.0.0.1"),
    "with a port": ("127.0.0.1", ("198.51.100.1:4711",), TRUSTED, "198.51.100.1"),
    "IPv6 with a port": ("fd00::1", ("[2001:db8:1:2:3::4]:4711",), TRUSTED, "2001:db8:1:2::/64"),
    "IPv6 neighbours in one /64": ("2001:db8:1:2:aaaa::1", (), (), "2001:db8:1:2::/64"),
    "IPv4 in IPv6 clothes": ("::ffff:192.0.2.7", (), (), "192.0.2.7"),
    "a chain longer than any": ("127.0.0.1", (", ".join(["10.0.0.1"] * 5000),), TRUSTED, "10.0.0.1"),
    "no address": ("", (), (), None),
}


@pytest.mark.parametrize(("peer", "lines", "trusted", "expected"), CHAINS.values(), ids=CHAINS.keys())
def test_a_client_is_the_last_hop_that_somebody_trusted_vouches_for(peer, lines, trusted, expected) -> None:
    headers = tuple((b"x-forwarded-for", line.encode()) for line in lines)
    assert expected == client_of(peer, headers, trusted)


def test_a_bucket_lets_its_burst_through_and_then_its_rate() -> None:
    buckets: Buckets[str] = Buckets(Rate(2.0, 3), 10)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("a", 0.25) == 0.25
    assert buckets.take("a", 0.5) == 0
    assert [buckets.take("b", 0.5) for _ in range(4)] == [0, 0, 0, 0.5]
    assert [buckets.take("a", 1000.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_newcomers_to_a_full_table_share_a_bucket_and_nobody_is_forgotten_before_its_bucket_is_full() -> None:
    buckets: Buckets[str] = Buckets(Rate(1.0, 2), 2)
    for name in ("a", "a", "b", "b"):
        assert buckets.take(name, 100.0) == 0
    assert [buckets.take(f"newcomer {n}", 100.0) for n in range(3)] == [0, 0, 1.0]
    assert (buckets.take("a", 100.0), len(buckets)) == (1.0, 2)
    assert (buckets.take("c", 102.0), len(buckets)) == (0, 2)


def test_a_known_pet_is_counted_by_itself_and_a_wrong_key_for_its_address() -> None:
    rates = Rates(RateLimits(pet=Rate(1.0, 2), client=Rate(1.0, 1)), now=lambda: 0.0)
    key, wrong = b"k" * 32, b"w" * 32
    assert not rates.admit(PET, key, "192.0.2.7")
    rates.learn(PET, key, opened=True)
    assert rates.admit(PET, key, "192.0.2.7")
    with pytest.raises(ApiError) as refused:
        rates.admit(PET, wrong, "192.0.2.7")
    assert (refused.value.code, refused.value.retry_after_s) == ("too_many_requests", 1)
    assert rates.admit(PET, key, "192.0.2.7")
    with pytest.raises(ApiError):
        rates.admit(PET, key, "198.51.100.1")
    rates.learn(PET, key, opened=False)
    assert not rates.admit(PET, key, "198.51.100.1")


def test_the_table_of_known_pets_is_bounded() -> None:
    rates = Rates(RateLimits(buckets_max=3), now=lambda: 0.0)
    for number in range(10):
        rates.learn(str(number), b"k", opened=True)
    assert [rates.admit(str(number), b"k", None) for number in range(10)] == [False] * 7 + [True] * 3


def strict(*, client: Rate = LIMITS.client, in_flight: InFlight | None = None) -> Doors:
    rates = Rates(RateLimits(client=client))
    return Doors(rates=rates, trusted=networks_of(("127.0.0.1",)), in_flight=in_flight or InFlight())


async def test_a_client_that_asks_too_often_gets_429_with_the_time_to_wait_and_its_neighbours_do_not() -> None:
    async with running(doors=strict(client=Rate(0.01, 3))) as host, client(host) as http:
        mine, other = {"x-forwarded-for": "192.0.2.7"}, {"x-forwarded-for": "192.0.2.8"}
        statuses = [(await http.get("/api/health", headers=mine)).status_code for _ in range(3)]
        refused = await http.get("/api/health", headers={**mine, "origin": "https://app.example"})
        neighbour = await http.get("/api/health", headers=other)
    assert (statuses, neighbour.status_code) == ([200, 200, 200], 200)
    assert (refused.status_code, problem_of(refused)["code"]) == (429, "too_many_requests")
    assert 1 <= int(refused.headers["retry-after"]) <= 100
    assert refused.headers["access-control-allow-origin"] == "https://app.example"


async def test_an_owner_goes_on_while_a_stranger_behind_the_same_address_guesses_keys() -> None:
    async with running(doors=strict(client=Rate(0.01, 5))) as host, client(host) as http:
        assert (await http.get(f"/api/pets/{PET}")).status_code == 200
        guesses = []
        for number in range(8):
            key = base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")
            answer = await http.get(f"/api/pets/{PET}", headers={"authorization": f"Bearer {key}"})
            guesses.append(answer.status_code)
        owner = [(await http.get(f"/api/pets/{PET}")).status_code for _ in range(20)]
    assert (guesses, owner) == ([404] * 4 + [429] * 4, [200] * 20)


async def test_requests_with_a_malformed_key_count_too() -> None:
    async with running(doors=strict(client=Rate(0.01, 2))) as host, client(host) as http:
        bad = {"authorization": "Bearer no"}
        statuses = [(await http.get(f"/api/pets/{PET}", headers=bad)).status_code for _ in range(4)]
    assert statuses == [401, 401, 429, 429]


async def test_options_does_not_make_a_wrong_key_known() -> None:
    async with running(doors=strict(client=Rate(0.01, 2))) as host, client(host) as http:
        wrong = {"authorization": "Bearer " + "A" * 43}
        assert (await http.options(f"/api/pets/{PET}", headers=wrong)).status_code == 200
        statuses = [(await http.get(f"/api/pets/{PET}", headers=wrong)).status_code for _ in range(3)]
    assert statuses == [404, 429, 429]


SLOW = request_bytes("POST", "/api/pets", b"x" * 100, "X-Forwarded-For: 192.0.2.7")[:-50]


def asking_from(address: str) -> bytes:
    return request_bytes("GET", "/api/health", b"", f"X-Forwarded-For: {address}", key=None)


async def test_one_address_holds_a_bounded_number_of_slow_requests() -> None:
    doors = strict(in_flight=InFlight(per_client_max=2))
    async with running(doors=doors) as host, await host.connect() as third:
        senders = [await host.connect() for _ in range(2)]
        for stream in senders:
            await stream.send_all(SLOW)
        await until(lambda: doors.in_flight.now == 2)
        await third.send_all(asking_from("192.0.2.7"))
        status, body = await read_answer(third)
        assert (status, b"overloaded" in body) == (503, True)
        await third.send_all(asking_from("192.0.2.8"))
        assert (await read_answer(third))[0] == 200
        for stream in senders:
            stream.socket.close()
        await until(lambda: doors.in_flight.now == 0)
        await third.send_all(asking_from("192.0.2.7"))
        assert (await read_answer(third))[0] == 200


async def test_with_every_place_taken_a_request_waits_and_is_then_told_to_come_again() -> None:
    doors = strict(in_flight=InFlight(in_flight_max=1, place_s=1))
    async with running(doors=doors) as host, await host.connect() as slow, await host.connect() as other:
        await slow.send_all(SLOW)
        await until(lambda: doors.in_flight.now == 1)
        await other.send_all(asking_from("192.0.2.8"))
        status, body = await read_answer(other)
        assert (status, b"overloaded" in body) == (503, True)
        await other.send_all(asking_from("192.0.2.8"))
        await slow.send_all(b"x" * 50)  # the place is free in time
        assert (await read_answer(slow))[0] == 400
        assert (await read_answer(other))[0] == 200


@pytest.mark.parametrize("limited", [True, False], ids=["serve", "preview"])
async def test_an_owner_is_answered_at_once_while_others_hold_every_place(limited: bool) -> None:
    doors = Doors(rates=Rates(LIMITS if limited else None), in_flight=InFlight(in_flight_max=5, place_s=60))
    async with running(doors=doors) as host, client(host) as http:
        assert (await http.get(f"/api/pets/{PET}")).status_code == 200  # its key is known from here on
        senders = [await host.connect() for _ in range(8)]
        for stream in senders:
            await stream.send_all(SLOW)
        await until(lambda: doors.in_flight.now == 5)
        with trio.fail_after(5):
            assert (await http.post(f"/api/pets/{PET}/commands", json=command_body())).status_code == 200
            own = [await host.connect() for _ in range(OWN_PLACES - 1)]
            for stream in own:  # slow ones of the owner's, all but one of its places
                await stream.send_all(request_bytes("POST", f"/api/pets/{PET}/commands", b"x" * 100)[:-50])
            await until(lambda: doors.in_flight.now == 5 + OWN_PLACES - 1)
            assert (await http.post(f"/api/pets/{PET}/commands", json=command_body())).status_code == 200
        for stream in (*senders, *own):
            stream.socket.close()
        await until(lambda: doors.in_flight.now == 0)


async def test_one_pet_holds_a_bounded_number_of_slow_requests() -> None:
    doors = Doors(rates=Rates(None), in_flight=InFlight(per_client_max=OWN_PLACES + 1))
    async with running(doors=doors) as host, client(host) as http:
        assert (await http.get(f"/api/pets/{PET}")).status_code == 200
        own = [await host.connect() for _ in range(OWN_PLACES + 1)]
        for stream in own:
            await stream.send_all(request_bytes("POST", f"/api/pets/{PET}/commands", b"x" * 100)[:-50])
        await until(lambda: doors.in_flight.now == OWN_PLACES + 1)
        refused = await http.get(f"/api/pets/{PET}")
        assert (503, "overloaded") == (refused.status_code, refused.json()["code"])
        for stream in own:
            stream.socket.close()
        await until(lambda: doors.in_flight.now == 0)
        assert (await http.get(f"/api/pets/{PET}")).status_code == 200


async def test_parked_long_polls_take_no_place() -> None:
    doors = strict(in_flight=InFlight(in_flight_max=1, place_s=0.2))
    async with running(doors=doors) as host, client(host) as http:
        streams = [await host.connect() for _ in range(3)]
        for stream in streams:
            await stream.send_all(request_bytes("GET", f"/api/pets/{PET}?wait=50", b"", 'If-None-Match: "one"'))
        await until(lambda: host.pets.waiting == 3)
        assert (doors.in_flight.now, doors.waits.parked) == (0, 3)
        assert (await http.get("/api/health")).status_code == 200
        for stream in streams:
            stream.socket.close()
        await until(lambda: host.pets.cancelled_waits == 3)


async def test_health_says_a_nearly_full_and_an_unreadable_disk() -> None:
    def gone() -> int:
        raise OSError

    for free, reasons in ((lambda: 1_000_000, ["disk_nearly_full"]), (gone, ["disk_unreadable"])):
        async with running(free_bytes=free) as host, client(host) as http:
            answer = await http.get("/api/health")
            assert (answer.status_code, answer.json()["reasons"]) == (503, reasons)
