"""Records printed as Python or JSON mappings: `{'loss': 2.1, 'epoch': 0.3}`, with numbers or, in newer versions, strings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NUMBER = r"[-+]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|nan|NaN|inf|Infinity)"
_PAIR = re.compile(
    rf"""["']([^"'{{}}\n]{{1,120}})["']\s{{0,8}}:\s{{0,8}}(?:(?:np\.)?(?:tensor|array|float\d\d|float\d\d_|int\d\d)\()?(["']?)({_NUMBER})\2(?=\s*[,}})\]])"""
)
_RATIO = re.compile(r"""["'](?:global_step/max_steps|current_steps/total_steps)["']\s?:\s?["'](\d+)/(\d+)["']""")
_STEP_KEYS = ("step", "global_step", "_step", "iter", "iteration", "current_steps", "num_updates", "trainer/global_step")
_TOTAL_KEYS = ("total_steps", "max_steps")
_END_KEYS = ("train_runtime",)


@dataclass(slots=True)
class Mapping:
    """One printed mapping: numbers by key, the step it tells, and whether numbers were quoted."""

    values: dict[str, float] = field(default_factory=dict)
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    quoted: bool = False

    @property
    def closing(self) -> bool:
        """The summary at the end of a training."""
        return any(key in self.values for key in _END_KEYS)

    @property
    def evaluation(self) -> bool:
        """Whether its measures are of an evaluation."""
        return any(key.startswith("eval_") for key in self.values) and "loss" not in self.values


def mapping_of(text: str) -> Mapping | None:
    """The mapping in `text`, wherever it stands; None when there is none with two numbers."""
    start = text.find("{")
    if start < 0:
        return None
    pairs = _PAIR.findall(text, start)
    if len(pairs) < 1:
        return None
    mapping = Mapping()
    for key, quote, number in pairs:
        mapping.values[key] = float(number.replace("_", ""))
        mapping.quoted = mapping.quoted or bool(quote)
    if ratio := _RATIO.search(text, start):
        mapping.step, mapping.total = int(ratio.group(1)), int(ratio.group(2))
    for key in _STEP_KEYS:
        if mapping.step is None and (value := mapping.values.get(key)) is not None and value.is_integer():
            mapping.step = int(value)
    for key in _TOTAL_KEYS:
        if mapping.total is None and (value := mapping.values.get(key)) is not None and value.is_integer():
            mapping.total = int(value)
    mapping.epoch = mapping.values.get("epoch")
    for key in (*_STEP_KEYS, *_TOTAL_KEYS):
        mapping.values.pop(key, None)
    return mapping
