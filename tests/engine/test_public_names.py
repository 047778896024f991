"""The engine's face: what other rooms may import, and that nothing else is needed."""

import ast
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

from tokenling import engine
from tokenling.engine import LISTS

ENGINE = Path(engine.__file__).parent

PUBLIC = """
    CONTEXT_TOKENS_MAX ENGINE_VERSION LISTS LOOKUPS_MAX PROMPT_VERSION SAVE_VERSION SKIP_REASONS
    Care Command CommandRefused EngineError GameResult GenerationRequest Hosting JsonObject JsonValue Offer Reply
    SaveRefused Say Settings StaleTurn State Step Turn TurnKind TurnsPending
    advance apply_command apply_reply body_clock_ms build_request context_revision_of due_ms dump_save effects_of
    first_kept_line game_of hosting_of insertion_text load_save new_pet parse_command pending_turn prompt_text rehome
    save_schema skip_turn
"""


def test_the_public_names_are_these() -> None:
    assert sorted(PUBLIC.split()) == sorted(engine.__all__)


def test_fifteen_lists_are_closed_and_without_repeats() -> None:
    assert len(LISTS) == 15
    for name, members in LISTS.items():
        assert len(set(members)) == len(members), name


def test_every_record_is_frozen_and_slotted() -> None:
    for name in (path.stem for path in ENGINE.glob("*.py")):
        for held in vars(import_module(f"tokenling.engine.{name}")).values():
            if isinstance(held, type) and is_dataclass(held):
                assert "__slots__" in vars(held), held
                assert held.__dataclass_params__.frozen, held  # type: ignore[attr-defined]


def test_the_engine_imports_the_standard_library_and_itself_only() -> None:
    allowed = {"ast", "collections", "dataclasses", "datetime", "functools", "hashlib", "importlib", "io", "json",
               "operator", "pkgutil", "re", "types", "typing", "zoneinfo", "tokenling"}  # fmt: skip
    for path in ENGINE.glob("*.py"):
        allowed_here = allowed | ({"orjson"} if path.name == "json_text.py" else set())
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] in allowed_here, (path.name, name)
                assert not name.startswith("tokenling.") or name.startswith("tokenling.engine"), (path.name, name)
