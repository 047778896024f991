"""What the owner does: commands applied to a state that has lived up to now."""

from tokenling.engine import balance
from tokenling.engine.balance import HOUR
from tokenling.engine.bounds import METER_MAX, MINUTES_OF_DAY, SNACKS_MAX, TICK_MS
from tokenling.engine.character import percent
from tokenling.engine.commands import ITEMS_BY_OFFER, Care, Command, GameResult, Offer, Say, Settings
from tokenling.engine.draws import draw
from tokenling.engine.errors import CommandRefused, TurnsPending
from tokenling.engine.journal import changed, counted, with_effect, with_event, with_line
from tokenling.engine.life import Step, advance, asleep_now, grown, hatched, lived_past_page, step_of
from tokenling.engine.lists import FOODS
from tokenling.engine.records import replace
from tokenling.engine.state import OpenOffer, State
from tokenling.engine.turns import ask, ask_anew, moved_context
from tokenling.engine.zones import local_minute

_EVENT_BY_CARE = {"feed": "fed", "wash": "washed", "tuck": "tucked", "stroke": "stroked", "lamp": "lamp"}
_WANT_BY_CARE = {"feed": "food", "wash": "wash", "tuck": "warmth", "lamp": "warmth"}


def apply_command(state: State, command: Command, now_ms: int) -> Step:
    """The owner's act done at `now_ms`, after the pet has lived up to there.

    Raises `TurnsPending` while an idle turn is due (skip it with reason `owner_came`), `CommandRefused` when the
    command does not fit the state. A diary page that is late does not block: the body lives on to now and the page
    stays owed. A reactive turn does not block either: the act is done to the body as it stands at that turn.
    """
    lived = advance(state, now_ms)
    here, notices = lived.state, lived.notices
    if lived.turn is not None and lived.turn.kind == "idle":
        raise TurnsPending(lived.turn.id)
    if lived.turn is not None and lived.turn.kind == "diary":
        here, more = lived_past_page(here, now_ms)
        notices += more
    at_ms = max(now_ms, here.body_clock_ms)
    after = _applied(_visited(here, at_ms), command, at_ms)
    final = advance(after, at_ms)
    return step_of(state, final.state, notices + final.notices)


def _applied(state: State, command: Command, at_ms: int) -> State:
    match command:
        case Say():
            return _say(state, command, at_ms)
        case Care():
            return _care(state, command, at_ms)
        case Offer():
            return _offer(state, command, at_ms)
        case GameResult():
            return _game_result(state, command, at_ms)
    return _settings(state, command, at_ms)


# --- a visit -------------------------------------------------------------------------------------------------


def _visited(state: State, at_ms: int) -> State:
    """The owner is here: an egg hatches, a visit begins after an absence, a habit is noticed."""
    if state.stage == "egg":
        state = hatched(state, at_ms)
    away_minutes = max(0, at_ms - state.owner_ms) // TICK_MS
    state = replace(state, owner_ms=max(at_ms, state.owner_ms))
    if state.want is not None and state.want.kind == "company":
        state = replace(state, want=None)
    if away_minutes < balance.VISIT_GAP_MINUTES:
        return state
    habit_hour = _habit_hour(state, at_ms)
    state = with_event(state, "came", at_ms, n=away_minutes // HOUR)
    if habit_hour is not None:
        state = with_event(state, "habit", at_ms, str(habit_hour))
    return state


def _habit_hour(state: State, at_ms: int) -> int | None:
    """The local hour of this visit, when visits began in the same hour on two earlier local days."""
    day, minute = divmod(local_minute(state.hosting.time_zone, at_ms // TICK_MS), MINUTES_OF_DAY)
    days: list[int] = []
    for event in state.events:
        if event.kind != "came":
            continue
        then, at = divmod(local_minute(state.hosting.time_zone, event.at_ms // TICK_MS), MINUTES_OF_DAY)
        if then < day and at // HOUR == minute // HOUR and then not in days:
            days.append(then)
    return minute // HOUR if len(days) >= balance.HABIT_DAYS else None


def away_hours(state: State, at_ms: int) -> int:
    """Hours that the owner was away, when the visit that `at_ms` belongs to has just begun; 0 otherwise."""
    for event in reversed(state.events):
        if event.kind == "came" and abs(at_ms - event.at_ms) < HOUR * TICK_MS:
            return event.n
    return 0


def _greeting(state: State, at_ms: int) -> State:
    """On its owner's return the pet speaks first, whatever the owner did."""
    long_away = away_hours(state, at_ms) * HOUR >= balance.RETURN_GAP_MINUTES
    just_began = bool(state.events) and any(
        event.kind == "came" and event.at_ms == at_ms for event in state.events[-3:]
    )
    return ask(state, "return", at_ms) if long_away and just_began and not state.asleep else state


# --- the five commands ---------------------------------------------------------------------------------------


def bond_gain(state: State, gain: int) -> int:
    return gain * percent(state.character.traits, "bond") // 100


def _stirred(state: State, by: str) -> State:
    if not state.asleep:
        return state
    return replace(state, disturbance=min(METER_MAX, state.disturbance + balance.DISTURB[by]))


def _say(state: State, command: Say, at_ms: int) -> State:
    before = state
    state = with_line(state, "owner", command.text, at_ms)
    state = with_event(state, "talked", at_ms)
    state = replace(state, body=changed(state.body, mood=balance.TALK_MOOD, bond=bond_gain(state, balance.TALK_BOND)))
    state = with_effect(_stirred(state, "say"), "hear", at_ms)
    return moved_context(ask_anew(state, "say", at_ms), before)


def _care(state: State, command: Care, at_ms: int) -> State:
    action = command.action
    item = command.item
    if action == "feed" and not item:
        item = _drawn_item(state, FOODS)
    state = _cared_body(state, action, item)
    if action == "lamp":
        state = replace(state, lamp=not state.lamp)
        item = "on" if state.lamp else "off"
    if state.want is not None and state.want.kind == _WANT_BY_CARE.get(action):
        state = replace(state, want=None)
    state = _counted_care(state, action, at_ms)
    state = with_event(state, _EVENT_BY_CARE[action], at_ms, item)
    state = with_effect(_stirred(state, action), action, at_ms, item)
    return _asked_by_care(state, action, item, at_ms)


def _cared_body(state: State, action: str, item: str) -> State:
    mood, bond = balance.CARE_MOOD[action], bond_gain(state, balance.CARE_BOND[action])
    body = state.body
    if action == "feed":
        favourite = item == state.character.food
        gain = balance.FAVOURITE_FULLNESS if favourite else balance.FEED_FULLNESS
        body = changed(body, fullness=gain, mood=favourite * balance.FAVOURITE_MOOD)
        state = replace(state, snacks=min(SNACKS_MAX, state.snacks + balance.FEED_SNACKS))
    elif action == "wash":
        body = changed(body, hygiene=balance.WASH_HYGIENE)
    elif action == "tuck":
        body = changed(body, warmth=balance.TUCK_WARMTH)
        state = replace(state, tucked=True)
    return replace(state, body=changed(body, mood=mood, bond=bond))


def _counted_care(state: State, action: str, at_ms: int) -> State:
    """Care counts for growth once in a quarter of an hour: many strokes are one."""
    if action == "lamp" or at_ms - state.care_ms < balance.CARE_COUNTS_EVERY_MINUTES * TICK_MS:
        return state
    return grown(replace(state, care=counted(state.care), care_ms=at_ms), at_ms)


def _asked_by_care(state: State, action: str, item: str, at_ms: int) -> State:
    """Words for a care: always for a meal, a wash or a blanket, now and then for strokes, never for the lamp."""
    if state.asleep:
        return state
    if action == "stroke" and at_ms - state.stroke_ms >= balance.STROKE_ASKS_EVERY_MINUTES * TICK_MS:
        state = replace(state, stroke_ms=at_ms)
        return ask(state, "stroke", at_ms)
    if action in ("stroke", "lamp"):
        return _greeting(state, at_ms)
    state = ask(state, action, at_ms, item)
    if action == "tuck" and state.body.energy < balance.TUCK_SLEEP_BELOW:
        state = asleep_now(state, at_ms)
    return state


def _drawn_item(state: State, items: tuple[str, ...]) -> str:
    return items[draw(state.pet_seed, "item", str(state.next_effect), len(items))] if items else ""


def _offer(state: State, command: Offer, at_ms: int) -> State:
    if command.offer == "catch" and state.game is not None:
        raise CommandRefused("game_running", "/offer")
    before = state
    item = command.item or _drawn_item(state, ITEMS_BY_OFFER[command.offer])
    expires_ms = at_ms + balance.OFFER_MINUTES * TICK_MS
    offer = OpenOffer(command.offer, item, at_ms, expires_ms, asked=not state.asleep)
    state = with_event(replace(state, offer=offer), "offered", at_ms, item or command.offer)
    state = with_effect(state, "offer", at_ms, item or command.offer)
    if not state.asleep:
        state = ask_anew(state, "offer", at_ms, item or command.offer)
    return moved_context(state, before)


def _game_result(state: State, command: GameResult, at_ms: int) -> State:
    game = state.game
    if game is None or game.id != command.game_id or game.expires_ms <= at_ms:
        raise CommandRefused("unknown_game", "/gameId")
    body = changed(
        state.body, mood=balance.GAME_MOOD, energy=balance.GAME_ENERGY, bond=bond_gain(state, balance.GAME_BOND)
    )
    state = replace(
        state,
        body=body,
        game=None,
        games=counted(state.games),
        best_score=max(state.best_score, command.score),
    )
    state = with_event(state, "caught", at_ms, n=command.score)
    state = with_effect(state, "game_end", at_ms, n=command.score)
    return ask(state, "game", at_ms, n=command.score)


def _settings(state: State, command: Settings, at_ms: int) -> State:
    before = state
    if command.name is not None and command.name != state.name:
        state = with_event(replace(state, name=command.name), "named", at_ms)
    if command.time_zone is not None:
        state = replace(state, hosting=replace(state.hosting, time_zone=command.time_zone))
    if command.chatter is not None:
        state = replace(state, chatter=command.chatter)
    return moved_context(_greeting(state, at_ms), before)
