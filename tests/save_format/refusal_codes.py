"""The refusal codes that the engine's sources can raise for a save."""

import ast
import inspect

from tokenling.engine import codec, saves

RULES = {"_date_rule", "_zone_rule", "load", "_check_engine", "load_save", "_check_whole"}
NAMES = {"v", "engine", "hosting", "egg", "extra", "a", "z", "A", "Z"}
"""Strings in those functions that are no codes."""


def codes_in_sources():
    """Every code given to `SaveRefused` or `Wrong`, or returned by a rule of `saves` and `codec`."""
    nodes = [node for module in (codec, saves) for node in ast.walk(ast.parse(inspect.getsource(module)))]
    found = {text for node in nodes if _raises(node) for text in _strings(node.args[0])}
    found |= {
        text for node in nodes if isinstance(node, ast.FunctionDef) and node.name in RULES for text in _strings(node)
    }
    return sorted(text for text in found if text.isidentifier() and text not in NAMES)


def _raises(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"SaveRefused", "Wrong"}


def _strings(node):
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)}
