from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.optim.movement import Movement
from hrmdoc.trainer.parallel.world import World


def test_nothing_is_measured_of_a_step_that_was_not_asked_for() -> None:
    assert Movement([torch.ones(2)], World(), split=False).after() is None


def test_the_norms_are_those_of_the_old_weights_and_of_what_changed() -> None:
    weights = [torch.tensor([[3.0, 0.0]]), torch.tensor([4.0])]
    movement = Movement(weights, World(), split=False)
    movement.before()
    weights[0][0, 1] += 0.5
    weights[1] -= 1.2
    found = movement.after()
    assert found is not None
    assert found.tolist() == pytest.approx([25.0, 0.25 + 1.44])
    assert movement.after() is None


def test_the_processes_shares_add_up_whether_each_has_all_weights_or_a_part() -> None:
    def squares(parts: list[torch.Tensor], *, split: bool) -> list[float]:
        found = []
        for part in parts:
            movement = Movement([part], World(size=len(parts)), split=split)
            movement.before()
            part.mul_(0.5)
            found.append(movement.after())
        return torch.stack([one for one in found if one is not None]).sum(0).tolist()  # type: ignore[no-any-return]

    whole = torch.tensor([1.0, 2.0, 2.0, 4.0])
    assert squares([whole.clone(), whole.clone()], split=False) == pytest.approx([25.0, 6.25])
    assert squares(list(whole.clone().chunk(2)), split=True) == pytest.approx([25.0, 6.25])


@pytest.mark.parametrize("native", ["native=false", "native=true"])
def test_a_run_writes_at_every_interval_how_large_its_weights_are_and_how_far_they_moved(
    lab: Any, native: str
) -> None:
    job = lab.job("max_steps=7", "log_interval=3", native)
    began = torch.cat([p.detach().flatten() for p in job.state.parameters])
    train(job)
    found = {tag: dict(lab.scalars()[f"train/{tag}"]) for tag in ("param_norm", "update_ratio", "lr")}
    assert list(found["param_norm"]) == list(found["update_ratio"]) == [3, 6, 7]
    assert found["param_norm"][3] == pytest.approx(float(began.norm()), rel=0.01)
    for step, ratio in found["update_ratio"].items():
        furthest = (
            found["lr"][step] * math.pi / 2 / (1 - 0.9**step) * math.sqrt(len(began)) / float(began.norm())
        )
        assert 0.01 * furthest < ratio < 1.5 * furthest


def test_weights_that_stand_still_have_a_ratio_of_zero(lab: Any) -> None:
    train(lab.job("max_steps=6", "fault=lr-zero@3"))
    ratios = dict(lab.scalars()["train/update_ratio"])
    assert ratios[2] > 0
    assert (ratios[4], ratios[6]) == (0.0, 0.0)
    norms = dict(lab.scalars()["train/param_norm"])
    assert norms[4] == norms[6]
