import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.data.info import IGNORE
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM, DataInfo
from hrmdoc.trainer.model.loss import compute_loss
from tests.trainer.models import SMALL, batch, build, passes, tiny

SUDOKU = DataInfo(vocab_size=11, seq_len=81)
TRM = {
    "single_net": True,
    "full_backprop": True,
    "no_act_continue": True,
    "puzzle_emb_len": 16,
    "L_layers": 2,
    "H_layers": 0,
}


@pytest.mark.parametrize(
    ("data", "changes", "parameters"),
    [
        (SUDOKU, {}, 27_275_266),
        (DataInfo(6, 900), {}, 27_270_146),
        (DataInfo(12, 900), {}, 27_276_290),
        (
            SUDOKU,
            {
                "hidden_size": 32,
                "H_layers": 1,
                "L_layers": 1,
                "num_heads": 1,
                "expansion": 2,
                "puzzle_emb_ndim": 32,
            },
            58_114,
        ),
        (
            SUDOKU,
            {"hidden_size": 64, "H_layers": 2, "L_layers": 2, "num_heads": 1, "puzzle_emb_ndim": 64},
            263_682,
        ),
        (SUDOKU, TRM, 6_828_034),
        (SUDOKU, {**TRM, "mlp_t": True, "pos_encodings": "none"}, 5_028_866),
    ],
)
def test_the_number_of_parameters_is_the_published_one(data, changes, parameters):
    with torch.device("meta"):
        assert HRM(ArchConfig(**changes), data, 1).num_parameters() == parameters


def test_the_defaults_are_those_of_hrm():
    arch = ArchConfig()
    assert (arch.H_cycles, arch.L_cycles, arch.H_layers, arch.L_layers, arch.hidden_size, arch.num_heads) == (
        2,
        2,
        4,
        4,
        512,
        8,
    )
    assert (arch.halt_max_steps, arch.halt_exploration_prob, arch.forward_dtype, arch.prefix_len) == (
        16,
        0.1,
        "bfloat16",
        1,
    )


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
    assert model.embed(batch()["inputs"], batch()["puzzle_identifiers"])[:, 1:].std().item() == pytest.approx(
        1, rel=0.15
    )


def test_without_a_puzzle_embedding_there_is_no_prefix():
    model = build(puzzle_emb_ndim=0)
    carry, outputs = model(model.initial_carry(batch()), batch())
    assert carry.z_H.shape == (4, 16, 8)
    assert outputs["logits"].shape == (4, 16, 6)


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
    model = build(
        single_net=True, full_backprop=True, no_act_continue=True, H_cycles=3, L_cycles=6, H_layers=0
    )
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


def test_a_causal_model_does_not_see_later_tokens():
    model = build(causal=True).eval()
    one, other = batch(), batch()
    other["inputs"] = one["inputs"].clone()
    other["inputs"][:, 9:] = 1 + other["inputs"][:, 9:] % 5
    logits = [model(model.initial_carry(b), b)[1]["logits"].view(4, 16, -1) for b in (one, other)]
    assert torch.allclose(logits[0][:, :9], logits[1][:, :9], atol=1e-5)
    assert not torch.allclose(logits[0][:, 9:], logits[1][:, 9:], atol=1e-3)


def test_a_causal_model_cannot_mix_positions_by_an_mlp():
    with pytest.raises(ConfigError, match="causal"):
        build(causal=True, mlp_t=True)


def test_a_causal_model_computes_the_logits_of_labelled_positions_alone_to_the_same_loss_and_gradient():
    data = batch()
    data["labels"][:, :7] = data["labels"][2] = IGNORE
    found = []
    for labelled_only in (True, False):
        model = build(causal=True)
        model.labelled_only = labelled_only
        carry, outputs = model(model.initial_carry(data), data, torch.Generator().manual_seed(0))
        assert len(outputs["logits"]) == (3 * 9 if labelled_only else 4)
        loss, sums = compute_loss(outputs, carry)
        loss.backward()
        found.append(
            {**sums, "loss": loss.detach(), **{name: p.grad for name, p in model.named_parameters()}}
        )
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], msg=name)


def test_a_causal_batch_without_any_label_has_no_loss():
    data = batch()
    data["labels"].fill_(IGNORE)
    model = build(causal=True)
    carry, outputs = model(model.initial_carry(data), data)
    loss, sums = compute_loss(outputs, carry)
    loss.backward()
    assert sums["lm_loss"] == sums["accuracy"] == 0
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert grads
    assert all(bool(grad.isfinite().all()) for grad in grads)
