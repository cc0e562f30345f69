"""The small language of `check:` conditions and `value: "=..."` remedies: arithmetic, comparisons and a few
functions over facts.

    optimizer.lr > 1e-3 and run.kind == 'sft'
    max(100, 0.05 * run.total_steps)
    last(eval.loss) > 1.2 * min_of(eval.loss)

Dotted names are canonical facts. A function that is not built in, such as `last`, comes from the caller and
gets the dotted names in its arguments as text. The text is parsed by `ast` into closures of whitelisted nodes
only; numbers are bounded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hrmdoc.errors import RuleError
from hrmdoc.rulebook.arithmetic import ARITHMETIC, COMPARISONS, FUNCTIONS, bounded, number_of

LONGEST = 1000
OF_SYMPTOMS = frozenset(("seen", "present", "began", "episodes", "peak"))
"""Functions that ask for the state of symptoms, which they name in quotes."""

Scope = tuple[Mapping[str, Any], Mapping[str, Callable[..., Any]]]
Closure = Callable[[Scope], Any]


class MissingInput(Exception):  # noqa: N818
    """A name is unknown, so that nothing can be said. Not a fault: the caller reports the rule as not
    evaluated."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Expression(Struct, frozen=True):
    """A compiled expression.

    Attributes:
        text: as written.
        names: the facts it reads, in order of appearance.
        calls: the functions it expects from the caller, with the number of their arguments.
        symptoms: the symptoms whose state it asks for.
        subjects: the dotted names that it hands to functions of the caller.
    """

    text: str
    names: tuple[str, ...]
    calls: dict[str, int]
    symptoms: tuple[str, ...]
    subjects: tuple[str, ...]
    closure: Closure

    def __call__(
        self, facts: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> Any:
        """The value over `facts`; `functions` are those of the caller.

        Raises:
            MissingInput: a fact is unknown or None; a branch that is not taken does not count.
            RuleError: the expression makes no sense with these values.
        """
        try:
            return self.closure((facts, functions or {}))
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise RuleError(f"cannot evaluate {self.text!r}: {error}") from error


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Parses `text`; a leading `=` is allowed. An expression holds nothing of a run: many runs share it.

    Raises:
        RuleError: it is no expression of this language.
    """
    body = text.strip().removeprefix("=").strip()
    if len(body) > LONGEST:
        raise RuleError(f"an expression may have {LONGEST} characters, this one has {len(body)}")
    try:
        tree = ast.parse(body, mode="eval")
        compiler = _Compiler(body)
        closure = compiler.compile(tree.body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise RuleError(f"not an expression: {text[:80]!r}: {error}") from error
    names, symptoms = tuple(dict.fromkeys(compiler.names)), tuple(dict.fromkeys(compiler.symptoms))
    subjects = tuple(dict.fromkeys(compiler.subjects))
    return Expression(text, names, compiler.calls, symptoms, subjects, closure)


def is_computed(value: Any) -> bool:
    """Whether the value of a rule is an expression, `=...`, and not what it says."""
    return isinstance(value, str) and value.startswith("=")


def about(facts: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The function that facts alone can answer: `known(lora.rank)`, which never misses an input."""
    return {"known": lambda name: facts.get(name) is not None}


class _Compiler:
    """One method a kind of node; collects the names on the way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self.calls: dict[str, int] = {}
        self.symptoms: list[str] = []
        self.subjects: list[str] = []

    def compile(self, node: ast.expr) -> Closure:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return self._constant(node.value)
            case ast.Name() | ast.Attribute():
                return self._name(_dotted(node))
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                test, then, other = (
                    self.compile(node.test),
                    self.compile(node.body),
                    self.compile(node.orelse),
                )
                return lambda scope: then(scope) if test(scope) else other(scope)
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(name, node.args)
            case _:
                raise SyntaxError(f"{ast.unparse(node)[:40]!r} is not part of the language")

    def _constant(self, value: Any) -> Closure:
        bounded(value)
        return lambda _: value

    def _name(self, name: str) -> Closure:
        self.names.append(name)

        def look_up(scope: Scope) -> Any:
            value = scope[0].get(name)
            if value is None:
                raise MissingInput(name)
            return value

        return look_up

    def _binary(self, node: ast.BinOp) -> Closure:
        apply = ARITHMETIC.get(type(node.op))
        if apply is None:
            raise SyntaxError(f"{ast.unparse(node)[:40]!r} uses an operator that is not part of the language")
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda scope: bounded(apply(number_of(left(scope)), number_of(right(scope))))

    def _unary(self, node: ast.UnaryOp) -> Closure:
        operand = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda scope: not operand(scope)
        if isinstance(node.op, ast.USub):
            return lambda scope: -number_of(operand(scope))
        if isinstance(node.op, ast.UAdd):
            return lambda scope: number_of(operand(scope))
        raise SyntaxError("`~` is not part of the language")

    def _boolean(self, node: ast.BoolOp) -> Closure:
        parts = [self.compile(value) for value in node.values]
        if isinstance(node.op, ast.And):
            return lambda scope: all(part(scope) for part in parts)
        return lambda scope: any(part(scope) for part in parts)

    def _compare(self, node: ast.Compare) -> Closure:
        unknown = [op for op in node.ops if type(op) not in COMPARISONS]
        if unknown:
            raise SyntaxError(
                f"{ast.unparse(node)[:40]!r} uses a comparison that is not part of the language"
            )
        operands = [self.compile(value) for value in (node.left, *node.comparators)]
        tests = [COMPARISONS[type(op)] for op in node.ops]

        def hold(scope: Scope) -> bool:
            left = operands[0](scope)
            for test, operand in zip(tests, operands[1:], strict=True):
                right = operand(scope)
                if not test(left, right):
                    return False
                left = right
            return True

        return hold

    def _call(self, name: str, nodes: list[ast.expr]) -> Closure:
        builtin = FUNCTIONS.get(name)
        if builtin is not None:
            arguments = [self.compile(node) for node in nodes]
            return lambda scope: bounded(builtin(*(number_of(argument(scope)) for argument in arguments)))
        self.calls[name] = max(self.calls.get(name, 0), len(nodes))
        if name in OF_SYMPTOMS:
            self.symptoms += [_quoted(name, node) for node in nodes]
        given = [self._argument(node) for node in nodes]

        def call(scope: Scope) -> Any:
            function = scope[1].get(name)
            if function is None:
                raise RuleError(f"{self.text!r}: there is no function {name!r} here")
            return function(*(argument(scope) for argument in given))

        return call

    def _argument(self, node: ast.expr) -> Closure:
        """Names given to a function of the caller are series or symptoms, not facts: they are handed over as
        text."""
        if isinstance(node, ast.Name | ast.Attribute):
            self.subjects.append(_dotted(node))
            return self._constant(self.subjects[-1])
        return self.compile(node)


def _quoted(function: str, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise SyntaxError(f"{function}() takes the id of a symptom in quotes, not {ast.unparse(node)[:40]!r}")


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise SyntaxError(f"{ast.unparse(node)[:40]!r} has no attributes")
    return ".".join([node.id, *reversed(parts)])
