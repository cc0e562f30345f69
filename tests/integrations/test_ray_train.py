"""`HrmdocCallback` in real runs of Ray Train, with two workers of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.train", reason="ray[train] is not installed")

import ray
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

from hrmdoc.integrations.ray_train import HrmdocCallback

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STEPS = 120


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Two workers, whose reports are fetched at once: Ray does it every two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.05")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def fit(folder: Path, fault: str, **failures: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The diagnosis that is kept of a run, and the rows of rank 0."""
    doctor = HrmdocCallback(stop="critical", to=folder / "run", share=1.0)

    def train(config: dict[str, Any]) -> None:  # inside, so that it travels to the workers by value
        import random
        import time

        import ray.train

        rank, chance = ray.train.get_context().get_world_rank(), random.Random(3)
        for step in range(config["steps"]):
            time.sleep(0.02)
            loss = 0.2 + 2 / (1 + step / 9) + chance.random() / 20
            if config["fault"] == "nan" and step > 40:
                loss = float("nan")
            if config["fault"] == "memory" and step > 40 and rank == 1:
                raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
            ray.train.report({"step": step, "loss": loss, "rank": rank})
            if doctor.should_stop():
                break

    config = RunConfig(
        name="tried",
        callbacks=[doctor],
        storage_path=str(folder / "kept"),
        failure_config=FailureConfig(**failures),
    )
    trainer = DataParallelTrainer(
        train,
        train_loop_config={"fault": fault, "steps": STEPS},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=config,
    )
    try:
        trainer.fit()
    except ray.train.WorkerGroupError:
        assert fault == "memory"
    rows = [json.loads(row) for row in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return json.loads((folder / "run" / "diagnosis.json").read_text()), rows


def events(folder: Path) -> list[tuple[str, str]]:
    """What became of the run, launch by launch."""
    lines = (folder / "run" / "events.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [(one["event"], one["detail"]) for one in found if "event" in one]


def test_all_workers_stop_at_an_incident(tmp_path: Path) -> None:
    diagnosis, rows = fit(tmp_path, "nan")
    assert diagnosis["verdict"] == "critical"
    assert diagnosis["symptoms"][0]["id"] == "loss-nonfinite"
    assert 41 < len(rows) < STEPS  # and `fit` came back: no worker waits for another
    assert events(tmp_path) == [("started", ""), ("ended", "stopped")]
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (described["config"]["fault"], described["world_size"]) == ("nan", 2)
    assert described["command"] == [sys.executable, *sys.argv]  # not that of a process of Ray


def test_a_healthy_run_goes_to_its_end_and_is_healthy(tmp_path: Path) -> None:
    diagnosis, rows = fit(tmp_path, "none")
    assert diagnosis["verdict"] == "healthy"
    assert [row["step"] for row in rows] == list(range(STEPS))
    assert {row["rank"] for row in rows} == {0}
    assert events(tmp_path) == [("started", ""), ("ended", "finished")]


def test_the_error_of_another_rank_is_examined_in_both_launches(tmp_path: Path) -> None:
    diagnosis, _ = fit(tmp_path, "memory", max_failures=1)
    assert "oom-cuda" in [one["id"] for one in diagnosis["symptoms"]]
    launch = [("exception", "RuntimeError"), ("ended", "crashed")]
    assert events(tmp_path) == [("started", ""), *launch, ("resumed", ""), *launch]
    assert "in train" in (tmp_path / "run" / "events.jsonl").read_text()  # the worker's own traceback


def test_what_cannot_be_done_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="save= does nothing in Ray Train"):
        HrmdocCallback(save="warning")


def test_nobody_is_asked_where_nothing_may_stop() -> None:
    assert HrmdocCallback().should_stop() is False
