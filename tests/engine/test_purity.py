"""The engine is pure: integers only, no clock, no chance but draws, nothing that differs between Python builds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokenling import engine

SOURCES = sorted(Path(engine.__file__).parent.glob("*.py"))
BANNED_IMPORTS = {"math", "random", "time", "os", "sys", "io", "secrets", "uuid", "locale", "asyncio", "threading"}
BANNED_CALLS = {"hash", "float", "open", "print", "input", "eval", "exec", "round", "sum_float", "id", "set"}
BANNED_METHODS = {
    "lower", "upper", "casefold", "title", "capitalize", "swapcase", "isprintable", "isalpha", "isalnum", "isdigit",
    "isdecimal", "isnumeric", "isspace", "isupper", "islower", "isidentifier", "normalize", "now", "today", "utcnow",
    "localtime", "splitlines",
}  # fmt: skip
CLASSES_OF_UNICODE = ("\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "\\b", "\\B")


def faults_of(source: str) -> list[str]:
    return sorted(fault for node in ast.walk(ast.parse(source)) for fault in _faults(node))


def _faults(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
        yield "float literal"
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
        yield "true division"
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
        yield "power"
    if isinstance(node, ast.Import):
        yield from (f"import {name.name}" for name in node.names if name.name.split(".")[0] in BANNED_IMPORTS)
    if isinstance(node, ast.ImportFrom) and not _in_memory(node):
        yield from (f"import {name}" for name in [node.module or ""] if name.split(".")[0] in BANNED_IMPORTS)
    if isinstance(node, ast.Set | ast.SetComp):
        yield "set"
    if isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter):
        yield "set iteration"
    if isinstance(node, ast.Call):
        yield from _call_faults(node)


def _in_memory(node: ast.ImportFrom) -> bool:
    """`from io import BytesIO` alone: bytes that are here already, for those who take nothing but a file."""
    return node.module == "io" and [name.name for name in node.names] == ["BytesIO"]


def _call_faults(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
        yield f"call {node.func.id}"
    if isinstance(node.func, ast.Attribute) and node.func.attr in BANNED_METHODS:
        yield f"method {node.func.attr}"
    if isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and node.args:
        pattern = node.args[0]
        text = pattern.value if isinstance(pattern, ast.Constant) else ""
        yield from (f"class {mark}" for mark in CLASSES_OF_UNICODE if isinstance(text, str) and mark in text)


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"set", "frozenset"}
    return isinstance(node, ast.Set | ast.SetComp)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_module_of_the_engine_is_pure(path: Path) -> None:
    assert faults_of(path.read_text()) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sets_that_a_module_names_are_never_iterated(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_set(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    iterated = {
        node.iter.id
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name)
    }
    assert named & iterated == set()


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("x = 0.5", "float literal"),
        ("x = 1 / 2", "true division"),
        ("x /= 2", "true division"),
        ("x = 2 ** n", "power"),
        ("import math", "import math"),
        ("from os.path import join", "import os.path"),
        ("for x in frozenset(y): pass", "set iteration"),
        ("x = [a for a in set(b)]", "call set"),
        ("x = {1, 2}", "set"),
        ("hash(x)", "call hash"),
        ("x.lower()", "method lower"),
        ("datetime.now()", "method now"),
        (r"re.compile('\\w+')", "class \\w"),
    ],
)
def test_the_lint_finds_what_it_is_for(source: str, fault: str) -> None:
    assert fault in faults_of(source)
