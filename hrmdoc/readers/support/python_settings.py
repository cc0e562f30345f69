"""Settings in Python source, read from its syntax alone: nothing of it is imported or run.

Two kinds of files hold settings. A *config* is nothing but values under names (nanoGPT's `config/*.py`,
OpenMMLab's configs): each value has one place and may be edited there. A *program* mentions settings among
its code: module constants, fields of classes, defaults of command-line options, arguments of
`TrainingArguments(...)`, `AdamW(...)` and the like. A setting to which a program gives different values in
different places is left out, since only a run says which holds.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from hrmdoc.errors import InputError
from hrmdoc.readers.support.budget import MAX_LEAVES
from hrmdoc.readers.support.python_syntax import BAGS, Plain, constant, flag_of, members, name_of, targets

Route = tuple[str | int, ...]

BIGGEST = 1 << 20
"""Characters; longer files are generated data."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SETTERS = frozenset({"Trainer", "DataLoader", "EarlyStopping", "EarlyStoppingCallback", "Accelerator"})
"""Classes and functions whose keyword arguments are settings, beside those named `...Arguments` and
`...Config`."""
_OPTIMIZERS = frozenset(
    {"SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "RMSprop", "Adafactor", "Lion", "LAMB"}
)
_FITS = {
    "fit": frozenset({"epochs", "batch_size", "steps_per_epoch", "validation_split", "nb_epoch"}),
    "fit_generator": frozenset({"epochs", "steps_per_epoch", "nb_epoch"}),
    "compile": frozenset({"optimizer"}),
}
"""What Keras is told where it is called."""
_OPTIONS = frozenset({"add_argument", "option", "add_option"})


class Setting(NamedTuple):
    """One value. `start` and `end` are character offsets of its text, both -1 where it is computed; `line` is
    1-based."""

    value: Plain
    line: int
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Settings:
    """What a file sets, by route. `config`: it holds values under names and nothing else."""

    values: dict[Route, Setting]
    config: bool


def read(text: str, path: str) -> Settings:
    """The settings in Python source.

    Raises:
        InputError: it is no Python, or too long for a file of settings.
    """
    if len(text) > BIGGEST:
        raise InputError(f"is longer than {BIGGEST >> 20} MiB, too long for a file of settings", file=path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        raise InputError(f"is no valid Python: {error.msg}", file=path, line=error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"is no valid Python: {str(error) or 'nested too deeply'}", file=path) from error
    reader = _Reader(text, path)
    config = all(map(_only_sets, tree.body))
    try:
        found = reader.of_config(tree) if config else reader.of_program(tree)
    except RecursionError as error:
        raise InputError("is nested too deeply", file=path) from error
    return Settings(found, config)


def _only_sets(node: ast.stmt) -> bool:
    """Whether a statement of a module does nothing but give a value to a name, or say something to
    readers."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return isinstance(node, ast.Import | ast.ImportFrom)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    calls = (part for part in ast.walk(node.value) if isinstance(part, ast.Call))
    return all(isinstance(target, ast.Name) for target in targets) and all(
        name_of(call.func) == "dict" for call in calls
    )


class _Reader:
    """Finds settings in one syntax tree."""

    def __init__(self, text: str, path: str) -> None:
        self._path = path
        self._lines = _LINE.findall(text)
        self._starts = list(accumulate(map(len, self._lines), initial=0))
        self._known: dict[str, Plain] = {}

    def of_config(self, tree: ast.Module) -> dict[Route, Setting]:
        """Every value of a config; the last one of a name holds, as in Python."""
        found: dict[str, dict[Route, Setting]] = {}
        count = 0
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for name in targets(node):
                    found.pop(name, None)
                    found[name] = dict(self._flat((name,), node.value))
                    count = self._counted(count + len(found[name]))
                    self._keep(name, node.value)
        return {route: setting for settings in found.values() for route, setting in settings.items()}

    def _counted(self, settings: int) -> int:
        """The number of settings so far.

        Raises:
            InputError: they are more than any file of settings has.
        """
        if settings > MAX_LEAVES:
            raise InputError(f"gives more than {MAX_LEAVES:,} values", file=self._path)
        return settings

    def of_program(self, tree: ast.Module) -> dict[Route, Setting]:
        """Values that the program gives to one name in one way."""
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for name in targets(node):
                    self._keep(name, node.value)
        found: dict[Route, Setting] = {}
        unsure: set[Route] = set()
        for count, (route, setting) in enumerate(self._mentioned(tree), 1):
            self._counted(count)
            if route in found and (found[route].value, type(found[route].value)) != (
                setting.value,
                type(setting.value),
            ):
                unsure.add(route)
            found[route] = setting
        return {route: setting for route, setting in found.items() if route not in unsure}

    def _mentioned(self, tree: ast.Module) -> Iterator[tuple[Route, Setting]]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for name in targets(node):
                    yield from self._flat(() if name in BAGS else (name,), node.value)
            elif isinstance(node, ast.Call):
                yield from self._of_call(node)

    def _of_call(self, node: ast.Call) -> Iterator[tuple[Route, Setting]]:
        name = name_of(node.func)
        if name in _OPTIONS:
            flag = next(filter(None, map(flag_of, node.args)), None)
            default = next((word.value for word in node.keywords if word.arg == "default"), None)
            if flag is not None and default is not None:
                yield from self._flat((flag,), default)
            return
        if name in _OPTIMIZERS:
            yield ("optimizer",), Setting(name, node.lineno)
            if len(node.args) > 1:
                yield from self._flat(("lr",), node.args[1])
        elif name not in _SETTERS and name not in _FITS and not name.endswith(("Arguments", "Config")):
            return
        for word in node.keywords:
            if word.arg is not None and word.arg in _FITS.get(name, (word.arg,)):
                yield from self._flat((word.arg,), word.value)

    def _flat(self, route: Route, node: ast.expr) -> Iterator[tuple[Route, Setting]]:
        """The leaves below `node`; values that only a run could give are passed over."""
        below = members(node)
        if below is None:
            setting = self._setting(node)
            if setting is not None and route:
                yield route, setting
        else:
            for key, value in below:
                yield from self._flat((*route, key), value)

    def _setting(self, node: ast.expr) -> Setting | None:
        try:
            value = constant(node, self._known)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        plain = isinstance(node, ast.Constant) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        )
        if not plain or node.end_lineno is None or node.end_col_offset is None:
            return Setting(value, node.lineno)
        return Setting(
            value,
            node.lineno,
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def _keep(self, name: str, node: ast.expr) -> None:
        self._known.pop(name, None)
        setting = self._setting(node)
        if setting is not None:
            self._known[name] = setting.value

    def _offset(self, line: int, column: int) -> int:
        """Characters before a place that the parser gives in bytes of UTF-8."""
        mark = int(line == 1 and self._lines[0].startswith("\ufeff"))
        return (
            self._starts[line - 1]
            + mark
            + len(self._lines[line - 1][mark:].encode()[:column].decode(errors="replace"))
        )
