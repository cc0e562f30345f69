import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.model.attention import BACKENDS, Attention, RotaryEmbedding, check_backend, rotate
from hrmdoc.trainer.model.block import Block
from hrmdoc.trainer.model.layers import Linear, SwiGLU, inner_size, rms_norm, trunc_normal


def test_truncated_normal_has_the_deviation_asked_for_and_no_tail():
    torch.manual_seed(0)
    x = trunc_normal(400, 500, std=0.3)
    assert x.std().item() == pytest.approx(0.3, rel=0.01)
    assert x.mean().item() == pytest.approx(0, abs=0.003)
    # Cutting a unit normal at two sigma leaves a deviation of 0.8796, so the bound lies at 2 / 0.8796 of
    # ours.
    assert x.abs().max().item() == pytest.approx(0.3 * 2 / 0.87962566, rel=0.001)


def test_a_deviation_of_zero_gives_zeros():
    assert not trunc_normal(3, 4, std=0).any()


def test_linear_starts_with_lecun_weights_and_a_zero_bias():
    torch.manual_seed(0)
    layer = Linear(256, 300, bias=True)
    assert layer.weight.std().item() == pytest.approx(1 / 16, rel=0.02)
    assert layer.bias is not None
    assert not layer.bias.any()


def test_linear_computes_in_the_dtype_of_its_input_and_keeps_float32_weights():
    layer = Linear(8, 4)
    assert layer(torch.randn(2, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert layer.weight.dtype == torch.float32


def test_rms_norm_divides_by_the_root_mean_square():
    x = torch.tensor([[3.0, 4.0]])
    assert torch.allclose(rms_norm(x, 0.0), x / math.sqrt(12.5))


def test_rms_norm_of_half_precision_is_computed_in_float32():
    x = torch.full((1, 64), 300.0, dtype=torch.float16)  # 300 squared overflows float16
    assert torch.equal(rms_norm(x, 1e-5), torch.ones_like(x))


def test_rope_turns_each_pair_by_position_times_frequency():
    K, S, theta = 8, 5, 100.0
    x = torch.randn(2, S, 3, K)
    turned = rotate(x, RotaryEmbedding(K, S, theta)())
    for position in range(S):
        for i in range(K // 2):
            angle = position * theta ** (-2 * i / K)
            a, b = x[:, position, :, i], x[:, position, :, i + K // 2]
            assert torch.allclose(
                turned[:, position, :, i], a * math.cos(angle) - b * math.sin(angle), atol=1e-5
            )
            assert torch.allclose(
                turned[:, position, :, i + K // 2], b * math.cos(angle) + a * math.sin(angle), atol=1e-5
            )


def test_rope_leaves_scores_dependent_on_the_distance_alone():
    rotary = RotaryEmbedding(16, 12, 10000.0)()
    q = rotate(torch.randn(16).expand(1, 12, 1, 16), rotary)[0, :, 0]
    k = rotate(torch.randn(16).expand(1, 12, 1, 16), rotary)[0, :, 0]
    score = q @ k.T
    assert torch.allclose(score[3, 1], score[9, 7], atol=1e-4)
    assert not torch.allclose(score[3, 1], score[9, 6], atol=1e-4)


def test_rope_returns_the_dtype_it_was_given():
    assert (
        rotate(torch.randn(1, 4, 2, 8, dtype=torch.bfloat16), RotaryEmbedding(8, 4, 10000.0)()).dtype
        == torch.bfloat16
    )


@pytest.mark.parametrize("backend", ["sdpa", "naive"])
def test_attention_equals_a_loop_over_batch_head_and_query(backend):
    q, k, v = torch.randn(3, 2, 7, 3, 4)  # B=2, S=7, H=3, K=4: all different, so a swapped axis cannot hide
    out = BACKENDS[backend](q, k, v)
    assert out.shape == (2, 7, 3, 4)
    for b in range(2):
        for h in range(3):
            for s in range(7):
                weight = torch.softmax(torch.stack([q[b, s, h] @ k[b, t, h] for t in range(7)]) / 2.0, 0)
                assert torch.allclose(out[b, s, h], (weight[:, None] * v[b, :, h]).sum(0), atol=1e-5)


def test_a_head_sees_no_other_head():
    q, k, v = torch.randn(3, 1, 5, 2, 4)
    before = BACKENDS["sdpa"](q, k, v)
    v[:, :, 1] += 1
    after = BACKENDS["sdpa"](q, k, v)
    assert torch.equal(before[:, :, 0], after[:, :, 0])
    assert not torch.allclose(before[:, :, 1], after[:, :, 1])


def test_the_fused_projection_holds_queries_keys_and_values_in_this_order():
    torch.manual_seed(0)
    layer, x = Attention(12, 3), torch.randn(2, 5, 12)
    q, k, v = (F.linear(x, w).view(2, 5, 3, 4) for w in layer.qkv.weight.split(12))
    expected = layer.out(BACKENDS["naive"](q, k, v).reshape(2, 5, 12))
    assert torch.allclose(layer(x, None), expected, atol=1e-5)


def test_an_unknown_attention_backend_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'sdpa'"):
        check_backend("sdap", torch.float32)


def test_flash_attention_is_refused_in_float32():
    with pytest.raises(ConfigError, match="float16 or bfloat16 only"):
        check_backend("flash", torch.float32)


@pytest.mark.parametrize(
    ("size", "expansion", "inner"), [(512, 4, 1536), (32, 2, 256), (64, 4, 256), (97, 4, 512)]
)
def test_the_mlp_is_two_thirds_wide_rounded_up_to_256(size, expansion, inner):
    assert inner_size(size, expansion) == inner


def test_swiglu_gates_with_the_first_half():
    layer, x = SwiGLU(8, 2), torch.randn(3, 8)
    gate, up = layer.gate_up.weight.split(256)
    assert torch.allclose(layer(x), (F.silu(x @ gate.T) * (x @ up.T)) @ layer.down.weight.T, atol=1e-5)


def test_a_block_norms_after_each_residual():
    block, x = Block(8, 2, 2, 1e-5), torch.randn(2, 5, 8)
    assert block.attention is not None
    middle = rms_norm(x + block.attention(x, None), 1e-5)
    assert torch.allclose(block(x, None), rms_norm(middle + block.mlp(middle), 1e-5))


def test_a_mixing_block_mixes_positions_within_a_channel_before_its_mlp():
    block, x = Block(8, 2, 2, 1e-5, mix_length=5), torch.randn(2, 5, 8)
    assert block.attention is None
    assert block.mixer is not None
    turned = x.transpose(1, 2)
    middle = rms_norm(turned + block.mixer(turned), 1e-5).transpose(1, 2)
    assert torch.allclose(block(x, None), rms_norm(middle + block.mlp(middle), 1e-5))
