"""What the engine may cost, in processor time of this thread, so that a busy machine does not matter."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from engine_scenes import DAY, NOON, awake, do, live, quietly, say

from tokenling.engine import apply_command, build_request, due_ms, dump_save, load_save, parse_command, pending_turn

THIRTY_DAYS_MS = 400
COMMAND_MS = 1
SAVE_MS = 5


def cost_ms(work: Callable[[], object], times: int = 15) -> float:
    taken = []
    for _ in range(times):
        began_ns = time.thread_time_ns()
        work()
        taken.append((time.thread_time_ns() - began_ns) / 1_000_000)
    return median(taken)


def test_thirty_days_without_turns_take_at_most_400_ms() -> None:
    state = replace(awake(), stage="adult")
    assert quietly(state, NOON + 30 * DAY).minutes_lived == 43_200
    assert cost_ms(lambda: quietly(state, NOON + 30 * DAY), 3) <= THIRTY_DAYS_MS


def test_a_command_a_prompt_and_a_look_ahead_take_at_most_a_millisecond() -> None:
    state = live(awake(chatter=1), NOON + 3 * DAY)
    command = parse_command(say("Where is the kite?"))
    said = do(state, say(), state.body_clock_ms).state
    turn = pending_turn(said)
    assert turn is not None
    assert cost_ms(lambda: apply_command(state, command, state.body_clock_ms)) <= COMMAND_MS
    assert cost_ms(lambda: build_request(said, turn)) <= COMMAND_MS
    assert cost_ms(lambda: due_ms(state)) <= COMMAND_MS


def test_a_lived_in_save_is_written_and_read_in_a_few_milliseconds() -> None:
    state = live(awake(chatter=2), NOON + 20 * DAY)
    data = dump_save(state)
    assert cost_ms(lambda: dump_save(state)) <= SAVE_MS
    assert cost_ms(lambda: load_save(data)) <= 2 * SAVE_MS
