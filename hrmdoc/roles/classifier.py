"""How many answers a classifier of transformers has: its configuration names its labels, two where it names
none, and its vocabulary is of what it reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hrmdoc.roles.values import at

if TYPE_CHECKING:
    from hrmdoc.record.records import Fact
    from hrmdoc.record.run import Run

CLASSIFIER = re.compile(r"For(?:Sequence|Token|Image|Audio|Video)Classification$|ForMultipleChoice$")
"""What the names of such classes of models end with."""
_NAMES = ("architectures", "model_config.architectures")
_LABELS = re.compile(r"(?:^|\.)id2label(?:\.|$)")
_USUAL = 2


def take_classes(run: Run, found: dict[str, Fact]) -> None:
    """Makes the vocabulary of a classifier one of its model, and its labels the classes."""
    config = {key: fact for (scope, key), fact in run.facts.items() if scope == "config"}
    named = next((config[name] for name in _NAMES if name in config), None)
    if named is None or not CLASSIFIER.search(str(named.value)):
        return
    vocabulary = found.pop("data.vocab_size", None)
    if vocabulary is not None:
        found.setdefault("model.vocab_size", at(vocabulary, "model.vocab_size", vocabulary.value))
    classes = 0 if "MultipleChoice" in str(named.value) else _classes(config)
    if classes >= _USUAL:
        found.setdefault("data.classes", at(named, "data.classes", classes))


def _classes(config: dict[str, Fact]) -> int:
    """How many labels a configuration names; 0 where an example may have several, or a number for one."""
    problem = next((str(fact.value) for key, fact in config.items() if key.endswith("problem_type")), "")
    if problem.startswith(("multi_label", "regression")):
        return 0
    labels = [key for key in config if _LABELS.search(key)]
    counted = next((config[key].value for key in labels if key.endswith("id2label")), len(labels) or _USUAL)
    return counted if isinstance(counted, int) else 0
