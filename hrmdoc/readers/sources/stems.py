"""What names the run in the name of a file, and the records of several files that it keeps apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.support import names
from hrmdoc.readers.tables.labels import metric_of
from hrmdoc.text import patterns

_BESIDE_A_LOG = frozenset(
    {"tfevents", "hf_state", "nvidia_smi", "exposition", "powermetrics", "flight_recorder", "torchrun"}
)
_PART_WORDS = patterns.lazy(
    r"(?:^|[._-])(?:(?:global|local)?(?:rank|worker|gpu|node|proc|process|device)[._-]?\d+|(?:stdout|stderr|out|err|output|console"
    r"|logs?|train|training|val|valid|validation|eval|evaluation|dev|test))+(?=[._-]|$)",
    re.IGNORECASE,
)
"""Words in the name of a file that say which part of a run it is, not which run."""


def stem(source: Source) -> str:
    """What names the run in the name of a file; empty where it says only which part of a run it
    is, such as its rank or its metric."""
    if source.reader in _BESIDE_A_LOG or source.path == STDIN or metric_of(source.path):
        return ""
    name = names.plain_name(source.logger.replace("\\", "/").rpartition("/")[2])
    first, dot, ending = name.rpartition(".")
    first = first if dot and not ending.isdigit() else name
    return _PART_WORDS.sub("", first).strip("._-")


def gathered(sources: Iterable[Source], key: Callable[[Source], Hashable]) -> dict[Hashable, list[Source]]:
    """The sources by a key, in their order."""
    found: dict[Hashable, list[Source]] = defaultdict(list)
    for source in sources:
        found[key(source)].append(source)
    return dict(found)
