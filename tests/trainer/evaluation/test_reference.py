import pickle

import pytest
import torch

from hrmdoc.errors import InputError
from hrmdoc.trainer.evaluation.reference import from_reference, load_reference, to_reference
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM, DataInfo

INFO = DataInfo(6, 16, num_puzzle_identifiers=3)
SIZES = {
    "hidden_size": 8,
    "num_heads": 2,
    "expansion": 1,
    "H_layers": 1,
    "L_layers": 2,
    "puzzle_emb_ndim": 8,
    "forward_dtype": "float32",
}

# The names that a checkpoint of the reference HRM with these sizes has.
BLOCK = ["self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj"]
HRM_KEYS = {
    *(f"H_level.layers.0.{part}.weight" for part in BLOCK),
    *(f"L_level.layers.{layer}.{part}.weight" for layer in (0, 1) for part in BLOCK),
    "embed_tokens.embedding_weight", "puzzle_emb.weights", "lm_head.weight", "q_head.weight", "q_head.bias",
    "H_init", "L_init",
}  # fmt: skip


def model(seed=0, info=INFO, **changes):
    torch.manual_seed(seed)
    built = HRM(ArchConfig(**(SIZES | changes)), info, 2)
    if built.puzzle_emb is not None:
        built.puzzle_emb.table.normal_()
    return built


def same(a, b):
    return all(
        torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


def test_exported_names_are_the_references():
    assert to_reference(model()).keys() == {f"_orig_mod.model.inner.{key}" for key in HRM_KEYS}
    assert to_reference(model(), compiled=False).keys() == {f"model.inner.{key}" for key in HRM_KEYS}


def test_trm_has_one_level_and_its_mixer():
    keys = to_reference(
        model(single_net=True, H_layers=0, mlp_t=True, pos_encodings="learned"), compiled=False
    ).keys()
    assert not any("H_level" in key for key in keys)
    assert {
        "model.inner.L_level.layers.1.mlp_t.gate_up_proj.weight",
        "model.inner.embed_pos.embedding_weight",
    } <= keys


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "changes", [{}, {"single_net": True, "mlp_t": True}, {"puzzle_emb_ndim": 0, "pos_encodings": "learned"}]
)
def test_weights_survive_the_way_there_and_back(tmp_path, compiled, changes):
    first, second = model(0, **changes), model(1, **changes)
    assert not same(first, second)
    torch.save(to_reference(first, compiled), tmp_path / "step_10")
    load_reference(tmp_path / "step_10", second)
    assert same(first, second)


def test_states_in_bfloat16_are_cast():
    state = to_reference(model())
    key = "_orig_mod.model.inner.H_init"
    state[key] = state[key].bfloat16()
    target = model(1)
    from_reference(state, target)
    assert target.H_init.dtype == torch.float32
    assert torch.equal(target.H_init, state[key].float())


def test_a_puzzle_table_of_another_height_becomes_its_mean():
    source, target = model(), model(1, DataInfo(6, 16, num_puzzle_identifiers=5))
    from_reference(to_reference(source), target)
    assert torch.allclose(target.puzzle_emb.table, source.puzzle_emb.table.mean(0).expand(5, 8))


def test_missing_and_unknown_weights_are_named():
    state = to_reference(model(), compiled=False)
    state["model.inner.other.weight"] = state.pop("model.inner.lm_head.weight")
    with pytest.raises(InputError, match=r"lacks lm_head.weight and adds other.weight"):
        from_reference(state, model(1))


def test_a_weight_of_another_shape_is_named():
    with pytest.raises(InputError, match=r"embed_tokens.embedding_weight has shape \(6, 8\)"):
        from_reference(to_reference(model()), model(1, DataInfo(7, 16, num_puzzle_identifiers=3)))


def test_a_refused_state_changes_nothing():
    target, before = (
        model(1, DataInfo(7, 16, num_puzzle_identifiers=3)),
        model(1, DataInfo(7, 16, num_puzzle_identifiers=3)),
    )
    state = to_reference(model(), compiled=False) | {
        "model.inner.embed_tokens.embedding_weight": torch.zeros(7, 8)
    }
    with pytest.raises(InputError, match="lm_head"):
        from_reference(state, target)
    assert same(target, before)


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, b"PK\x03\x04 torn", b"<html>", pickle.dumps({"a": 1}), pickle.dumps(Evil())],
)
def test_a_file_that_is_no_checkpoint_is_named_and_not_executed(tmp_path, content, capsys):
    file = tmp_path / "step_1"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_reference(file, model())
    assert caught.value.file == str(file)
    assert "executed" not in capsys.readouterr().out


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(InputError, match="step_9"):
        load_reference(tmp_path / "step_9", model())
