"""What happens exactly at a mark and what one step beside it: claims that a mutation run found nobody had made."""

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

import pytest
from engine_scenes import DAY, HOUR, MINUTE, NOON, answered, asleep, awake, care, do, egg, offer, quietly, reply, say

from tokenling.engine import (
    CommandRefused,
    SaveRefused,
    State,
    advance,
    apply_reply,
    build_request,
    due_ms,
    dump_save,
    effects_of,
    load_save,
    pending_turn,
    rehome,
    skip_turn,
)
from tokenling.engine import balance as b
from tokenling.engine.body import pace_of
from tokenling.engine.bounds import (
    GAP_TICKS_MAX,
    INTEGER_MAX,
    LATE_SLOTS_MAX,
    LOOK_AHEAD_TICKS_MAX,
    RAW_TEXT_MAX,
    SAVE_BYTES_MAX,
)
from tokenling.engine.character import character_of, percent
from tokenling.engine.commands import parse_command
from tokenling.engine.draws import draw
from tokenling.engine.life import _is_lived, _shown, asleep_now, grown, lived_past_page, rebased, woken
from tokenling.engine.memories import topic_of
from tokenling.engine.owner import away_hours, bond_gain
from tokenling.engine.phrases import away_words
from tokenling.engine.state import Asked, Event, Memory, Owed
from tokenling.engine.tags import parted
from tokenling.engine.zones import local_minute, offset_minutes, same_offset_until

TODAY = NOON // DAY
"""The local day number of `NOON`: Berlin is ahead of UTC by less than half a day."""


def adult(**changes: object) -> State:
    return replace(awake(), stage="adult", **changes)


# --- the body and the clock ------------------------------------------------------------------------------------------


def test_an_egg_neither_hungers_nor_cools() -> None:
    assert egg().body == advance(egg(), NOON + 9 * MINUTE).state.body


def test_a_night_falls_on_a_pet_just_left_as_on_one_left_a_while_ago() -> None:
    eleven = quietly(adult(), NOON + 10 * HOUR)
    eleven = replace(eleven, asleep=False, body=replace(eleven.body, energy=500_000))
    state = do(eleven, care("lamp"), NOON + 10 * HOUR).state
    state = quietly(state, NOON + 10 * HOUR)
    at_once = quietly(state, NOON + 10 * HOUR + 30 * MINUTE)
    for minutes in range(1, 30):
        parts = quietly(quietly(state, NOON + 10 * HOUR + minutes * MINUTE), NOON + 10 * HOUR + 30 * MINUTE)
        assert dump_save(at_once) == dump_save(parts)


def test_what_is_due_is_due_for_a_reason() -> None:
    state = adult()
    for _ in range(30):
        due = due_ms(state)
        after = advance(state, due).state
        turn = pending_turn(after)
        seen = _shown(after) != _shown(state)
        assert turn is not None or seen or due == state.body_clock_ms + LOOK_AHEAD_TICKS_MAX * MINUTE
        state = skip_turn(after, turn, "stopped").state if turn is not None else after


@pytest.mark.parametrize(
    ("minutes", "notices"), [(60, []), (61, [(NOON, NOON + MINUTE)]), (63, [(NOON, NOON + 3 * MINUTE)])]
)
def test_quiet_time_is_what_lies_before_the_longest_gap(
    monkeypatch: pytest.MonkeyPatch, minutes: int, notices: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr("tokenling.engine.life.GAP_TICKS_MAX", 60)
    step = advance(adult(), NOON + minutes * MINUTE)
    assert notices == [(notice["fromMs"], notice["toMs"]) for notice in step.notices]
    assert minutes - min(minutes, 60) == step.state.quiet_minutes
    assert GAP_TICKS_MAX == 400 * 1440


def test_a_reply_that_is_owed_is_not_lost_in_quiet_time_and_an_idle_turn_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenling.engine.life.GAP_TICKS_MAX", 60)
    asked = do(adult(), say(), NOON).state
    step = advance(asked, NOON + DAY)
    assert ("reactive", ()) == (step.turn and step.turn.kind, step.notices)
    idle = advance(replace(adult(), chatter=4), NOON + HOUR).state
    step = advance(idle, idle.body_clock_ms + DAY)
    assert ["quiet_time"] == [notice["kind"] for notice in step.notices]


def test_on_another_clock_every_deadline_keeps_its_distance_and_what_never_was_stays_so() -> None:
    state = adult(want_ms=NOON - 7, care_ms=NOON - 6, stroke_ms=NOON - 5, owner_ms=NOON - 4)
    after = rebased(state, NOON - DAY)
    moved = (after.want_ms, after.care_ms, after.stroke_ms, after.owner_ms)
    assert tuple(NOON - DAY - before for before in (7, 6, 5, 4)) == moved
    never = rebased(adult(want_ms=0, care_ms=0, stroke_ms=0), NOON - DAY)
    assert (0, 0, 0) == (never.want_ms, never.care_ms, never.stroke_ms)


@pytest.mark.parametrize(("slots", "lived"), [(0, True), (LATE_SLOTS_MAX - 1, True), (LATE_SLOTS_MAX, False)])
def test_exactly_the_last_slots_are_lived_late(slots: int, lived: bool) -> None:
    state = replace(awake(chatter=4), slot_day=TODAY)
    assert state.tick % 15 == 0
    assert lived is _is_lived(state, state.tick + slots * 15)
    assert lived is _is_lived(state, state.tick + slots * 15 + 14)


def test_the_first_slot_of_a_date_is_lived_however_late() -> None:
    assert _is_lived(replace(awake(chatter=4), slot_day=TODAY - 1), awake().tick + LATE_SLOTS_MAX * 15)


@pytest.mark.parametrize(("minutes", "owed"), [(60, True), (61, False)])
def test_a_page_is_given_up_when_it_is_later_than_the_longest_gap(
    monkeypatch: pytest.MonkeyPatch, minutes: int, owed: bool
) -> None:
    monkeypatch.setattr("tokenling.engine.life.GAP_TICKS_MAX", 60)
    fed = (Event("fed", NOON - HOUR, "plum"),)
    state = adult(owed=Owed(TODAY, NOON, 0), diary_day=TODAY, diary_since_ms=NOON - 2 * HOUR, events=fed)
    after, _ = lived_past_page(state, NOON + minutes * MINUTE)
    assert owed is (after.owed is not None)


def test_a_reply_owed_for_later_is_stopped_at() -> None:
    asked = Asked(1, NOON + 10 * MINUTE, awake().context_revision, "say")
    step = advance(adult(asked=asked, asked_count=1), NOON + HOUR)
    assert step.turn is not None
    assert (NOON + 10 * MINUTE, NOON + 10 * MINUTE) == (step.turn.at_ms, step.state.body_clock_ms)


def test_sleep_begins_and_ends_undisturbed() -> None:
    assert 0 == asleep_now(adult(disturbance=5), NOON).disturbance
    assert 0 == woken(asleep(adult(disturbance=5)), NOON).disturbance


def test_one_offset_is_promised_for_a_whole_segment_and_for_no_minute_beyond_in_a_shift() -> None:
    berlin = "Europe/Berlin"
    shift = 1_774_746_000_000 // MINUTE  # 2026-03-29 01:00 UTC
    first = shift // 360 * 360
    assert [first, shift - 1, shift] == [same_offset_until(berlin, tick) for tick in (first, shift - 1, shift)]
    assert first + 719 == same_offset_until(berlin, first + 360)
    assert first - 1 == same_offset_until(berlin, first - 300)
    for tick in range(first - 360, first + 720, 7):
        until = same_offset_until(berlin, tick)
        assert offset_minutes(berlin, tick) == offset_minutes(berlin, until)


@pytest.mark.parametrize("shift_ms", [1_774_746_000_000, 1_792_890_000_000])
def test_each_minute_around_a_shift_has_its_own_offset(shift_ms: int) -> None:
    """Berlin, forward on 2026-03-29 and back on 2026-10-25, each at 01:00 UTC."""
    berlin, shift = ZoneInfo("Europe/Berlin"), shift_ms // MINUTE
    for tick in range(shift - 800, shift + 800, 3):
        at = datetime.fromtimestamp(tick * 60, berlin).replace(tzinfo=UTC)
        assert int(at.timestamp()) // 60 == local_minute("Europe/Berlin", tick)


@pytest.mark.parametrize("sleeps", [False, True])
@pytest.mark.parametrize(("held", "part"), [(b.SLOW_BELOW, 4), (b.SLOW_BELOW + 1, 1)])
def test_meters_slow_down_at_the_mark_awake_and_asleep(held: int, part: int, sleeps: bool) -> None:
    awake_one = adult(body=replace(adult().body, fullness=held, hygiene=held))
    state = asleep(awake_one) if sleeps else awake_one
    after = advance(state, NOON + MINUTE).state
    pace = pace_of(state, 12)
    assert (held - pace.fullness // part, held - pace.hygiene // part) == (after.body.fullness, after.body.hygiene)


@pytest.mark.parametrize(("short_of", "stage"), [(1, "hatchling"), (0, "child")])
def test_a_hatchling_grows_when_all_its_minutes_are_lived(short_of: int, stage: str) -> None:
    state = replace(awake(), stage="hatchling", care=0, minutes_lived=b.GROWTH_CHILD - short_of)
    assert stage == grown(state, NOON).stage


def test_a_hue_is_a_draw_around_the_whole_circle() -> None:
    hues = [draw(f"pet-{n}", "character", "hue", 360) for n in range(50)]
    assert hues == [character_of(f"pet-{n}").hue for n in range(50)]


# --- wants, pages, turns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("late_ms", "wants"), [(0, False), (MINUTE, True)])
def test_an_owner_exactly_three_days_away_is_not_called(late_ms: int, wants: bool) -> None:
    hungry = replace(adult().body, fullness=100_000)
    owner_ms = NOON + HOUR - b.WANTS_END_AFTER_MINUTES * MINUTE + late_ms
    after = advance(adult(body=hungry, want_ms=0, owner_ms=owner_ms), NOON + HOUR).state
    assert wants is (after.want is not None)


@pytest.mark.parametrize(("early_ms", "wants"), [(MINUTE, False), (0, True)])
def test_company_is_wanted_after_exactly_seven_hours(early_ms: int, wants: bool) -> None:
    well = replace(adult().body, fullness=900_000, hygiene=900_000, warmth=900_000)
    owner_ms = NOON + HOUR - b.COMPANY_AFTER_MINUTES * MINUTE + early_ms
    after = advance(adult(body=well, want_ms=0, owner_ms=owner_ms), NOON + HOUR).state
    assert wants is (after.want is not None and after.want.kind == "company")


@pytest.mark.parametrize(("early_ms", "visits"), [(1, 0), (0, 1)])
def test_an_owner_back_after_exactly_an_hour_begins_a_visit(early_ms: int, visits: int) -> None:
    state = quietly(adult(events=(), owner_ms=NOON), NOON + 59 * MINUTE)
    came = do(state, care("lamp"), NOON + b.VISIT_GAP_MINUTES * MINUTE - early_ms).state
    assert visits == sum(event.kind == "came" for event in came.events)


@pytest.mark.parametrize(
    ("events", "since_ms", "page"),
    [
        ((), 0, False),
        ((Event("woke", NOON),), 0, False),
        ((Event("fed", NOON, "plum"),), NOON - 1, True),
        ((Event("fed", NOON, "plum"),), NOON, False),
    ],
)
def test_a_date_gets_a_page_for_what_happened_since_the_last_one(
    events: tuple[Event, ...], since_ms: int, page: bool
) -> None:
    step = advance(adult(events=events, diary_since_ms=since_ms), NOON + 10 * HOUR)
    assert page is (step.turn is not None)


def test_what_happens_in_the_minute_of_a_page_is_of_its_day() -> None:
    fed = (Event("fed", NOON - 1, "plum"),)
    at_ms = advance(adult(events=fed), NOON + 10 * HOUR).state.body_clock_ms
    for late_ms, page in ((0, True), (1, False)):
        events = (Event("fed", at_ms + late_ms, "plum"),)
        assert page is (advance(adult(events=events), at_ms).turn is not None)


def test_a_date_that_has_a_page_gets_no_other() -> None:
    evening = advance(adult(events=(Event("fed", NOON, "plum"),)), NOON + 10 * HOUR)
    assert evening.turn is not None
    written = apply_reply(evening.state, evening.turn, reply("A day.")).state
    fed = do(replace(written, diary_day=TODAY - 1), care("feed"), written.body_clock_ms + MINUTE).state
    after = quietly(fed, written.body_clock_ms + 30 * MINUTE)
    assert 1 == len(after.diary)
    assert after.owed is None


def test_words_asked_in_the_minute_of_a_page_come_first() -> None:
    revision = awake().context_revision
    owed = Owed(TODAY, NOON, revision)
    for at_ms, kind in ((NOON - 1, "reactive"), (NOON, "reactive"), (NOON + 1, "diary")):
        turn = pending_turn(adult(owed=owed, asked=Asked(1, at_ms, revision, "say"), asked_count=1))
        assert turn is not None
        assert kind == turn.kind


def test_a_turns_seed_is_a_draw_below_two_to_the_fifty_third() -> None:
    turn = do(awake(seed="fern"), say(), NOON).turn
    assert turn is not None
    digest = sha256(f"fern\nturn\n{turn.id}".encode()).digest()
    assert int.from_bytes(digest, "big") % 2**53 == turn.seed


# --- the owner's acts ------------------------------------------------------------------------------------------------


def test_a_return_is_greeted_once() -> None:
    back = do(quietly(adult(), NOON + 6 * HOUR), care("lamp"), NOON + 6 * HOUR).state
    greeted = answered(back, "There you are!")
    assert do(greeted, care("lamp"), NOON + 6 * HOUR + 5 * MINUTE).turn is None


@pytest.mark.parametrize(
    ("after_ms", "counted"), [(b.CARE_COUNTS_EVERY_MINUTES * MINUTE - 1, 1), (b.CARE_COUNTS_EVERY_MINUTES * MINUTE, 2)]
)
def test_care_counts_again_exactly_a_quarter_of_an_hour_later(after_ms: int, counted: int) -> None:
    state = adult(care=0, care_ms=0)
    first = answered(do(state, care("wash"), NOON).state, "Splash.")
    assert counted == do(first, care("wash"), NOON + after_ms).state.care


@pytest.mark.parametrize(
    ("after_ms", "asks"),
    [(b.STROKE_ASKS_EVERY_MINUTES * MINUTE - 1, False), (b.STROKE_ASKS_EVERY_MINUTES * MINUTE, True)],
)
def test_strokes_get_words_again_exactly_ten_minutes_later(after_ms: int, asks: bool) -> None:
    first = answered(do(adult(), care("stroke"), NOON).state, "Mm.")
    assert asks is (do(first, care("stroke"), NOON + after_ms).turn is not None)


def test_bonds_gain_what_the_character_makes_of_it() -> None:
    for seed in ("fern", "moss", "ivy"):
        state = awake(seed=seed)
        assert 100 * percent(state.character.traits, "bond") == bond_gain(state, 10_000)


@pytest.mark.parametrize(("after_ms", "hours"), [(HOUR - 1, 6), (HOUR, 0)])
def test_a_visit_has_just_begun_for_an_hour(after_ms: int, hours: int) -> None:
    back = do(quietly(adult(), NOON + 6 * HOUR), care("lamp"), NOON + 6 * HOUR).state
    assert hours == away_hours(back, NOON + 6 * HOUR + after_ms)


@pytest.mark.parametrize(("kind", "item"), [("toy", "ball"), ("gift", "shell"), ("catch", None)])
def test_what_is_no_food_fills_nobody(kind: str, item: str | None) -> None:
    asked = do(adult(), offer(kind, item), NOON).state
    assert asked.body.fullness == answered(asked, "[accept] Oh!").body.fullness


@pytest.mark.parametrize(("kind", "item", "told"), [("toy", "kite", "kite"), ("catch", None, "catch")])
def test_an_offer_is_told_by_its_item_or_its_kind(kind: str, item: str | None, told: str) -> None:
    after = do(adult(), offer(kind, item), NOON).state
    assert ("offered", told) == (after.events[-1].kind, after.events[-1].item)
    assert ("offer", told) == (after.effects[-1].kind, after.effects[-1].item)
    assert after.asked is not None
    assert told == after.asked.item


def test_the_favourite_toy_is_a_greater_joy() -> None:
    low = adult(body=replace(adult().body, mood=300_000), character=replace(adult().character, toy="kite"))
    moods = {toy: answered(do(low, offer("toy", toy), NOON).state, "[accept] Oh!").body.mood for toy in ("kite", "top")}
    assert {"kite": 300_000 + b.ACCEPT_MOOD["toy"] + b.FAVOURITE_MOOD, "top": 300_000 + b.ACCEPT_MOOD["toy"]} == moods


def test_an_owner_may_type_as_much_as_the_bound_before_it_is_cleaned_and_no_more() -> None:
    assert 1 == len(parse_command(say("a" + " " * (RAW_TEXT_MAX - 1))).text)
    with pytest.raises(CommandRefused, match="text_too_long"):
        parse_command(say("a" + " " * RAW_TEXT_MAX))


@pytest.mark.parametrize(("energy", "sleeps"), [(b.TUCK_SLEEP_BELOW - 1, True), (b.TUCK_SLEEP_BELOW, False)])
def test_a_tucked_pet_falls_asleep_below_the_mark_not_at_it(energy: int, sleeps: bool) -> None:
    state = adult(body=replace(adult().body, energy=energy))
    assert sleeps is do(state, care("tuck"), NOON).state.asleep


@pytest.mark.parametrize(("early_ms", "counts"), [(1, True), (0, False)])
def test_a_result_comes_before_the_games_end_not_at_it(early_ms: int, counts: bool) -> None:
    state = answered(do(adult(), offer("catch"), NOON + 500).state, "[accept] Yes!")
    assert state.game is not None
    at_ms = state.game.expires_ms - early_ms
    result = {"kind": "game", "gameId": state.game.id, "score": 3}
    if counts:
        assert 3 == do(state, result, at_ms).state.best_score
        return
    with pytest.raises(CommandRefused, match="unknown_game"):
        do(state, result, at_ms)


def test_no_pet_is_born_or_moves_house_at_a_time_that_no_clock_shows() -> None:
    for now_ms in (0, 946_684_799_999, 2**53):
        with pytest.raises(ValueError, match="expected an instant"):
            egg(at_ms=now_ms)
        with pytest.raises(ValueError, match="expected an instant"):
            rehome(awake(), mode="local", time_zone="Etc/UTC", brain_id="", now_ms=now_ms)


def test_effects_that_count_nothing_say_none() -> None:
    step = do(adult(), care("lamp"), NOON)
    assert [0] == [effect.get("n", 0) for effect in effects_of(step.state) if effect["kind"] == "lamp"]


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "words"),
    [(5, "5 hours"), (23, "23 hours"), (24, "a day"), (47, "a day"), (48, "2 days"), (71, "2 days"), (240, "10 days")],
)
def test_an_absence_in_words(hours: int, words: str) -> None:
    assert words == away_words(hours)


def test_lately_ends_with_the_minute_of_a_late_page() -> None:
    events = (Event("fed", NOON, "plum"), Event("washed", NOON + 1))
    state = adult(owed=Owed(TODAY, NOON, 0), events=events, body_clock_ms=NOON + HOUR)
    turn = pending_turn(state)
    assert turn is not None
    header = build_request(state, turn).header
    assert "was fed plum" in header
    assert "had a bath" not in header


def test_a_page_is_told_what_happened_since_the_last_one() -> None:
    events = (Event("fed", NOON - HOUR, "soup"), Event("fed", NOON - HOUR + 1, "plum"))
    state = adult(owed=Owed(TODAY, NOON, 0), events=events, diary_since_ms=NOON - HOUR)
    turn = pending_turn(state)
    assert turn is not None
    assert ("(Today: was fed plum.)",) == build_request(state, turn).lines


def test_a_game_has_a_name_of_one_letter_at_least() -> None:
    assert "g" == parse_command({"kind": "game", "gameId": "g", "score": 1}).game_id
    with pytest.raises(CommandRefused, match="out_of_range"):
        parse_command({"kind": "game", "gameId": "", "score": 1})


def test_what_comes_to_mind_is_counted_in_a_reply_only() -> None:
    mind = (Memory("Sam likes tea", NOON),)
    replied = answered(do(adult(memories=mind), say("hello"), NOON).state, "Hello!")
    assert [1] == [memory.recalled for memory in replied.memories]
    idle = advance(replace(adult(memories=mind), chatter=4), NOON + HOUR)
    assert idle.turn is not None
    assert "idle" == idle.turn.kind
    after = apply_reply(idle.state, idle.turn, reply("La la."))
    assert [0] == [memory.recalled for memory in after.state.memories]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("the kite is in the attic", "attic"),
        ("and the you are", ""),
        ("x" * 24 + " tea", "x" * 24),
        ("x" * 25 + " tea", "tea"),
        ("\u00e9" * 12 + " tea", "\u00e9" * 12),
        ("\u00e9" * 13 + " tea", "tea"),
    ],
)
def test_a_topic_is_the_longest_telling_word_of_at_most_twenty_four_bytes(text: str, topic: str) -> None:
    assert topic == topic_of(text)


@pytest.mark.parametrize(
    ("text", "words", "tags"),
    [
        ("a [" + "x" * 64 + "] b", "a b", ("x" * 64,)),
        ("a [" + "x" * 65 + "] b", "a b", ()),
        ("one[happy]two", "one two", ("happy",)),
        ("a [" + "x" * 64, "a", ()),
        ("a [" + "x" * 65, "a " + "x" * 65, ()),
    ],
)
def test_a_tag_parts_words_and_has_at_most_sixty_four_code_points(text: str, words: str, tags: tuple[str, ...]) -> None:
    assert (words, tags) == parted(text)


# --- saves -----------------------------------------------------------------------------------------------------------


def test_replacements_without_a_turn_are_refused_and_with_a_page_are_not() -> None:
    page = adult(owed=Owed(TODAY, NOON, 0), cancels=1)
    assert page == load_save(dump_save(page))
    with pytest.raises(SaveRefused) as refused:
        load_save(dump_save(adult(cancels=1)))
    assert ("does_not_fit", "/cancels") == (refused.value.code, refused.value.path)


def test_a_float_in_the_place_of_a_list_is_refused_as_a_float() -> None:
    data = dump_save(adult(chat=())).replace(b'"chat":[]', b'"chat":1.5')
    with pytest.raises(SaveRefused) as refused:
        load_save(data)
    assert ("float", "/chat") == (refused.value.code, refused.value.path)


def test_a_save_may_be_as_large_as_its_bound_and_no_larger() -> None:
    data = dump_save(adult())
    assert adult() == load_save(data + b" " * (SAVE_BYTES_MAX - len(data)))
    with pytest.raises(SaveRefused, match="too_large"):
        load_save(data + b" " * (SAVE_BYTES_MAX - len(data) + 1))


@pytest.mark.parametrize("number", [INTEGER_MAX, -INTEGER_MAX])
def test_an_integer_may_be_as_far_from_nothing_as_javascript_holds(number: int) -> None:
    data = dump_save(adult())[:-1] + f',"later":{number}}}'.encode()
    assert f'"later":{number}'.encode() in dump_save(load_save(data))
    beyond = number + (1 if number > 0 else -1)
    with pytest.raises(SaveRefused) as refused:
        load_save(dump_save(adult())[:-1] + f',"later":{beyond}}}'.encode())
    assert "integer_too_large" == refused.value.code
