"""JSON documents of other programs, laid out as the reader of histories expects them: lists of numbers by
name, or rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hrmdoc.readers.support.flatten import flatten
from hrmdoc.readers.tables.cells import number
from hrmdoc.text import patterns

TRAINED = patterns.lazy(r"loss|reward|perplexity|ppl", re.IGNORECASE)
"""Names of what is trained on; classes have scores by their numbers, but seldom these."""
_NUMBERED = patterns.lazy(r"^(?:(epoch|step|iter|iteration|round|episode)[ _-]?)?(\d{1,9})$", re.IGNORECASE)


def of_pandas(tree: Any) -> Any:
    """What pandas makes of a table, as lists by name: columns of cells by their index, or the names and then
    the rows."""
    if not isinstance(tree, dict) or not tree:
        return tree
    names, rows = tree.get("columns"), tree.get("data")
    if (
        isinstance(names, list)
        and isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    ):
        return {str(name): [row[at] for row in rows] for at, name in enumerate(names)}
    if not any(map(TRAINED.search, tree)) or not all(map(_is_indexed, tree.values())):
        return tree
    if len(set(map(len, tree.values()))) > 1:
        return tree
    return {name: list(column.values()) for name, column in tree.items()}


def _is_indexed(column: Any) -> bool:
    """Whether it is a column of cells by their index, `{"0": 2.1, "1": 1.9}`."""
    return (
        isinstance(column, dict)
        and len(column) > 1
        and list(column) == [str(at) for at in range(len(column))]
    )


def _bare(names: dict[str, list[str]]) -> dict[str, list[str]]:
    """Names of measures without their parameters, `Quantile:alpha=0.5`, where they are told apart so."""
    every = {name for found in names.values() for name in found}
    times = Counter(name.partition(":")[0] for name in every)
    short = {name: bare for name in every if times[bare := name.partition(":")[0]] == 1}
    return {split: [short.get(name, name) for name in found] for split, found in names.items()}


def of_catboost(tree: dict[str, Any]) -> dict[str, Any]:
    """CatBoost's `{"meta": {"learn_metrics": [...]}, "iterations": [{"learn": [0.6], ...}]}` as rows of named
    values."""
    meta, rows = tree.get("meta"), tree.get("iterations")
    if (
        not isinstance(meta, dict)
        or not isinstance(rows, list)
        or not isinstance(meta.get("learn_metrics"), list)
    ):
        return tree
    listed = {split: meta.get(f"{split}_metrics") for split in ("learn", "test")}
    names = _bare(
        {
            split: [str(one.get("name", "loss")) for one in found if isinstance(one, dict)]
            if isinstance(found, list)
            else []
            for split, found in listed.items()
        }
    )
    named: list[dict[str, Any]] = []
    for row in rows:
        if isinstance(row, dict):
            named.append({"step": row.get("iteration")})
            for split, prefix in (("learn", "train"), ("test", "val")):
                values = row.get(split)
                named[-1] |= {
                    f"{prefix}_{n}": v
                    for n, v in zip(names[split], values if isinstance(values, list) else (), strict=False)
                }
    return {"history": named}


def of_counters(tree: Any) -> Any:
    """`tree` with mappings from counter to row (`{"0": {"loss": 2.1}, "1": ...}`, `{"epoch_1": ...}`) as
    lists of rows."""
    if not isinstance(tree, dict):
        return tree
    found = [one for key in tree if (one := _NUMBERED.match(str(key)))]
    at = [int(one[2]) for one in found]
    if len(at) < max(2, len(tree)) or sorted(set(at)) != at or not all(map(_is_row, tree.values())):
        return {key: of_counters(value) for key, value in tree.items()}
    counter = next((one[1] for one in found if one[1]), None)
    if counter is None:  # bare numbers may be classes; a loss of theirs is not usual
        if not TRAINED.search(" ".join(key for key, _ in flatten(next(iter(tree.values()))))):
            return tree
        counter = "step"
    return [{counter.lower(): count, **row} for count, row in zip(at, tree.values(), strict=True)]


def _is_row(value: Any) -> bool:
    """Numbers by their names, perhaps nested, and no list."""
    cells = [cell for _, cell in flatten(value)] if isinstance(value, dict) else []
    return (
        bool(cells)
        and not any(isinstance(cell, list) for cell in cells)
        and any(number(cell) is not None for cell in cells)
    )
