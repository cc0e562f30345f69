import pytest
import torch
from torch import Tensor

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.evaluation import generate as generation
from hrmdoc.trainer.evaluation.generate import generate
from tests.trainer.models import build

PROMPT = [3, 1, 4, 1, 5]
SAID = [2, 5, 3, 5, 4, 4, 1, 3, 2, 5, 1]


def logits_of(monkeypatch: pytest.MonkeyPatch, prompt: list[int], *, cached: bool) -> Tensor:
    """The logits [T, V] from which each next token would be picked, when `SAID` is said whatever they are.

    Tokens themselves differ between processors where two logits lie close together.
    """
    seen: list[Tensor] = []

    def pick(logits_BV: Tensor, *_: object) -> Tensor:
        seen.append(logits_BV[0])
        return torch.tensor([SAID[len(seen) - 1]])

    monkeypatch.setattr(generation, "_pick", pick)
    model = build(causal=True, H_layers=2)
    assert generate(model, prompt, len(SAID), end=99, cached=cached) == SAID
    return torch.stack(seen)


def test_the_logits_with_the_cache_are_those_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = logits_of(monkeypatch, PROMPT, cached=False)
    assert torch.allclose(logits_of(monkeypatch, PROMPT, cached=True), plain, atol=1e-4)
    other = logits_of(monkeypatch, [2, *PROMPT[1:]], cached=False)  # they depend on what the cache keeps
    assert (other - plain).abs().amax(1).min() > 0.1


def test_generation_ends_at_the_end_mark_and_at_the_length_of_the_model():
    model = build(causal=True)
    first = generate(model, [1, 2], 5, end=99)[0]
    assert generate(model, [1, 2], 5, end=first) == []
    assert len(generate(model, [1] * 14, 50, end=99)) == 2
    assert model.training


def test_a_model_that_sees_later_tokens_cannot_generate():
    with pytest.raises(ConfigError, match="causal"):
        generate(build(), [1], 1, end=0)
