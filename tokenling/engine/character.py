"""A pet's character: what its seed makes visibly different."""

from tokenling.engine.balance import TRAITS
from tokenling.engine.draws import draw
from tokenling.engine.lists import FOODS, PLACES, TOYS
from tokenling.engine.state import Character

_METERS = ("fullness", "energy", "hygiene", "mood", "bond")


def character_of(pet_seed: str) -> Character:
    """Two different traits, favourites and a colour, drawn from the pet's seed."""
    traits = list(TRAITS)
    first = traits.pop(draw(pet_seed, "character", "trait 1", len(traits)))
    second = traits[draw(pet_seed, "character", "trait 2", len(traits))]
    return Character(
        traits=(first, second),
        food=FOODS[draw(pet_seed, "character", "food", len(FOODS))],
        toy=TOYS[draw(pet_seed, "character", "toy", len(TOYS))],
        place=PLACES[draw(pet_seed, "character", "place", len(PLACES))],
        hue=draw(pet_seed, "character", "hue", 360),
    )


def percent(traits: tuple[str, ...], meter: str) -> int:
    """What both traits together make of a rate or a gain, in percent."""
    at = _METERS.index(meter)
    product = 100
    for trait in traits:
        product = product * TRAITS[trait][at] // 100
    return product
