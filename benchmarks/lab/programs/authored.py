"""What the programs of this folder that were written blind have in common: how they are started."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch


def start(defaults: dict[str, Any], train: Callable[[dict[str, Any], str, int], None]) -> None:
    """Reads the specification and trains with these settings, this fault and this seed, on one thread."""
    spec = json.loads(sys.argv[1])
    torch.manual_seed(spec["seed"])
    torch.set_num_threads(1)
    train({**defaults, **spec["settings"]}, spec["fault"], spec["seed"])
