"""Compiled models, alone and in several processes.

`aot_eager` traces and differentiates the graphs as every backend gets them, in seconds. `inductor` then takes
minutes to compile them: only `make test-slow` runs it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainer.worlds import launch


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.minutes)])
def test_a_compiled_run_of_one_process_of_two_and_of_a_split_model_has_the_curve_of_an_uncompiled_one(
    lab: Any, backend: str
) -> None:
    words = ("max_steps=6", "checkpoint_interval=3", "puzzle_emb_lr=1e-4", "parallel.timeout_s=1800")
    ways = {"one": (1, ()), "ddp": (2, ("parallel=ddp",)), "fsdp": (2, ("parallel=fsdp",))}
    runs = [
        {"size": size, "words": lab.words(*words, *more, run=name), "backend": backend}
        for name, (size, more) in ways.items()
    ]
    statuses, printed = launch(
        {"size": 1, "words": lab.words(*words, "native=false", run="plain")}, *runs, timeout=3000
    )
    assert statuses == [[0], [0], [0, 0], [0, 0]], printed
    for tag in ("train/lm_loss", "train/q_halt_loss", "train/grad_norm", "all.lm_loss"):
        plain = lab.scalars("plain")[tag]
        for name in ways:
            found = lab.scalars(name)[tag]
            assert [step for step, _ in found] == [step for step, _ in plain]
            assert [value for _, value in found] == pytest.approx(
                [value for _, value in plain], rel=2e-4, abs=1e-5
            ), (name, tag)
            assert "no native kernels: the model is compiled" in (lab.folder / name / "train.log").read_text()
