"""A whole conversation with a brain, through the engine: what a stranger would see."""

from collections.abc import Callable, Iterator

from tokenling.engine import (
    GenerationRequest,
    JsonObject,
    Reply,
    advance,
    apply_command,
    apply_reply,
    build_request,
    new_pet,
    parse_command,
    pending_turn,
    skip_turn,
)

MINUTE_MS = 60_000
MORNING_MS = 1_781_593_200_000
"""2026-06-16, 07:00 UTC."""
LINES_MAX = 40
"""A guess: nobody reads a longer sample."""


def converse(ask: Callable[[GenerationRequest], Reply], seed: int, acts: list[str]) -> Iterator[str]:
    """The conversation, line by line. An act is a line said, or `/feed plum`, `/offer toy ball`, `/wait 90`."""
    now_ms = MORNING_MS
    state = new_pet(
        pet_seed=f"talk{seed}", name="Pip", time_zone="UTC", brain_id="sprout", weather_seed=f"w{seed}", now_ms=now_ms
    )
    for act in acts[:LINES_MAX]:
        now_ms += MINUTE_MS * (int(act.split()[1]) if act.startswith("/wait") else 1)
        while (turn := pending_turn(state := advance(state, now_ms).state)) is not None:
            if turn.kind == "idle" and not act.startswith("/wait"):
                state = skip_turn(state, turn, "owner_came").state
                continue
            reply = ask(build_request(state, turn))
            state = apply_reply(state, turn, reply).state
            yield f"Pip:{'' if reply.text.startswith(' ') else ' '}{reply.text}"
        yield f"> {act}"
        if not act.startswith("/wait"):
            state = apply_command(state, parse_command(command_of(act)), now_ms).state
        while (turn := pending_turn(state := advance(state, now_ms).state)) is not None:
            reply = ask(build_request(state, turn))
            state = apply_reply(state, turn, reply).state
            yield f"Pip:{'' if reply.text.startswith(' ') else ' '}{reply.text}"


def command_of(act: str) -> JsonObject:
    """The engine's command for an act."""
    if not act.startswith("/"):
        return {"kind": "say", "text": act}
    what, *rest = act[1:].split()
    command: JsonObject = (
        {"kind": "offer", "offer": rest.pop(0)} if what == "offer" else {"kind": "care", "action": what}
    )
    return command | ({"item": rest[0]} if rest else {})
