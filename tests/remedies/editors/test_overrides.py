from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument, is_override_list, override
from hrmdoc.remedies.editors.scalars import Scalar

GUIDE = """#!/bin/bash
# lr=1e-3 was too high
DISABLE_COMPILE=1 OMP_NUM_THREADS=8 python pretrain.py \\
  data_path=data/sudoku-extreme-small \\
  lr=1e-4 \\
  arch.hidden_size=32
"""


def edited(text: str, key: str, value: str) -> str:
    return OverridesDocument("train.sh", text).replace((key,), Scalar(value))


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("python pretrain.py lr=1e-4 weight_decay=1.0", "lr", "python pretrain.py lr=7 weight_decay=1.0"),
        ("python pretrain.py puzzle_emb_lr=1 lr=1e-4", "lr", "python pretrain.py puzzle_emb_lr=1 lr=7"),
        (
            "srun python pretrain.py +arch.x=2 > log 2>&1 &",
            "arch.x",
            "srun python pretrain.py +arch.x=7 > log 2>&1 &",
        ),
        ("python t.py 'lr=1e-4' seed=1", "lr", "python t.py 'lr=7' seed=1"),
        ('python t.py lr="1e-4" seed=1', "lr", 'python t.py lr="7" seed=1'),
        ('nohup bash -c "python t.py lr=1e-4" &', "lr", 'nohup bash -c "python t.py lr=7" &'),
        (
            "torchrun --nproc_per_node 4 t.py --learning_rate 1e-4 --bf16",
            "learning_rate",
            "torchrun --nproc_per_node 4 t.py --learning_rate 7 --bf16",
        ),
        ("t.py --learning_rate=1e-4 --bf16", "learning_rate", "t.py --learning_rate=7 --bf16"),
        ("t.py --shift -0.5", "shift", "t.py --shift 7"),
        ("lr=1e-4\r\nseed=0\r\n", "lr", "lr=7\r\nseed=0\r\n"),
        ("- lr=1e-4\n- +x=2\n", "x", "- lr=1e-4\n- +x=7\n"),
        (GUIDE, "lr", GUIDE.replace("  lr=1e-4", "  lr=7")),
    ],
)
def test_one_token_is_changed_in_place(text: str, key: str, expected: str) -> None:
    assert edited(text, key, "7") == expected


def test_a_commented_override_is_not_one() -> None:
    assert set(OverridesDocument("x.sh", GUIDE).leaves) == {
        ("DISABLE_COMPILE",), ("OMP_NUM_THREADS",), ("data_path",), ("lr",), ("arch.hidden_size",)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GUIDE, GUIDE.replace("hidden_size=32\n", "hidden_size=32 \\\n  a.b=7\n")),
        (
            "OMP_NUM_THREADS=8 python pretrain.py lr=1 > log\n",
            "OMP_NUM_THREADS=8 python pretrain.py lr=1 a.b=7 > log\n",
        ),
        ("python pretrain.py\n", "python pretrain.py a.b=7\n"),
        ("OMP_NUM_THREADS=8 python pretrain.py\n", "OMP_NUM_THREADS=8 python pretrain.py a.b=7\n"),
        ("t.py --lr 1 --bf16\n", "t.py --lr 1 --a.b=7 --bf16\n"),
        ("lr=1\nseed=0\n", "lr=1\nseed=0\na.b=7\n"),
        ("lr=1\r\nseed=0", "lr=1\r\nseed=0\r\na.b=7"),
        ("- lr=1 # rate\n", "- lr=1 # rate\n- a.b=7\n"),
    ],
)
def test_a_new_override_follows_the_last_one(text: str, expected: str) -> None:
    assert OverridesDocument("train.sh", text).insert(("a.b",), Scalar("7")) == expected


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (GUIDE, "lr", GUIDE.replace("  lr=1e-4 \\\n", "")),
        (GUIDE, "arch.hidden_size", GUIDE.replace("  lr=1e-4 \\\n  arch.hidden_size=32\n", "  lr=1e-4\n")),
        ("python t.py lr=1 seed=0\n", "lr", "python t.py seed=0\n"),
        ("- lr=1\n- seed=0\n", "lr", "- seed=0\n"),
        ("lr=1\nseed=0\n", "seed", "lr=1\n"),
    ],
)
def test_a_removed_override_leaves_a_command_that_works(text: str, key: str, expected: str) -> None:
    assert OverridesDocument("train.sh", text).remove((key,)) == expected


def test_an_override_given_twice_is_refused() -> None:
    with pytest.raises(PatchError, match=r"lr is given 2 times \(lines 1, 2\)"):
        edited("python t.py lr=1\npython t.py lr=2\n", "lr", "3")


def test_a_shell_variable_is_refused() -> None:
    with pytest.raises(PatchError, match="takes its value from a variable"):
        edited("python t.py lr=$LR", "lr", "3")


def test_a_value_that_would_need_quoting_is_refused() -> None:
    with pytest.raises(PatchError, match="needs quoting"):
        edited("python t.py lr=1", "lr", "3; rm -rf ~")


@pytest.mark.parametrize("text", ["", "echo hello\n", "python a.py\npython b.py\n"])
def test_without_one_clear_command_nothing_is_added(text: str) -> None:
    with pytest.raises(PatchError, match="an override could be added to"):
        OverridesDocument("x.sh", text).insert(("lr",), Scalar("1"))


def test_a_yaml_list_of_overrides_is_told_from_other_yaml() -> None:
    assert not is_override_list("a.yaml", "a: 1\n")
    assert not is_override_list("a.yaml", "- a\n- b\n")
    assert not is_override_list("a.yaml", "")
    assert is_override_list("overrides.yaml", "# hydra\n- lr=1e-4\n- '+arch.x=2'\n")
    assert isinstance(parse("overrides.yaml", "- lr=1e-4\n"), OverridesDocument)


def test_an_unknown_file_type_is_refused() -> None:
    with pytest.raises(PatchError, match=r"a \.toml file is neither read nor edited"):
        parse("c.toml", "lr = 1")


def test_a_typed_override_keeps_the_style_of_the_old_value() -> None:
    assert override("lr", 2e-5, "1e-4") == "lr=2e-5"
    assert override("arch.x", None) == "~arch.x"


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["lr", "a.b", "+x", "~y", "c_d"]), st.text("abc019.-e", max_size=6)),
        unique_by=lambda p: p[0],
        min_size=1,
    ),
    st.text(max_size=20),
)
def test_any_line_of_overrides_changes_in_one_place(pairs: list[tuple[str, str]], noise: str) -> None:
    words = [f"{key}={value}" for key, value in pairs]
    tail = (
        ""
        if any(mark in noise for mark in "=#\\\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029'\"-")
        else f" {noise}"
    )
    text = f"python pretrain.py {' '.join(words)}{tail}"
    key, value = pairs[0]
    bare = key.lstrip("+~")
    words[0] = f"{key}=NEW"
    assert edited(text, bare, "NEW") == f"python pretrain.py {' '.join(words)}{tail}"
    assert edited(edited(text, bare, "NEW"), bare, value) == text


def test_a_key_is_named_with_the_dashes_that_were_typed() -> None:
    document = OverridesDocument("train.sh", "torchrun t.py --learning_rate 1e-4 seed=1")
    assert document.as_typed(("learning_rate",)) == "--learning_rate"
    assert document.as_typed(("seed",)) == "seed"


def test_a_value_that_a_variable_gives_and_one_that_is_given_twice_are_refused() -> None:
    with pytest.raises(PatchError, match=r"lr takes its value from a variable: \$LR"):
        edited("python t.py lr=$LR seed=1", "lr", "7")
    with pytest.raises(PatchError, match=r"lr is given 2 times \(lines 1, 2\)"):
        edited("python t.py lr=1 \\\n  lr=2", "lr", "7")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "python train.py --lr 1\nrsync -a --delete out/ nas:/out/\n",
            "python train.py --lr 1 --clip=7\nrsync -a --delete out/ nas:/out/\n",
        ),
        (
            "python prepare.py --out d && python train.py --lr 1 --bs 3 | tee log\n",
            "python prepare.py --out d && python train.py --lr 1 --bs 3 --clip=7 | tee log\n",
        ),
        ('srun bash -c "python train.py --lr 1"\n', 'srun bash -c "python train.py --lr 1 --clip=7"\n'),
    ],
)
def test_a_new_override_goes_to_the_command_that_has_the_settings_of_the_run(
    text: str, expected: str
) -> None:
    assert OverridesDocument("train.sh", text).insert(("clip",), Scalar("7"), {"lr"}) == expected


@pytest.mark.parametrize(
    "text",
    ["python a.py --lr 1\npython b.py --lr 2\n", "python train.py --bs 3\npython eval.py --ckpt out\n"],
)
def test_which_of_two_commands_is_meant_is_not_guessed(text: str) -> None:
    with pytest.raises(PatchError, match="which of the commands takes clip cannot be told"):
        OverridesDocument("train.sh", text).insert(("clip",), Scalar("7"), {"lr"})
