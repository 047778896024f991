"""A pet's character: what its seed makes visibly different."""

import pytest
from engine_scenes import HOUR, NOON, awake, care, do, egg, quietly

from tokenling.engine import CommandRefused, balance, build_request, dump_save, new_pet
from tokenling.engine.character import character_of, percent
from tokenling.engine.draws import draw, wake_draws
from tokenling.engine.turns import diary_minute, pending_turn, slot_tick


def test_a_hundred_seeds_make_many_characters_and_every_trait_occurs() -> None:
    characters = [character_of(f"seed-{number}") for number in range(100)]
    assert len({(c.traits, c.food, c.toy, c.place) for c in characters}) > 95
    assert {trait for c in characters for trait in c.traits} == set(balance.TRAITS)
    assert all(c.traits[0] != c.traits[1] for c in characters)
    assert len({c.hue for c in characters}) > 60


def test_the_same_seed_is_the_same_pet() -> None:
    assert dump_save(egg(seed="a")) == dump_save(egg(seed="a"))
    assert dump_save(egg(seed="a")) != dump_save(egg(seed="b"))


def test_character_shows_in_the_prompt_and_in_the_body() -> None:
    pets = [quietly(awake(seed=seed), NOON + 4 * HOUR) for seed in "abcdefgh"]
    assert len({pet.body.fullness for pet in pets}) > 4
    headers = set()
    for seed in "abcdefgh":
        state = do(awake(seed=seed), care("wash"), NOON).state
        turn = pending_turn(state)
        assert turn is not None
        headers.add(build_request(state, turn).header.split("\n")[0])
    assert len(headers) == 8


def test_traits_multiply_rates() -> None:
    assert percent(("greedy", "playful"), "fullness") == 100 * 125 // 100 * 110 // 100 == 137
    assert percent(("tidy", "quiet"), "hygiene") == 63


def test_draws_are_fixed_and_cover_their_range() -> None:
    assert [draw("seed", "purpose", str(key), 10) for key in range(5)] == [4, 5, 6, 3, 4]
    assert {draw("s", "p", str(key), 6) for key in range(200)} == set(range(6))
    block = wake_draws("s", 7)
    assert len(block) == 8
    assert all(0 <= drawn < 1_000_000 for drawn in block)
    assert 1205 < balance.DIARY_MINUTE <= diary_minute("s") < balance.DIARY_MINUTE + balance.DIARY_SPREAD


def test_a_slot_has_one_tick_within_it() -> None:
    for chatter in (1, 2, 4):
        length = 60 // chatter
        for slot in range(1000, 1050):
            assert slot * length <= slot_tick("s", chatter, slot) < (slot + 1) * length


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("name", "", "/name"),
        ("name", "x" * 25, "/name"),
        ("name", "\u202e", "/name"),
        ("time_zone", "Mars/Base", "/timeZone"),
        ("pet_seed", "a b", "/petSeed"),
        ("pet_seed", "x" * 65, "/petSeed"),
        ("weather_seed", "\n", "/weatherSeed"),
        ("brain_id", "../up", "/brainId"),
    ],
)
def test_a_newborn_that_no_save_may_hold_is_refused(field: str, value: str, path: str) -> None:
    given = {"pet_seed": "s", "name": "Pip", "time_zone": "Etc/UTC", "brain_id": "b", "weather_seed": "w", field: value}
    with pytest.raises(CommandRefused) as raised:
        new_pet(
            pet_seed=given["pet_seed"],
            name=given["name"],
            time_zone=given["time_zone"],
            brain_id=given["brain_id"],
            weather_seed=given["weather_seed"],
            now_ms=NOON,
        )
    assert raised.value.path == path
