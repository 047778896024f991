"""How a pet begins, and how it moves house."""

from tokenling.engine import balance
from tokenling.engine.bounds import MINUTES_OF_DAY, SEED_MAX, TICK_MS
from tokenling.engine.character import character_of
from tokenling.engine.commands import fit_id, fit_name, fit_seed, known_zone
from tokenling.engine.errors import CommandRefused
from tokenling.engine.journal import counted, with_event
from tokenling.engine.life import Step, check_time, rebased, step_of
from tokenling.engine.lists import MODES
from tokenling.engine.records import replace
from tokenling.engine.sky import season_on, weather_at
from tokenling.engine.state import Body, Hosting, State
from tokenling.engine.zones import local_minute


def newborn_body() -> Body:
    """The meters of an egg."""
    held = balance.NEWBORN
    return Body(held["fullness"], held["energy"], held["mood"], held["hygiene"], held["warmth"], held["bond"])


def new_pet(*, pet_seed: str, name: str, time_zone: str, brain_id: str, weather_seed: str, now_ms: int) -> State:
    """An egg in local mode. Seeds are at most 64 letters, digits, `-`, `_`, `.`; the same ones give the same pet.

    Raises `CommandRefused(code, path)` for a name, zone, seed or brain id that no save may hold.
    """
    check_time(now_ms)
    seed = fit_id(pet_seed, "/petSeed", SEED_MAX)
    weather_seed = fit_seed(weather_seed, "/weatherSeed")
    hosting = Hosting("local", fit_id(brain_id, "/brainId"), known_zone(time_zone, "/timeZone"))
    clock_ms = now_ms // TICK_MS * TICK_MS
    local = local_minute(time_zone, clock_ms // TICK_MS)
    return State(
        hosting=hosting,
        pet_seed=seed,
        weather_seed=weather_seed,
        name=fit_name(name),
        born_ms=now_ms,
        body_clock_ms=clock_ms,
        character=character_of(seed),
        body=newborn_body(),
        stage="egg",
        minutes_lived=0,
        quiet_minutes=0,
        care=0,
        care_ms=0,
        asleep=True,
        tucked=False,
        lamp=False,
        disturbance=0,
        place="nest",
        feeling="calm",
        local_hour=local // 60,
        weather=weather_at(weather_seed, local // 60),
        season=season_on(local // MINUTES_OF_DAY),
        snacks=1,
        treasures=(),
        chatter=2,
        want=None,
        want_ms=now_ms,
        offer=None,
        game=None,
        games=0,
        best_score=0,
        context_revision=0,
        asked=None,
        asked_next=None,
        asked_count=0,
        cancels=0,
        owed=None,
        diary_day=local // MINUTES_OF_DAY - 1,
        diary_since_ms=0,
        slot_ms=clock_ms,
        slot_day=0,
        quiet_slots=0,
        owner_ms=now_ms,
        stroke_ms=0,
        next_effect=1,
        chat=(),
        memories=(),
        diary=(),
        events=(),
        effects=(),
    )


def rehome(
    state: State, *, mode: str, time_zone: str, brain_id: str, now_ms: int, weather_seed: str | None = None
) -> Step:
    """The pet in another house, its body clock reset so that no time is replayed.

    A turn that was due stays due, at the new clock. Raises `CommandRefused` for what no save may hold.
    """
    check_time(now_ms)
    if mode not in MODES:
        raise CommandRefused("unknown_value", "/mode")
    hosting = replace(
        state.hosting,
        mode=mode,
        brain_id=fit_id(brain_id, "/brainId"),
        time_zone=known_zone(time_zone, "/timeZone"),
    )
    seed = state.weather_seed if weather_seed is None else fit_seed(weather_seed, "/weatherSeed")
    after = replace(rebased(replace(state, hosting=hosting), now_ms), weather_seed=seed)
    revision = counted(state.context_revision)
    after = replace(
        after,
        context_revision=revision,
        cancels=0,
        asked=after.asked and replace(after.asked, revision=revision),
        asked_next=after.asked_next and replace(after.asked_next, revision=revision),
        owed=after.owed and replace(after.owed, revision=revision),
    )
    if mode != state.hosting.mode:
        after = with_event(after, "moved_house", after.body_clock_ms)
    if brain_id != state.hosting.brain_id and state.hosting.brain_id:
        after = with_event(after, "new_brain", after.body_clock_ms)
    return step_of(state, after)
