"""What the user states of a run is answered: roles of metrics and the run kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.mark.parametrize("stated_in", ["--role", "hrmdoc.toml"])
def test_a_role_of_a_metric_that_the_run_lacks_hides_no_loss_that_it_has(
    hrmdoc: Command, sick: Path, apart: Path, stated_in: str
) -> None:
    words = ["--role", "train.loss=my_objective"]
    if stated_in == "hrmdoc.toml":
        (apart / "hrmdoc.toml").write_text('[roles]\nmy_objective = "train.loss"\n')
        words = []
    done = hrmdoc("analyze", sick, *words)
    assert done.status == 1
    assert "loss-nonfinite" in done.out
    said = " ".join(done.out.split())
    assert (
        "this run has no metric 'my_objective', stated to be train.loss; train.loss is read from loss instead"
        in said
    )


def test_a_role_that_is_stated_takes_the_place_of_the_guess(hrmdoc: Command, apart: Path) -> None:
    log = apart / "two.jsonl"
    rows = ({"step": i, "loss": 2 - i / 100, "objective": float("nan")} for i in range(60))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = hrmdoc("analyze", log, "--role", "train.loss=objective", "--json")
    found = json.loads(done.out)
    assert [s["metric"] for s in found["symptoms"] if s["id"] == "loss-nonfinite"] == ["objective"]
    assert found["notes"] == []


def test_a_mistyped_metric_is_answered_with_the_nearest_one(hrmdoc: Command, sick: Path) -> None:
    found = json.loads(hrmdoc("analyze", sick, "--role", "grad_norm=grad_nrom", "--json").out)
    assert "did you mean 'grad_norm'?" in found["notes"][0]


@pytest.mark.parametrize("words", [("--kind", "foo"), ("--fact", "run.kind=foo")])
@pytest.mark.parametrize("command", ["analyze", "series", "report", "bundle", "apply", "watch"])
def test_a_kind_that_no_rule_knows_is_refused_with_the_list(
    hrmdoc: Command, healthy: Path, command: str, words: tuple[str, str]
) -> None:
    done = hrmdoc(command, healthy, *words)
    assert done.status == 2
    assert "no rule knows the run kind 'foo'" in done.err
    assert "pretraining, sft, preference, rl, hrm, classification" in done.err


def test_a_role_that_no_rule_knows_is_refused_with_the_nearest(hrmdoc: Command, healthy: Path) -> None:
    done = hrmdoc("analyze", healthy, "--role", "train.los=loss")
    assert (done.status, "did you mean 'train.loss'?" in done.err) == (2, True)


def test_a_kind_in_the_settings_is_refused_with_their_place(
    hrmdoc: Command, healthy: Path, apart: Path
) -> None:
    (apart / "hrmdoc.toml").write_text('[facts]\n"run.kind" = "pretrainig"\n')
    done = hrmdoc("analyze", healthy)
    assert done.status == 2
    assert "hrmdoc.toml: no rule knows the run kind 'pretrainig'" in done.err
    assert "did you mean 'pretraining'?" in done.err
