"""The page killed, the host killed, answers lost, at whatever moment the dice choose: what was told as saved is there,
once and in order, and the pet is in one place."""

import random
import re

import pytest
from home_support import WITHIN_S, living_places, pets_of

pytestmark = pytest.mark.browser_long

STEPS = 30
SEEDS = range(5)


class Owner:
    """Somebody who talks, moves and closes the page without waiting for anything to end."""

    def __init__(self, house, host, chance) -> None:
        self.house, self.host, self.chance = house, host, chance
        self.pet = house.adopted("w0")
        self.told, self.said = ["w0"], ["w0"]
        self.host_lives = True
        house.context.route(re.compile(r"/api/"), self._way)
        self.lose = 0.0

    def _way(self, route):
        """A network that loses requests and answers while `lose` says so."""
        if self.chance.random() >= self.lose:
            return route.fallback()
        if self.chance.random() < 0.5 and self.host_lives:
            route.fetch()
        return route.abort()

    def say(self) -> None:
        """Says a word; whether it was told as saved is known if the answer comes before the next thing happens."""
        word = f"w{len(self.said)}"
        self.said.append(word)
        limit_ms = self.chance.choice([0, 20, 200, 1500])
        answered = self.house.page.evaluate(
            """([pet, text, limitMs]) => Promise.race([
              tests.send(pet, {kind: "say", text}).then(({ok}) => ok === null),
              new Promise((resolve) => setTimeout(() => resolve(false), limitMs)),
            ])""",
            [self.pet, word, limit_ms],
        )
        if answered:
            self.told.append(word)

    def move_out(self) -> None:
        self.house.begin("moveToHost", self.pet, self.host.origin)

    def move_home(self) -> None:
        self.house.begin("moveHere", self.pet)

    def kill_page(self) -> None:
        self.house.reload()
        self.house.watch(self.pet)

    def kill_host(self) -> None:
        if self.host_lives:
            self.host.kill()
        else:
            self.host.start()
        self.host_lives = not self.host_lives

    def change_weather(self) -> None:
        self.lose = self.chance.choice([0.0, 0.2, 0.6])

    def step(self) -> None:
        acts = [self.say] * 4 + [self.move_out, self.move_home] * 2 + [self.kill_page] * 2
        self.chance.choice([*acts, self.kill_host, self.change_weather])()
        self.house.page.wait_for_timeout(self.chance.choice([0, 5, 30, 150, 600]))
        assert len(living_places(self.house, self.pet, self.host)) <= 1

    def calm_down(self) -> None:
        self.lose = 0.0
        if not self.host_lives:
            self.kill_host()
        self.kill_page()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_told_is_there_once_and_the_pet_is_in_one_place(house, host, seed):
    owner = Owner(house, host, random.Random(seed))  # noqa: S311 - a test's dice
    pet = owner.pet
    for _ in range(STEPS):
        owner.step()
    owner.calm_down()

    def at_rest():
        shown = house.pet(pet)
        return shown["link"] in ("running", "live", "paused") and shown["move"] is None and not shown["pending"]

    house.until(at_rest, within_s=2 * WITHIN_S)
    heard = house.texts(pet, "owner")
    assert len(set(heard)) == len(heard), f"seed {seed}: heard twice"
    assert heard == sorted(heard, key=owner.said.index), f"seed {seed}: out of order"
    assert [word for word in owner.told if word not in heard] == [], f"seed {seed}: told as saved, and lost"
    assert len(living_places(house, pet, host)) == 1
    assert len(pets_of(host)) <= 1
    entry = house.remote()["pets"].get(pet)
    assert entry is None or entry["intent"] is None
    assert house.household()["stops"] == []
    assert len(owner.told) > 2, f"seed {seed}: hardly anything was told, so hardly anything was proven"
