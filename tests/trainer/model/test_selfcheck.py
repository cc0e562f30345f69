from __future__ import annotations

from typing import Any

import pytest
import torch

from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.faults import fault_of
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.model.selfcheck import positions_mix
from hrmdoc.trainer.native import attach

ARCH = {
    "hidden_size": 32,
    "H_layers": 1,
    "L_layers": 1,
    "num_heads": 2,
    "expansion": 2.0,
    "puzzle_emb_ndim": 32,
}
KINDS = [
    {},
    {"num_heads": 1},
    {"pos_encodings": "learned"},
    {"pos_encodings": "none", "mlp_t": True},
    {"causal": True, "puzzle_emb_ndim": 0},
    {"forward_dtype": "bfloat16"},
    {"H_cycles": 1, "L_cycles": 1},
]


def model(**changes: Any) -> HRM:
    torch.manual_seed(0)
    arch = ArchConfig(**{**ARCH, "forward_dtype": "float32", **changes})
    return HRM(arch, DataInfo(vocab_size=11, seq_len=81), 2).train()


@pytest.mark.parametrize("changes", KINDS)
def test_in_every_kind_of_model_positions_hear_of_one_another(changes: dict[str, Any]) -> None:
    assert positions_mix(model(**changes))


def test_the_kernels_in_c_are_looked_at_as_well() -> None:
    fast = model()
    attach(fast)
    assert positions_mix(fast)


def test_a_model_of_two_positions_is_enough_and_one_is_not_judged() -> None:
    assert positions_mix(
        HRM(ArchConfig(**{**ARCH, "forward_dtype": "float32"}), DataInfo(vocab_size=4, seq_len=1), 2)
    )


def test_the_check_draws_nothing_and_leaves_the_model_in_training() -> None:
    looked = model()
    before = torch.get_rng_state()
    positions_mix(looked)
    assert torch.equal(torch.get_rng_state(), before)
    assert looked.training


@pytest.mark.parametrize("heads", [1, 2])
def test_attention_over_the_heads_is_found(heads: int) -> None:
    deaf = model(num_heads=heads)
    fault_of("attention-layout-wrong").built(type("State", (), {"model": deaf})())  # type: ignore[arg-type]
    assert not positions_mix(deaf)


def test_a_run_warns_before_its_first_step(lab: Any) -> None:
    train(lab.job("max_steps=3", run="well"))
    assert lab.events("warning", run="well") == []
    train(lab.job("max_steps=3", "fault=attention-layout-wrong"))
    (event,) = [event for event in lab.events("warning") if "self-check" in event["message"]]
    assert event["step"] == 0
    assert any(line.startswith("warning: self-check: ") for line in lab.lines)
