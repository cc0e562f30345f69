import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.generate import generate
from tests.trainer.models import build


def test_generation_with_the_cache_is_that_without_it():
    model = build(causal=True, H_layers=2).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that the tokens depend on what was said before
    prompt = [3, 1, 4, 1, 5]
    cached, plain = (generate(model, prompt, 11, end=99, cached=cached) for cached in (True, False))
    assert cached == plain
    assert len(cached) == 11
    assert len(set(cached)) > 1


def test_generation_ends_at_the_end_mark_and_at_the_length_of_the_model():
    model = build(causal=True)
    first = generate(model, [1, 2], 5, end=99)[0]
    assert generate(model, [1, 2], 5, end=first) == []
    assert len(generate(model, [1] * 14, 50, end=99)) == 2
    assert model.training


def test_a_model_that_sees_later_tokens_cannot_generate():
    with pytest.raises(ConfigError, match="causal"):
        generate(build(), [1], 1, end=0)
