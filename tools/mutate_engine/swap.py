"""A fault put into an engine that is loaded already: one function's code, swapped. Nothing else may differ."""

import ast
import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from tools.mutate_engine.mutants import mutated

CO_OPTIMIZED = 1
"""Set in the code of a function, not in that of a module or class."""


def changed_function(source: str, number: int) -> tuple[str, CodeType] | None:
    """The one function or method that a fault changes, with its new code; None when something else differs too."""
    before = compile(ast.unparse(ast.parse(source)), "engine", "exec")
    after = compile(mutated(source, number), "engine", "exec")
    old, new = dict(_functions(before)), dict(_functions(after))
    if old.keys() != new.keys() or _skeleton(before) != _skeleton(after):
        return None
    changed = [name for name, code in new.items() if code != old[name]]
    return (changed[0], new[changed[0]]) if len(changed) == 1 else None


def swap(module: ModuleType, name: str, code: CodeType) -> bool:
    """Give a loaded function other code; False when it cannot be done in place."""
    function = _resolved(module, name)
    if function is None or function.__code__.co_freevars != code.co_freevars:
        return False
    function.__code__ = code
    return True


def _functions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The named functions of a module and of its classes."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if not inner.co_flags & CO_OPTIMIZED:
                yield from _functions(inner)
            elif not inner.co_name.startswith("<"):
                yield inner.co_qualname, inner


def _skeleton(code: CodeType) -> tuple[object, ...]:
    """All of a module's or class's code but the bodies of its functions."""
    consts = tuple(
        inner if not isinstance(inner, CodeType) or inner.co_name.startswith("<")
        else inner.co_qualname if inner.co_flags & CO_OPTIMIZED else _skeleton(inner)
        for inner in code.co_consts
    )  # fmt: skip
    return code.co_code, consts, code.co_names


def _resolved(module: ModuleType, name: str) -> FunctionType | None:
    found: object = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    if isinstance(found, functools._lru_cache_wrapper):
        found = found.__wrapped__
    return found if isinstance(found, FunctionType) else None
