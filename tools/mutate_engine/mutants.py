"""Small faults in Python source: every place where one fits, and the source with one of them in it.

Left out: type annotations, docstrings, decorators (cache sizes), and assertions: a broken invariant asserts, and
without another fault it never does.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.RShift: ast.LShift,
}  # fmt: skip
DELETED = (ast.Raise, ast.Continue, ast.Break, ast.AugAssign)
"""Statements whose loss is a fault."""
SKIPPED = (ast.Assert, ast.AnnAssign)
"""A declaration's annotation holds no behaviour; the default of one is seen in its own right."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: the `number`-th of its module. `source_digest` ties what is known to the source."""

    module: str
    number: int
    line: int
    kind: str
    before: str
    after: str
    source_digest: str

    @property
    def id(self) -> str:
        """Names it among all runs over the same source."""
        return f"{self.module}.{self.number}.{self.source_digest}"


@dataclass(frozen=True, slots=True)
class Site:
    """A place for a fault: `change` puts it into `node` (or a copy of it); `shown` is what a reader should see."""

    node: ast.AST
    shown: ast.AST
    kind: str
    change: Callable[[ast.AST], None]


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every fault that fits the source of a module."""
    digest = sha256(source.encode()).hexdigest()[:12]
    return [_mutant(module, number, site, digest) for number, site in enumerate(_sites(ast.parse(source)))]


def mutated(source: str, number: int) -> str:
    """The source with the fault of that number in it."""
    tree = ast.parse(source)
    site = list(_sites(tree))[number]
    site.change(site.node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _mutant(module: str, number: int, site: Site, digest: str) -> Mutant:
    after = ""
    if site.kind != "delete":
        changed = copy.deepcopy(site.node)
        site.change(changed)
        after = ast.unparse(ast.fix_missing_locations(changed)).partition("\n")[0]
    before = ast.unparse(site.shown).partition("\n")[0]
    return Mutant(module, number, getattr(site.shown, "lineno", 0), site.kind, before, after, digest)


# --- places ----------------------------------------------------------------------------------------------------------


def _sites(tree: ast.AST) -> Iterator[Site]:
    for node in _visited(tree):
        yield from _sites_at(node)
        yield from _deletions(node)


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in which faults are looked for, in order."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST) and not isinstance(inner, SKIPPED):
                yield from _visited(inner)


def _sites_at(node: ast.AST) -> Iterator[Site]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                if type(op) in COMPARE:
                    yield Site(node, node, "compare", _compare(at))
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_type_union(node):
            yield Site(node, node, "arithmetic", _arithmetic)
        case ast.BoolOp():
            yield Site(node, node, "boolean", _boolean)
        case ast.If() | ast.While() | ast.IfExp():
            yield Site(node, node, "negate", _negate)
        case ast.Constant(value=bool()):
            yield Site(node, node, "flip", _flip)
        case ast.Constant(value=int()):
            yield Site(node, node, "number", _number)


def _deletions(node: ast.AST) -> Iterator[Site]:
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        for at, statement in enumerate(block if isinstance(block, list) else ()):
            is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if isinstance(statement, DELETED) or is_call:
                yield Site(node, statement, "delete", _delete(name, at))


def _is_type_union(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.BitOr)


# --- changes ---------------------------------------------------------------------------------------------------------


def _compare(at: int) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Compare)
        node.ops[at] = COMPARE[type(node.ops[at])]()

    return change


def _arithmetic(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp)
    node.op = ARITHMETIC[type(node.op)]()


def _boolean(node: ast.AST) -> None:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _negate(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.While | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _flip(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    node.value = not node.value


def _number(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    node.value += 1


def _delete(name: str, at: int) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        getattr(node, name)[at] = ast.Pass()

    return change
