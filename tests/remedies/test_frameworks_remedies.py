"""For each framework and each fault that a config can mend: the patch applies, and nothing else in the file
changes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hrmdoc import rulebook
from hrmdoc.errors import PatchError
from hrmdoc.remedies.patch import KeyChange, Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.roles.typical import typical_facts
from hrmdoc.rulebook import Remedy

BOOK = rulebook.load()
FOLDER = Path(__file__).parent / "configs"
KNOWN: dict[str, dict[str, Any]] = {
    "hrm.yaml": {"run.kind": "hrm", "run.total_steps": 20000},
    "hf-trainer.yaml": {"run.kind": "sft", "run.total_steps": 2000},
    "trl.yaml": {"run.kind": "rl", "run.total_steps": 400},
    "axolotl.yaml": {"run.kind": "sft", "run.total_steps": 1000},
    "lightning.yaml": {"run.kind": "classification", "run.total_steps": 5000},
    "deepspeed.json": {"run.kind": "pretraining", "run.total_steps": 2000},
    "distributed-lab.yaml": {"run.kind": "pretraining", "run.total_steps": 4000},
    "chimera.json": {"run.kind": "classification", "run.total_steps": 5000},
}
"""Config file, named after its framework, with what else is known of its run. What is wrong in them is so on
purpose."""
CONFIGS = {Path(name).stem: (FOLDER / name, facts) for name, facts in KNOWN.items()}
Changes = dict[str, tuple[Any, Any]]
ABSENT = None

RATES: dict[str, Changes] = {
    "hrm": {"lr": (1e-2, 6e-4)},
    "hf-trainer": {"learning_rate": (1e-2, 3e-5)},
    "trl": {"learning_rate": (1e-3, 2e-6)},
    "axolotl": {"learning_rate": (0.01, 3e-5)},
    "lightning": {"optimizer.init_args.lr": (0.1, 0.02)},
    "deepspeed": {"optimizer.params.lr": (1e-2, 9e-4)},
    "distributed-lab": {"training.learning_rate": (1e-2, 9e-4)},
    "chimera": {"lr": (0.01, 0.002)},
}
CLIPPING: dict[str, Changes] = {
    "hrm": {"grad_clip": (ABSENT, 1.0)},
    "hf-trainer": {"max_grad_norm": (0, 1.0)},
    "trl": {"max_grad_norm": (0.0, 1.0)},
    "axolotl": {"max_grad_norm": (0.0, 1.0)},
    "lightning": {"trainer.gradient_clip_val": (None, 1.0)},
    "deepspeed": {"gradient_clipping": (0.0, 1.0)},
    "distributed-lab": {"training.max_grad_norm": (ABSENT, 1.0)},
    "chimera": {"grad_clip": (0.0, 1.0)},
}
MEMORY: dict[str, Changes] = {
    "hf-trainer": {"per_device_train_batch_size": (16, 8), "gradient_accumulation_steps": (2, 4)},
    "trl": {"per_device_train_batch_size": (8, 4), "gradient_accumulation_steps": (1, 2)},
    "axolotl": {"micro_batch_size": (8, 4), "gradient_accumulation_steps": (1, 2)},
    "lightning": {"data.init_args.batch_size": (64, 32), "trainer.accumulate_grad_batches": (1, 2)},
    "deepspeed": {"train_micro_batch_size_per_gpu": (16, 8), "gradient_accumulation_steps": (1, 2)},
    "distributed-lab": {"training.batch_size": (32, 16), "training.gradient_accumulation_steps": (1, 2)},
}
WARMUP: dict[str, Changes] = {
    "hrm": {"lr_warmup_steps": (0, 1000)},
    "hf-trainer": {"warmup_steps": (0, 100)},
    "trl": {"warmup_steps": (0, 20)},
    "axolotl": {"warmup_steps": (0, 50)},
    "lightning": {"model.init_args.warmup_steps": (0, 250)},
    "deepspeed": {"scheduler.params.warmup_num_steps": (0, 100)},
    "distributed-lab": {"training.scheduler.warmup_steps": (0, 200)},
    "chimera": {"warmup_steps": (0, 250)},
}
DECAY: dict[str, Changes] = {
    "hf-trainer": {"weight_decay": (0.0, 0.1)},
    "trl": {"weight_decay": (0.0, 0.1)},
    "axolotl": {"weight_decay": (0.0, 0.1)},
    "lightning": {"optimizer.init_args.weight_decay": (0.0, 0.1)},
    "deepspeed": {"optimizer.params.weight_decay": (0.0, 0.1)},
    "distributed-lab": {"training.weight_decay": (0.0, 0.1)},
    "chimera": {"weight_decay": (0.01, 0.1)},
}
RANGE: dict[str, Changes] = {
    "hrm": {"dtype": ("float16", "bfloat16")},
    "hf-trainer": {"fp16": (True, False), "bf16": (ABSENT, True)},
    "trl": {"fp16": (True, False), "bf16": (ABSENT, True)},
    "axolotl": {"fp16": (True, False), "bf16": (ABSENT, True)},
    "lightning": {"trainer.precision": ("16-mixed", "bf16-mixed")},
    "deepspeed": {"fp16.enabled": (True, False), "bf16.enabled": (ABSENT, True)},
}
EXPECTED: dict[str, dict[str, Changes]] = {
    "reduce-learning-rate": RATES,
    "lower-hrm-learning-rate": {"hrm": {"lr": (1e-2, 6e-4), "puzzle_emb_lr": (1e-2, 2e-3)}},
    "clip-gradients": CLIPPING,
    "halve-micro-batch": MEMORY,
    "halve-batch": {"hrm": {"global_batch_size": (384, 192)}, "chimera": {"batch_size": (64, 32)}},
    "checkpoint-activations": {
        "hf-trainer": {"gradient_checkpointing": (ABSENT, True)},
        "trl": {"gradient_checkpointing": (ABSENT, True)},
        "axolotl": {"gradient_checkpointing": (ABSENT, True)},
        "distributed-lab": {"fsdp.activation_checkpointing": (ABSENT, True)},
    },
    "shorten-sequences": {"axolotl": {"sequence_len": (4096, 2048)}},
    "use-flash-attention": {"axolotl": {"attn_implementation": (ABSENT, "flash_attention_2")}},
    "lengthen-warmup": WARMUP,
    "raise-weight-decay": DECAY,
    "raise-dropout": {"distributed-lab": {"model.dropout": (0.1, 0.4)}, "chimera": {"dropout": (0.1, 0.4)}},
    "halve-model": {
        "distributed-lab": {"model.hidden_size": (1024, 512), "model.num_layers": (12, 6)},
        "chimera": {"d_model": (256, 128), "n_layers": (4, 2)},
    },
    "stop-early": {
        "hrm": {"early_stopping.patience": (ABSENT, 5)},
        "axolotl": {"early_stopping_patience": (ABSENT, 5)},
        "chimera": {"patience": (0, 5)},
    },
    "evaluate-often": {
        "hf-trainer": {"eval_steps": (500, 20)},
        "axolotl": {"eval_steps": (500, 20)},
        "lightning": {"trainer.val_check_interval": (1000, 20)},
        "chimera": {"eval_every": (500, 20)},
    },
    "smooth-labels": {
        "hf-trainer": {"label_smoothing_factor": (ABSENT, 0.1)},
        "chimera": {"label_smoothing": (ABSENT, 0.1)},
    },
    "decay-learning-rate": {
        "hf-trainer": {"lr_scheduler_type": ("constant", "cosine")},
        "trl": {"lr_scheduler_type": (ABSENT, "cosine")},
        "axolotl": {"lr_scheduler": ("constant", "cosine")},
        "distributed-lab": {"training.scheduler.type": ("constant", "cosine")},
    },
    "decay-hrm-learning-rate": {"hrm": {"lr_min_ratio": (1.0, 0.1)}},
    "use-bf16": RANGE,
    "use-fp32-to-diagnose": {
        "hrm": {"dtype": ("float16", "float32")},
        "axolotl": {"fp16": (True, False)},
        "lightning": {"trainer.precision": ("16-mixed", "32-true")},
        "distributed-lab": {"fsdp.use_mixed_precision": (True, False)},
    },
    "raise-temperature": {"trl": {"temperature": (0.3, 0.8)}, "axolotl": {"trl.temperature": (0.2, 0.8)}},
    "add-kl-penalty": {"trl": {"beta": (0.0, 0.04)}, "axolotl": {"trl.beta": (0.0, 0.04)}},
    "more-generations": {
        "trl": {"num_generations": (4, 16), "per_device_train_batch_size": (8, 16)},
        "axolotl": {"trl.num_generations": (4, 16), "micro_batch_size": (8, 16)},
    },
    "sync-weights-often": {
        "trl": {"vllm_sync_interval": (32, 16)},
        "axolotl": {"trl.vllm_sync_interval": (16, 8)},
    },
    "mask-stale-samples": {"trl": {"off_policy_mask_threshold": (ABSENT, 0.5)}},
    "raise-completion-cap": {"trl": {"max_completion_length": (1024, 2048)}},
}
CASES = [
    pytest.param(remedy, framework, changes, id=f"{remedy}-{framework}")
    for remedy, by_framework in EXPECTED.items()
    for framework, changes in by_framework.items()
]


def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {prefix[:-1]: tree}
    return {
        key: value for name, inner in tree.items() for key, value in flat(inner, f"{prefix}{name}.").items()
    }


def read(blob: bytes) -> dict[str, Any]:
    """JSON is YAML, too; YAML 1.2 reads 1e-2 as a number."""
    return flat(YAML(typ="safe", pure=True).load(blob.decode("utf-8")))


def patched(remedy: str, framework: str, folder: Path) -> Patch:
    config, facts = CONFIGS[framework]
    path = folder / config.name
    path.write_bytes(config.read_bytes())
    facts = {"run.framework": framework, **facts}
    facts = typical_facts(facts, BOOK.typical.values()) | facts
    return plan(BOOK.remedies[remedy], facts, BOOK.frameworks[framework], [path])


@pytest.mark.parametrize(("remedy", "framework", "changes"), CASES)
def test_a_remedy_changes_exactly_the_expected_keys(
    remedy: str, framework: str, changes: Changes, tmp_path: Path
) -> None:
    (edit,) = patched(remedy, framework, tmp_path).edits
    before, after = read(edit.before), read(edit.after)
    differing = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert {key: (before.get(key), after[key]) for key in differing} == {
        key: (old, pytest.approx(new) if isinstance(new, float) else new)
        for key, (old, new) in changes.items()
    }


@pytest.mark.parametrize("framework", CONFIGS)
@pytest.mark.parametrize("remedy", [one.id for one in BOOK.remedies.values() if one.kind == "patch"])
def test_no_patch_writes_a_senseless_value(remedy: str, framework: str, tmp_path: Path) -> None:
    if BOOK.remedies[remedy].frameworks and framework not in BOOK.remedies[remedy].frameworks:
        assert_refused(BOOK.remedies[remedy], framework, tmp_path)
        return
    for change in changes_or_none(remedy, framework, tmp_path):
        value = change.after
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        assert math.isfinite(value)
        assert value >= (0 if "num_workers" in change.key else 1e-8), change
        if change.key in (
            "data.batch_size",
            "data.micro_batch_size",
            "data.grad_accum",
            "model.layers",
            "eval.interval",
        ):
            assert isinstance(value, int)
            assert value >= 1


def changes_or_none(remedy: str, framework: str, folder: Path) -> tuple[KeyChange, ...]:
    """What the remedy changes; nothing where the framework has no such key or the value is right already."""
    try:
        return patched(remedy, framework, folder).changes
    except PatchError:
        return ()


def assert_refused(remedy: Remedy, framework: str, folder: Path) -> None:
    with pytest.raises(PatchError, match="not for"):
        patched(remedy.id, framework, folder)


@pytest.mark.parametrize("framework", CONFIGS)
def test_comments_and_untouched_lines_stay(framework: str, tmp_path: Path) -> None:
    (edit,) = patched("reduce-learning-rate", framework, tmp_path).edits
    before, after = edit.before.decode().splitlines(), edit.after.decode().splitlines()
    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize(
    ("ratio", "expected"), [("0.01", {"warmup_ratio": (0.01, 0.05)}), ("0.0", {"warmup_ratio": (0.0, 0.05)})]
)
def test_a_warmup_that_is_given_as_a_share_stays_one(ratio: str, expected: Changes, tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text(f"learning_rate: 1e-4\nwarmup_ratio: {ratio}\n")
    (edit,) = plan(
        BOOK.remedies["lengthen-warmup"], {"run.total_steps": 1000}, BOOK.frameworks["axolotl"], [path]
    ).edits
    assert {key: (read(edit.before)[key], read(edit.after)[key]) for key in expected} == expected
    assert read(edit.after).keys() == read(edit.before).keys()


def test_a_share_that_is_long_enough_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("learning_rate: 1e-4\nwarmup_ratio: 0.1\n")
    with pytest.raises(PatchError, match=r"warmup_ratio is 0[.]1 already"):
        plan(BOOK.remedies["lengthen-warmup"], {"run.total_steps": 1000}, BOOK.frameworks["axolotl"], [path])


@pytest.mark.parametrize(
    ("framework", "remedy"), [("hf-trainer", "raise-dropout"), ("hf-trainer", "halve-model")]
)
def test_a_key_that_the_program_would_refuse_is_not_added(
    framework: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(PatchError):
        patched(remedy, framework, tmp_path)


def test_a_warmup_that_outlasts_the_run_is_cut_and_a_fitting_or_unknown_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("learning_rate: 1e-4\nwarmup_steps: 900\n")
    facts = {"run.total_steps": 1000}
    (change,) = plan(BOOK.remedies["shorten-warmup"], facts, BOOK.frameworks["axolotl"], [path]).changes
    assert (change.before, change.after) == (900, 50)
    for text in ("warmup_steps: 100\n", "learning_rate: 1e-4\n"):
        path.write_text(text)
        with pytest.raises(PatchError):
            plan(BOOK.remedies["shorten-warmup"], facts, BOOK.frameworks["axolotl"], [path])


def test_regularisation_is_never_weakened_by_a_remedy_that_strengthens_it(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("weight_decay: 1.0\n")
    with pytest.raises(PatchError, match="already"):
        plan(BOOK.remedies["raise-weight-decay"], {}, BOOK.frameworks["axolotl"], [path])


def test_every_framework_is_told_one_way_to_stop_early() -> None:
    by_key, by_code = BOOK.remedies["stop-early"], BOOK.remedies["stop-early-by-callback"]
    assert not set(by_key.frameworks) & set(by_code.frameworks)
    assert {*by_key.frameworks, *by_code.frameworks} == set(BOOK.frameworks)
    assert by_key.frameworks
    assert all("eval.early_stopping" in BOOK.frameworks[name].config for name in by_key.frameworks)
