"""What an owner's acts do to the body, the offer, the game, the visit."""

from dataclasses import replace

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, answered, awake, care, do, egg, kinds, offer, quietly, say

from tokenling.engine import (
    CommandRefused,
    State,
    advance,
    build_request,
    effects_of,
    game_of,
    parse_command,
    pending_turn,
)
from tokenling.engine import balance as b
from tokenling.engine.bounds import COUNT_MAX, EFFECTS_MAX, METER_MAX, SNACKS_MAX, TREASURES_MAX
from tokenling.engine.jsonvalue import JsonValue


def low(state: State) -> State:
    return replace(
        state,
        body=replace(
            state.body, fullness=200_000, energy=500_000, mood=300_000, hygiene=200_000, warmth=300_000, bond=300_000
        ),
    )


@pytest.mark.parametrize(
    ("action", "meter"),
    [("feed", "fullness"), ("wash", "hygiene"), ("tuck", "warmth"), ("stroke", "mood")],
)
def test_each_care_mends_its_meter_at_once(action: str, meter: str) -> None:
    state = low(awake())
    after = do(state, care(action), NOON + 1).state
    assert getattr(after.body, meter) > getattr(state.body, meter)
    assert after.body.bond > state.body.bond


def test_the_lamp_goes_on_and_off_without_words() -> None:
    step = do(awake(), care("lamp"), NOON + 1)
    assert step.state.lamp
    assert step.turn is None
    assert [(effect["kind"], effect["item"]) for effect in step.effects] == [("lamp", "on")]
    assert not do(step.state, care("lamp"), NOON + 2).state.lamp


def test_the_favourite_food_is_worth_more() -> None:
    state = low(awake())
    other = "soup" if state.character.food != "soup" else "nut"
    liked = do(state, {"kind": "care", "action": "feed", "item": state.character.food}, NOON + 1).state
    plain = do(state, {"kind": "care", "action": "feed", "item": other}, NOON + 1).state
    assert liked.body.fullness > plain.body.fullness
    assert liked.body.mood > plain.body.mood


def test_a_meal_without_a_named_food_is_chosen_by_a_draw() -> None:
    first = do(awake(), care("feed"), NOON + 1).state
    assert first.events[-1].item
    assert first == do(awake(), care("feed"), NOON + 1).state


def test_meals_leave_snacks_within_their_bound() -> None:
    state = awake()
    for number in range(SNACKS_MAX + 4):
        state = do(state, care("feed"), NOON + number).state
    assert state.snacks == SNACKS_MAX
    assert state.body.fullness <= METER_MAX


def test_many_strokes_get_words_once_in_ten_minutes_and_count_once_for_growth() -> None:
    state = awake()
    first = do(state, care("stroke"), NOON + 1)
    assert first.turn is not None
    state = answered(first.state, "purr")
    for second in range(2, 60):
        step = do(state, care("stroke"), NOON + second * 1000)
        assert step.turn is None
        state = step.state
    assert state.care == 1
    assert [event.n for event in state.events if event.kind == "stroked"] == [59]
    assert do(state, care("stroke"), NOON + 11 * MINUTE).turn is not None


def test_tucking_in_a_tired_pet_puts_it_to_sleep_with_words() -> None:
    step = do(low(awake()), care("tuck"), NOON + 1)
    assert step.state.asleep
    assert step.state.tucked
    assert step.turn is not None
    assert build_request(step.state, step.turn).lines[-1] == "(Owner tucks Pip in.)"


def test_tucking_in_a_lively_pet_only_warms_it() -> None:
    state = replace(awake(), body=replace(awake().body, energy=950_000))
    assert not do(state, care("tuck"), NOON + 1).state.asleep


def test_noise_may_wake_a_sleeper_and_quiet_does_not() -> None:
    tired = replace(awake(), asleep=True, body=replace(awake().body, energy=300_000))
    woken = 0
    for seed in range(40):
        state = replace(tired, pet_seed=f"s{seed}")
        state = do(state, care("wash"), NOON + 1).state
        assert state.disturbance == b.DISTURB["wash"]
        woken += not quietly(state, NOON + 30 * MINUTE).asleep
        assert quietly(replace(tired, pet_seed=f"s{seed}"), NOON + 30 * MINUTE).asleep
    assert 10 < woken < 40


def test_the_owners_first_act_hatches_the_egg() -> None:
    step = do(egg(), care("stroke"), NOON + 1)
    assert step.state.stage == "hatchling"
    assert not step.state.asleep
    assert "hatch" in [effect["kind"] for effect in step.effects]


# --- offers and the game -------------------------------------------------------------------------------------------


def test_an_accepted_gift_is_kept_among_the_treasures() -> None:
    state = answered(do(awake(), offer("gift", "shell"), NOON + 1).state, "[accept] Pretty!")
    assert state.treasures == ("shell",)
    assert state.offer is None
    assert kinds(state)[-1] == "accepted"


def test_accepted_food_fills_and_is_no_treasure() -> None:
    state = low(awake())
    after = answered(do(state, offer("food", "plum"), NOON + 1).state, "[accept] Yum!")
    assert after.body.fullness > state.body.fullness
    assert after.treasures == ()


def test_a_declined_offer_is_gone_and_changes_no_meter() -> None:
    state = do(low(awake()), offer("food", "plum"), NOON + 1).state
    after = answered(state, "[decline] Not now.")
    assert after.offer is None
    assert after.body == state.body


def test_an_offer_without_an_answer_stays_open_until_it_expires() -> None:
    state = answered(do(awake(), offer("toy", "kite"), NOON + 1).state, "Hm, what is that?")
    assert state.offer is not None
    before = quietly(state, NOON + b.OFFER_MINUTES * MINUTE)
    assert before.offer is not None
    after = quietly(state, NOON + (b.OFFER_MINUTES + 1) * MINUTE)
    assert after.offer is None
    assert "expired" in kinds(after)


def test_the_newest_treasures_stay() -> None:
    state = awake()
    items = ["shell", "feather", "button", "scarf", "pebble", "flower", "acorn"]
    toys = ["ball", "kite", "bell", "blocks", "ribbon", "top"]
    for number, (kind, item) in enumerate([("gift", item) for item in items] + [("toy", item) for item in toys]):
        state = answered(do(state, offer(kind, item), NOON + number).state, "[accept]")
    assert len(state.treasures) == TREASURES_MAX
    assert state.treasures[-1] == "top"
    assert "shell" not in state.treasures


def playing() -> State:
    state = answered(do(awake(), offer("catch"), NOON + 1).state, "[accept] Throw!")
    assert state.game is not None
    return state


def test_catch_starts_only_after_acceptance() -> None:
    offered = do(awake(), offer("catch"), NOON + 1).state
    assert game_of(offered) is None
    assert game_of(answered(offered, "[decline] No.")) is None
    game = game_of(playing())
    assert game is not None
    assert sorted(game) == ["expiresMs", "id", "startedMs"]


def test_a_result_commits_once() -> None:
    state = playing()
    game = game_of(state)
    assert game is not None
    result = {"kind": "game", "gameId": game["id"], "score": 7}
    after = do(state, result, NOON + MINUTE).state
    assert (after.games, after.best_score, after.game) == (1, 7, None)
    assert after.events[-1].n == 7
    with pytest.raises(CommandRefused) as raised:
        do(after, result, NOON + MINUTE + 1)
    assert (raised.value.code, raised.value.path) == ("unknown_game", "/gameId")


def test_a_result_of_another_game_is_refused_and_changes_nothing() -> None:
    state = playing()
    with pytest.raises(CommandRefused):
        do(state, {"kind": "game", "gameId": "g999", "score": 7}, NOON + MINUTE)
    assert state.game is not None


def test_an_abandoned_game_expires_without_a_score() -> None:
    after = quietly(playing(), NOON + (b.GAME_MINUTES + 2) * MINUTE)
    assert (after.game, after.games, after.best_score) == (None, 0, 0)
    assert "game_expired" in kinds(after)
    with pytest.raises(CommandRefused):
        do(after, {"kind": "game", "gameId": "g1", "score": 1}, NOON + 10 * MINUTE)


def test_catch_is_not_offered_while_one_runs() -> None:
    with pytest.raises(CommandRefused) as raised:
        do(playing(), offer("catch"), NOON + 2)
    assert raised.value.code == "game_running"


def test_a_pet_does_not_fall_asleep_in_a_game() -> None:
    state = playing()
    state = replace(state, body=replace(state.body, energy=b.METER_FLOOR))
    playing_on = quietly(state, NOON + 2 * MINUTE)
    assert not playing_on.asleep
    assert playing_on.body.energy == b.METER_FLOOR
    assert quietly(state, NOON + 10 * MINUTE).asleep


# --- visits ----------------------------------------------------------------------------------------------------------


def test_a_pet_speaks_first_when_its_owner_returns_whatever_the_owner_does() -> None:
    state = quietly(replace(awake(), stage="adult"), NOON + 6 * HOUR)
    assert not state.asleep
    step = do(state, care("lamp"), NOON + 6 * HOUR)
    assert step.turn is not None
    request = build_request(step.state, step.turn)
    assert request.lines[-1] == "(Owner is back.)"
    assert "owner is back after 6 hours" in request.header


@pytest.mark.parametrize(
    ("act", "last_line"),
    [
        (care("lamp"), "(Owner is back.)"),
        (care("stroke"), "(Owner strokes Pip.)"),
        (care("wash"), "(Owner washes Pip.)"),
        (care("tuck"), "(Owner tucks Pip in.)"),
        (offer("toy", "kite"), "(Owner offers kite.)"),
        (say("hi there"), "Owner: hi there"),
        ({"kind": "settings", "chatter": 0}, "(Owner is back.)"),
        ({"kind": "settings", "timeZone": "Europe/Berlin"}, "(Owner is back.)"),
    ],
)
def test_whatever_an_owner_does_first_the_pet_knows_of_the_absence(act: JsonValue, last_line: str) -> None:
    state = quietly(replace(awake(), stage="adult"), NOON + 6 * HOUR)
    step = do(state, act, NOON + 6 * HOUR)
    assert step.turn is not None
    request = build_request(step.state, step.turn)
    assert last_line == request.lines[-1]
    assert "owner is back after 6 hours" in request.header


@pytest.mark.parametrize(("minutes", "greeted"), [(299, False), (300, True)])
def test_five_hours_away_are_an_absence(minutes: int, greeted: bool) -> None:
    state = quietly(replace(awake(), stage="adult"), NOON + minutes * MINUTE)
    step = do(state, care("lamp"), NOON + minutes * MINUTE)
    assert (step.turn is not None) is greeted
    said = do(step.state, say(), NOON + minutes * MINUTE).state
    turn = pending_turn(said)
    assert turn is not None
    assert ("owner is back after 5 hours" in build_request(said, turn).header) is greeted


def test_a_short_absence_needs_no_greeting() -> None:
    state = quietly(awake(), NOON + 2 * HOUR)
    assert do(state, care("lamp"), NOON + 2 * HOUR).turn is None


def test_coming_at_the_same_hour_on_a_third_day_is_noticed_as_a_habit() -> None:
    state = awake()
    for day in range(4):
        at_ms = NOON + 7 * HOUR + day * DAY + day * MINUTE
        state = quietly(do(quietly(state, at_ms), say(), at_ms).state, at_ms)
        habits = [event.item for event in state.events if event.kind == "habit"]
        assert habits == ["19"] * max(0, day - 1)
    state = do(state, say(), NOON + 7 * HOUR + 3 * DAY + 5 * MINUTE).state
    turn = pending_turn(state)
    assert turn is not None
    assert "owner came at seven again" in build_request(state, turn).header


def test_other_hours_make_no_habit() -> None:
    state = awake()
    for day in range(5):
        at_ms = NOON + (3 + 2 * day) * HOUR + day * DAY
        state = quietly(do(quietly(state, at_ms), say(), at_ms).state, at_ms)
    assert "habit" not in kinds(state)


# --- wants -----------------------------------------------------------------------------------------------------------


def test_a_hungry_pet_asks_for_food_and_a_meal_ends_it() -> None:
    state = low(awake())
    step = advance(state, NOON + 6 * HOUR)
    wants = [effect for effect in step.effects if effect["kind"] == "want"]
    assert wants[0]["item"] == "food"
    after = do(step.state, care("feed"), NOON + 6 * HOUR).state
    assert after.want is None


def test_an_owner_is_called_at_most_a_few_times_a_day_and_not_at_all_after_three_days() -> None:
    state = quietly(awake(), NOON + 20 * DAY)
    later = quietly(state, NOON + 25 * DAY)
    assert later.want is None or later.want.at_ms < NOON + 4 * DAY
    assert later.want_ms < NOON + 4 * DAY


def test_company_is_what_a_lonely_pet_wants() -> None:
    state = replace(awake(), owner_ms=NOON - 11 * HOUR, want_ms=NOON - DAY)
    state = replace(state, body=replace(state.body, fullness=METER_MAX, hygiene=METER_MAX))
    wanting = quietly(state, NOON + HOUR)
    assert wanting.want is not None
    assert wanting.want.kind == "company"
    assert do(wanting, care("lamp"), NOON + HOUR).state.want is None


def test_effects_are_numbered_on_and_the_last_32_kept() -> None:
    state = awake()
    for number in range(60):
        state = do(state, care("lamp"), NOON + number).state
    ids = [effect["id"] for effect in effects_of(state)]
    assert len(ids) == EFFECTS_MAX
    assert ids == list(range(state.next_effect - EFFECTS_MAX, state.next_effect))


def test_a_step_carries_only_the_effects_that_are_new() -> None:
    state = do(awake(), care("lamp"), NOON + 1).state
    step = do(state, care("lamp"), NOON + 2)
    assert [effect["id"] for effect in step.effects] == [state.next_effect]


def test_effects_end_silently_where_only_a_forged_save_gets() -> None:
    state = replace(awake(), next_effect=COUNT_MAX, effects=())
    step = do(state, care("lamp"), NOON + 1)
    assert step.state.lamp
    assert step.effects == ()


def test_settings_change_name_zone_and_chatter() -> None:
    command = parse_command({"kind": "settings", "name": " Momo ", "timeZone": "Asia/Kathmandu", "chatter": 4})
    state = do(awake(), {"kind": "settings", "name": " Momo ", "timeZone": "Asia/Kathmandu", "chatter": 4}, NOON).state
    assert command
    assert (state.name, state.hosting.time_zone, state.chatter) == ("Momo", "Asia/Kathmandu", 4)
