"""However many pets came and went, and whatever was asked of them: what the host's parts hold does not depend on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from host_pets.house import HOUR_MS, House, new_save, open_house
from trio.testing import wait_all_tasks_blocked

from soak import crowd
from soak.crowd import Seen, Visitor
from soak.held import held_by
from tokenling.host.http_app import create_app
from tokenling.host.rates import Rate, RateLimits, Rates
from tokenling.host.routes import HostFacts
from tokenling.host.server import hypercorn_config, serve_http
from tokenling.host.shell import Doors, Shell

BUCKETS_MAX = 8
LIMITS = RateLimits(pet=Rate(1e6, 1_000_000), client=Rate(1e6, 1_000_000), buckets_max=BUCKETS_MAX)
"""Nobody is refused, and a bucket is full again at once."""
FEW, MANY = 2 * BUCKETS_MAX, 6 * BUCKETS_MAX
"""Both above the bound of what may keep something of a pet that has gone."""
AT_ITS_BOUND = {"Buckets._held": 2 * BUCKETS_MAX, "Rates._known": BUCKETS_MAX}
"""What keeps something of those who have gone, and how much at most: by pet and by client."""
IDLE_MS = 3 * HOUR_MS
"""Long enough for a pet of normal chatter to have idle turns due."""
PATIENCE_S = 60.0


@asynccontextmanager
async def served(house: House, doors: Doors) -> AsyncIterator[tuple[str, Shell]]:
    """The house behind HTTP."""
    facts = HostFacts("1", 1, house.brain.brain_id, ())
    app = create_app(house.pets, facts=facts, allowed_origins=[], allowed_hosts=None, doors=doors)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:

        async def serve(*, task_status: trio.TaskStatus[list[str]]) -> None:
            await serve_http(app, hypercorn_config("127.0.0.1:0"), stop=stop, task_status=task_status)

        [address] = await nursery.start(serve)
        yield address, app
        stop.set()


async def live_once(house: House, visitor: Visitor) -> None:
    """A pet's whole stay: moved in, spoken to, watched, refused, sent home and back, with a new key, some hours by
    itself, and deleted."""
    assert await visitor._moves_in()
    for does in (
        visitor._says_twice, visitor._strokes, visitor._offers, visitor._hangs_up, visitor._looks, visitor._is_refused,
        visitor._moves, visitor._changes_key, visitor._reads_receipts, visitor._sends_half, visitor._says,
    ):  # fmt: skip
        await does()
    await house.pass_ms(IDLE_MS)
    await visitor._says_goodbye()


async def at_rest(house: House) -> None:
    """Nobody is connected and nothing is being thought about."""
    await house.settle()
    await wait_all_tasks_blocked(0.05)


async def test_what_the_parts_hold_does_not_grow_with_the_pets_that_came_and_went(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(crowd, "GONE_AFTER_S", 0.01)
    doors, seen, found = Doors(rates=Rates(LIMITS)), Seen(), []
    async with open_house(tmp_path) as house, served(house, doors) as (address, app):
        save = new_save(house.wall)
        visitors = [Visitor(address, number, save, seen) for number in range(2)]
        with trio.fail_after(PATIENCE_S):
            for pets in (FEW, MANY - FEW):
                for turn in range(pets):
                    await live_once(house, visitors[turn % 2])
                await at_rest(house)
                found.append(held_by(app, house.pets, house.store, doors))
    few, many = found
    assert {} == dict(seen.faults)
    assert {name: count for name, count in many.items() if count > few[name]} == {}
    assert {name: many[name] for name in AT_ITS_BOUND if many[name] > AT_ITS_BOUND[name]} == {}
    assert [] == [pet for pet in house.pets.dispatch.residents() if pet.record is not None]
