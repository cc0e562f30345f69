"""Runs of tracking servers, by stand-ins for the trackers' clients that keep what was asked of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hrmdoc import analyze, readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.readers.sources import tracked
from hrmdoc.reports.layout import place

HISTORY = [
    {
        "_step": n,
        "_timestamp": 1.7e9 + n,
        "train/loss": 2.0 - n / 50 if n < 60 else "NaN",
        "picture": {"x": 1},
    }
    for n in range(80)
]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept from one test to the next."""
    monkeypatch.setattr(tracked, "_kept", {})


def put(monkeypatch: pytest.MonkeyPatch, name: str, **words: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(words)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the runs that were asked for."""
    asked: list[str] = []

    class Api:
        def run(self, path: str) -> Any:
            asked.append(path)
            if not path.endswith("abc"):
                raise ValueError(f"Could not find run {path}\nmore")
            config = {"lr": 0.1, "_wandb": {"x": 1}}
            return SimpleNamespace(config=config, state="crashed", scan_history=lambda: iter(HISTORY))

    put(monkeypatch, "wandb", Api=Api)
    return asked


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of the server, and at which address."""
    asked: list[Any] = []

    class MlflowClient:
        def __init__(self, tracking_uri: str | None) -> None:
            asked.append(tracking_uri)

        def get_run(self, run: str) -> Any:
            asked.append(run)
            data = SimpleNamespace(metrics={"train/loss": 0.1}, params={"lr": "0.1"})
            return SimpleNamespace(data=data, info=SimpleNamespace(status="FINISHED"))

        def get_metric_history(self, run: str, metric: str) -> Iterator[Any]:
            asked.append((run, metric))
            for n in range(80):
                value = 2.0 - n / 50 if n < 60 else float("nan")
                yield SimpleNamespace(step=n, value=value, timestamp=1_700_000_000_000 + n)

    put(monkeypatch, "mlflow")
    put(monkeypatch, "mlflow.tracking", MlflowClient=MlflowClient)
    return asked


def test_a_run_of_wandb_is_read_with_its_settings_and_its_end(wandb: list[str]) -> None:
    analysis = analyze("wandb://team/project/abc")
    assert wandb == ["team/project/abc"]
    assert "loss-nonfinite" in {one.id for one in analysis.present}
    assert analysis.run.facts["config", "lr"].value == 0.1
    assert ("config", "_wandb.x") not in analysis.run.facts
    assert analysis.state == "crashed"
    assert analysis.run.path == "wandb://team/project/abc"
    assert {file for one in analysis.run.series.values() for file in one.files} == {
        "wandb://team/project/abc/metrics.jsonl"
    }


def test_a_run_of_mlflow_is_read_from_the_server_that_is_named(mlflow: list[Any]) -> None:
    analysis = analyze("mlflow://localhost:5000/f00")
    assert mlflow == ["http://localhost:5000", "f00", ("f00", "train/loss")]
    assert "loss-nonfinite" in {one.id for one in analysis.present}
    analyze("mlflow://f00")
    assert mlflow[3:5] == [None, "f00"]  # the client asks MLFLOW_TRACKING_URI


def test_an_address_is_shown_as_it_is_typed() -> None:
    assert place("mlflow://f00/metrics.jsonl", 61) == "mlflow://f00/metrics.jsonl:61"


def test_a_run_is_asked_for_once(wandb: list[str]) -> None:
    for _ in range(2):
        assert len(readers.runs_below(["wandb://team/project/abc"])) == 1
    assert len(wandb) == 1


def test_what_the_server_says_is_the_error(wandb: list[str]) -> None:
    with pytest.raises(InputError, match="Could not find run team/project/other") as caught:
        analyze("wandb://team/project/other")
    assert "more" not in str(caught.value)


def test_a_place_that_is_no_run_is_said_before_anybody_is_asked(wandb: list[str]) -> None:
    with pytest.raises(UsageError, match="names no run"):
        analyze("wandb://team/project")
    assert wandb == []


@pytest.mark.parametrize("path", ["wandb://a/b/c", "mlflow://a"])
def test_a_client_that_is_missing_is_named(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wandb", "mlflow", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install (wandb|mlflow)"):
        analyze(path)


def test_a_server_is_not_followed(wandb: list[str]) -> None:
    with pytest.raises(UsageError, match="not followed"):
        readers.discover("wandb://team/project/abc")
