from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.patch import Patch, plan
from hrmdoc.rulebook import Change, ConfigKey, Framework, Remedy, Verify

HRM = Framework(
    "hrm",
    "HRM",
    config={
        "optimizer.lr": ConfigKey(("lr",)),
        "optimizer.weight_decay": ConfigKey(("weight_decay",)),
        "schedule.warmup_steps": ConfigKey(("lr_warmup_steps",), "int"),
        "data.batch_size": ConfigKey(("global_batch_size",), "int"),
        "act.halt_max_steps": ConfigKey(("arch.halt_max_steps",), "int"),
        "precision": ConfigKey(("arch.forward_dtype",), "str"),
    },
    defaults={"lr_warmup_steps": 2000},
)
HF = Framework(
    "transformers",
    "HF Trainer",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "optimizer.grad_clip": ConfigKey(("max_grad_norm",)),
        "data.batch_size": ConfigKey(("per_device_train_batch_size",), "int"),
        "data.grad_accum": ConfigKey(("gradient_accumulation_steps",), "int"),
        "precision": ConfigKey(("bf16", "fp16"), "bool"),
        "memory.gradient_checkpointing": ConfigKey(("gradient_checkpointing",), "bool"),
        "schedule.name": ConfigKey(("lr_scheduler_type",), "str"),
    },
    defaults={"learning_rate": 5e-5, "max_grad_norm": 1.0, "gradient_accumulation_steps": 1},
)


def remedy(*changes: Change, **more: Any) -> Remedy:
    return Remedy("r", "A remedy", "patch", "safe", "because", Verify(), changes, **more)


def planned(
    folder: Path,
    text: str,
    *changes: Change,
    framework: Framework = HRM,
    name: str = "c.yaml",
    facts: Mapping[str, Any] | None = None,
) -> Patch:
    path = folder / name
    path.write_bytes(text.encode())
    return plan(remedy(*changes), facts or {}, framework, [path])


def after(patch: Patch) -> str:
    return patch.edits[0].after.decode()


LOWER = Change("optimizer.lr", "multiply", 0.2, min=1e-7)


def test_a_patch_shows_the_change_as_a_git_diff_and_as_overrides(tmp_path: Path) -> None:
    patch = planned(tmp_path, "# run\nlr: 1e-4  # rate\nseed: 0\n", LOWER)
    name = (tmp_path / "c.yaml").as_posix().lstrip("/")
    assert patch.diff() == (
        f"--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n # run\n-lr: 1e-4  # rate\n+lr: 2e-5  # rate\n seed: 0\n"
    )
    assert patch.overrides == "lr=2e-5"
    change = patch.changes[0]
    assert (change.key, change.path, change.before, change.after, change.line) == ("optimizer.lr", "lr", 1e-4, 2e-5, 2)
    assert (patch.risk, patch.why) == ("safe", "because")
    assert (tmp_path / "c.yaml").read_text() == "# run\nlr: 1e-4  # rate\nseed: 0\n"


def test_a_diff_tells_of_a_missing_newline_at_the_end(tmp_path: Path) -> None:
    assert (
        planned(tmp_path, "lr: 1e-4", LOWER)
        .diff()
        .endswith("-lr: 1e-4\n\\ No newline at end of file\n+lr: 2e-5\n\\ No newline at end of file\n")
    )


@pytest.mark.parametrize("text", ["lr: 1e-4\r\nseed: 0\r\n", "lr: 1e-4", "a: ü\n\nlr: 1e-4  # x\n\n\n"])
def test_git_applies_the_diff_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub dir").mkdir()
    patch = planned(tmp_path, text, LOWER, name="sub dir/c.yaml")
    assert "--- a/sub dir/c.yaml" in patch.diff()
    subprocess.run(["git", "apply", "-"], input=patch.diff().encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "sub dir" / "c.yaml").read_bytes() == patch.edits[0].after


def test_several_changes_of_one_file_are_one_edit(tmp_path: Path) -> None:
    text = "lr: 1e-4\narch:\n  halt_max_steps: 16\n"
    patch = planned(tmp_path, text, LOWER, Change("act.halt_max_steps", "set", 8), Change("schedule.warmup_steps", "set", 500))
    assert after(patch) == "lr: 2e-5\nlr_warmup_steps: 500\narch:\n  halt_max_steps: 8\n"
    assert patch.overrides == "lr=2e-5 arch.halt_max_steps=8 lr_warmup_steps=500"
    assert patch.changes[2].before == 2000


def test_keys_of_a_hydra_group_file_are_found_without_the_group(tmp_path: Path) -> None:
    (tmp_path / "arch").mkdir()
    patch = planned(
        tmp_path, "name: hrm\nhalt_max_steps: 16\n", Change("act.halt_max_steps", "multiply", 0.5), name="arch/hrm_v1.yaml"
    )
    assert after(patch) == "name: hrm\nhalt_max_steps: 8\n"
    assert patch.overrides == "arch.halt_max_steps=8"


def test_the_first_file_that_holds_the_key_is_changed(tmp_path: Path) -> None:
    one, two = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("seed: 1\n")
    two.write_text("lr: 1e-4\n")
    patch = plan(remedy(LOWER), {}, HRM, [one, two])
    assert [edit.path for edit in patch.edits] == [two]


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (Change("data.batch_size", "multiply", 0.5), "global_batch_size: 7\n", "global_batch_size: 3\n"),
        (Change("data.batch_size", "multiply", 1.5), "global_batch_size: 7\n", "global_batch_size: 11\n"),
        (Change("optimizer.lr", "multiply", 0.2, min=5e-5), "lr: 1e-4\n", "lr: 5e-5\n"),
        (Change("optimizer.weight_decay", "clamp", min=0.01, max=0.1), "weight_decay: 1.0\n", "weight_decay: 0.1\n"),
        (Change("optimizer.weight_decay", "remove"), "lr: 1\nweight_decay: 1.0\n", "lr: 1\n"),
        (
            Change("schedule.warmup_steps", "set", "=max(100, 0.05 * run.total_steps)"),
            "lr_warmup_steps: 2000\n",
            "lr_warmup_steps: 500\n",
        ),
        (Change("optimizer.lr", "set", "=current / 4"), "lr: 1e-4\n", "lr: 2.5e-5\n"),
        (Change("optimizer.lr", "set", "=min(0.2 * optimizer.lr, 1e-5 if run.kind == 'rl' else 1)"), "lr: 1e-4\n", "lr: 2e-5\n"),
        (Change("precision", "set", "float32"), "arch:\n  forward_dtype: bfloat16\n", "arch:\n  forward_dtype: float32\n"),
    ],
)
def test_each_operation_gives_its_value(tmp_path: Path, change: Change, text: str, expected: str) -> None:
    assert after(planned(tmp_path, text, change, facts={"run.total_steps": 10_000})) == expected


@pytest.mark.parametrize(
    ("change", "text", "what"),
    [
        (Change("optimizer.beta2", "set", 0.95), "lr: 1\n", "HRM has no key for optimizer.beta2"),
        (Change("optimizer.lr", "set", 5.0, max=1.0), "lr: 1e-4\n", r"optimizer.lr = 5.0 is out of bounds \(at most 1\)"),
        (Change("optimizer.lr", "multiply", 0.2, min=1e-4), "lr: 1e-4\n", "is at its bound already"),
        (Change("optimizer.lr", "multiply", 0.2, min=1e-4), "lr: 1e-6\n", "is at its bound already"),
        (Change("optimizer.lr", "clamp", min=1e-6, max=1e-3), "lr: 1e-4\n", "within its bounds already"),
        (Change("optimizer.lr", "multiply", 0.2), "seed: 1\n", "current value of optimizer.lr is not known"),
        (Change("optimizer.lr", "multiply", 0.2), "lr: fast\n", "'fast' is not a number"),
        (Change("optimizer.lr", "set", "=run.total_steps / 2"), "lr: 1\n", "run.total_steps is not known"),
        (Change("optimizer.lr", "set", "=1 / 0"), "lr: 1\n", "cannot compute"),
        (Change("optimizer.lr", "set", 1e-4), "lr: 1e-4\n", "nothing to change: lr is 0.0001 already"),
        (Change("optimizer.lr", "remove"), "seed: 1\n", "nothing to change: lr is not set"),
        (Change("data.batch_size", "set", True), "global_batch_size: 7\n", "takes a value of type int"),
        (Change("optimizer.lr", "multiply", 0.2), "lr: {a: 1}\n", "holds a section"),
        (Change("act.halt_max_steps", "set", 4), "arch: small\n", "holds no section"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(tmp_path: Path, change: Change, text: str, what: str) -> None:
    with pytest.raises(PatchError, match=what):
        planned(tmp_path, text, change)


def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match=r"did you mean 'optimizer\.lr'"):
        planned(tmp_path, "lr: 1\n", Change("optimiser.lr", "set", 1))


def test_without_a_config_file_the_overrides_are_in_the_hint() -> None:
    with pytest.raises(PatchError, match=r"no config file found\n  hint: name it, or add to the command: lr=2.0e-5"):
        plan(remedy(LOWER), {"optimizer.lr": 1e-4}, HRM, [])


def test_a_manual_remedy_and_one_for_another_framework_are_no_patch() -> None:
    with pytest.raises(PatchError, match="changes no config"):
        plan(Remedy("m", "M", "manual", "manual", "w", Verify(), steps=("look",)), {}, HRM, [])
    with pytest.raises(PatchError, match="is for axolotl, not for HRM"):
        plan(remedy(LOWER, frameworks=("axolotl",)), {}, HRM, [])


def test_python_code_is_not_edited_but_the_text_to_paste_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("args = TrainingArguments(learning_rate=5e-5)\n")
    patch = plan(remedy(LOWER, Change("memory.gradient_checkpointing", "set", True)), {}, HF, [script])
    assert patch.edits == ()
    assert patch.diff() == ""
    assert patch.paste == "TrainingArguments(\n    learning_rate=1e-05,\n    gradient_checkpointing=True,\n    ...\n)"
    assert patch.overrides == "--learning_rate=1.0e-5 --gradient_checkpointing=true"


def test_a_run_that_used_another_value_than_its_file_is_pointed_out(tmp_path: Path) -> None:
    patch = planned(tmp_path, "lr: 1e-4\n", LOWER, facts={"optimizer.lr": 3e-4})
    assert patch.notes == ("the run used optimizer.lr = 0.0003, c.yaml says lr = 0.0001: an override on the command line wins",)
    assert planned(tmp_path, "lr: 1e-4\n", LOWER, facts={"optimizer.lr": 1e-4}).notes == ()


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("bf16: true\n", "fp16", "bf16: false\nfp16: true\n"),
        ("fp16: True\n", "bf16", "fp16: False\nbf16: true\n"),
        ("bf16: true\nfp16: false\n", "fp32", "bf16: false\nfp16: false\n"),
    ],
)
def test_precision_is_a_switch_for_each_type_where_the_framework_has_it_so(
    tmp_path: Path, text: str, value: str, expected: str
) -> None:
    assert after(planned(tmp_path, text, Change("precision", "set", value), framework=HF)) == expected


@pytest.mark.parametrize(
    ("framework", "text", "value", "expected"),
    [
        ("HRM", "arch:\n  forward_dtype: bfloat16\n", "fp32", "arch:\n  forward_dtype: float32\n"),
        ("HRM", "arch:\n  x: 1\n", "fp32", "arch:\n  x: 1\n  forward_dtype: float32\n"),
        ("LIGHTNING", "trainer:\n  precision: 16-mixed\n", "bf16", "trainer:\n  precision: bf16-mixed\n"),
        ("LIGHTNING", "trainer:\n  precision: bf16-true\n", "fp32", 'trainer:\n  precision: "32-true"\n'),
        ("ACCELERATE", "mixed_precision: fp16\n", "bf16", "mixed_precision: bf16\n"),
        ("ACCELERATE", "mixed_precision: fp16\n", "fp32", 'mixed_precision: "no"\n'),
    ],
)
def test_precision_is_spelled_as_the_framework_spells_it(
    tmp_path: Path, framework: str, text: str, value: str, expected: str
) -> None:
    accelerate = Framework("accelerate", "Accelerate", config={"precision": ConfigKey(("mixed_precision",), "str")})
    chosen = {"HRM": HRM, "LIGHTNING": LIGHTNING, "ACCELERATE": accelerate}[framework]
    assert after(planned(tmp_path, text, Change("precision", "set", value), framework=chosen)) == expected


def test_full_precision_is_nothing_to_change_where_no_switch_is_set(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="in force already"):
        planned(tmp_path, "seed: 1\n", Change("precision", "set", "fp32"), framework=HF)


AXOLOTL = Framework(
    "axolotl",
    "axolotl",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "data.micro_batch_size": ConfigKey(("micro_batch_size",), "int"),
        "rl.beta": ConfigKey(("trl.beta", "rl_beta")),
        "memory.use_reentrant": ConfigKey(("gradient_checkpointing_kwargs.use_reentrant",), "bool"),
    },
)
LIGHTNING = Framework(
    "lightning",
    "Lightning",
    config={
        "optimizer.lr": ConfigKey(("optimizer.init_args.lr", "model.init_args.learning_rate", "model.learning_rate")),
        "optimizer.grad_clip": ConfigKey(("trainer.gradient_clip_val",)),
        "precision": ConfigKey(("trainer.precision",), "str"),
    },
)
DEEPSPEED = Framework(
    "deepspeed",
    "DeepSpeed",
    config={
        "optimizer.grad_clip": ConfigKey(("gradient_clipping",)),
        "optimizer.lr": ConfigKey(("optimizer.params.lr",)),
        "precision": ConfigKey(("bf16.enabled", "fp16.enabled"), "bool"),
    },
)
DISTRIBUTED = Framework(
    "distributed-lab",
    "Distributed training YAML",
    config={
        "data.batch_size": ConfigKey(("training.batch_size",), "int"),
        "schedule.warmup_steps": ConfigKey(("training.scheduler.warmup_steps",), "int"),
        "precision": ConfigKey(("fsdp.use_mixed_precision",), "bool"),
        "parallel.timeout_s": ConfigKey(("distributed.timeout_minutes",), "int", scale=60.0),
    },
)
CHIMERA = Framework(
    "chimera",
    "Chimera JSON",
    config={
        "model.dropout": ConfigKey(("config.dropout", "dropout")),
        "optimizer.weight_decay": ConfigKey(("config.weight_decay", "weight_decay")),
    },
)


@pytest.mark.parametrize(
    ("framework", "name", "text", "change", "expected"),
    [
        (HF, "args.json", '{"learning_rate": 5e-05, "fp16": false}', LOWER, '{"learning_rate": 1e-05, "fp16": false}'),
        (HF, "args.yaml", "output_dir: x\n", LOWER, "output_dir: x\nlearning_rate: 1.0e-5\n"),
        (
            HF,
            "args.yaml",
            "lr_scheduler_type: 'constant'\n",
            Change("schedule.name", "set", "cosine"),
            "lr_scheduler_type: 'cosine'\n",
        ),
        (AXOLOTL, "a.yml", "learning_rate: 0.0002\n", LOWER, "learning_rate: 0.00004\n"),
        (
            AXOLOTL,
            "a.yml",
            "rl: grpo\ntrl:\n  num_generations: 16\n",
            Change("rl.beta", "set", 0.04),
            "rl: grpo\ntrl:\n  num_generations: 16\n  beta: 0.04\n",
        ),
        (AXOLOTL, "a.yml", "rl_beta: 0.1\n", Change("rl.beta", "set", 0.04), "rl_beta: 0.04\n"),
        (
            AXOLOTL,
            "a.yml",
            "gradient_checkpointing_kwargs:\n  use_reentrant: false\n",
            Change("memory.use_reentrant", "set", True),
            "gradient_checkpointing_kwargs:\n  use_reentrant: true\n",
        ),
        (
            LIGHTNING,
            "l.yaml",
            "model:\n  class_path: M\n  init_args:\n    learning_rate: 1.0e-03\n",
            LOWER,
            "model:\n  class_path: M\n  init_args:\n    learning_rate: 2.0e-04\n",
        ),
        (
            LIGHTNING,
            "l.yaml",
            "trainer:\n  precision: 16-mixed\n",
            Change("precision", "set", "bf16-mixed"),
            "trainer:\n  precision: bf16-mixed\n",
        ),
        (LIGHTNING, "l.yaml", "trainer: {}\n", Change("optimizer.grad_clip", "set", 1.0), "trainer: {gradient_clip_val: 1.0}\n"),
        (
            DEEPSPEED,
            "ds.json",
            '{\n  "fp16": {"enabled": true}\n}\n',
            Change("precision", "set", "bf16"),
            '{\n  "fp16": {"enabled": false},\n  "bf16": {"enabled": true}\n}\n',
        ),
        (
            DEEPSPEED,
            "ds.json",
            '{"gradient_clipping": 5.0}',
            Change("optimizer.grad_clip", "set", 1.0),
            '{"gradient_clipping": 1.0}',
        ),
        (
            DISTRIBUTED,
            "d.yaml",
            "training:\n  batch_size: 32  # per rank\n",
            Change("data.batch_size", "multiply", 0.5),
            "training:\n  batch_size: 16  # per rank\n",
        ),
        (
            DISTRIBUTED,
            "d.yaml",
            "training:\n  lr: 1\n",
            Change("schedule.warmup_steps", "set", 1000),
            "training:\n  lr: 1\n  scheduler:\n    warmup_steps: 1000\n",
        ),
        (
            DISTRIBUTED,
            "d.yaml",
            "fsdp:\n  use_mixed_precision: true\n",
            Change("precision", "set", "fp32"),
            "fsdp:\n  use_mixed_precision: false\n",
        ),
        (
            DISTRIBUTED,
            "d.yaml",
            "distributed:\n  timeout_minutes: 10\n",
            Change("parallel.timeout_s", "set", 1800),
            "distributed:\n  timeout_minutes: 30\n",
        ),
        (
            CHIMERA,
            "r.json",
            '{"config": {"dropout": 0.1, "weight_decay": 0.01}}',
            Change("model.dropout", "set", 0.4),
            '{"config": {"dropout": 0.4, "weight_decay": 0.01}}',
        ),
    ],
)
def test_each_framework_is_changed_in_its_own_words(
    tmp_path: Path, framework: Framework, name: str, text: str, change: Change, expected: str
) -> None:
    assert after(planned(tmp_path, text, change, framework=framework, name=name)) == expected


def test_a_value_that_another_program_fills_in_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match=r"'auto' is not a number\n  hint: it is set by another file"):
        planned(tmp_path, '{"optimizer": {"params": {"lr": "auto"}}}', LOWER, framework=DEEPSPEED, name="ds.json")


@pytest.mark.parametrize(
    ("blob", "what"),
    [(b"lr: 1\0", "binary file"), ("lr: ü".encode("latin-1"), "not UTF-8"), (b"# \n" * 400_000, "more than a config file has")],
)
def test_a_file_that_is_no_text_config_is_refused(tmp_path: Path, blob: bytes, what: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(blob)
    with pytest.raises(PatchError, match=what):
        plan(remedy(LOWER), {}, HRM, [path])


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="No such file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "none.yaml"])
    with pytest.raises(PatchError, match="not a regular file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path])


def test_a_link_inside_its_folder_is_followed_and_one_out_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "real.yaml").write_text("lr: 1e-4\n")
    (tmp_path / "near.yaml").symlink_to("real.yaml")
    (tmp_path / "in" / "far.yaml").symlink_to("../real.yaml")
    assert after(plan(remedy(LOWER), {}, HRM, [tmp_path / "near.yaml"])) == "lr: 2e-5\n"
    with pytest.raises(PatchError, match="outside its folder"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "in" / "far.yaml"])


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.yaml")
    with pytest.raises(PatchError, match="not a regular file"):
        plan(remedy(LOWER), {}, HRM, [tmp_path / "c.yaml"])


def test_a_patch_of_json_leaves_every_other_value(tmp_path: Path) -> None:
    tree = {"learning_rate": 1e-4, "nested": {"a": [1, 2, {"b": None}]}, "z": "ü"}
    patch = planned(tmp_path, json.dumps(tree), LOWER, framework=HF, name="a.json")
    assert json.loads(after(patch)) == tree | {"learning_rate": 2e-5}


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("early_stopping:\n  patience: 0\n", True, "early_stopping:\n  patience: 5\n"),
        ("early_stopping:\n  patience: 0\n", 3, "early_stopping:\n  patience: 3\n"),
        ("early_stopping:\n  patience: 4\n", False, "early_stopping:\n  patience: 0\n"),
        ("lr: 1\n", True, "lr: 1\nearly_stopping:\n  patience: 5\n"),
    ],
)
def test_early_stopping_is_a_patience_where_the_framework_counts(tmp_path: Path, text: str, value: object, expected: str) -> None:
    framework = Framework("f", "F", config={"eval.early_stopping": ConfigKey(("early_stopping.patience",), "bool")})
    assert after(planned(tmp_path, text, Change("eval.early_stopping", "set", value), framework=framework)) == expected


def test_a_patience_that_is_set_stays_as_it_is(tmp_path: Path) -> None:
    framework = Framework("f", "F", config={"eval.early_stopping": ConfigKey(("patience",), "bool")})
    with pytest.raises(PatchError, match="nothing to change: patience is 3 already"):
        planned(tmp_path, "patience: 3\n", Change("eval.early_stopping", "set", 5), framework=framework)


def test_a_patience_switches_early_stopping_on_where_the_framework_does_not_count(tmp_path: Path) -> None:
    framework = Framework("f", "F", config={"eval.early_stopping": ConfigKey(("early_stop",), "bool")})
    assert (
        after(planned(tmp_path, "early_stop: false\n", Change("eval.early_stopping", "set", 5), framework=framework))
        == "early_stop: true\n"
    )


def test_a_new_key_goes_to_the_section_where_the_others_are_and_is_pointed_out(tmp_path: Path) -> None:
    framework = Framework(
        "generic",
        "Any",
        config={
            "optimizer.lr": ConfigKey(("lr", "training.lr")),
            "run.epochs": ConfigKey(("epochs", "training.epochs")),
            "optimizer.grad_clip": ConfigKey(("grad_clip", "training.grad_clip", "optimizer.grad_clip")),
        },
    )
    change = Change("optimizer.grad_clip", "set", 1.0)
    nested = planned(tmp_path, "training:\n  lr: 1\n  epochs: 3\nname: x\n", change, framework=framework)
    assert after(nested) == "training:\n  lr: 1\n  epochs: 3\n  grad_clip: 1.0\nname: x\n"
    assert nested.notes == ("training.grad_clip is new in c.yaml: check that the program knows it",)
    assert after(planned(tmp_path, "lr: 1\n", change, framework=framework)) == "lr: 1\ngrad_clip: 1.0\n"
    assert (
        after(planned(tmp_path, "lr: 1\nepochs: 4\n", Change("run.epochs", "multiply", 0.5), framework=framework))
        == "lr: 1\nepochs: 2\n"
    )


def test_a_key_in_the_words_of_any_training_code_is_changed_rather_than_one_added(tmp_path: Path) -> None:
    common = Framework("generic", "Any training code", config={"optimizer.lr": ConfigKey(("learning_rate", "lr"))})
    path = tmp_path / "c.yaml"
    path.write_text("lr: 0.1\nseed: 1\n")
    change = remedy(Change("optimizer.lr", "scale", 0.1))
    assert after(plan(change, {}, HF, [path], common)) == "lr: 0.01\nseed: 1\n"
    path.write_text("learning_rate: 0.2\nlr: 0.1\n")
    assert after(plan(change, {}, HF, [path], common)) == "learning_rate: 0.02\nlr: 0.1\n"
    path.write_text("seed: 1\n")
    assert "learning_rate" in after(plan(change, {}, HF, [path], common))
