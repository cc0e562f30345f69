from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.rundir.wandb_sink import WandbSink, project_of, run_of


class FakeRun:
    def __init__(self, **given: Any) -> None:
        self.given, self.rows, self.finished, self.broken = given, [], 0, False

    def log(self, values: dict[str, float], step: int) -> None:
        if self.broken:
            raise ConnectionError("no route")
        self.rows.append((step, values))

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    module = SimpleNamespace(runs=[])

    def init(**given: Any) -> FakeRun:
        module.runs.append(FakeRun(**given))
        return module.runs[-1]

    module.init = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


def test_without_the_option_wandb_is_never_imported(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert train(lab.job("max_steps=1")).reason == "finished"
    with pytest.raises(ConfigError, match="pip install wandb"):
        lab.job("wandb=offline", run="other")


def test_every_scalar_goes_to_wandb_as_to_the_event_file(lab: Any, wandb: SimpleNamespace) -> None:
    train(lab.job("max_steps=4", "wandb=offline"))
    (run,) = wandb.runs
    assert (run.given["mode"], run.given["dir"], run.finished) == ("offline", str(lab.folder / "run"), 1)
    assert run.given["config"]["lr"] == 1e-3
    logged = [(step, values["train/lm_loss"]) for step, values in run.rows if "train/lm_loss" in values]
    assert logged == [(step, pytest.approx(value)) for step, value in lab.scalars()["train/lm_loss"]]


def test_projects_and_runs_are_named_as_hrm_names_them(lab: Any, wandb: SimpleNamespace) -> None:
    assert project_of("data/sudoku-extreme-1k-aug-1000/") == "Sudoku-extreme-1k-aug-1000 ACT-torch"
    assert project_of("builtin:sudoku-4x4") == "Sudoku-4x4 ACT-torch"
    name = run_of("hrm.hrm_act_v1@HierarchicalReasoningModel_ACTV1", "one")
    assert name.startswith("HierarchicalReasoningModel_ACTV1 ")
    assert name == run_of("hrm.hrm_act_v1@HierarchicalReasoningModel_ACTV1", "one")
    lab.job("wandb=true", "project_name=Mine")
    assert (wandb.runs[0].given["mode"], wandb.runs[0].given["project"]) == ("online", "Mine")


def test_a_sink_that_fails_is_reported_once_and_ends_nothing(lab: Any, wandb: SimpleNamespace) -> None:
    job = lab.job("max_steps=4", "wandb=true")
    wandb.runs[0].broken = True
    assert train(job).reason == "finished"
    assert sum("W&B failed" in line for line in lab.lines) == 1


def test_a_start_that_fails_ends_with_the_way_out(lab: Any, wandb: SimpleNamespace) -> None:
    def refuse(**given: Any) -> None:
        raise RuntimeError("api_key not configured")

    wandb.init = refuse
    with pytest.raises(ConfigError, match="api_key not configured") as caught:
        WandbSink("online", lab.folder, "p", "n", {}, print)
    assert "wandb=offline" in str(caught.value)
