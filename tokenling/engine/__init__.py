"""The pet's rules: pure functions of (state, input, time) to new state and effects. Integers only, no clock, no I/O.

Reading order: bounds, lists, balance; state, codec, saves; body, turns, life; commands, owner; tags, prompts, replies.
"""

from tokenling.engine.commands import Care, Command, GameResult, Offer, Say, Settings, parse_command
from tokenling.engine.errors import CommandRefused, EngineError, SaveRefused, StaleTurn, TurnsPending
from tokenling.engine.jsonvalue import JsonObject, JsonValue
from tokenling.engine.life import Step, advance, due_ms
from tokenling.engine.lists import LISTS
from tokenling.engine.owner import apply_command
from tokenling.engine.pets import new_pet, rehome
from tokenling.engine.prompts import PROMPT_VERSION, build_request
from tokenling.engine.replies import SKIP_REASONS, apply_reply, skip_turn
from tokenling.engine.request import (
    CONTEXT_TOKENS_MAX,
    LOOKUPS_MAX,
    GenerationRequest,
    Reply,
    first_kept_line,
    insertion_text,
    prompt_text,
)
from tokenling.engine.saves import ENGINE_VERSION, SAVE_VERSION, dump_save, load_save, save_schema
from tokenling.engine.state import Hosting, State
from tokenling.engine.turns import Turn, TurnKind, pending_turn
from tokenling.engine.views import body_clock_ms, context_revision_of, effects_of, game_of, hosting_of

__all__ = [
    "CONTEXT_TOKENS_MAX",
    "ENGINE_VERSION",
    "LISTS",
    "LOOKUPS_MAX",
    "PROMPT_VERSION",
    "SAVE_VERSION",
    "SKIP_REASONS",
    "Care",
    "Command",
    "CommandRefused",
    "EngineError",
    "GameResult",
    "GenerationRequest",
    "Hosting",
    "JsonObject",
    "JsonValue",
    "Offer",
    "Reply",
    "SaveRefused",
    "Say",
    "Settings",
    "StaleTurn",
    "State",
    "Step",
    "Turn",
    "TurnKind",
    "TurnsPending",
    "advance",
    "apply_command",
    "apply_reply",
    "body_clock_ms",
    "build_request",
    "context_revision_of",
    "due_ms",
    "dump_save",
    "effects_of",
    "first_kept_line",
    "game_of",
    "hosting_of",
    "insertion_text",
    "load_save",
    "new_pet",
    "parse_command",
    "pending_turn",
    "prompt_text",
    "rehome",
    "save_schema",
    "skip_turn",
]
