"""`--format` of the commands that examine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
CONFIG = "learning_rate: 5.0\nper_device_train_batch_size: 8\noptim: adamw_torch\nseed: 1\n"


@pytest.mark.parametrize("command", ["analyze", "triage"])
def test_a_sick_run_is_the_same_finding_in_every_form(hrmdoc: Command, sick: Path, command: str) -> None:
    done = hrmdoc(command, "sick.log", "--format", "sarif")
    found = {one["ruleId"] for one in json.loads(done.out)["runs"][0]["results"]}
    assert (done.status, "loss-nonfinite" in found) == (1, True)
    for form in ("jsonl", "markdown", "junit", "github", "gitlab"):
        told = hrmdoc(command, "sick.log", "--format", form)
        assert (form, told.status, "loss-nonfinite" in told.out) == (form, 1, True)


def test_several_runs_are_one_report(hrmdoc: Command, sick: Path, healthy: Path) -> None:
    done = hrmdoc("analyze", "sick.log", "healthy.log", "--format", "jsonl")
    assert sorted(json.loads(line)["verdict"] for line in done.out.splitlines())[0] == "critical"
    assert len(done.out.splitlines()) == 2
    github = hrmdoc("analyze", "sick.log", "healthy.log", "--format", "github")
    assert "file=sick.log" in github.out
    assert "file=healthy.log" not in github.out


def test_preflight_annotates_the_line_of_each_of_several_configs(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.yaml").write_text(CONFIG)
    (apart / "b.yaml").write_text("seed: 1\n" + CONFIG.replace("seed: 1\n", ""))
    done = hrmdoc("preflight", "a.yaml", "b.yaml", "--format", "github", "--elsewhere")
    assert done.status == 1
    assert "file=a.yaml,line=1,title=hrmdoc lr-extreme" in done.out
    assert "file=b.yaml,line=2,title=hrmdoc lr-extreme" in done.out


def test_a_config_that_cannot_be_read_keeps_no_other_from_its_check(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.yaml").write_text(CONFIG)
    (apart / "torn.yaml").write_text("a: [1, 2\n")
    done = hrmdoc("preflight", "torn.yaml", "a.yaml", "--format", "github", "--elsewhere")
    assert done.status == 2
    assert "torn.yaml" in done.err
    assert "file=torn.yaml" in done.out
    assert "lr-extreme" in done.out


def test_elsewhere_says_nothing_of_this_machine(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.yaml").write_text(CONFIG)
    here, there = (hrmdoc("preflight", "a.yaml", "--json", *more).out for more in ((), ("--elsewhere",)))
    asked = [{one["symptom"] for one in json.loads(text)["not_evaluated"]} for text in (here, there)]
    assert "disk-space-low" in asked[1] - asked[0]
    assert hrmdoc("preflight", "--elsewhere").status == 2


def test_two_forms_at_once_are_refused(hrmdoc: Command, sick: Path) -> None:
    for words in (("--json", "--format", "sarif"), ("--verdict", "--format", "sarif")):
        done = hrmdoc("analyze", "sick.log", *words)
        assert (done.status, "exclude each other" in done.err, done.out) == (2, True, "")
    assert (
        json.loads(hrmdoc("analyze", "sick.log", "--format", "json", "--json").out)["verdict"] == "critical"
    )
