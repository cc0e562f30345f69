"""One vocabulary of what rules may ask of runs: detectors score every point, functions answer once.

Two folders are the registry: each module of `detectors/` holds a detector that bears its name, and whatever
stands in `functions/` under `@function` is a function of that name.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
from msgspec import Struct

from hrmdoc.errors import RuleError, did_you_mean
from hrmdoc.measures.base import Detector
from hrmdoc.measures.function import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Detector",
    "Function",
    "Parameter",
    "all_functions",
    "describe",
    "detector_names",
    "make",
    "names",
    "parameters",
]


class Parameter(Struct, frozen=True):
    """One parameter of a measure, as `hrmdoc explain` prints it."""

    name: str
    type: str
    default: Any
    text: str


@cache
def names() -> tuple[str, ...]:
    """Every measure, detectors before functions; a name may be that of one of each."""
    return tuple(dict.fromkeys((*detector_names(), *all_functions())))


@cache
def detector_names() -> tuple[str, ...]:
    """Every detector, in alphabetical order. Loads them all; `make` loads the one it makes."""
    return tuple(filter(_class_in, _modules("detectors")))


@cache
def all_functions() -> Mapping[str, Function]:
    """Every function of expressions by its name, in alphabetical order."""
    found = [
        item
        for module in _modules("functions")
        for item in vars(importlib.import_module(f"{__name__}.functions.{module}")).values()
        if isinstance(item, Function)
    ]
    return {item.name: item for item in sorted(found, key=lambda item: item.name)}


@cache
def _modules(folder: str) -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules([f"{__path__[0]}/{folder}"])))


@cache
def _class_in(module: str) -> type[Detector] | None:
    """The detector that the module of that name holds; None for a module of helpers."""
    found = importlib.import_module(f"{__name__}.detectors.{module}")
    for item in vars(found).values():
        if (
            inspect.isclass(item)
            and item.__module__ == found.__name__
            and issubclass(item, Detector)
            and hasattr(item, "NAME")
        ):
            return item
    return None


def _class(name: str) -> type[Detector]:
    found = _class_in(name) if name in _modules("detectors") else None
    if found is None:
        hint = did_you_mean(name, detector_names()) or f"known detectors: {', '.join(detector_names())}"
        raise RuleError(f"there is no detector {name!r}", hint=hint)
    return found


def _call(name: str, detector: bool) -> Callable[..., Any]:
    function = None if detector else all_functions().get(name)
    return _class(name) if function is None else function.call


@cache
def _hints(cls: type[Detector]) -> Mapping[str, Any]:
    """The parameters of a detector and their types, in the order of its signature."""
    return {name: hint for name, hint in get_type_hints(cls.__init__).items() if name != "return"}


def describe(name: str, *, detector: bool = False) -> str:
    """What the measure is: the first paragraphs of its docstring.

    Args:
        name: one of `names()`.
        detector: the detector is meant, also where a function bears its name.

    Raises:
        RuleError: no measure has that name.
    """
    return (inspect.getdoc(_call(name, detector)) or "").split("\n\nArgs:")[0]


@cache
def parameters(name: str, *, detector: bool = False) -> tuple[Parameter, ...]:
    """The parameters of a measure with type, default and meaning; what a function is asked about is none.

    Args:
        name: one of `names()`.
        detector: the detector is meant, also where a function bears its name.

    Raises:
        RuleError: no measure has that name.
    """
    call = _call(name, detector)
    texts = dict(re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", inspect.getdoc(call) or "", re.MULTILINE))
    return tuple(
        Parameter(key, str(item.annotation), item.default, re.sub(r"\s+", " ", texts.get(key, "")))
        for key, item in inspect.signature(call).parameters.items()
        if inspect.isclass(call) or item.default is not inspect.Parameter.empty
    )


def make(name: str, params: Mapping[str, Any] | None = None) -> Detector:
    """A fresh detector.

    Args:
        name: one of `names()`.
        params: its parameters; what is left out keeps its default.

    Raises:
        RuleError: no such detector, an unknown parameter, or a value of the wrong type or range.
    """
    cls = _class(name)
    hints = _hints(cls) if params else {}
    checked: dict[str, Any] = {}
    for key, value in (params or {}).items():
        if key not in hints:
            hint = did_you_mean(key, hints) or f"its parameters: {', '.join(hints) or 'none'}"
            raise RuleError(f"detector {name} has no parameter {key!r}", hint=hint)
        try:
            checked[key] = msgspec.convert(value, hints[key])
        except msgspec.ValidationError as error:
            raise RuleError(f"detector {name}, parameter {key!r}: {error}") from error
    try:
        return cls(**checked)
    except ValueError as error:
        raise RuleError(f"detector {name}: {error}") from error
