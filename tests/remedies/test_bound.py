"""What is bound together moves together: rates of a schedule, batch sizes, switches of precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hrmdoc import rulebook
from hrmdoc.errors import PatchError
from hrmdoc.remedies.bound import sizes
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.rulebook import Change
from tests.remedies.planning import LOWER, after, remedy

BOOK = rulebook.load()


def patched(
    folder: Path, framework: str, name: str, text: str, *changes: Change, facts: dict[str, Any] | None = None
) -> Patch:
    path = folder / name
    path.write_text(text)
    return plan(remedy(*changes), facts or {}, BOOK.frameworks[framework], [path], BOOK.frameworks["generic"])


def test_a_floor_stays_below_the_rate_and_a_peak_goes_along(tmp_path: Path) -> None:
    text = "lr: 0.1\nmin_lr: 0.01\nscheduler: {name: onecycle, max_lr: 0.1}\n"
    patch = patched(tmp_path, "generic", "c.yaml", text, LOWER)
    assert after(patch) == "lr: 0.02\nmin_lr: 0.002\nscheduler: {name: onecycle, max_lr: 0.02}\n"
    assert patch.overrides == "lr=0.02 min_lr=0.002 scheduler.max_lr=0.02"


def test_a_floor_that_is_far_below_stays_as_it_is_and_one_stays_where_the_rate_rises(tmp_path: Path) -> None:
    text = "lr: 0.1\nmin_lr: 0.000001\n"
    assert after(patched(tmp_path, "generic", "c.yaml", text, LOWER)) == "lr: 0.02\nmin_lr: 0.000001\n"
    raised = Change("optimizer.lr", "multiply", 3)
    text = "lr: 0.1\nmin_lr: 0.01\nmax_lr: 0.1\n"
    assert (
        after(patched(tmp_path, "generic", "c.yaml", text, raised)) == "lr: 0.3\nmin_lr: 0.01\nmax_lr: 0.3\n"
    )


def test_nanogpt_gets_a_floor_where_its_default_would_lie_above_the_rate(tmp_path: Path) -> None:
    text = "learning_rate = 1e-4\nmax_iters = 100\n"
    patch = patched(tmp_path, "nanogpt", "c.py", text, LOWER)
    assert after(patch).splitlines()[0] == "learning_rate = 2e-5"
    assert "min_lr = 2.0e-6" in after(patch) or "min_lr = 2e-06" in after(patch)


def test_the_scheduler_of_deepspeed_has_the_last_word_and_goes_along(tmp_path: Path) -> None:
    config = {
        "optimizer": {"type": "AdamW", "params": {"lr": 0.1}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 0.1}},
    }
    new = json.loads(after(patched(tmp_path, "deepspeed", "ds.json", json.dumps(config), LOWER)))
    assert new["optimizer"]["params"]["lr"] == pytest.approx(0.02)
    assert new["scheduler"]["params"] == {"warmup_min_lr": 0, "warmup_max_lr": pytest.approx(0.02)}


def test_a_peak_that_cannot_be_read_refuses_the_patch(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="it has the last word on the rate"):
        patched(tmp_path, "generic", "c.yaml", "lr: 0.1\nscheduler:\n  max_lr: ${peak}\n", LOWER)


def test_another_optimizer_is_named_and_two_that_may_be_the_one_are_refused(tmp_path: Path) -> None:
    text = "generator: {lr: 0.1}\ndiscriminator: {lr: 0.1}\n"
    patch = patched(tmp_path, "generic", "c.yaml", text, LOWER)
    assert after(patch) == "generator: {lr: 0.02}\ndiscriminator: {lr: 0.1}\n"
    assert any("discriminator.lr = 0.1" in note for note in patch.notes)
    with pytest.raises(PatchError, match="may be any of lr, learning_rate"):
        patched(tmp_path, "generic", "c.yaml", "lr: 0.1\nlearning_rate: 0.1\n", LOWER)


def test_the_accumulation_that_follows_from_the_batch_sizes_is_not_added(tmp_path: Path) -> None:
    text = '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 8}'
    halved = BOOK.remedies["halve-micro-batch"].changes
    patch = patched(tmp_path, "deepspeed", "ds.json", text, *halved)
    assert json.loads(after(patch)) == {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4}
    doubled = Change("data.grad_accum", "multiply", 2, max=256)
    patch = patched(tmp_path, "deepspeed", "ds.json", text, doubled)
    assert json.loads(after(patch)) == {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8}


@pytest.mark.parametrize(
    ("before", "changed", "also"),
    [
        ((32, 8, 2), {"data.micro_batch_size": 4, "data.grad_accum": 4}, {}),
        ((32, 8, 2), {"data.grad_accum": 4}, {"data.batch_size": 64}),
        ((32, 8, 2), {"data.batch_size": 16}, {"data.grad_accum": 1}),
        ((32, 8, 1), {"data.batch_size": 16}, {"data.micro_batch_size": 4}),
        ((32, 8, None), {"data.micro_batch_size": 4}, {}),
        ((None, 8, 2), {"data.micro_batch_size": 4}, {}),
        ((33, 8, 2), {"data.micro_batch_size": 4}, {}),
    ],
)
def test_a_whole_batch_stays_the_product_of_its_parts(
    before: tuple[int | None, ...], changed: dict[str, Any], also: dict[str, int]
) -> None:
    names = ("data.batch_size", "data.micro_batch_size", "data.grad_accum")
    held = {name: value for name, value in zip(names, before, strict=True) if value is not None}
    assert sizes(held, changed) == also


def test_a_batch_that_cannot_be_divided_is_refused() -> None:
    with pytest.raises(PatchError, match="a batch of 3 cannot be made of parts of 2"):
        sizes({"data.batch_size": 6, "data.micro_batch_size": 2}, {"data.batch_size": 3})


def test_a_switch_without_a_value_leaves_and_the_other_one_comes_as_it_stood(tmp_path: Path) -> None:
    text = "accelerate launch train.py --per_device_train_batch_size 8 --fp16\n"
    patch = patched(tmp_path, "hf-trainer", "r.sh", text, Change("precision", "set", "bf16"))
    assert after(patch) == "accelerate launch train.py --per_device_train_batch_size 8 --bf16\n"
    kept = "accelerate launch train.py --per_device_train_batch_size 8 --fp16 True\n"
    patch = patched(tmp_path, "hf-trainer", "r.sh", kept, Change("precision", "set", "bf16"))
    assert "--fp16 False" in after(patch)


def test_half_a_section_is_not_made(tmp_path: Path) -> None:
    """A scheduler of DeepSpeed without its type is refused by it."""
    text = '{"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "train_micro_batch_size_per_gpu": 8}'
    with pytest.raises(PatchError, match=r"needs a section that ds\.json does not have"):
        patched(tmp_path, "deepspeed", "ds.json", text, Change("schedule.warmup_steps", "set", 75))
