"""The carry from one ACT step to the next: which rows stop, which are replaced, and what their values learn
from."""

import dataclasses

import pytest
import torch

from hrmdoc.trainer.model.hrm import HRM
from tests.trainer.models import SMALL, batch, build, passes, tiny


def fix_values(model, halt, go_on):
    """Makes the value head say the same for every row."""
    with torch.no_grad():
        model.core.q_head.weight.zero_()
        model.core.q_head.bias.copy_(torch.tensor([halt, go_on]))


def test_the_initial_carry_takes_every_row_of_the_first_batch():
    model = build()
    carry = model.initial_carry(batch())
    assert carry.halted.all()
    assert not carry.steps.any()
    carry, _ = model(carry, batch())
    for key, value in batch().items():
        assert torch.equal(carry.current_data[key], value)
    assert carry.steps.tolist() == [1] * 4


def test_only_halted_rows_are_replaced_and_start_again():
    model = build(halt_exploration_prob=0.0)
    fix_values(model, -5.0, 5.0)
    first, second = batch(seed=1), batch(seed=2)
    carry, _ = model(model.initial_carry(first), first)
    carry = dataclasses.replace(carry, halted=torch.tensor([False, True, False, True]))
    new, _ = model(carry, second)
    assert new.steps.tolist() == [2, 1, 2, 1]
    for key in first:
        expected = [first[key][0], second[key][1], first[key][2], second[key][3]]
        assert torch.equal(new.current_data[key], torch.stack(expected))
    fresh, _ = model(model.initial_carry(second), second)
    assert torch.allclose(new.z_H[[1, 3]], fresh.z_H[[1, 3]], atol=1e-6)
    assert not torch.allclose(new.z_H[[0, 2]], fresh.z_H[[0, 2]], atol=1e-3)


def test_a_row_that_prefers_to_go_on_stops_at_the_last_step_only():
    model = build(halt_exploration_prob=0.0)
    fix_values(model, -1.0, 1.0)
    carry = model.initial_carry(batch())
    history = []
    for _ in range(5):
        carry, _ = model(carry, batch())
        history.append((carry.steps.tolist(), carry.halted.tolist()))
    assert history == [
        ([1] * 4, [False] * 4),
        ([2] * 4, [False] * 4),
        ([3] * 4, [False] * 4),
        ([4] * 4, [True] * 4),
        ([1] * 4, [False] * 4),
    ]


def test_equal_values_do_not_stop_a_row():
    model = build(halt_exploration_prob=0.0)
    fix_values(model, 1.0, 1.0)
    assert not model(model.initial_carry(batch()), batch())[0].halted.any()


def test_a_row_that_prefers_to_stop_stops_at_once():
    model = build(halt_exploration_prob=0.0)
    fix_values(model, 1.0, -1.0)
    assert model(model.initial_carry(batch()), batch())[0].halted.all()


def test_without_the_continue_value_a_row_stops_above_zero():
    model = build(halt_exploration_prob=0.0, no_act_continue=True)
    fix_values(model, -0.1, -9.0)
    carry, outputs = model(model.initial_carry(batch()), batch())
    assert not carry.halted.any()
    assert "target_q_continue" not in outputs
    fix_values(model, 0.1, 9.0)
    assert model(model.initial_carry(batch()), batch())[0].halted.all()


def test_exploration_puts_every_stop_off_to_a_random_step_between_two_and_the_last():
    model = HRM(tiny(halt_exploration_prob=1.0), SMALL, 600)
    fix_values(model, 1.0, -1.0)
    g = torch.Generator().manual_seed(0)
    for steps, expected in ((1, 0.0), (2, 1 / 3), (3, 2 / 3), (4, 1.0)):
        carry = model.initial_carry(batch(600))
        state = dataclasses.replace(carry, steps=carry.steps + steps - 1, halted=~carry.halted)
        halted = model(state, batch(600), g)[0].halted.float().mean().item()
        assert halted == pytest.approx(expected, abs=0.07 if 0 < expected < 1 else 0)


def test_the_share_of_exploring_rows_is_the_probability():
    model = HRM(tiny(halt_exploration_prob=0.25), SMALL, 1000)
    fix_values(model, 1.0, -1.0)
    carry, _ = model(model.initial_carry(batch(1000)), batch(1000), torch.Generator().manual_seed(0))
    assert 1 - carry.halted.float().mean().item() == pytest.approx(0.25, abs=0.05)


def test_a_generator_alone_decides_the_exploration():
    model = build(halt_exploration_prob=0.5)
    fix_values(model, 1.0, -1.0)

    def halted(seed, global_seed):
        torch.manual_seed(global_seed)
        g = torch.Generator().manual_seed(seed)
        carry, rows = model.initial_carry(batch()), []
        for _ in range(8):
            carry, _ = model(carry, batch(), g)
            rows.append(carry.halted)
        return torch.stack(rows)

    assert torch.equal(halted(3, 0), halted(3, 1))
    assert not torch.equal(halted(3, 0), halted(4, 0))


def test_evaluation_never_stops_early_and_draws_nothing():
    model = build().eval()
    fix_values(model, 9.0, -9.0)
    g = torch.Generator().manual_seed(0)
    before = g.get_state()
    carry = model.initial_carry(batch())
    for step in range(1, 5):
        carry, outputs = model(carry, batch(), g)
        assert carry.halted.tolist() == [step == 4] * 4
        assert "target_q_continue" not in outputs
    assert torch.equal(g.get_state(), before)


def test_the_target_is_the_next_steps_best_value_and_at_the_last_step_its_halting_value():
    model = build(halt_exploration_prob=0.0)
    with torch.no_grad():
        model.core.q_head.weight.normal_(0, 1)
        model.core.q_head.bias.copy_(torch.tensor([-50.0, 0.0]))  # go on
    carry = model.initial_carry(batch())
    targets, values = [], []
    for _ in range(4):
        carry, outputs = model(carry, batch())
        targets.append(outputs["target_q_continue"])
        values.append((outputs["q_halt_logits"].detach(), outputs["q_continue_logits"].detach()))
    for step in range(3):  # no optimizer step between, so the next step's values are the target's
        assert torch.allclose(targets[step], torch.sigmoid(torch.maximum(*values[step + 1])), atol=1e-5)
    assert (targets[3] < 1e-10).all()  # the halting value, not the larger one


def test_a_reused_target_comes_from_the_next_step_and_only_for_rows_that_went_on():
    model = build(q_target="reuse", halt_exploration_prob=0.0)
    seen = passes(model)
    carry, first = model(model.initial_carry(batch()), batch())
    assert len(seen) == 6
    assert not first["q_continue_rows"].any()
    said = carry.q_state @ model.core.q_head.weight[1] + model.core.q_head.bias[1]
    carry.halted[2] = True
    carry, second = model(carry, batch())
    assert second["q_continue_rows"].tolist() == [True, True, False, True]
    assert torch.allclose(second["q_continue_logits"], said)
    assert torch.allclose(second["target_q_continue"], torch.full((4,), -5.0).sigmoid())


def test_a_reused_target_trains_the_value_of_going_on_through_its_head_alone():
    model = build(q_target="reuse", halt_exploration_prob=0.0)
    carry, _ = model(model.initial_carry(batch()), batch())
    _, outputs = model(carry, batch())
    outputs["q_continue_logits"].sum().backward()
    assert model.core.q_head.weight.grad[1].abs().sum() > 0
    assert all(p.grad is None for p in model.core.L_level.parameters())
