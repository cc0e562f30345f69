"""One step of the text classifier in parts, in less memory, and in other precisions."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from hrmdoc.trainer.replay.gradients import Precision, gradients  # noqa: E402
from hrmdoc.trainer.replay.network import Classifier  # noqa: E402

PLAIN = Precision()
WORDS, TOPICS = torch.randint(1, 9, (6, 4)), torch.tensor([0, 1, 2, 3, 0, 1])


def model(*, recompute: bool = False) -> Classifier:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "n_layers": 2, "n_heads": 2, "ff_dim": 16, "dropout": 0.0}
    return Classifier(9, 4, 4, experts=False, recompute=recompute, **sizes)


def step(network: Classifier, precision: Precision = PLAIN, accumulate: int = 1) -> tuple[float, float]:
    return gradients(network, WORDS, TOPICS, precision, accumulate=accumulate, smoothing=0.0, balance=0.0)


@pytest.mark.parametrize("accumulate", [2, 3])
def test_micro_batches_give_the_gradient_of_the_whole_batch(accumulate: int) -> None:
    whole, parts = model(), model()
    assert step(parts, accumulate=accumulate) == pytest.approx(step(whole), rel=1e-4)
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-6)


def test_what_is_computed_again_gives_the_same_gradient() -> None:
    assert step(model(recompute=True)) == pytest.approx(step(model()), rel=1e-5)


def test_a_loss_scale_is_taken_off_again_and_overflows_in_fp16_alone() -> None:
    plain, norm = step(model())
    assert step(model(), Precision("bf16", 2.0**30))[1] == pytest.approx(norm, rel=0.05)
    assert step(model(), Precision("fp16", 2.0**10))[1] == pytest.approx(norm, rel=0.05)
    loss, overflown = step(model(), Precision("fp16", 2.0**30))
    assert loss == pytest.approx(plain, rel=0.05)
    assert not math.isfinite(overflown)
