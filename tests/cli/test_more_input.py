"""More of a run never weakens what a part of it showed, without a reason that is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
ARTEFACTS = Path(__file__).parents[1] / "artefacts"
SEVERITIES = ("no_data", "incomplete", "healthy", "info", "warning", "critical")
CONFIGS = {".yaml", ".yml", ".toml", ".json"}
STATES = "trainer_state.json"


def look(hrmdoc: Command, path: Path) -> tuple[str, str]:
    """The verdict and the first cause, "" where there is none."""
    found = json.loads(hrmdoc("analyze", "--json", "--one-run", path).out)
    causes = [one["cause"] for one in found["hypotheses"]]
    return found["verdict"], causes[0] if causes else ""


def parts_of(run: Path) -> dict[str, list[Path]]:
    """The files of a run without its configs, and without each of its logs in turn."""
    files = [file for file in run.rglob("*") if file.is_file()]
    configs = {file for file in files if file.suffix in CONFIGS and file.name != STATES}
    logs = [file for file in files if file not in configs]
    parts = {f"without {one.name}": [file for file in files if file != one] for one in logs}
    parts["without config"] = logs if configs else []
    return {name: part for name, part in parts.items() if part and set(part) & set(logs)}


@pytest.mark.parametrize(
    "name", ["wandb/crashed", "wandb/diverging", "hf-trainer/diverging", "lightning/diverging"]
)
def test_a_log_or_a_config_more_does_not_weaken_the_verdict(hrmdoc: Command, apart: Path, name: str) -> None:
    run = ARTEFACTS / name
    whole, _ = look(hrmdoc, run)
    for what, files in parts_of(run).items():
        part = apart / "part"
        for file in files:
            copy = part / file.relative_to(run)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        verdict, _ = look(hrmdoc, part)
        assert SEVERITIES.index(whole) >= SEVERITIES.index(verdict), what
        shutil.rmtree(part)


def test_metrics_that_are_denser_than_the_log_do_not_outlive_its_crash(hrmdoc: Command, apart: Path) -> None:
    log = "".join(f"step {step} loss {2.5 - step / 50:.3f}\n" for step in range(0, 50, 10))
    crash = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
    crash += "RuntimeError: the disk went away\n"
    rows = "".join(f"{step},{2.5 - step / 50:.4f}\n" for step in range(49))
    (apart / "run").mkdir()
    (apart / "run" / "train.log").write_text(log + crash)
    alone = look(hrmdoc, apart / "run")
    (apart / "run" / "metrics.csv").write_text("step,loss\n" + rows)
    assert alone == look(hrmdoc, apart / "run")
    assert alone[0] == "critical"


def test_evaluation_alone_that_is_nan_points_at_its_data(hrmdoc: Command, apart: Path) -> None:
    rows = "".join(f"Epoch {n}: loss: {2 / n + 0.3:.4f} - val_loss: nan\n" for n in range(1, 12))
    (apart / "a.log").write_text(rows)
    first, second = hrmdoc("analyze", "-q", "a.log").out.splitlines()
    assert first == "✗ CRITICAL  Evaluation loss is NaN or infinite, the training loss is not"
    assert second.strip().startswith("most probably: Malformed or empty samples")


def test_causes_that_are_about_as_likely_are_both_named(hrmdoc: Command, sick: Path) -> None:
    second = hrmdoc("analyze", "-q", sick).out.splitlines()[1].strip()
    assert second.startswith("perhaps: ")
    assert ", or " in second


def test_a_log_that_ends_in_nan_is_not_covered_up_by_another(hrmdoc: Command, apart: Path) -> None:
    rows = [f"step {n} loss {3 * 0.97**n:.4f}\n" for n in range(60)]
    (apart / "b.log").write_text("".join(rows))
    (apart / "a.log").write_text("".join(rows[:40]) + "".join(f"step {n} loss nan\n" for n in range(40, 60)))
    found = json.loads(hrmdoc("analyze", "--json", "--one-run", "a.log", "b.log").out)
    assert found["verdict"] == "critical"
    assert "nan" in json.dumps(found["symptoms"]).lower()
