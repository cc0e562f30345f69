from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hrmdoc.trainer.faults import FAULTS, fault_of
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.model.attention import Attention


def losses(lab: Any, *words: str) -> list[float]:
    """The training loss of a run of four steps."""
    run = f"run{len(list(lab.folder.glob('run*')))}"
    train(lab.job("max_steps=4", *words, run=run))
    return [value for _, value in lab.scalars(run)["train/lm_loss"]]


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"kill", "hang"}))
def test_every_fault_runs_on_the_reference_model(lab: Any, name: str) -> None:
    outcome = train(lab.job("max_steps=4", f"fault={name}", "on_nonfinite=off"))
    assert outcome.step == 4


@pytest.mark.parametrize("name", ["lr-too-high", "lr-too-low", "no-warmup"])
def test_a_fault_of_the_rates_is_in_the_configuration_and_nowhere_else(lab: Any, name: str) -> None:
    job = lab.job(f"fault={name}:10")
    assert job.config.fault is None
    assert job.config.lr == pytest.approx(1e-4 if name == "lr-too-low" else 1e-2)
    job.run.close(0, "stopped")


@pytest.mark.parametrize("fault", ["bad-batch@3", "lr-zero@3", "wrong-labels@3", "zero-labels@3"])
def test_a_fault_with_a_step_leaves_the_steps_before_it_alone(lab: Any, fault: str) -> None:
    words = ("arch.halt_max_steps=1", "lr_warmup_steps=0", "log_interval=1")  # each step sees a new batch
    healthy, sick = losses(lab, *words), losses(lab, *words, f"fault={fault}")
    assert sick[:2] == healthy[:2]
    assert sick[2:] != healthy[2:]


def test_masked_labels_leave_no_loss(lab: Any) -> None:
    assert losses(lab, "fault=zero-labels") == [0.0] * 4


def test_a_zero_rate_leaves_the_weights_as_they_are(lab: Any) -> None:
    job = lab.job("max_steps=4", "fault=lr-zero@1")
    before = lab.weights(job.state)
    train(job)
    assert all(torch.equal(tensor, before[name]) for name, tensor in lab.weights(job.state).items())


def test_frozen_weights_get_no_gradient_and_the_head_does(lab: Any) -> None:
    job = lab.job("fault=frozen-params")
    trained = [name for name, parameter in job.state.model.named_parameters() if parameter.requires_grad]
    assert trained == ["core.lm_head.weight"]
    job.run.close(0, "stopped")


def test_the_wrong_attention_layout_mixes_heads_instead_of_positions(lab: Any) -> None:
    job = lab.job("fault=attention-layout-wrong")
    attention = next(module for module in job.state.model.modules() if isinstance(module, Attention))
    x = torch.randn(1, 5, 16)
    changed = x.clone()
    changed[:, 4] += 1
    with torch.no_grad():
        assert torch.equal(attention(x, None)[:, 0], attention(changed, None)[:, 0])
    job.run.close(0, "stopped")


def test_few_batches_come_again_and_again(lab: Any) -> None:
    job = lab.job("fault=memorize:2")
    first = [job.state.feed.next()["inputs"] for _ in range(4)]
    assert torch.equal(first[0], first[2])
    assert torch.equal(first[1], first[3])
    assert not torch.equal(first[0], first[1])
    job.run.close(0, "stopped")


def test_a_hang_silences_the_loop_for_as_long_as_asked(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = iter(range(100))
    fault = fault_of("hang:3@2")
    state = lab.job().state
    monkeypatch.setattr(
        "hrmdoc.trainer.faults.process.time",
        SimpleNamespace(sleep=slept.append, monotonic=lambda: next(clock)),
    )
    fault.before_step(state)
    assert slept == []
    state.step = 1
    fault.before_step(state)
    assert len(slept) == 2


def test_a_kill_sends_itself_the_signal_that_cannot_be_caught(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *call: sent.append(call))
    train(lab.job("max_steps=4", "fault=kill@3"))
    assert sent == [(os.getpid(), signal.SIGKILL)]


def test_leaked_memory_stays(lab: Any) -> None:
    job = lab.job("max_steps=4", "fault=leak-memory:1")
    train(job)
    assert sum(block.nbytes for block in job.fault.kept) == 4 << 20
