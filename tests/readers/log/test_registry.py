"""The folder of formats is their registry: each module has a sample beside it that it reads."""

from __future__ import annotations

import importlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.readers.log import formats as registry
from hrmdoc.readers.log.formats.base import Format, Reading
from tests.readers.log.lines.test_stream import everything

FOLDER = Path(registry.__file__).parent


def _sample(name: str) -> bytes:
    return (FOLDER / f"{name}.log").read_bytes()


def test_every_sample_belongs_to_a_format_and_every_format_has_one() -> None:
    assert {path.stem for path in FOLDER.glob("*.log")} == set(registry.names())


def test_no_format_is_asked_that_is_not_in_the_folder() -> None:
    assert {kind.__module__.rpartition(".")[2] for kind in registry.formats()} == set(registry.names())


def test_formats_are_asked_in_their_declared_order() -> None:
    orders = [kind.ORDER for kind in registry.formats()]
    assert orders == sorted(orders)


@pytest.mark.parametrize("name", registry.names())
def test_the_sample_of_a_format_is_read_by_it(name: str, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"{registry.__name__}.{name}")
    found: list[int] = []

    def watch(kind: type[Format], method: str) -> None:
        plain = getattr(kind, method)

        def watched(self: Format, *args: Any) -> Reading | None:
            reading: Reading | None = plain(self, *args)
            found.append(0 if reading is None else len(reading.found))
            return reading

        monkeypatch.setattr(kind, method, watched)

    for kind in registry.formats():
        if kind.__module__ == module.__name__:
            for method in ("parse", "close", "finish"):
                watch(kind, method)
    run = read(_sample(name))
    assert sum(found) >= 1, "no line was read: has it a word of lines/scan.py, and does `parse` take it?"
    assert run.points >= 2
    assert not run.damages


@pytest.mark.parametrize("name", registry.names())
def test_the_sample_of_a_format_reads_the_same_in_any_cut(name: str, read: Any) -> None:
    sample = _sample(name) * 4
    lines = sample.splitlines(keepends=True)
    assert everything(read(sample)) == everything(read(sample, accumulate(map(len, lines))))


@pytest.mark.parametrize("name", registry.names())
def test_a_format_says_nothing_of_the_lines_of_another_program(name: str, read: Any) -> None:
    prose = "".join(f"reading shard {shard} of the data set\n" for shard in range(40))
    assert read(prose.encode() + _sample(name)).points == read(_sample(name)).points
