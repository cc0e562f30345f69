from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.rulebook import Change, ConfigKey, Framework
from tests.remedies.planning import HF, LIGHTNING, LOWER, after, planned

AXOLOTL = Framework(
    "axolotl",
    "axolotl",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "data.micro_batch_size": ConfigKey(("micro_batch_size",), "int"),
        "rl.beta": ConfigKey(("trl.beta", "rl_beta")),
        "memory.use_reentrant": ConfigKey(("gradient_checkpointing_kwargs.use_reentrant",), "bool"),
    },
    markers=("config:trl.",),
)
DEEPSPEED = Framework(
    "deepspeed",
    "DeepSpeed",
    config={
        "optimizer.grad_clip": ConfigKey(("gradient_clipping",)),
        "optimizer.lr": ConfigKey(("optimizer.params.lr",)),
        "precision": ConfigKey(("bf16.enabled", "fp16.enabled"), "bool"),
    },
    markers=("config:fp16.enabled",),
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
    markers=("config:training.",),
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
        (
            HF,
            "args.json",
            '{"learning_rate": 5e-05, "fp16": false}',
            LOWER,
            '{"learning_rate": 1e-05, "fp16": false}',
        ),
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
        (
            LIGHTNING,
            "l.yaml",
            "trainer: {}\n",
            Change("optimizer.grad_clip", "set", 1.0),
            "trainer: {gradient_clip_val: 1.0}\n",
        ),
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
        planned(
            tmp_path, '{"optimizer": {"params": {"lr": "auto"}}}', LOWER, framework=DEEPSPEED, name="ds.json"
        )


def test_a_setting_of_words_that_no_file_has_is_added_as_a_word(tmp_path: Path) -> None:
    words = {"steps": True, "epoch": True, "no": False}
    framework = Framework(
        "f",
        "F",
        config={"checkpoint.saved": ConfigKey(("save_strategy",), "bool", words=words)},
        markers=("config:output_dir",),
    )
    patch = planned(tmp_path, "output_dir: x\n", Change("checkpoint.saved", "set", True), framework=framework)
    assert after(patch) == "output_dir: x\nsave_strategy: steps\n"


def test_a_change_that_is_optional_is_passed_over_where_the_framework_has_no_key(tmp_path: Path) -> None:
    other = Change("model.low_layers", "multiply", 0.5, optional=True)
    patch = planned(tmp_path, "learning_rate: 5.0e-5\n", LOWER, other, framework=HF)
    assert after(patch) == "learning_rate: 1.0e-5\n"
