"""Settings with which nothing can be trained are named before the start, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.analysis import AnalysisSession
from hrmdoc.preflight import Machine, preflight

MACHINE = Machine(cpu_count=2, disk_free_gib=50.0, version=lambda _: None, importable=lambda _: False)


def named(folder: Path, text: str, name: str = "c.yaml") -> tuple[str, str]:
    """The verdict, and what is said of settings that cannot be."""
    path = folder / name
    path.write_text(text)
    session = AnalysisSession(str(path))
    session.run.extend(preflight(path, environment=MACHINE))
    analysis = session.checks()
    found = [one.evidence for one in analysis.findings if one.id == "setting-impossible"]
    return analysis.verdict, "".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "lr: -0.001", "lr: 0", "lr: nan", "lr: .nan", "batch_size: 0", "batch_size: -8", "epochs: 0",
        "warmup_steps: -5", "warmup_ratio: 5", "weight_decay: -1", "dropout: -0.1",
        "gradient_accumulation_steps: 0", "max_steps: 0",
        "optimizer:\n  lr: -0.1",
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_critical_and_named_with_its_line(tmp_path: Path, line: str) -> None:
    verdict, said = named(tmp_path, f"seed: 1\n{line}\n")
    assert verdict == "critical"
    key, _, value = line.rpartition("\n")[2].strip().partition(": ")
    assert f"{key} = {value} (c.yaml:{1 + len(line.splitlines())}) has to be" in said


def test_every_such_setting_of_a_file_is_named_in_the_words_of_its_framework(tmp_path: Path) -> None:
    text = "model_name_or_path: x\nlearning_rate: -2e-5\nper_device_train_batch_size: 0\nweight_decay: 0\n"
    verdict, said = named(tmp_path, text)
    assert verdict == "critical"
    assert "learning_rate = -2e-05 (c.yaml:2) has to be above 0" in said
    assert "per_device_train_batch_size = 0 (c.yaml:3) has to be at least 1" in said
    assert "weight_decay" not in said


@pytest.mark.parametrize(
    "text",
    [
        "lr: 1e-3\nbatch_size: 1\nepochs: 1\nwarmup_steps: 0\nweight_decay: 0\ndropout: 0\n",
        "max_steps: -1\nnum_train_epochs: 3\nper_device_train_batch_size: 8\n",
        "epochs: 0\nmax_steps: 1000\nlr: 1e-3\n",
        "lr: auto\nbatch_size: auto\n",
        "lr: 1e-3\ndiscriminator:\n  lr: 0\n",
        "lr: 1e-3\neval:\n  dropout: -1\n",
    ],
)
def test_what_programs_take_is_not_called_impossible(tmp_path: Path, text: str) -> None:
    assert named(tmp_path, text)[1] == ""
