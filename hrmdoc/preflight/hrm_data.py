"""A data set in HRM's layout: `<split>/dataset.json` and numpy arrays of inputs and labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.record.records import Damage, Fact

_MOST_ROWS = 20_000


def hrm_facts(folder: Path) -> Iterator[Fact | Damage]:
    """Facts of the training split; what is missing or does not fit together is damage."""
    split = folder / "train" if (folder / "train").is_dir() else folder
    info_file = split / "dataset.json"
    info = _info(info_file)
    if isinstance(info, Damage):
        yield info
        return
    for key, own in (
        ("data.vocab_size", "vocab_size"), ("data.seq_len", "seq_len"), ("data.groups", "total_groups"),
        ("data.mean_examples", "mean_puzzle_examples"),
    ):  # fmt: skip
        if isinstance(info.get(own), int | float):
            yield Fact(key, info[own], file=str(info_file))
    if isinstance(info.get("total_groups"), int):
        yield Fact("data.samples", info["total_groups"], file=str(info_file))
    sets = info.get("sets")
    for name in sets if isinstance(sets, list) else ["all"]:
        yield from _set_facts(split, str(name), info)


def _info(path: Path) -> dict[str, Any] | Damage:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        return Damage(str(path), None, f"no data set in HRM's layout: {error.strerror}")
    except ValueError as error:
        return Damage(str(path), getattr(error, "lineno", None), f"not JSON: {error}")
    return found if isinstance(found, dict) else Damage(str(path), 1, "not a JSON object")


def _set_facts(split: Path, name: str, info: dict[str, Any]) -> Iterator[Fact | Damage]:
    arrays: list[NDArray[Any]] = []
    for part in ("inputs", "labels"):
        path = split / f"{name}__{part}.npy"
        array = _array(path)
        if isinstance(array, Damage):
            yield array
            return
        if array.ndim != 2 or array.shape[1] != info.get("seq_len", array.shape[1]):
            yield Damage(str(path), None, f"the shape is {array.shape}, seq_len is {info.get('seq_len')}")
            return
        arrays.append(array)
    inputs, labels = arrays
    if len(inputs) != len(labels):
        yield Damage(str(split), None, f"{len(inputs)} inputs and {len(labels)} labels")
        return
    yield from _row_facts(split / f"{name}__inputs.npy", inputs, labels, info.get("ignore_label_id"))


def _array(path: Path) -> NDArray[Any] | Damage:
    """The array, mapped into memory; object arrays (pickles) are refused."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return Damage(str(path), None, f"cannot be read: {error}")
    return (
        array
        if np.issubdtype(array.dtype, np.integer)
        else Damage(str(path), None, f"holds {array.dtype}, not whole numbers")
    )


def _row_facts(path: Path, inputs: NDArray[Any], labels: NDArray[Any], ignored: int | None) -> Iterator[Fact]:
    """Figures over rows taken evenly from the whole set, which may be far larger than memory."""
    if not inputs.size:
        yield Fact("data.empty_fraction", 1.0, file=str(path))
        return
    rows = np.unique(np.linspace(0, len(inputs) - 1, min(len(inputs), _MOST_ROWS)).astype(np.int64))
    tokens, targets = inputs[rows], labels[rows]
    masked = np.isin(targets, (-100,) if ignored is None else (-100, ignored))
    kept = targets[~masked]
    yield Fact("data.min_token_id", int(min(tokens.min(), kept.min(initial=0))), file=str(path))
    yield Fact("data.max_token_id", int(max(tokens.max(), kept.max(initial=0))), file=str(path))
    yield Fact("data.masked_fraction", float(masked.mean()), file=str(path))
    yield Fact("data.empty_fraction", float(masked.all(axis=1).mean()), file=str(path))
