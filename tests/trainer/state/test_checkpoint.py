from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
import torch

from hrmdoc.errors import InputError
from hrmdoc.trainer.state import checkpoint, kept

STATE = {"weights": torch.arange(4.0), "step": 3, "names": ["a", "b"]}


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, 3, STATE, finite=True, lm_loss=1.5)
    state, meta = checkpoint.load(path)
    assert path.name == "step_3"
    assert torch.equal(state["weights"], STATE["weights"])
    assert (state["step"], state["names"]) == (3, ["a", "b"])
    assert (meta.step, meta.finite, meta.lm_loss) == (3, True, 1.5)


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 3, STATE, finite=True)
    path = checkpoint.save(tmp_path, 3, {"step": 99}, finite=True)
    assert checkpoint.load(path)[0] == {"step": 99}
    assert [p.name for p in tmp_path.iterdir()] == ["step_3"]


@pytest.mark.parametrize("damage", [b"", b"\0" * 64, b"not a checkpoint"])
def test_a_damaged_checkpoint_is_refused_by_its_checksum(tmp_path: Path, damage: bytes) -> None:
    path = checkpoint.save(tmp_path, 3, STATE, finite=True)
    (path / "state.pt").write_bytes(damage)
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(path)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"schema": "other/1"}', '{"schema": "hrmdoc.checkpoint/1", "step": 1}']
)
def test_a_checkpoint_with_a_broken_description_is_refused(tmp_path: Path, text: str) -> None:
    path = checkpoint.save(tmp_path, 3, STATE, finite=True)
    (path / "meta.json").write_text(text)
    with pytest.raises(InputError):
        checkpoint.load(path)


class Bomb:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.target),)


def test_a_hostile_checkpoint_runs_no_code(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    path = checkpoint.save(tmp_path / "checkpoints", 3, {"weights": Bomb(target)}, finite=True)
    with pytest.raises(InputError, match="not loaded"):
        checkpoint.load(path)
    assert not target.exists()


def test_the_newest_good_checkpoint_is_used_and_the_passed_ones_are_named(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        checkpoint.save(tmp_path, step, {"step": step}, finite=step != 2)
    (tmp_path / "step_10" / "state.pt").write_bytes(b"x")
    path, state, passed = kept.newest_good(tmp_path)
    assert (path.name, state) == ("step_1", {"step": 1})
    assert [Path(error.file or "").parts[-1] for error in passed] == ["state.pt", "step_2"]


def test_without_a_good_checkpoint_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no checkpoint"):
        kept.newest_good(tmp_path / "nowhere")
    checkpoint.save(tmp_path, 1, STATE, finite=False)
    with pytest.raises(InputError, match="not finite"):
        kept.newest_good(tmp_path)


def test_pruning_keeps_the_newest_and_never_deletes_the_last_good_one(tmp_path: Path) -> None:
    for step in range(1, 6):
        checkpoint.save(tmp_path, step, STATE, finite=step == 1)
    (tmp_path / ".step_9.99999999").mkdir()
    gone = kept.prune(tmp_path, keep=2)
    assert [path.name for path in gone] == ["step_3", "step_2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step_1", "step_4", "step_5"]


def test_pruning_leaves_what_another_live_process_is_writing(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 1, STATE, finite=True)
    fresh, stale = tmp_path / f".step_2.{os.getppid()}", tmp_path / f".step_3.{os.getppid()}"
    for part in (fresh, stale):
        part.mkdir()
    os.utime(stale, (0, 0))
    kept.prune(tmp_path, keep=1)
    assert fresh.is_dir()
    assert not stale.exists()


def test_the_best_evaluated_checkpoint_outlives_the_newest_ones(tmp_path: Path) -> None:
    for step, exact in enumerate([0.2, 0.9, 0.9, 0.1, math.nan, 0.3], 1):
        evaluated = {"exact_accuracy": exact, "lm_loss": 1 / step}
        checkpoint.save(tmp_path, step, STATE, finite=True, evaluated=evaluated)
    assert [meta.step for meta in kept.best_first(tmp_path)] == [3, 2, 6, 1, 4]
    kept.prune(tmp_path, keep=1)
    assert [path.name for path in kept.found(tmp_path)] == ["step_6", "step_3"]
    assert kept.best_good(tmp_path)[0].step == 3


def test_a_best_checkpoint_that_is_damaged_gives_way_to_the_next(tmp_path: Path) -> None:
    for step, exact in ((1, 0.5), (2, 0.9), (3, 0.1)):
        evaluated = {"exact_accuracy": exact, "lm_loss": 1.0}
        checkpoint.save(tmp_path, step, STATE, finite=True, evaluated=evaluated)
    (tmp_path / "step_2" / "state.pt").write_bytes(b"damaged")
    assert kept.best_good(tmp_path)[0].step == 1


def test_without_an_evaluation_the_best_checkpoint_is_the_newest_good_one(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, STATE, finite=step < 3)
    assert kept.best_good(tmp_path)[0].step == 2


def test_a_disk_that_fills_up_while_saving_leaves_the_old_checkpoints(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 1, STATE, finite=True)

    def full(state: object, file: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(tmp_path, 2, STATE, finite=True, write=full)
    assert [path.name for path in tmp_path.iterdir()] == ["step_1"]


def test_infinite_and_missing_numbers_are_found_among_finite_ones() -> None:
    fine = [torch.zeros(3), torch.zeros(2, dtype=torch.int32)]
    assert checkpoint.all_finite(iter(fine))
    assert checkpoint.all_finite(iter(()))
    assert not checkpoint.all_finite(iter([*fine, torch.tensor([1.0, float("nan")])]))
    assert not checkpoint.all_finite(iter([torch.tensor(float("inf"))]))
