"""Small models for the tests of what a model computes, one ACT step at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM

SMALL = DataInfo(vocab_size=6, seq_len=16, num_puzzle_identifiers=3)


def tiny(**changes: Any) -> ArchConfig:
    fields = {
        "hidden_size": 8,
        "num_heads": 2,
        "expansion": 1,
        "H_layers": 1,
        "L_layers": 1,
        "puzzle_emb_ndim": 8,
    }
    return ArchConfig(**(fields | {"forward_dtype": "float32", "halt_max_steps": 4} | changes))


def build(batch_size: int = 4, **changes: Any) -> HRM:
    torch.manual_seed(0)
    return HRM(tiny(**changes), SMALL, batch_size)


def batch(rows: int = 4, seed: int = 1) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 6, (2, rows, 16), generator=g, dtype=torch.int32)
    ids = torch.randint(0, 3, (rows,), generator=g, dtype=torch.int32)
    return {"inputs": tokens[0], "labels": tokens[1], "puzzle_identifiers": ids}


def passes(model: HRM) -> list[tuple[str, bool]]:
    """Records (level, with gradient) of every pass to come."""
    seen: list[tuple[str, bool]] = []
    for name in ("L_level", "H_level"):
        level = getattr(model.core, name)
        if level is not None:
            level.register_forward_hook(lambda *_, name=name: seen.append((name[0], torch.is_grad_enabled())))
    return seen
