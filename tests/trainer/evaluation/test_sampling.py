import pytest
import torch

from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.evaluation.generate import Sampling, _pick, generate, generate_many
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM


@pytest.fixture
def model():
    torch.manual_seed(0)
    arch = ArchConfig(
        hidden_size=8, num_heads=2, expansion=1, H_layers=2, L_layers=1, puzzle_emb_ndim=8,
        forward_dtype="float32", halt_max_steps=2, causal=True,
    )  # fmt: skip
    made = HRM(arch, DataInfo(6, 16), 4)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def test_samples_differ_and_a_seed_repeats_them(model):
    drawn = [
        generate_many(
            model, [3, 1], 8, 99, 6, sampling=Sampling(1.0), generator=torch.Generator().manual_seed(seed)
        )
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({tuple(row) for row in drawn[0]}) > 1
    assert {len(row) for row in drawn[0]} == {8}


def test_the_cache_serves_many_samples(model):
    cached, plain = (
        generate_many(
            model,
            [3, 1],
            8,
            2,
            6,
            sampling=Sampling(1.0),
            generator=torch.Generator().manual_seed(0),
            cached=cached,
        )
        for cached in (True, False)
    )
    assert cached == plain
    assert len({len(row) for row in cached}) > 1  # some ended at the mark, and the others went on
    assert not any(2 in row for row in cached)


def test_many_greedy_samples_are_the_one(model):
    assert generate_many(model, [3, 1], 8, 99, 3) == [generate(model, [3, 1], 8, 99)] * 3


def test_nothing_is_said_where_there_is_no_room_and_an_empty_prompt_is_refused(model):
    assert generate_many(model, [1] * 16, 5, 99, 2) == [[], []]
    with pytest.raises(ValueError, match="prompt"):
        generate(model, [], 5, 99)


def test_only_the_nucleus_is_drawn():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().expand(2000, -1)
    generator = torch.Generator().manual_seed(0)
    assert set(_pick(logits, Sampling(1.0, 0.7), generator).tolist()) == {0, 1}
    assert set(_pick(logits, Sampling(1.0, 0.4), generator).tolist()) == {0}
    drawn = _pick(logits, Sampling(1.0), generator)
    assert set(drawn.tolist()) == {0, 1, 2, 3}
    assert (drawn == 0).float().mean() == pytest.approx(0.5, abs=0.05)
