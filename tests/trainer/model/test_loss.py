import math

import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.model.loss import (
    compute_loss,
    softmax_cross_entropy,
    stablemax_cross_entropy,
    widest_float,
)
from hrmdoc.trainer.model.step import Carry


def stablemax_by_hand(logits, label):
    s = [x + 1 if x >= 0 else 1 / (1 - x) for x in logits]
    return -math.log(s[label] / sum(s))


def carry(labels, halted, steps):
    z = torch.zeros(len(labels), 1, 1)
    data = {"inputs": labels, "labels": labels}
    return Carry(z, z, torch.tensor(steps, dtype=torch.int32), torch.tensor(halted), data)


def outputs(logits, halt, go_on=None, target=None):
    out = {
        "logits": logits,
        "q_halt_logits": torch.tensor(halt),
        "q_continue_logits": torch.tensor(go_on or halt),
    }
    return out if target is None else out | {"target_q_continue": torch.tensor(target)}


def bce(x, target):
    return -(target * math.log(1 / (1 + math.exp(-x))) + (1 - target) * math.log(1 - 1 / (1 + math.exp(-x))))


# Predictions: row 0 is all right, row 1 has one of its two labelled cells right, row 2 has no label.
LABELS = torch.tensor([[1, 2, 0], [2, 1, -100], [-100, -100, -100]], dtype=torch.int32)
LOGITS = torch.tensor(
    [
        [[0.0, 3, -1], [0, 1, 2], [5, 1, 1]],
        [[0, 0, 1], [4, 0, 0], [0, 9, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ]
)


def test_stablemax_equals_the_plain_formula():
    got = stablemax_cross_entropy(LOGITS, LABELS)
    assert got.dtype == torch.float64
    for row in range(3):
        for cell in range(3):
            label = int(LABELS[row, cell])
            expected = 0 if label == -100 else stablemax_by_hand(LOGITS[row, cell].tolist(), label)
            assert got[row, cell].item() == pytest.approx(expected, abs=1e-12)


def test_apples_gpus_compute_in_float32():
    assert widest_float("mps") == torch.float32
    assert widest_float("cpu") == widest_float("cuda:1") == torch.float64


def test_stablemax_of_huge_logits_stays_finite_with_its_gradient():
    logits = torch.tensor([[[1e30, -1e30, 1.0]]], requires_grad=True)
    stablemax_cross_entropy(logits, torch.tensor([[1]])).sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_softmax_equals_the_plain_formula_and_ignores_the_same_cells():
    got = softmax_cross_entropy(LOGITS, LABELS)
    z = [math.exp(x) for x in LOGITS[0, 0].tolist()]
    assert got[0, 0].item() == pytest.approx(-math.log(z[1] / sum(z)), rel=1e-6)
    assert got[1, 2] == 0
    assert not got[2].any()


def test_the_loss_is_the_sum_of_row_means_and_half_of_the_value_losses():
    loss, metrics = compute_loss(
        outputs(LOGITS, [2.0, -1.0, 3.0], [0.5, -0.5, 3.0], [0.3, 0.6, 0.9]),
        carry(LABELS, [True, True, True], [4, 2, 3]),
    )
    row0 = sum(stablemax_by_hand(LOGITS[0, c].tolist(), int(LABELS[0, c])) for c in range(3)) / 3
    row1 = sum(stablemax_by_hand(LOGITS[1, c].tolist(), int(LABELS[1, c])) for c in range(2)) / 2
    q_halt = bce(2.0, 1) + bce(-1.0, 0)
    q_continue = bce(0.5, 0.3) + bce(-0.5, 0.6)
    assert metrics["lm_loss"].item() == pytest.approx(row0 + row1)
    assert metrics["q_halt_loss"].item() == pytest.approx(q_halt, rel=1e-5)
    assert metrics["q_continue_loss"].item() == pytest.approx(q_continue, rel=1e-5)
    assert loss.item() == pytest.approx(row0 + row1 + 0.5 * (q_halt + q_continue), rel=1e-6)


def test_metrics_are_sums_over_halted_rows_that_have_labels():
    _, metrics = compute_loss(outputs(LOGITS, [2.0, 1.0, 3.0]), carry(LABELS, [True, True, True], [4, 2, 3]))
    assert {key: value.item() for key, value in metrics.items() if "loss" not in key} == {
        "count": 2,
        "accuracy": 1.5,
        "exact_accuracy": 1,
        "q_halt_accuracy": 1,  # row 1 says "right" and is not
        "steps": 6,
    }


def test_rows_still_in_flight_count_in_the_losses_only():
    _, all_rows = compute_loss(outputs(LOGITS, [2.0, 1.0, 3.0]), carry(LABELS, [True, True, True], [4, 2, 3]))
    _, metrics = compute_loss(
        outputs(LOGITS, [2.0, 1.0, 3.0]), carry(LABELS, [False, True, False], [4, 2, 3])
    )
    assert (metrics["count"].item(), metrics["steps"].item(), metrics["accuracy"].item()) == (1, 2, 0.5)
    assert metrics["lm_loss"] == all_rows["lm_loss"]
    assert metrics["q_halt_loss"] == all_rows["q_halt_loss"]


def test_no_halted_row_gives_zeros_and_no_nan():
    _, metrics = compute_loss(outputs(LOGITS, [2.0, 1.0, 3.0]), carry(LABELS, [False] * 3, [1, 1, 1]))
    assert [
        metrics[key].item() for key in ("count", "accuracy", "exact_accuracy", "q_halt_accuracy", "steps")
    ] == [0] * 5


def test_a_value_of_exactly_zero_says_right():
    _, metrics = compute_loss(outputs(LOGITS, [0.0, -1.0, 0.0]), carry(LABELS, [True] * 3, [1, 1, 1]))
    assert metrics["q_halt_accuracy"].item() == 2


def test_the_first_loss_of_equal_logits_is_the_log_of_the_vocabulary():
    labels = torch.ones(1, 5, dtype=torch.int32)
    _, metrics = compute_loss(outputs(torch.zeros(1, 5, 11), [-5.0]), carry(labels, [False], [1]))
    assert metrics["lm_loss"].item() == pytest.approx(math.log(11))


def test_metrics_carry_no_graph_and_the_loss_does():
    logits = LOGITS.clone().requires_grad_()
    loss, metrics = compute_loss(outputs(logits, [0.0, 0.0, 0.0]), carry(LABELS, [True] * 3, [1, 1, 1]))
    assert loss.requires_grad
    assert not any(value.requires_grad for value in metrics.values())


def test_an_unknown_loss_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'softmax_cross_entropy'"):
        compute_loss(outputs(LOGITS, [0.0] * 3), carry(LABELS, [True] * 3, [1, 1, 1]), "softmax_crossentropy")
