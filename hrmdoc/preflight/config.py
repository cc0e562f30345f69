"""The facts in a config file, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hrmdoc.errors import InputError, PatchError
from hrmdoc.record.run import Fact, Value
from hrmdoc.remedies import files
from hrmdoc.remedies.document import Leaf, dotted
from hrmdoc.remedies.formats import parse
from hrmdoc.remedies.python_edit import is_config
from hrmdoc.remedies.scalars import Kind, read

_DATA_KEYS = (
    "data_path",
    "train_file",
    "dataset_path",
    "data.path",
    "datasets[0].path",
    "train_data",
    "data.train",
)
_TABLES = (".jsonl", ".csv", ".tsv")


def config_facts(path: Path) -> Iterator[Fact]:
    """Every value of the file as a fact in the framework's own words; and `config.read` where what it leaves
    out is not set.

    Of a program, most settings cannot be seen, so that nothing follows from their absence.

    Raises:
        InputError: the file cannot be read or is not in a known format.
    """
    if path.suffix.lower() in _TABLES:
        raise InputError("is data, not a config", file=path, hint="hrmdoc preflight [CONFIG] --data FILE")
    try:
        source = files.read(path)
        document = parse(str(path), source.text)
    except PatchError as error:
        raise InputError(error.what, file=error.file, line=error.line, hint=error.hint) from error
    for route, leaf in document.leaves.items():
        yield Fact(dotted(route), _typed(leaf), "config", str(path), leaf.line)
    if path.suffix != ".py" or is_config(source.text):
        yield Fact("config.read", True, file=str(path))


def _typed(leaf: Leaf) -> Value:
    """The value with the type that its text says; words stay words."""
    kinds: tuple[Kind, ...] = (
        ("int", "float", "bool") if leaf.text.lower() not in {"y", "n", "0", "1"} else ("int",)
    )
    if leaf.tag in {"{}", "[]"}:
        return leaf.tag
    for kind in kinds:
        try:
            return read(leaf.text, kind)
        except ValueError:
            continue
    return leaf.text


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
