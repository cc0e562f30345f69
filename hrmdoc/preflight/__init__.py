"""Looks at config, data and machine before training starts, and judges them by the same rulebook as a run.

Neither torch nor the user's code is imported; programs that are asked (`nvidia-smi`) get a few seconds.
"""

from __future__ import annotations

from pathlib import Path

from hrmdoc import rulebook
from hrmdoc.preflight.config import data_path_of
from hrmdoc.preflight.data import data_facts
from hrmdoc.preflight.derived import derived_facts
from hrmdoc.preflight.imports import import_facts
from hrmdoc.preflight.impossible import impossible_facts
from hrmdoc.preflight.machine import Machine, machine_facts
from hrmdoc.record.records import Damage, Fact
from hrmdoc.remedies.own_config import config_facts
from hrmdoc.rulebook import Rulebook

__all__ = ["Machine", "preflight"]


def preflight(
    config: str | Path | None = None,
    data: str | Path | None = None,
    environment: Machine | None = None,
    *,
    elsewhere: bool = False,
    book: Rulebook | None = None,
) -> list[Fact | Damage]:
    """What can be known before training, as records for `Run.extend`.

    Args:
        config: the config file: YAML, JSON, Python or `key=value` words. None looks at data and machine only.
        data: a JSON-lines, JSON or CSV file, or a folder in HRM's layout; by default the one that the config
            names.
        environment: the machine; by default this one, with the disk of the config's folder.
        elsewhere: the run will be on a machine that is not at hand, so that none is looked at.
        book: how settings are spelled; by default the rules that come with hrmdoc.

    Raises:
        InputError: the config cannot be read.
    """
    path = None if config is None else Path(config)
    records: list[Fact | Damage] = [] if path is None else list(config_facts(path))
    known = {fact.key: fact for fact in records if isinstance(fact, Fact)}
    records += impossible_facts(known, book or rulebook.load())
    if not elsewhere:
        folder = path.parent if path is not None else Path()
        machine = environment or Machine.here(folder)
        records += machine_facts(machine, known)
        records += import_facts(folder, machine, known)
    place = Path(data) if data is not None else data_path_of(known, path)
    if place is not None:
        records += data_facts(place, known)
    records += derived_facts({fact.key: fact for fact in records if isinstance(fact, Fact)})
    return records
