"""The small changes that a test should notice: comparisons, boundaries, arithmetic, booleans, constants, what
is returned, statements and arguments left out, and the ways out of loops.

Left alone is what no test can notice here: decorators, annotations, words, what only an assertion about the
arguments or the platform's default would need (`zip(strict=)`, `encoding=`), and what runs as a script alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
LEFT_ALONE = frozenset({"strict", "encoding"})
"""Keywords that change nothing for arguments as they should be, where text is UTF-8."""

Change = tuple[str, Callable[[], None]]
"""How it is called, and what makes it."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the one with this number among all of its file.

    Attributes:
        scope: the first lines of the functions around it, innermost first; none where it is read on import.
    """

    file: Path
    number: int
    line: int
    what: str
    scope: tuple[int, ...]


def mutants(file: Path) -> list[Mutant]:
    """Every change that can be made in a file."""
    tree = ast.parse(file.read_text("utf-8"))
    return [
        Mutant(file, number, node.lineno, what, scope)  # type: ignore[attr-defined]
        for number, (node, scope, (what, _)) in enumerate(_all(tree))
    ]


def mutated(mutant: Mutant) -> ast.Module:
    """The module with the change in it, every node where it stood."""
    tree = ast.parse(mutant.file.read_text("utf-8"))
    _, _, (_, make) = next(one for number, one in enumerate(_all(tree)) if number == mutant.number)
    make()
    return ast.fix_missing_locations(tree)


def _all(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[int, ...], Change]]:
    for node, scope in list(_changeable(tree, ())):
        for change in changes(node):
            yield node, scope, change


def _changeable(node: ast.AST, scope: tuple[int, ...]) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
    """Nodes that run, each with the first lines of the functions whose code holds it."""
    for name, value in ast.iter_fields(node):
        if name in ("decorator_list", "annotation", "returns"):
            continue
        inside = (_first_line(node), *scope) if isinstance(node, Function) and name == "body" else scope
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _left_alone(child):
                yield child, inside
                yield from _changeable(child, inside)


def _first_line(node: Function) -> int:
    """As `co_firstlineno` has it: that of the first decorator."""
    return min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", ()))])


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in LEFT_ALONE
    return isinstance(node, ast.If) and ast.unparse(node.test).startswith(("TYPE_CHECKING", "__name__"))


def changes(node: ast.AST) -> Iterator[Change]:
    """Each change of this node itself."""
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Call):
        yield from _of_arguments(node)
    else:
        yield from _of_operator(node)
    if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield "condition -> not", partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))


def _of_operator(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for at, before in enumerate(node.ops):
            after = SWAPPED[type(before)]()
            yield _named(before, after), partial(node.ops.__setitem__, at, after)  # type: ignore[arg-type]
    elif isinstance(node, ast.BoolOp):
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield _named(node.op, other), partial(setattr, node, "op", other)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED and not _of_words(node):
        swapped = SWAPPED[type(node.op)]()
        yield _named(node.op, swapped), partial(setattr, node, "op", swapped)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"without {type(node.op).__name__}", partial(_become, node, node.operand)


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    """A statement that is there for what it does is left out; so is what a function returns."""
    left_out = partial(_become, node, ast.Pass())
    match node:
        case ast.Expr(ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()):
            yield "left out", left_out
        case ast.Raise() | ast.Delete() | ast.AugAssign():
            yield "left out", left_out
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "left out", left_out
        case ast.Break():
            yield "break -> continue", partial(_become, node, ast.Continue())
        case ast.Continue():
            yield "continue -> break", partial(_become, node, ast.Break())
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "returns None", partial(setattr, node, "value", ast.Constant(None))
    if isinstance(node, ast.AugAssign) and type(node.op) in SWAPPED:
        swapped = SWAPPED[type(node.op)]()
        yield _named(node.op, swapped), partial(setattr, node, "op", swapped)


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    """Booleans are turned round, numbers moved by one."""
    before = node.value
    if isinstance(before, bool):
        yield f"{before} -> {not before}", partial(setattr, node, "value", not before)
    elif isinstance(before, int | float) and before + 1 != before:
        yield f"{before} -> {before + 1}", partial(setattr, node, "value", before + 1)


def _of_arguments(node: ast.Call) -> Iterator[Change]:
    """A keyword is left out, or the last of several positions."""
    for at, keyword in enumerate(node.keywords):
        if keyword.arg and not _left_alone(keyword):
            yield f"without {keyword.arg}=", partial(node.keywords.__delitem__, at)
    if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
        yield "without the last argument", partial(node.args.__delitem__, -1)


def _named(before: ast.AST, after: ast.AST) -> str:
    return f"{type(before).__name__} -> {type(after).__name__}"


def _become(node: ast.AST, other: ast.AST) -> None:
    """Makes a node another one, in its own place."""
    place = {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    other = deepcopy(other)
    node.__class__ = type(other)
    node.__dict__.clear()
    node.__dict__.update(other.__dict__, **place)


def _of_words(node: ast.BinOp) -> bool:
    """Whether this joins texts or lists, or names types: another operator would only break it."""
    parts = (node.left, node.right)
    return any(
        isinstance(one, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(one, ast.Constant) and (one.value is None or isinstance(one.value, str | bytes)))
        for one in parts
    )
