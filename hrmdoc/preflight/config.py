"""Values that a config gives, and the data set that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hrmdoc.record.records import Fact, Value

_DATA_KEYS = (
    "data_path",
    "train_file",
    "dataset_path",
    "data.path",
    "datasets[0].path",
    "train_data",
    "data.train",
)


def data_path_of(known: Mapping[str, Fact], config: Path | None) -> Path | None:
    """The data set that the config names, if it lies beside the config, above it, or where one stands."""
    named = next((str(known[key].value) for key in _DATA_KEYS if key in known and known[key].value), None)
    if named is None or config is None:
        return None
    folders = [Path(), *config.resolve().parents[:3]]
    return next((folder / named for folder in folders if (folder / named).exists()), None)


def config_value(known: Mapping[str, Fact], *keys: str) -> Value:
    """The first of `keys` that the config gives a value; a key matches the end of a dotted one."""
    for key in keys:
        for name, fact in known.items():
            if (
                fact.scope == "config"
                and (name == key or name.endswith(f".{key}"))
                and fact.value is not None
            ):
                return fact.value
    return None
