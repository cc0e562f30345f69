from __future__ import annotations

import json
from pathlib import Path

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.planner import plan
from hrmdoc.rulebook import Change, ConfigKey, Framework, Remedy, Verify
from tests.remedies.planning import HF, HRM, LOWER, after, planned, remedy


def test_several_changes_of_one_file_are_one_edit(tmp_path: Path) -> None:
    text = "lr: 1e-4\narch:\n  halt_max_steps: 16\n"
    patch = planned(
        tmp_path,
        text,
        LOWER,
        Change("act.halt_max_steps", "set", 8),
        Change("schedule.warmup_steps", "set", 500),
    )
    assert after(patch) == "lr: 2e-5\nlr_warmup_steps: 500\narch:\n  halt_max_steps: 8\n"
    assert patch.overrides == "lr=2e-5 arch.halt_max_steps=8 lr_warmup_steps=500"
    assert patch.changes[2].before == 2000


def test_keys_of_a_hydra_group_file_are_found_without_the_group(tmp_path: Path) -> None:
    (tmp_path / "arch").mkdir()
    patch = planned(
        tmp_path,
        "name: hrm\nhalt_max_steps: 16\n",
        Change("act.halt_max_steps", "multiply", 0.5),
        name="arch/hrm_v1.yaml",
    )
    assert after(patch) == "name: hrm\nhalt_max_steps: 8\n"
    assert patch.overrides == "arch.halt_max_steps=8"


def test_the_first_file_that_holds_the_key_is_changed(tmp_path: Path) -> None:
    one, two = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("seed: 1\n")
    two.write_text("lr: 1e-4\n")
    patch = plan(remedy(LOWER), {}, HRM, [one, two])
    assert [edit.path for edit in patch.edits] == [two]


def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match=r"did you mean 'optimizer\.lr'"):
        planned(tmp_path, "lr: 1\n", Change("optimiser.lr", "set", 1))


def test_without_a_config_file_the_overrides_are_in_the_hint() -> None:
    with pytest.raises(
        PatchError, match=r"no config file found\n  hint: name it, or add to the command: lr=2.0e-5"
    ):
        plan(remedy(LOWER), {"optimizer.lr": 1e-4}, HRM, [])


def test_a_manual_remedy_and_one_for_another_framework_are_no_patch() -> None:
    with pytest.raises(PatchError, match="changes no config"):
        plan(Remedy("m", "M", "manual", "manual", "w", Verify(), steps=("look",)), {}, HRM, [])
    with pytest.raises(PatchError, match="is for axolotl, not for HRM"):
        plan(remedy(LOWER, frameworks=("axolotl",)), {}, HRM, [])


def test_python_code_is_not_edited_but_the_text_to_paste_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("args = TrainingArguments(learning_rate=5e-5)\n")
    patch = plan(
        remedy(LOWER, Change("memory.gradient_checkpointing", "set", True)),
        {"optimizer.lr": 5e-5},
        HF,
        [script],
    )
    assert patch.edits == ()
    assert patch.diff() == ""
    assert (
        patch.paste
        == "TrainingArguments(\n    learning_rate=1e-05,\n    gradient_checkpointing=True,\n    ...\n)"
    )
    assert patch.overrides == "--learning_rate=1.0e-5 --gradient_checkpointing=true"


def test_a_run_that_used_another_value_than_its_file_is_pointed_out(tmp_path: Path) -> None:
    patch = planned(tmp_path, "lr: 1e-4\n", LOWER, facts={"optimizer.lr": 3e-4})
    assert patch.notes == (
        "the run used optimizer.lr = 0.0003, c.yaml says lr = 0.0001: an override on the command line wins",
    )
    assert planned(tmp_path, "lr: 1e-4\n", LOWER, facts={"optimizer.lr": 1e-4}).notes == ()


def test_a_patch_of_json_leaves_every_other_value(tmp_path: Path) -> None:
    tree = {"learning_rate": 1e-4, "nested": {"a": [1, 2, {"b": None}]}, "z": "ü"}
    patch = planned(tmp_path, json.dumps(tree), LOWER, framework=HF, name="a.json")
    assert json.loads(after(patch)) == tree | {"learning_rate": 2e-5}


def test_a_new_key_goes_to_the_section_where_the_others_of_the_framework_are(tmp_path: Path) -> None:
    framework = Framework(
        "own",
        "Own",
        config={
            "optimizer.lr": ConfigKey(("lr", "training.lr")),
            "run.epochs": ConfigKey(("epochs", "training.epochs")),
            "optimizer.grad_clip": ConfigKey(("grad_clip", "training.grad_clip", "optimizer.grad_clip")),
        },
    )
    change = Change("optimizer.grad_clip", "set", 1.0)
    nested = planned(tmp_path, "training:\n  lr: 1\n  epochs: 3\nname: x\n", change, framework=framework)
    assert after(nested) == "training:\n  lr: 1\n  epochs: 3\n  grad_clip: 1.0\nname: x\n"
    flat = planned(tmp_path, "lr: 1\nepochs: 2\n", change, framework=framework)
    assert after(flat) == "lr: 1\nepochs: 2\ngrad_clip: 1.0\n"
    assert (
        after(
            planned(
                tmp_path, "lr: 1\nepochs: 4\n", Change("run.epochs", "multiply", 0.5), framework=framework
            )
        )
        == "lr: 1\nepochs: 2\n"
    )


def test_a_key_in_the_words_of_any_training_code_is_changed_rather_than_one_added(tmp_path: Path) -> None:
    common = Framework(
        "generic", "Any training code", config={"optimizer.lr": ConfigKey(("learning_rate", "lr"))}
    )
    path = tmp_path / "c.yaml"
    path.write_text("lr: 0.1\nseed: 1\n")
    change = remedy(Change("optimizer.lr", "multiply", 0.1))
    assert after(plan(change, {}, HF, [path], common)) == "lr: 0.01\nseed: 1\n"
    path.write_text("learning_rate: 0.2\nlr: 0.1\n")
    assert after(plan(change, {}, HF, [path], common)) == "learning_rate: 0.02\nlr: 0.1\n"
    path.write_text("output_dir: x\n")
    assert "learning_rate" in after(plan(change, {}, HF, [path], common))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "lr: 0.1\nseed: 1\n"),
        ("run.sh", "LR=1e-1\npython train.py --lr $LR --bs 3\n"),
        (".env", "LR=0.1\nBS=3\n"),
        ("accelerate.yaml", "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_processes: 1\n"),
    ],
)
def test_a_key_that_nobody_has_shown_to_be_read_is_said_and_not_added(
    tmp_path: Path, name: str, text: str
) -> None:
    change = Change("optimizer.grad_clip", "set", 0.5)
    with pytest.raises(
        PatchError, match=r"(?s)whether its program reads one is not known.*max_grad_norm=0\.5"
    ):
        planned(tmp_path, text, change, framework=HF, name=name)


def test_an_option_that_the_program_beside_a_script_declares_is_added(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        'parser.add_argument("--lr")\nparser.add_argument("--max_grad_norm")\nparser.parse_args()\n'
    )
    script = tmp_path / "run.sh"
    script.write_text("python train.py --lr 0.1\nrsync --delete out/ there:out/\n")
    change = remedy(Change("optimizer.grad_clip", "set", 0.5))
    patch = plan(change, {}, HF, [script, tmp_path / "train.py"])
    assert after(patch) == "python train.py --lr 0.1 --max_grad_norm=0.5\nrsync --delete out/ there:out/\n"


def test_a_key_in_a_section_of_any_name_is_changed_where_it_stands(tmp_path: Path) -> None:
    common = Framework(
        "generic", "Any training code", config={"optimizer.lr": ConfigKey(("learning_rate", "lr"))}
    )
    path = tmp_path / "c.yaml"
    change = remedy(Change("optimizer.lr", "multiply", 0.1))
    path.write_text("model:\n  net: unet\n  lr: 0.5  # high\nval:\n  lr: 1\n")
    patch = plan(change, {}, HF, [path], common)
    assert after(patch) == "model:\n  net: unet\n  lr: 0.05  # high\nval:\n  lr: 1\n"
    assert patch.overrides == "--model.lr=0.05"
    path.write_text("model:\n  lr: 0.5\nhead:\n  lr: 0.1\n")
    with pytest.raises(PatchError, match=r"may be any of model\.lr, head\.lr"):
        plan(change, {}, HF, [path], common)
