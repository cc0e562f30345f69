from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer.commands.benchmark import Stepper, random_batch
from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.data.info import IGNORE
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.gradients import gradient_norm, gradients
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.native import attach, library
from hrmdoc.trainer.native.adam import adam_atan2
from hrmdoc.trainer.optim.adam_atan2 import AdamATan2

INFO = DataInfo(vocab_size=6, seq_len=21)  # an odd number of rows: neither tiles nor strips come out even
SMALL = {
    "hidden_size": 32,
    "H_layers": 1,
    "L_layers": 2,
    "num_heads": 2,
    "expansion": 1,
    "puzzle_emb_ndim": 32,
}


def twins(info: DataInfo = INFO, **changes: Any) -> tuple[HRM, HRM]:
    """The same model twice, the second in C."""
    torch.manual_seed(0)
    arch = ArchConfig(**{**SMALL, "forward_dtype": "float32", "halt_exploration_prob": 0.0, **changes})
    plain, fast = HRM(arch, info, 3), HRM(arch, info, 3)
    fast.load_state_dict(plain.state_dict())
    attach(fast)
    return plain, fast


def outcome(model: HRM, loss_type: str = "stablemax_cross_entropy") -> dict[str, Tensor]:
    """Gradients, metrics and rows of the second of two steps with the same weights: some rows are in flight,
    some are new."""
    torch.manual_seed(1)
    with torch.no_grad():
        for p in (*model.core.q_head.parameters(), model.core.lm_head.weight):
            p.copy_(torch.randn(p.shape) / 4)
    carry, generator = None, torch.Generator().manual_seed(2)
    for seed in range(2):
        model.zero_grad()
        assert model.puzzle_emb is not None
        model.puzzle_emb.rows.grad = None
        batch = random_batch(model.data, 3, "cpu", seed)
        batch["labels"][0, : model.data.seq_len // 2] = IGNORE
        batch["labels"][1] = IGNORE if seed else batch["labels"][1]
        carry, sums = gradients(model.train(), carry, batch, 3.0, loss_type, generator)
    assert carry is not None
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    found |= {f"sum of {name}": value.float() for name, value in zip(sums.names, sums.values, strict=True)}
    found |= {
        name: getattr(carry, name).float() for name in ("z_H", "z_L", "steps", "halted")
    } | carry.current_data
    if carry.q_state is not None:
        found["q_state"] = carry.q_state
    assert model.puzzle_emb.rows.grad is not None
    return found | {"rows": model.puzzle_emb.rows.grad, "row_ids": model.puzzle_emb.row_ids}


def assert_same(plain: dict[str, Tensor], fast: dict[str, Tensor]) -> None:
    assert plain.keys() == fast.keys()
    for name, expected in plain.items():
        torch.testing.assert_close(
            fast[name], expected, rtol=2e-5, atol=2e-5 * float(expected.abs().max()), msg=name
        )


VARIANTS = [
    {},
    {"num_heads": 1, "L_layers": 1, "hidden_size": 48, "puzzle_emb_ndim": 48},
    {"pos_encodings": "learned"},
    {"single_net": True, "full_backprop": True, "no_act_continue": True, "L_cycles": 3},
    {"H_cycles": 1, "L_cycles": 1, "q_target": "reuse"},
    {"puzzle_emb_ndim": 40, "halt_exploration_prob": 1.0, "halt_max_steps": 3},
    {"halt_max_steps": 1, "pos_encodings": "none"},
]


@pytest.mark.parametrize("changes", VARIANTS)
def test_a_step_in_c_has_the_gradients_metrics_and_rows_of_one_in_python(changes: dict[str, Any]) -> None:
    assert_same(*(outcome(model) for model in twins(**changes)))


def test_a_step_in_c_knows_the_other_loss_and_refuses_an_unknown_one() -> None:
    pair = twins()
    assert_same(*(outcome(model, "softmax_cross_entropy") for model in pair))
    with pytest.raises(ConfigError, match="unknown loss_type"):
        outcome(pair[1], "softmax")


def test_gradients_of_micro_batches_add_up_and_frozen_weights_have_none() -> None:
    _, fast = twins()
    fast.embed_tokens.weight.requires_grad_(False)
    batch = random_batch(INFO, 3, "cpu")
    once, twice = [], []
    for count, found in ((1, once), (2, twice)):
        fast.zero_grad()
        for _ in range(count):
            gradients(fast.train(), None, batch, 1.0, "stablemax_cross_entropy")
        assert fast.embed_tokens.weight.grad is None
        found += [p.grad.clone() for p in fast.parameters() if p.grad is not None]
        expected = torch.stack([grad.norm() for grad in found]).norm()
        torch.testing.assert_close(gradient_norm(fast, list(fast.parameters())), expected)
    for one, two in zip(once, twice, strict=True):
        torch.testing.assert_close(two, 2 * one)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [("inputs", 6, "token"), ("labels", -7, "label"), ("puzzle_identifiers", 1, "puzzle")],
)
def test_data_beyond_what_the_dataset_declares_is_refused(key: str, value: int, what: str) -> None:
    batch = random_batch(INFO, 3, "cpu")
    batch[key].view(-1)[-1] = value
    with pytest.raises(InputError, match=f"a {what}"):
        gradients(twins()[1].train(), None, batch, 1.0, "stablemax_cross_entropy")


def curve(model: HRM, steps: int) -> list[float]:
    stepper = Stepper(model, lr=1e-4, weight_decay=0.1)
    return [
        float(stepper.step(random_batch(model.data, 3, "cpu", seed % 4))["lm_loss"]) for seed in range(steps)
    ]


@pytest.mark.parametrize(("size", "length"), [(128, 90), (208, 140)])
def test_wide_models_whose_products_are_cut_up_have_the_gradients_of_the_layers(
    size: int, length: int
) -> None:
    pair = twins(
        DataInfo(vocab_size=6, seq_len=length), hidden_size=size, puzzle_emb_ndim=size, L_layers=1, H_cycles=1
    )
    assert_same(*(outcome(model) for model in pair))


@pytest.mark.parametrize("changes", VARIANTS)
def test_the_first_losses_are_those_of_the_layers(changes: dict[str, Any]) -> None:
    plain, fast = (curve(model, 8) for model in twins(**changes))
    assert fast[:2] == pytest.approx(plain[:2], rel=1e-6)
    assert fast == pytest.approx(plain, rel=1e-5)
    assert len(set(fast)) == 8


def test_fifty_steps_on_whole_boards_have_the_losses_of_the_layers() -> None:
    plain, fast = (
        curve(model, 50) for model in twins(info=DataInfo(vocab_size=11, seq_len=81), L_layers=1, num_heads=1)
    )
    assert fast[:3] == pytest.approx(plain[:3], rel=1e-6)
    assert fast == pytest.approx(plain, rel=1e-5)


def test_evaluation_gives_the_same_in_any_number_of_rows() -> None:
    for model, rows in zip(twins(), (5, 5), strict=True):
        model.eval()
        batch = random_batch(INFO, rows, "cpu")
        with torch.no_grad():
            _, outputs = model(model.initial_carry(batch), batch)
        if model.core.kernels is None:
            expected = outputs
    torch.testing.assert_close(outputs["logits"], expected["logits"], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(outputs["q_halt_logits"], expected["q_halt_logits"])


def test_changed_weights_are_noticed() -> None:
    _, fast = twins()
    batch = random_batch(INFO, 3, "cpu")
    with torch.no_grad():
        before = fast(fast.initial_carry(batch), batch)[1]["logits"]
        fast.core.L_level.get_parameter("layers.1.mlp.down.weight").mul_(2)
        after = fast(fast.initial_carry(batch), batch)[1]["logits"]
    assert not torch.equal(before, after)


@pytest.mark.parametrize(
    "where", ["layers.0.attention.qkv.weight", "layers.1.mlp.gate_up.weight", "layers.0.mlp.down.weight"]
)
def test_a_number_that_is_none_is_not_lost_on_the_way(where: str) -> None:
    _, fast = twins()
    with torch.no_grad():
        fast.core.L_level.get_parameter(where)[0, 0] = torch.nan
    found = outcome(fast)
    assert found["core.L_level.layers.0.attention.qkv.weight"].isnan().any()
    assert found["sum of lm_loss"].isnan()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"forward_dtype": "bfloat16"}, "float32"),
        ({"causal": True}, "causal"),
        ({"hidden_size": 24, "num_heads": 2, "puzzle_emb_ndim": 24}, "multiple of 16"),
    ],
)
def test_a_model_that_the_kernels_do_not_know_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        twins(**changes)


def test_a_run_in_c_learns_what_one_in_python_does(lab: Any) -> None:
    words = ("max_steps=12", "checkpoint_interval=6", "ema=true")
    train(lab.job(*words, "native=false", run="plain"))
    train(lab.job(*words, "native=true", run="fast"))
    train(
        lab.job(
            f"resume={lab.folder / 'fast' / 'checkpoints' / 'step_6'}",
            f"run_dir={lab.folder / 'rest'}",
            *words,
            "native=true",
        )
    )
    plain, fast, rest = (dict(lab.scalars(run)["train/lm_loss"]) for run in ("plain", "fast", "rest"))
    assert list(fast.values()) == pytest.approx(list(plain.values()), rel=1e-5)
    for tag in ("train/grad_norm", "train/param_norm", "train/update_ratio"):
        norms = [[value for _, value in lab.scalars(run)[tag]] for run in ("plain", "fast")]
        assert norms[1] == pytest.approx(norms[0], rel=1e-4), tag
    assert rest == {step: value for step, value in fast.items() if step > 6}
    assert "native kernels" in (lab.folder / "fast" / "train.log").read_text()


def test_a_run_says_which_kernels_it_has_and_why(lab: Any) -> None:
    assert lab.job("max_steps=2", run="auto").state.native
    assert not lab.job("max_steps=2", "native=false", run="off").state.native
    log = "\n".join(lab.lines)
    assert "native kernels: a small model on one CPU thread" in log
    assert "no native kernels: native=false" in log


def test_without_a_compiler_only_a_run_that_asks_for_the_kernels_stops(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    try:
        assert not lab.job("max_steps=2").state.native
        assert "no native kernels: the native kernels need a C compiler" in "\n".join(lab.lines)
        with pytest.raises(ConfigError, match="C compiler"):
            lab.job("max_steps=2", "native=true", run="asked")
    finally:
        library.cache_clear()


def test_a_resume_by_other_kernels_says_so_and_one_by_the_same_does_not(lab: Any) -> None:
    train(lab.job("max_steps=2", "checkpoint_interval=2"))
    lab.lines.clear()
    lab.job(f"resume={lab.folder / 'run'}", "max_steps=4")
    assert not [line for line in lab.lines if "but for rounding" in line]
    lab.job(f"resume={lab.folder / 'run'}", "max_steps=4", "native=false")
    (warning,) = [line for line in lab.lines if "but for rounding" in line]
    assert "made with the native kernels and this run goes on with PyTorch's operations" in warning
    assert "native=true goes on bit for bit" in warning


def test_a_fault_that_changes_the_layers_is_not_passed_by_and_another_one_leaves_the_kernels(
    lab: Any,
) -> None:
    assert not lab.job("fault=attention-layout-wrong", run="layers").state.native
    assert lab.job("fault=lr-zero@3", run="rate").state.native


def test_the_optimizer_in_c_does_the_steps_of_the_one_in_python() -> None:
    torch.manual_seed(0)
    sizes = [(3, 7), (8,), (1,), (40, 33)]
    weights = [[torch.nn.Parameter(torch.randn(size)) for size in sizes]]
    weights.append([torch.nn.Parameter(p.detach().clone()) for p in weights[0]])
    plain, fast = (AdamATan2(params, 0.01, weight_decay=0.5) for params in weights)
    fast.moment_step = adam_atan2
    before = weights[1][0]._version
    for step in range(4):
        for one, two in zip(*weights, strict=True):
            grad = torch.randn_like(one) * 10.0 ** (step * 6 - 12)
            grad.view(-1)[0] = 0.0 if step < 2 else 1.0
            one.grad = two.grad = None if step == 1 and one.ndim == 1 else grad
        plain.step()
        fast.step()
    for one, two in zip(*weights, strict=True):
        torch.testing.assert_close(two, one, rtol=1e-6, atol=1e-7)
        for key in ("exp_avg", "exp_avg_sq"):
            torch.testing.assert_close(fast.state[two][key], plain.state[one][key], rtol=1e-6, atol=0)
    assert weights[1][0]._version > before


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_the_optimizer_in_c_treats_a_gradient_that_is_no_number_like_the_one_in_python(bad: float) -> None:
    results = []
    for in_c in (False, True):
        weight = torch.nn.Parameter(torch.ones(11))
        optimizer = AdamATan2([weight], 0.01)
        optimizer.moment_step = adam_atan2 if in_c else None
        weight.grad = torch.ones(11).index_fill_(0, torch.tensor([2, 9]), bad)
        optimizer.step()
        results.append(weight.detach())
    torch.testing.assert_close(results[1], results[0], equal_nan=True)
