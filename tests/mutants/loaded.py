"""Puts a mutant into a process: into functions that are loaded, or into a module that is not yet."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from tests.mutants.changes import Mutant, mutated


def takes(mutant: Mutant) -> bool:
    """Whether a function that is loaded can be given the change."""
    return any(function.__code__.co_firstlineno in mutant.scope for function, _ in _changed(mutant))


def into_functions(mutant: Mutant) -> None:
    """Gives the functions of the file their changed code, whoever holds them by now."""
    for function, code in _changed(mutant):
        function.__code__ = code


def _changed(mutant: Mutant) -> list[tuple[FunctionType, CodeType]]:
    """The functions of the file, each with its code after the change; but for those that by the change use
    other variables of an outer function, since they cannot be given it."""
    file = str(mutant.file)
    codes = {
        (one.co_qualname, one.co_firstlineno): one for one in _codes(compile(mutated(mutant), file, "exec"))
    }
    every = [
        one for one in gc.get_objects() if type(one) is FunctionType
    ]  # asked of proxies, these load or warn
    inside = [one for one in every if one.__code__.co_filename == file]
    found = [(one, codes.get((one.__code__.co_qualname, one.__code__.co_firstlineno))) for one in inside]
    return [
        (one, code) for one, code in found if code and len(code.co_freevars) == len(one.__code__.co_freevars)
    ]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def on_import(mutant: Mutant) -> None:
    """Has the file imported with its change, from now on in this process."""
    code = compile(mutated(mutant), str(mutant.file), "exec")
    plain = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if loader.path == str(mutant.file) else plain(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
