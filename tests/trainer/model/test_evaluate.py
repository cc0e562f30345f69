import math

import numpy as np
import pytest
import torch

from hrmdoc.trainer.data import DataInfo, PuzzleData, iterate, write_split
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.evaluate import evaluate
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.model.loss import compute_loss

ARCH = ArchConfig(
    hidden_size=8,
    num_heads=2,
    expansion=1,
    H_layers=1,
    L_layers=1,
    puzzle_emb_ndim=8,
    forward_dtype="float32",
    halt_max_steps=3,
)


@pytest.fixture
def setup(tmp_path):
    rng = np.random.default_rng(0)
    inputs, labels = rng.integers(1, 6, (2, 10, 16), dtype=np.uint8)
    write_split(tmp_path, "test", DataInfo(6, 16), inputs, labels)
    torch.manual_seed(0)
    return HRM(ARCH, DataInfo(6, 16), 4), PuzzleData(tmp_path, "test")


def test_evaluation_gives_means_over_all_puzzles_whatever_the_batch_size(setup):
    model, data = setup
    whole = evaluate(model, iterate.test_batches(data, 10))["all"]
    cut = evaluate(model, iterate.test_batches(data, 4))["all"]
    assert whole["count"] == cut["count"] == 10
    assert whole["steps"] == cut["steps"] == 3
    assert cut == pytest.approx(whole, rel=1e-5)


def test_the_numbers_are_those_of_the_last_step(setup):
    model, data = setup
    metrics = evaluate(model, iterate.test_batches(data, 10))["all"]
    model.eval()
    batch = next(iter(iterate.test_batches(data, 10))).batch
    carry = model.initial_carry(batch)
    for _ in range(3):
        carry, outputs = model(carry, batch)
    expected = compute_loss(outputs, carry)[1]
    right = (outputs["logits"].argmax(-1) == batch["labels"]).float().mean().item()
    assert metrics["accuracy"] == pytest.approx(right, rel=1e-5)
    assert metrics["lm_loss"] == pytest.approx(expected["lm_loss"].item() / 10)
    assert metrics["q_halt_loss"] == pytest.approx(expected["q_halt_loss"].item() / 10)
    assert "q_continue_loss" not in metrics


def test_the_model_is_left_in_the_mode_it_was_in(setup):
    model, data = setup
    for training in (True, False):
        model.train(training)
        evaluate(model, iterate.test_batches(data, 5))
        assert model.training is training


def test_evaluation_draws_no_random_number(setup):
    model, data = setup
    before = torch.get_rng_state()
    evaluate(model, iterate.test_batches(data, 5))
    assert torch.equal(torch.get_rng_state(), before)


def test_predictions_are_saved_without_the_padding(setup, tmp_path):
    model, data = setup
    metrics = evaluate(model, iterate.test_batches(data, 4), predictions=tmp_path / "p.npz")["all"]
    saved = np.load(tmp_path / "p.npz")
    assert (saved["all__inputs"] == data.sets[0].inputs).all()
    assert (saved["all__predictions"] == saved["all__labels"]).mean() == pytest.approx(
        metrics["accuracy"], rel=1e-5
    )
    assert saved["all__q_halt_logits"].shape == (10,)


def test_a_set_without_labels_has_no_means(setup):
    model, data = setup
    batches = [
        (name, batch | {"labels": torch.full_like(batch["labels"], -100)})
        for name, batch in iterate.test_batches(data, 10)
    ]
    metrics = evaluate(model, [iterate.EvalBatch(*pair) for pair in batches])["all"]
    assert metrics["count"] == 0
    assert math.isnan(metrics["exact_accuracy"])
