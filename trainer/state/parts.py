"""The state of a run in parts: what a process keeps of a whole one, and how parts become whole again.

The number of processes, and the strategy, may differ between saving and loading. What was saved whole is read
whole.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..optim.ema import EMA
from ..parallel.split import like_whole, own_part

MOMENTS = ("exp_avg", "exp_avg_sq")


def parts_of(model: nn.Module, dense: torch.optim.Optimizer, ema: EMA | None) -> dict[str, Tensor]:
    """Every tensor of a run's state that is split, by a flat name, ready for `write`."""
    named = list(model.named_parameters())
    tensors: dict[str, Tensor] = {f"model.{name}": parameter.detach() for name, parameter in named}
    for (name, parameter), part in zip(named, dense.param_groups[0]["params"], strict=True):
        for key in MOMENTS:
            moment = dense.state[part].get(key, torch.zeros_like(part))
            tensors[f"{key}.{name}"] = like_whole(moment, parameter)
    if ema is not None:
        for (name, parameter), average in zip(named, ema.average, strict=True):
            tensors[f"ema.{name}"] = like_whole(average, parameter)
    return tensors


def join(state: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The state of a run that was saved in parts, as if it had been saved whole."""

    def under(prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)
        }

    weights, moments = under("model."), [under(f"{key}.") for key in MOMENTS]
    by_index = {
        index: dict(zip(MOMENTS, (moment[name] for moment in moments), strict=True))
        for index, name in enumerate(state["split"])
    }
    ema = None if state["ema"] is None else {**state["ema"], "average": under("ema.")}
    optimizer = {**state["optimizer"], "state": by_index}
    return {**state, "model": {**weights, **state["model"]}, "optimizer": optimizer, "ema": ema}


def take_parts(model: nn.Module, state: dict[str, Any]) -> dict[str, Any]:
    """Of a whole state what this process keeps."""
    named = dict(model.named_parameters())

    def parts(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: own_part(tensor, named[name]) if name in named else tensor
            for name, tensor in tensors.items()
        }

    moments = {
        index: {key: own_part(entry[key], parameter) for key in entry}
        for (index, entry), parameter in zip(
            state["optimizer"]["state"].items(), named.values(), strict=False
        )
    }
    ema = None if state["ema"] is None else {**state["ema"], "average": parts(state["ema"]["average"])}
    return {
        **state,
        "model": parts(state["model"]),
        "optimizer": {**state["optimizer"], "state": moments},
        "ema": ema,
    }
