import copy
import math

import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.model.sparse import SparseEmbedding
from hrmdoc.trainer.optim.adam_atan2 import AdamATan2
from hrmdoc.trainer.optim.ema import EMA
from hrmdoc.trainer.optim.schedule import cosine_schedule
from hrmdoc.trainer.optim.sign_sgd import SignSGD
from hrmdoc.trainer.parallel.world import World


def test_warmup_is_linear_and_starts_above_zero():
    assert cosine_schedule(1, 1e-3, 10, 100, 0.1) == pytest.approx(1e-4)
    assert cosine_schedule(5, 1e-3, 10, 100, 0.1) == pytest.approx(5e-4)


def test_the_cosine_goes_from_the_base_to_the_ratio():
    assert cosine_schedule(10, 1e-3, 10, 110, 0.1) == pytest.approx(1e-3)
    assert cosine_schedule(60, 1e-3, 10, 110, 0.1) == pytest.approx(1e-3 * (0.1 + 0.9 * 0.5))
    assert cosine_schedule(110, 1e-3, 10, 110, 0.1) == pytest.approx(1e-4)


def test_after_the_end_the_rate_stays_at_its_minimum():
    assert cosine_schedule(500, 1e-3, 10, 110, 0.1) == pytest.approx(1e-4)


def test_a_ratio_of_one_is_flat_and_a_short_run_never_leaves_its_warmup():
    assert cosine_schedule(70, 1e-3, 10, 110, 1.0) == pytest.approx(1e-3)
    assert cosine_schedule(100, 1e-3, 2000, 100, 1.0) == pytest.approx(5e-5)


def by_hand(p, grads, lr, b1, b2, decay):
    m = v = 0.0
    for t, g in enumerate(grads, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        p = p * (1 - lr * decay) - lr / (1 - b1**t) * math.atan2(m, math.sqrt(v) / math.sqrt(1 - b2**t))
    return p


def test_adam_atan2_follows_the_formula_over_several_steps():
    a, b = torch.tensor([[1.0, -2.0]]).requires_grad_(), torch.tensor(0.5).requires_grad_()
    optimizer = AdamATan2([a, b], lr=0.1, betas=(0.9, 0.95), weight_decay=0.2)
    grads = [(0.3, -1e4, 1e-9), (-0.2, 3e4, 2e-9), (0.1, 1e4, -5e-9)]
    for x, y, z in grads:
        a.grad, b.grad = torch.tensor([[x, y]]), torch.tensor(z)
        optimizer.step()
    expected = [
        by_hand(p, g, 0.1, 0.9, 0.95, 0.2)
        for p, g in zip((1.0, -2.0, 0.5), zip(*grads, strict=True), strict=True)
    ]
    assert [a[0, 0].item(), a[0, 1].item(), b.item()] == pytest.approx(expected, rel=1e-5)


def test_adam_atan2_does_not_care_for_the_scale_of_the_gradient():
    small, large = torch.zeros(3).requires_grad_(), torch.zeros(3).requires_grad_()
    for p, scale in ((small, 1e-6), (large, 1e6)):
        optimizer = AdamATan2([p], lr=0.01, weight_decay=0.0)
        for step in range(4):
            p.grad = scale * torch.tensor([1.0, -2.0, 0.5 * (-1) ** step])
            optimizer.step()
    assert torch.allclose(small, large, rtol=1e-4)


def test_a_gradient_of_zero_moves_nothing_and_gives_no_nan():
    p = torch.ones(2).requires_grad_()
    optimizer = AdamATan2([p], lr=0.1, weight_decay=0.0)
    p.grad = torch.zeros(2)
    optimizer.step()
    assert torch.equal(p.detach(), torch.ones(2))


def test_a_parameter_without_gradient_decays_only():
    p, q = torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_()
    optimizer = AdamATan2([p, q], lr=0.1, weight_decay=0.5)
    p.grad = torch.ones(2)
    optimizer.step()
    assert torch.allclose(q.detach(), torch.tensor(0.95))


def test_groups_have_their_own_rate_and_decay():
    p, q = torch.ones(1).requires_grad_(), torch.ones(1).requires_grad_()
    optimizer = AdamATan2([{"params": [p], "lr": 0.1, "weight_decay": 0.0}, {"params": [q], "lr": 0.0}])
    p.grad = q.grad = torch.ones(1)
    optimizer.step()
    assert p.item() == pytest.approx(by_hand(1.0, [1.0], 0.1, 0.9, 0.95, 0.0))
    assert q.item() == 1.0


def test_a_restored_optimizer_continues_bit_for_bit(tmp_path):
    def run(p, optimizer, steps):
        g = torch.Generator().manual_seed(5)
        for step in range(6):
            grad = torch.randn(7, 3, generator=g)
            if step in steps:
                p.grad = grad
                optimizer.step()

    whole = torch.ones(7, 3).requires_grad_()
    run(whole, AdamATan2([whole], lr=0.1), range(6))

    first = torch.ones(7, 3).requires_grad_()
    optimizer = AdamATan2([first], lr=0.1)
    run(first, optimizer, range(3))
    torch.save(optimizer.state_dict(), tmp_path / "optimizer.pt")
    second = first.detach().clone().requires_grad_()
    restored = AdamATan2([second], lr=0.5)
    restored.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    run(second, restored, range(3, 6))
    assert torch.equal(whole, second)


def test_a_restored_state_leaves_the_checkpoint_it_came_from_alone():
    p = torch.ones(3).requires_grad_()
    optimizer = AdamATan2([p], lr=0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(saved)
    before = saved["state"][0]["exp_avg"].clone()
    optimizer.step()
    assert torch.equal(saved["state"][0]["exp_avg"], before)


def test_betas_outside_the_unit_interval_are_refused():
    with pytest.raises(ConfigError, match="betas"):
        AdamATan2([torch.ones(1).requires_grad_()], betas=(0.9, 1.0))


def embedding(rows, ids, grads):
    table = SparseEmbedding(len(rows), 2, len(ids), torch.float32)
    table.table.copy_(torch.tensor(rows))
    table(torch.tensor(ids, dtype=torch.int32))
    table.rows.grad = torch.tensor(grads)
    return table


ROWS = [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_sign_descent_moves_and_decays_touched_rows_only():
    table = embedding(ROWS, [2, 0], [[0.5, -7.0], [0.0, 1e-9]])
    SignSGD(table, lr=0.1, weight_decay=0.5).step()
    expected = torch.tensor([[0.95, 0.85], [2.0, 2.0], [2.75, 2.95]])
    assert torch.allclose(table.table, expected)


def test_gradients_of_a_row_that_occurs_twice_are_summed_before_the_sign():
    table = embedding(ROWS, [1, 1, 1, 0], [[1.0, 1.0], [1.0, 1.0], [-3.0, 1.0], [1.0, 1.0]])
    SignSGD(table, lr=0.1, weight_decay=0.0).step()
    assert torch.allclose(table.table, torch.tensor([[0.9, 0.9], [2.1, 1.9], [3.0, 3.0]]))


def test_a_row_that_occurs_twice_decays_once():
    table = embedding(ROWS, [1, 1], [[0.0, 0.0], [0.0, 0.0]])
    SignSGD(table, lr=0.1, weight_decay=1.0).step()
    assert torch.allclose(table.table[1], torch.tensor([1.8, 1.8]))


def test_gradients_of_all_ranks_are_summed(monkeypatch):
    table = embedding(ROWS, [1, 0], [[-1.0, 1.0], [1.0, 1.0]])
    other = {torch.float32: torch.tensor([[3.0, 1.0], [1.0, -1.0]]), torch.int64: torch.tensor([1, 2])}

    def all_gather(parts, mine):
        parts[0].copy_(mine)
        parts[1].copy_(other[mine.dtype])

    monkeypatch.setattr("torch.distributed.all_gather", all_gather)
    optimizer = SignSGD(table, lr=0.1, weight_decay=0.0)
    optimizer.world = World(rank=0, size=2)
    optimizer.step()
    assert torch.allclose(table.table, torch.tensor([[0.9, 0.9], [1.9, 1.9], [2.9, 3.1]]))


def test_the_training_rows_are_still_trainable_after_the_model_was_moved():
    table = embedding(ROWS, [1, 1], [[1.0, 1.0], [1.0, 1.0]]).to(torch.float64)
    table.dtype = torch.float64
    assert table.rows.is_leaf
    (table(torch.tensor([2, 0])) * torch.tensor([1.0, -1.0])).sum().backward()
    SignSGD(table, lr=0.1, weight_decay=0.0).step()
    assert torch.allclose(table.table.float(), torch.tensor([[0.9, 1.1], [2.0, 2.0], [2.9, 3.1]]))


def test_without_a_new_gradient_the_table_stays():
    table = embedding(ROWS, [1, 1], [[1.0, 1.0], [1.0, 1.0]])
    optimizer = SignSGD(table, lr=0.1)
    optimizer.step()
    moved = table.table.clone()
    optimizer.step()
    assert not torch.equal(moved, torch.tensor(ROWS))
    assert torch.equal(table.table, moved)


def test_evaluation_reads_the_table_and_leaves_the_training_rows_alone():
    table = embedding(ROWS, [2, 0], [[1.0, 1.0], [1.0, 1.0]]).eval()
    assert torch.equal(table(torch.tensor([1, 1, 1])), torch.tensor([[2.0, 2.0]] * 3))
    assert table.row_ids.tolist() == [2, 0]


def test_the_moving_average_follows_and_is_lent_to_the_model_for_a_while():
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    ema = EMA(model, decay=0.9)
    model.weight.data.fill_(2.0)
    ema.update()
    with ema.applied():
        assert model.weight.item() == pytest.approx(1.1)
    assert model.weight.item() == 2.0


def test_the_model_gets_its_own_weights_back_after_an_error():
    model = torch.nn.Linear(1, 1, bias=False)
    ema = EMA(model, decay=0.9)
    own = model.weight.item()
    ema.average[0].fill_(7.0)
    with pytest.raises(RuntimeError, match="stop"), ema.applied():
        raise RuntimeError("stop")
    assert model.weight.item() == own


def test_the_moving_average_survives_its_state_dict():
    model = torch.nn.Linear(2, 2)
    ema = EMA(model, decay=0.5)
    model.weight.data.add_(1)
    ema.update()
    other = EMA(model)
    other.load_state_dict(ema.state_dict())
    assert other.decay == 0.5
    assert all(torch.equal(a, b) for a, b in zip(ema.average, other.average, strict=True))
