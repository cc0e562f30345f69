"""JSON documents of other programs, laid out as the reader of histories expects them: lists of numbers by
name, or rows."""

from __future__ import annotations

import re
from typing import Any

from hrmdoc.text import patterns

TRAINED = patterns.lazy(r"loss|reward|perplexity|ppl", re.IGNORECASE)
"""Names of what is trained on; classes have scores by their numbers, but seldom these."""


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
    names = {
        split: [str(one.get("name", "loss")) for one in found if isinstance(one, dict)]
        if isinstance(found, list)
        else []
        for split, found in listed.items()
    }
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
