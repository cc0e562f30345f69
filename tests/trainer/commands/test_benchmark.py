import dataclasses

import pytest
import torch

from hrmdoc.errors import UsageError
from hrmdoc.trainer.commands import benchmark
from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM

SMALL = [
    "arch.hidden_size=8",
    "arch.num_heads=2",
    "arch.H_layers=1",
    "arch.L_layers=1",
    "arch.expansion=1",
    "device=cpu",
]
ARCH = ArchConfig(
    hidden_size=8,
    num_heads=2,
    expansion=1,
    H_layers=1,
    L_layers=1,
    puzzle_emb_ndim=8,
    forward_dtype="float32",
)


def test_every_backend_is_measured_or_its_absence_explained(capsys):
    assert (
        benchmark.command(
            ["--benchmark", "--seq-len", "16", "--batch=2", "--seconds", "1", "threads=1", *SMALL]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert "float32 matmul precision" in lines[0]
    assert "batch 2 x 16 tokens (+1)" in lines[1]
    assert [line.split()[0] for line in lines[3:]] == ["sdpa", "flash", "naive", "native"]
    assert "computes in float16 or bfloat16 only" in lines[4]
    assert "not used: the hidden size 8 is no multiple of 16" in lines[6]
    assert lines[3].endswith("%")


def test_the_kernels_in_c_are_measured_where_a_run_would_use_them(capsys):
    words = ["--seq-len=16", "--batch=2", "--seconds=1", "threads=1", *SMALL, "arch.hidden_size=16"]
    assert benchmark.command(words) == 0
    native = capsys.readouterr().out.splitlines()[6]
    assert native.startswith("native ")
    assert native.endswith("%")


@pytest.mark.parametrize(
    "words", [["--batch", "many"], ["--seq-len"], ["--benchmrk", "2"], ["--batch", "0"], ["a.yaml", "b.yaml"]]
)
def test_a_mistake_is_reported_with_the_options(words):
    with pytest.raises(UsageError):
        benchmark.command(words)


def test_operations_are_those_of_the_matrix_products():
    info = DataInfo(vocab_size=11, seq_len=81)
    tokens, h, inner, heads = 2 * 82, 8, 256, 2
    projections = 2 * tokens * (4 * h * h + 3 * h * inner)
    attention = 2 * 2 * 2 * heads * 82 * 82 * (h // heads)
    assert heads * (h // heads) == h
    low_and_high = (
        12 * (projections + attention) + 4 * projections + 4 * attention
    )  # two passes have gradients
    counted = benchmark.step_flops(ARCH, info, 2)
    assert counted < low_and_high + 6 * tokens * h * 13  # the heads
    assert counted > 0.9 * low_and_high  # the last pass of the target needs one position only


def test_operations_grow_with_the_batch_and_fall_with_a_reused_target():
    info = DataInfo(vocab_size=11, seq_len=81)
    assert benchmark.step_flops(ARCH, info, 6) == 3 * benchmark.step_flops(ARCH, info, 2)
    reuse = ArchConfig(
        **{name: getattr(ARCH, name) for name in ARCH.__dataclass_fields__} | {"q_target": "reuse"}
    )
    assert benchmark.step_flops(reuse, info, 2) < 0.7 * benchmark.step_flops(ARCH, info, 2)


def test_a_step_learns():
    torch.manual_seed(0)
    info = DataInfo(vocab_size=6, seq_len=16)
    stepper = benchmark.Stepper(HRM(ARCH, info, 4), lr=1e-2, weight_decay=0.0)
    batch = benchmark.random_batch(info, 4, "cpu")
    first = stepper.step(batch)["lm_loss"]
    for _ in range(30):
        last = stepper.step(batch)["lm_loss"]
    assert last < 0.8 * first


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mlp_t": True, "pos_encodings": "none"},
        {"single_net": False},
        {"causal": True},
        {"q_target": "reuse"},
    ],
)
def test_every_variant_learns(changes):
    trm = {
        "single_net": True,
        "full_backprop": True,
        "no_act_continue": "q_target" not in changes,
        "puzzle_emb_len": 2,
    }
    arch = dataclasses.replace(ARCH, **{**trm, "L_cycles": 3, **changes})
    torch.manual_seed(0)
    info = DataInfo(vocab_size=6, seq_len=16)
    stepper = benchmark.Stepper(HRM(arch, info, 4), lr=1e-2, weight_decay=0.0)
    batch = benchmark.random_batch(info, 4, "cpu")
    first = stepper.step(batch)
    for _ in range(30):
        last = stepper.step(batch)
    assert last["lm_loss"] < 0.8 * first["lm_loss"]
    assert ("q_continue_loss" in last.names) is ("q_target" in changes)
