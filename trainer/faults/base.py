"""The interface of the fault lab: where a fault may reach into a run. No hook changes anything by default."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hrmdoc.errors import ConfigError, did_you_mean

from ..config.schema import TrainConfig
from ..model.step import Batch

if TYPE_CHECKING:
    from ..state.feed import Stream
    from ..state.state import TrainState

_SPEC = re.compile(r"(?P<name>[a-z0-9-]+)(?::(?P<strength>[0-9.eE+-]+))?(?:@(?P<step>\d+))?")


@dataclass
class Fault:
    """A defect put into a run on purpose, in its data, model, optimizer, schedule, precision or process;
    never into its logs.

    Attributes:
        strength: how bad; what it means stands in each fault, as is its default.
        step: the first step that is affected.
        in_layers: whether it reaches into layers or heads, which the kernels in C pass by.
    """

    strength: float = 1.0
    step: int = 1
    cause: ClassVar[str] = ""
    in_layers: ClassVar[bool] = False

    def config(self, config: TrainConfig) -> TrainConfig:
        """Before anything is built."""
        return config

    def source(self, stream: Stream) -> Stream:
        """Where batches come from."""
        return stream

    def built(self, state: TrainState) -> None:
        """After model and optimizers are built, before a checkpoint is loaded."""

    def before_step(self, state: TrainState) -> None:
        """`state.step + 1` is about to be taken."""

    def batch(self, step: int, batch: Batch) -> Batch:
        """A batch, on its way to the model."""
        del step
        return batch

    def lr(self, step: int, lr: float) -> float:
        """The rate that the schedule asks for."""
        del step
        return lr

    def write(self, state: dict[str, Any], file: Any, save: Callable[[dict[str, Any], Any], None]) -> None:
        """A checkpoint's state on its way to the disk."""
        save(state, file)

    def saved(self, path: Path) -> None:
        """A checkpoint was completed."""


def parse(text: str, known: dict[str, type[Fault]]) -> Fault:
    """The fault that `name[:strength][@step]` names.

    Raises:
        ConfigError: there is no such fault, or the text has another form.
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"fault={text} has not the form name[:strength][@step]", hint="such as fault=nan-weights@50"
        )
    name = match["name"]
    if name not in known:
        raise ConfigError(
            f"there is no fault {name!r}",
            hint=did_you_mean(name, known) or f"known: {', '.join(sorted(known))}",
        )
    fault = known[name]()
    try:
        if match["strength"]:
            fault = replace(fault, strength=float(match["strength"]))
    except ValueError as error:
        raise ConfigError(f"the strength of fault={text} is no number") from error
    return replace(fault, step=int(match["step"])) if match["step"] else fault
