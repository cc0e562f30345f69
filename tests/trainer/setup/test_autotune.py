from __future__ import annotations

from typing import Any

import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.devices.memory import out_of_memory
from hrmdoc.trainer.devices.plan import batches_ahead
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.parallel.world import World
from hrmdoc.trainer.setup import autotune
from hrmdoc.trainer.setup.autotune import choose, largest


class Memory:
    """An allocator with room for so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows, self.tried = rows, []

    def __call__(self, rows: int) -> None:
        self.tried.append(rows)
        if rows > self.rows:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


@pytest.mark.parametrize("room", [0, 1, 2, 3, 7, 31, 100, 383, 384, 999])
def test_the_search_comes_within_a_sixteenth_of_what_fits(room: int) -> None:
    memory = Memory(room)
    found = largest(memory, 384)
    assert found <= min(room, 384)
    assert found >= min(room, 384) - max(1, found // 16)
    assert len(memory.tried) <= 16


def test_the_effective_batch_stays_and_a_fifth_of_memory_is_left(lab: Any) -> None:
    job = lab.job("global_batch_size=8", "grad_accum=2")
    found = autotune.tune(job.config, job.plan, job.state.model.data, World(), Memory(10))
    assert (found.fits, found.global_batch_size, found.grad_accum) == (10, 8, 2)
    for fits, world, expected in (
        (20, 1, (16, 1)),
        (16, 1, (8, 2)),
        (5, 1, (4, 4)),
        (1, 1, (1, 16)),
        (3, 4, (8, 2)),
        (9, 2, (8, 2)),
        (10, 2, (16, 1)),
    ):
        found = choose(16, fits, world)
        assert (found.global_batch_size, found.grad_accum) == expected, (fits, world)


def test_when_nothing_fits_the_way_out_is_told() -> None:
    with pytest.raises(ConfigError, match="not even one row"):
        choose(16, 0, 1)


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    def fail(rows: int) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        largest(fail, 4)
    assert not out_of_memory(ValueError("out of memory"))
    assert out_of_memory(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"))


def test_a_trial_trains_the_real_model_with_so_many_rows(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job, taken = lab.job(), []
    forward = autotune.HRM.forward

    def seen(model: Any, carry: Any, batch: Any, *rest: Any) -> Any:
        taken.append(len(batch["inputs"]))
        return forward(model, carry, batch, *rest)

    monkeypatch.setattr(autotune.HRM, "forward", seen)
    autotune.trial(job.config, job.plan, job.state.model.data, 3)
    assert set(taken) == {3}


def test_on_a_cpu_autotune_says_that_it_cannot(lab: Any) -> None:
    job = lab.job("autotune=true")
    assert job.config.global_batch_size == 4
    assert any("autotune needs a GPU" in line for line in lab.lines)


def test_running_out_of_memory_leaves_a_record_and_a_hint(lab: Any) -> None:
    job = lab.job()

    def step(*args: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    job.fault.batch = step  # type: ignore[method-assign]
    with pytest.raises(torch.OutOfMemoryError):
        train(job)
    assert (lab.folder / "run" / "out_of_memory_step_0.txt").is_file()
    assert lab.events("out_of_memory")[0]["step"] == 0
    assert any("hrmdoc analyze" in line and "autotune=true" in line for line in lab.lines)


def test_some_steps_are_profiled_on_request(lab: Any) -> None:
    import json

    train(lab.job("profile=3-4", "max_steps=6"))
    folder = lab.folder / "run" / "profile"
    assert "aten::" in (folder / "steps_3-4.rank0.txt").read_text()
    trace = json.loads((folder / "steps_3-4.rank0.pt.trace.json").read_text())
    assert any(event.get("name", "").startswith("aten::") for event in trace["traceEvents"])
    assert lab.events("profile")[0]["step"] == 4


@pytest.mark.parametrize(
    ("kind", "cpus", "ahead"),
    [
        ("cpu", 64, 0),
        ("cuda", 0, 1),
        ("cuda", 2, 1),
        ("cuda", 6, 3),
        ("cuda", 64, 4),
        ("mps", 2, 0),
        ("mps", 8, 1),
    ],
)
def test_batches_are_prepared_ahead_where_the_device_would_wait_for_them(
    kind: Any, cpus: int, ahead: int
) -> None:
    assert batches_ahead(kind, cpus) == ahead
