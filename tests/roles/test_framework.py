"""By which marks a framework is told, and what is said of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.record.records import Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import canonical, detect
from hrmdoc.roles.framework import chain, markers_of
from hrmdoc.rulebook import Framework, Rulebook


def table(*columns: str, first: int = 0, axis: str = "epoch") -> Run:
    """A run that was read from a table with these columns."""
    run = Run("run", lambda _: RoleGuess(None))
    run.formats.append("csv")
    for name in columns:
        at = np.arange(first, first + 3)
        run.add(Points(name, at, at / 2.0, at * math.nan, "logs/table.csv", axis=axis))  # type: ignore[arg-type]
    return run


def marked(run: Run, marker: str) -> bool:
    return markers_of(run, Framework("own", "own", markers=(marker,))) == 1


@pytest.mark.parametrize(
    ("marker", "columns", "first", "axis", "shown"),
    [
        ("table:acc,loss", ("epoch", "acc", "loss", "val_loss"), 0, "epoch", True),
        ("table:acc,lr", ("epoch", "acc", "loss"), 0, "epoch", False),
        ("table:acc,loss", ("epoch", "loss", "acc"), 0, "epoch", False),  # not in alphabetical order
        ("table:acc,loss", ("epoch", "acc", "loss"), 1, "epoch", False),  # counted from one
        ("table:acc,loss", ("acc", "loss"), 0, "epoch", False),  # no column of epochs
        ("table:acc,loss", ("epoch", "acc", "loss"), 0, "step", False),
        ("columns:epoch,acc", ("epoch", "acc", "loss"), 0, "epoch", True),
        ("columns:acc,loss", ("epoch", "acc", "loss"), 0, "epoch", False),
        ("columns:epoch,ac", ("epoch", "acc", "loss"), 0, "epoch", False),
        ("metric:acc", ("acc",), 0, "step", True),
        ("metric:ac", ("acc",), 0, "step", False),
        ("format:csv", ("acc",), 0, "step", True),
        ("format:json", ("acc",), 0, "step", False),
        ("file:table.csv", ("acc",), 0, "step", True),
        ("file:logs/table.csv", ("acc",), 0, "step", True),
        ("file:able.csv", ("acc",), 0, "step", False),
    ],
)
def test_a_mark_is_a_metric_a_file_or_the_order_of_columns(
    marker: str, columns: tuple[str, ...], first: int, axis: str, shown: bool
) -> None:
    assert marked(table(*columns, first=first, axis=axis), marker) is shown


def test_tables_are_looked_at_in_tables_alone() -> None:
    run = table("epoch", "acc", "loss")
    run.formats[:] = ["json"]
    assert not marked(run, "table:acc,loss")
    assert not marked(run, "columns:epoch,acc")


@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        ("config:model.size,lr", True),
        ("config:model.size,rate", False),
        ("config:model.,lr", True),
        ("config:mode.", False),
        ("version:own-trainer", True),
        ("version:lr", False),
        ("the first word", True),
        ("the second word", False),
        ("the last word", False),  # behind the lines that are looked at
    ],
)
def test_a_mark_is_a_key_of_the_config_a_package_or_the_text_of_a_line(marker: str, shown: bool) -> None:
    run = Run("run", lambda _: RoleGuess(None))
    run.extend(
        [Fact("model.size", 3, "config"), Fact("lr", 0.1, "config"), Fact("own-trainer", "1", "version")]
    )
    run.add(Line("here stands the first word of it", "a.log", 1))
    run.extend(Line("no word", "a.log", number) for number in range(2, 2001))
    run.add(Line("the last word", "a.log", 2001))
    assert marked(run, marker) is shown
    run.add(Fact("other", 1, "config", "sub\\own.yaml"))
    assert marked(run, "file:own.yaml")


OWN = Framework("own", "own", markers=("metric:a", "config:b", "a word", "version:c"), kind="sft")
BASE = Framework("lightning", "lightning", markers=("metric:a",))
OTHER = Framework("other", "other", markers=("metric:z",))
BOOK = Rulebook(frameworks={one.id: one for one in (OWN, BASE, OTHER, Framework("generic", "generic"))})


def run_of(*metrics: str, stated: str | None = None, file: str = "run.json") -> Run:
    run = Run("run", lambda _: RoleGuess(None))
    for name in metrics:
        run.add(Points(name, np.arange(2), np.ones(2), np.full(2, math.nan), "a.log"))
    if stated is not None:
        run.add(Fact("run.framework", stated, "run", file))
    return run


@pytest.mark.parametrize(
    ("run", "framework", "reason"),
    [
        (run_of("a"), "own", "it shows metric a"),
        (run_of("z"), "other", "it shows metric z"),
        (run_of("x"), None, "no framework left a mark"),
        (run_of("a", stated="other"), "other", "run.json names it"),
        (run_of("a", stated="other", file=""), "other", "the run names it"),
        (run_of("a", stated="lightning"), "own", "it shows metric a"),
        (run_of("x", stated="lightning"), "lightning", "run.json names it"),
        (run_of("x", stated="unheard"), "unheard", "run.json names it"),
        (run_of("x", stated="unheard", file=""), "unheard", "the run names it"),
        (run_of("z", stated="unheard"), "other", "it shows metric z"),
    ],
)
def test_a_framework_comes_with_its_reason(run: Run, framework: str | None, reason: str) -> None:
    assert detect(run, BOOK) == (framework, reason)


def test_a_rulebook_without_frameworks_names_none() -> None:
    assert detect(run_of("a"), Rulebook()) == (None, "no framework left a mark")
    assert detect(run_of("a", stated="unheard"), Rulebook()) == ("unheard", "run.json names it")


def test_of_many_marks_three_are_told() -> None:
    run = run_of("a")
    run.extend([Fact("b", 1, "config"), Fact("c", 1, "version"), Line("a word", "a.log", 1)])
    assert detect(run, BOOK).reason == "it shows metric a, config b, 'a word'"


def test_a_base_yields_to_what_builds_on_it_even_where_its_mark_is_the_only_one() -> None:
    alone = Rulebook(frameworks={one.id: one for one in (BASE, OTHER)})
    assert detect(run_of("a"), alone).id == "lightning"
    assert detect(run_of("a", stated="unheard"), alone) == ("unheard", "run.json names it")


def test_the_framework_and_what_its_runs_usually_are_become_facts_with_their_file() -> None:
    found = canonical(run_of("a", stated="other"), BOOK)
    assert found["run.framework"] == Fact("run.framework", "other", "run", "run.json")
    assert "run.framework_kind" not in found
    told = canonical(run_of("a"), BOOK)
    assert told["run.framework"] == Fact("run.framework", "own", "run", "")
    assert told["run.framework_kind"] == Fact("run.framework_kind", "sft")


def test_all_frameworks_are_asked_for_keys_the_bases_before_the_rest() -> None:
    names = [one.id for one in chain("own", BOOK)]
    assert names == ["own", "generic", "lightning", "other"]
    assert [one.id for one in chain("lightning", BOOK)] == ["lightning", "generic", "other", "own"]
    assert [one.id for one in chain("nemo", BOOK)] == ["lightning", "generic", "other", "own"]
    assert [one.id for one in chain("trl", BOOK)] == ["generic", "lightning", "other", "own"]
