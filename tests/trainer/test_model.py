import dataclasses

import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.generate import generate
from hrmdoc.trainer.model import HRM, ArchConfig, DataInfo

SUDOKU = DataInfo(vocab_size=11, seq_len=81)
SMALL = DataInfo(vocab_size=6, seq_len=16, num_puzzle_identifiers=3)
TRM = {"single_net": True, "full_backprop": True, "no_act_continue": True, "puzzle_emb_len": 16, "L_layers": 2, "H_layers": 0}


def tiny(**changes):
    fields = {"hidden_size": 8, "num_heads": 2, "expansion": 1, "H_layers": 1, "L_layers": 1, "puzzle_emb_ndim": 8}
    return ArchConfig(**(fields | {"forward_dtype": "float32", "halt_max_steps": 4} | changes))


def build(batch_size=4, **changes):
    torch.manual_seed(0)
    return HRM(tiny(**changes), SMALL, batch_size)


def batch(rows=4, seed=1):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 6, (2, rows, 16), generator=g, dtype=torch.int32)
    return {
        "inputs": tokens[0],
        "labels": tokens[1],
        "puzzle_identifiers": torch.randint(0, 3, (rows,), generator=g, dtype=torch.int32),
    }


def fix_values(model, halt, go_on):
    """Makes the value head say the same for every row."""
    with torch.no_grad():
        model.core.q_head.weight.zero_()
        model.core.q_head.bias.copy_(torch.tensor([halt, go_on]))


@pytest.mark.parametrize(
    ("data", "changes", "parameters"),
    [
        (SUDOKU, {}, 27_275_266),
        (DataInfo(6, 900), {}, 27_270_146),
        (DataInfo(12, 900), {}, 27_276_290),
        (
            SUDOKU,
            {"hidden_size": 32, "H_layers": 1, "L_layers": 1, "num_heads": 1, "expansion": 2, "puzzle_emb_ndim": 32},
            58_114,
        ),
        (SUDOKU, {"hidden_size": 64, "H_layers": 2, "L_layers": 2, "num_heads": 1, "puzzle_emb_ndim": 64}, 263_682),
        (SUDOKU, TRM, 6_828_034),
        (SUDOKU, {**TRM, "mlp_t": True, "pos_encodings": "none"}, 5_028_866),
    ],
)
def test_the_number_of_parameters_is_the_published_one(data, changes, parameters):
    with torch.device("meta"):
        assert HRM(ArchConfig(**changes), data, 1).num_parameters() == parameters


def test_the_defaults_are_those_of_hrm():
    arch = ArchConfig()
    assert (arch.H_cycles, arch.L_cycles, arch.H_layers, arch.L_layers, arch.hidden_size, arch.num_heads) == (2, 2, 4, 4, 512, 8)
    assert (arch.halt_max_steps, arch.halt_exploration_prob, arch.forward_dtype, arch.prefix_len) == (16, 0.1, "bfloat16", 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 10, "num_heads": 4}, "no multiple"),
        ({"hidden_size": 6, "num_heads": 2}, "even head size"),
        ({"pos_encodings": "alibi"}, "pos_encodings"),
        ({"forward_dtype": "int8"}, "forward_dtype"),
        ({"halt_max_steps": 0}, "halt_max_steps"),
        ({"H_layers": 0}, "H_layers"),
        ({"halt_exploration_prob": 1.5}, "halt_exploration_prob"),
        ({"puzzle_emb_ndim": 20, "puzzle_emb_len": 2}, "does not fit"),
    ],
)
def test_an_impossible_architecture_is_refused_by_name(changes, words):
    with pytest.raises(ConfigError, match=words):
        build(**changes)


def test_the_value_head_starts_at_minus_five_whatever_it_sees():
    model = build()
    _, outputs = model(model.initial_carry(batch()), batch())
    assert torch.equal(outputs["q_halt_logits"], torch.full((4,), -5.0))
    assert torch.equal(outputs["q_continue_logits"], torch.full((4,), -5.0))


def test_embeddings_have_about_unit_variance_and_the_prefix_comes_first():
    torch.manual_seed(0)
    model = HRM(tiny(hidden_size=128, num_heads=2, puzzle_emb_ndim=100), SMALL, 4).eval()
    model.puzzle_emb.table.fill_(1.0)
    x = model.embed(batch()["inputs"], batch()["puzzle_identifiers"])
    assert x.shape == (4, 17, 128)
    assert x[:, 1:].std().item() == pytest.approx(1, rel=0.15)
    assert torch.allclose(x[:, 0, :100], torch.tensor(128.0).sqrt())  # scaled like the tokens
    assert not x[:, 0, 100:].any()  # padded with zeros


def test_learned_positions_keep_the_variance():
    torch.manual_seed(0)
    model = HRM(tiny(hidden_size=128, pos_encodings="learned"), SMALL, 4).eval()
    assert model.embed(batch()["inputs"], batch()["puzzle_identifiers"])[:, 1:].std().item() == pytest.approx(1, rel=0.15)


def test_without_a_puzzle_embedding_there_is_no_prefix():
    model = build(puzzle_emb_ndim=0)
    carry, outputs = model(model.initial_carry(batch()), batch())
    assert carry.z_H.shape == (4, 16, 8)
    assert outputs["logits"].shape == (4, 16, 6)


def passes(model):
    """Records (level, with gradient) of every pass."""
    seen = []
    for name in ("L_level", "H_level"):
        level = getattr(model.core, name)
        if level is not None:
            level.register_forward_hook(lambda *_, name=name: seen.append((name[0], torch.is_grad_enabled())))
    return seen


def test_one_step_is_four_low_and_two_high_passes_with_gradient_through_the_last_of_each():
    model = build().eval()
    seen = passes(model)
    model(model.initial_carry(batch()), batch())
    assert seen == [("L", False), ("L", False), ("H", False), ("L", False), ("L", True), ("H", True)]


def test_training_runs_the_passes_again_without_gradient_for_the_target():
    model = build()
    seen = passes(model)
    model(model.initial_carry(batch()), batch())
    assert len(seen) == 12
    assert not any(grad for _, grad in seen[6:])


def test_the_full_gradient_of_trm_goes_through_the_whole_last_cycle_of_one_net():
    model = build(single_net=True, full_backprop=True, no_act_continue=True, H_cycles=3, L_cycles=6, H_layers=0)
    seen = passes(model)
    model(model.initial_carry(batch()), batch())
    assert seen == [("L", False)] * 14 + [("L", True)] * 7


def test_the_one_step_gradient_equals_that_of_a_hand_unrolled_step():
    model = build().eval()
    core, data, carry = model.core, batch(), model.initial_carry(batch())
    _, outputs = model(carry, data)
    outputs["logits"].square().sum().backward()
    got = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()

    rotary = core.rotary()
    x = model.embed(data["inputs"], data["puzzle_identifiers"])
    z_H, z_L = model.H_init.expand(4, 17, 8), model.L_init.expand(4, 17, 8)
    z_L = core.L_level(z_L, z_H + x, rotary)
    z_L = core.L_level(z_L, z_H + x, rotary)
    z_H = core.H_level(z_H, z_L, rotary)
    z_L = core.L_level(z_L, z_H + x, rotary).detach()
    z_L = core.L_level(z_L, z_H.detach() + x, rotary)
    z_H = core.H_level(z_H.detach(), z_L, rotary)
    core.lm_head(z_H)[:, 1:].square().sum().backward()
    expected = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert got.keys() == expected.keys()
    for name in got:
        assert torch.allclose(got[name], expected[name], rtol=1e-4, atol=1e-5), name


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


def test_a_carry_holds_no_graph():
    model = build()
    carry, _ = model(model.initial_carry(batch()), batch())
    assert not carry.z_H.requires_grad
    assert not carry.z_L.requires_grad


def test_gradients_reach_every_parameter_and_the_batchs_puzzle_rows():
    model = build()
    _, outputs = model(model.initial_carry(batch()), batch())
    (outputs["logits"].sum() + outputs["q_halt_logits"].sum()).backward()
    assert all(p.grad is not None for p in model.parameters())
    assert model.puzzle_emb.rows.grad is not None


def test_the_initial_states_and_the_puzzle_table_are_saved_but_not_trained():
    model = build()
    assert {"H_init", "L_init", "puzzle_emb.table"} <= model.state_dict().keys()
    assert not {"H_init", "L_init", "puzzle_emb.table"} & {name for name, _ in model.named_parameters()}


def test_half_precision_states_keep_float32_values_and_weights():
    model = build(forward_dtype="bfloat16")
    carry, outputs = model(model.initial_carry(batch()), batch())
    assert carry.z_H.dtype == torch.bfloat16
    assert outputs["q_halt_logits"].dtype == torch.float32
    assert all(p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("changes", [{}, {"H_layers": 2}, {"mlp_t": True}, {"pos_encodings": "none"}])
def test_the_values_alone_are_those_of_the_whole_pass(changes):
    model = build(**changes)
    with torch.no_grad():
        model.core.q_head.weight.normal_()
    x, z_H, z_L = torch.randn(3, 4, 17, 8)
    whole = model.core(z_H, z_L, x)[2]
    alone = model.core(z_H, z_L, x, logits=False)[2]
    assert torch.allclose(whole, alone, atol=1e-5)


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


def test_a_causal_model_does_not_see_later_tokens():
    model = build(causal=True).eval()
    one, other = batch(), batch()
    other["inputs"] = one["inputs"].clone()
    other["inputs"][:, 9:] = 1 + other["inputs"][:, 9:] % 5
    logits = [model(model.initial_carry(b), b)[1]["logits"] for b in (one, other)]
    assert torch.allclose(logits[0][:, :9], logits[1][:, :9], atol=1e-5)
    assert not torch.allclose(logits[0][:, 9:], logits[1][:, 9:], atol=1e-3)


def test_a_causal_model_cannot_mix_positions_by_an_mlp():
    with pytest.raises(ConfigError, match="causal"):
        build(causal=True, mlp_t=True)


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
