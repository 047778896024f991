"""Bounds from both sides, where a fault that is off by one was not noticed by other tests (docs/engine.md)."""

import json
from dataclasses import replace

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, awake, care, do, egg, quietly, reply, say

from tokenling.engine import (
    CommandRefused,
    SaveRefused,
    advance,
    apply_reply,
    balance,
    dump_save,
    load_save,
    new_pet,
    parse_command,
    skip_turn,
)
from tokenling.engine.body import Pace, asleep_minutes, pace_of, wake_chance_ppm
from tokenling.engine.bounds import BRAIN_ID_MAX, METER_MAX, SEED_MAX
from tokenling.engine.commands import GAME_ID_MAX
from tokenling.engine.draws import WAKE_BLOCK_TICKS, wake_draws
from tokenling.engine.journal import changed, with_event
from tokenling.engine.jsonvalue import JsonObject
from tokenling.engine.lists import STAGES


def test_a_game_id_may_be_as_long_as_its_bound_and_no_longer() -> None:
    parse_command({"kind": "game", "gameId": "g" * GAME_ID_MAX, "score": 1})
    for wrong in ("", "g" * (GAME_ID_MAX + 1)):
        with pytest.raises(CommandRefused) as raised:
            parse_command({"kind": "game", "gameId": wrong, "score": 1})
        assert (raised.value.code, raised.value.path) == ("out_of_range", "/gameId")


@pytest.mark.parametrize(
    ("pet", "weather", "brain", "path"),
    [
        (0, 0, 0, ""),
        (1, 0, 0, "/petSeed"),
        (0, 1, 0, "/weatherSeed"),
        (0, 0, 1, "/brainId"),
    ],
)
def test_seeds_and_ids_may_be_as_long_as_their_bounds_and_no_longer(
    pet: int, weather: int, brain: int, path: str
) -> None:
    def born() -> None:
        new_pet(
            pet_seed="p" * (SEED_MAX + pet),
            name="Pip",
            time_zone="Etc/UTC",
            brain_id="b" * (BRAIN_ID_MAX + brain),
            weather_seed="w" * (SEED_MAX + weather),
            now_ms=NOON,
        )

    if not path:
        born()
        return
    with pytest.raises(CommandRefused) as raised:
        born()
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("later_ms", "counts"),
    [
        (0, [2]),
        (balance.MERGE_MINUTES * MINUTE - 1, [2]),
        (balance.MERGE_MINUTES * MINUTE, [1, 1]),
        (-1, [1, 1]),
    ],
)
def test_equal_events_are_one_from_the_same_instant_until_half_an_hour(later_ms: int, counts: list[int]) -> None:
    state = with_event(awake(), "fed", NOON, "plum")
    state = with_event(state, "fed", NOON + later_ms, "plum")
    assert [event.n for event in state.events if event.kind == "fed"] == counts


def test_a_tired_sleeper_wakes_by_disturbance_alone() -> None:
    pace = Pace(0, 0, 0, 0, 0, 0, 600_000, 0, METER_MAX, 100)
    tick, drawn = next(
        (block * WAKE_BLOCK_TICKS + at, drawn)
        for block in range(100)
        for at, drawn in enumerate(wake_draws("seed", block))
        if 1000 < drawn < 100_000
    )
    enough = -(-(drawn + 1) * METER_MAX // balance.WAKE_DISTURBED)
    for disturbance, woke in ((enough, True), (enough - 1, False)):
        meters = (500_000, 500_000, 500_000, 500_000, 600_000, 400_000, disturbance)
        assert asleep_minutes(meters, tick, tick, pace, "seed")[2] is woke


DEFAULTS: JsonObject = {
    "quietMinutes": 0,
    "quietSlots": 0,
    "want": None,
    "offer": None,
    "game": None,
    "asked": None,
    "askedNext": None,
    "owed": None,
}
"""Members of a save that are left out while they hold this."""


def test_what_a_save_leaves_out_is_what_it_says_when_it_is_there() -> None:
    value: JsonObject = json.loads(dump_save(awake()))
    assert set(DEFAULTS) & set(value) == set()
    assert load_save(json.dumps({**value, **DEFAULTS}).encode()) == awake()


@pytest.mark.parametrize("stage", STAGES[1:])
@pytest.mark.parametrize("seed", ["fern", "moss", "ivy", "reed"])
def test_sleep_gives_every_character_the_same_strength(stage: str, seed: str) -> None:
    state = replace(awake(seed=seed), stage=stage, asleep=True)
    rate = balance.ENERGY_ASLEEP[STAGES.index(stage)]
    assert pace_of(state, 1).energy * balance.HOUR == rate


@pytest.mark.parametrize("hour", range(24))
def test_a_pet_below_the_hours_mark_never_wakes_by_itself(hour: int) -> None:
    mark = balance.WAKE_ABOVE_BY_HOUR[hour]
    assert wake_chance_ppm(mark, hour, 0) == 0
    assert wake_chance_ppm(mark - 1, hour, 0) == 0
    assert wake_chance_ppm(0, hour, 0) == 0
    assert wake_chance_ppm(METER_MAX, hour, 0) == (METER_MAX - mark) * balance.WAKE_SLOPE // METER_MAX
    whole = METER_MAX * balance.WAKE_DISTURBED // METER_MAX
    assert wake_chance_ppm(mark, hour, METER_MAX) == whole
    assert wake_chance_ppm(mark, hour, METER_MAX, tucked=True) == whole // 2


@pytest.mark.parametrize(("tucked", "percent"), [(False, 100), (True, 50)])
def test_a_blanket_halves_the_chance_to_wake(tucked: bool, percent: int) -> None:
    assert pace_of(replace(awake(), asleep=True, tucked=tucked), 1).wake_percent == percent


def test_a_body_that_gains_nothing_is_the_same() -> None:
    body = awake().body
    assert changed(body) == body
    for name in ("fullness", "energy", "mood", "hygiene", "warmth"):
        assert changed(body, **{name: 1000}) == replace(body, **{name: getattr(body, name) + 1000})


@pytest.mark.parametrize("character", "09AZaz-_.")
def test_a_seed_may_be_of_letters_digits_and_three_marks(character: str) -> None:
    state = awake(seed=character)
    assert load_save(dump_save(state)) == state


@pytest.mark.parametrize("character", "/:@[`{ ,+\u00e4\u0660")
def test_a_seed_of_anything_else_is_refused(character: str) -> None:
    with pytest.raises(CommandRefused):
        awake(seed=character)
    data = dump_save(awake()).replace(b'"petSeed":"fern"', f'"petSeed":"{character}"'.encode())
    with pytest.raises(SaveRefused) as raised:
        load_save(data)
    assert (raised.value.code, raised.value.path) == ("unexpected_character", "/petSeed")


def test_a_newborn_by_hand() -> None:
    value: JsonObject = json.loads(dump_save(egg()))
    drawn = {name: value.pop(name) for name in ("character", "weather")}
    assert set(drawn) == {"character", "weather"}
    clock_ms, hour = NOON // MINUTE * MINUTE, (NOON + 2 * HOUR) // HOUR
    assert value == {
        "v": 2, "engine": 1, "hosting": {"brainId": "sprout-0", "mode": "local", "timeZone": "Europe/Berlin"},
        "petSeed": "fern", "weatherSeed": "sky", "name": "Pip", "bornMs": NOON, "bodyClockMs": clock_ms,
        "body": {
            "fullness": 620_000, "energy": 900_000, "mood": 600_000, "hygiene": 850_000, "warmth": 600_000,
            "bond": 250_000,
        },
        "stage": "egg", "minutesLived": 0, "care": 0, "careMs": 0, "asleep": True, "tucked": False, "lamp": False,
        "disturbance": 0, "place": "nest", "feeling": "calm", "localHour": hour, "season": "summer", "snacks": 1,
        "treasures": [], "chatter": 2, "wantMs": NOON, "games": 0, "bestScore": 0, "contextRevision": 0,
        "askedCount": 0, "cancels": 0, "diaryDay": hour // 24 - 1, "diarySinceMs": 0, "slotMs": clock_ms, "slotDay": 0,
        "ownerMs": NOON, "strokeMs": 0, "nextEffect": 1, "chat": [], "memories": [], "diary": [], "events": [],
        "effects": [],
    }  # fmt: skip


def test_words_said_while_a_page_is_written_are_answered_at_their_own_minute() -> None:
    state = do(awake(chatter=0), care("feed"), NOON).state
    page = advance(quietly(state, NOON), NOON + DAY)
    while page.turn is not None and page.turn.kind != "diary":
        page = advance(skip_turn(page.state, page.turn, "stopped").state, NOON + DAY)
    assert page.turn is not None
    said_ms = page.turn.at_ms + 17 * MINUTE + 30_000
    step = do(page.state, say("are you writing?"), said_ms)
    assert step.turn is not None
    assert step.turn.kind == "diary"
    after = apply_reply(step.state, step.turn, reply("A day.")).state
    for until_ms in (said_ms, said_ms + HOUR, said_ms + 5 * HOUR):
        due = advance(after, until_ms)
        assert due.turn is not None
        assert (due.turn.kind, due.turn.at_ms) == ("reactive", said_ms)
        assert due.state.body_clock_ms == said_ms // MINUTE * MINUTE
