"""The fault of each incident, in a run of a few steps: its cause is found and its config is mended."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.remedies import store
from hrmdoc.remedies.choice import choose
from hrmdoc.replay.stories import STORIES

pytest.importorskip("torch")
SMALL = {"d_model": "16", "ff_dim": "32", "train_limit": "64", "eval_every": "10", "augment": "false"}


def trained(program: str, config: Path, run: Path) -> int:
    status: int = importlib.import_module(f"hrmdoc.trainer.replay.{program}").main(
        [str(config), f"run_dir={run}"]
    )
    return status


def shortened(name: str, folder: Path, **words: str) -> Path:
    """The config of an incident, made small."""
    text = STORIES[name].config
    for key, word in {**SMALL, **words}.items():
        text = re.sub(rf"^({key}:) \S+", rf"\1 {word}", text, flags=re.MULTILINE)
    config = folder / "config-of-the-user.yaml"
    config.write_text(text)
    return config


def leading(analysis: Analysis) -> str:
    return analysis.diagnosis.hypotheses[0].cause


def mended(name: str, analysis: Analysis, config: Path) -> str:
    """The config after the patch of this run's diagnosis."""
    store.write(choose(analysis, None, config, every=STORIES[name].every).patch)
    return config.read_text()


@pytest.mark.parametrize(
    ("name", "words", "cause", "now"),
    [
        ("nan-fp16", {"steps": "30"}, "half-precision-range", "precision: bf16"),
        ("module-missing", {"steps": "10"}, "dependency-missing", "attn_implementation: sdpa"),
    ],
)
def test_the_fault_is_found_and_its_patch_lets_the_run_end(
    tmp_path: Path, name: str, words: dict[str, str], cause: str, now: str
) -> None:
    config = shortened(name, tmp_path, **words)
    trained("classify", config, tmp_path / "sick")
    sick = analyze(str(tmp_path / "sick"))
    assert sick.verdict == "critical"
    assert leading(sick) == cause
    assert now in mended(name, sick, config)
    assert trained("classify", config, tmp_path / "healed") == 0
    healed = analyze(str(tmp_path / "healed"))
    assert not {one.id for one in sick.present if sick.severity(one) == "critical"} & {
        one.id for one in healed.present
    }
    assert healed.state == "finished"


@pytest.mark.parametrize(
    ("name", "cause", "now"),
    [
        ("entropy-collapse", "mode-collapse", ("beta: 0.04", "temperature: 0.8", "num_generations: 16")),
        ("zero-advantage", "no-advantage-signal", ("temperature: 0.8", "num_generations: 16")),
    ],
)
def test_training_by_reward_gets_its_signal_back(
    tmp_path: Path, name: str, cause: str, now: tuple[str, ...]
) -> None:
    config = shortened(name, tmp_path, per_device_train_batch_size="64", train_prompts="640", eval_steps="0")
    trained("grpo", config, tmp_path / "sick")
    sick = analyze(str(tmp_path / "sick"))
    assert leading(sick) == cause
    text = mended(name, sick, config)
    assert all(setting in text for setting in now)
    config.write_text(text.replace("train_prompts: 640", "train_prompts: 64"))
    trained("grpo", config, tmp_path / "healed")
    spread = analyze(str(tmp_path / "healed")).run.best("rl.frac_reward_zero_std")
    assert spread is not None
    assert spread.values[-1] < 0.5


def test_a_small_disk_fills_up_until_fewer_checkpoints_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hrmdoc.trainer.replay.saving import QUOTA

    monkeypatch.setenv(QUOTA, "700000")
    saved = str(tmp_path / "disk")
    config = shortened("disk-full", tmp_path, steps="80", save_every="10", checkpoint_path=saved)
    assert trained("classify", config, tmp_path / "sick") == 1
    sick = analyze(str(tmp_path / "sick"))
    assert leading(sick) == "disk-exhausted"
    assert "keep_checkpoints: 3" in mended("disk-full", sick, config)
    for old in (tmp_path / "disk").iterdir():
        old.unlink()
    assert trained("classify", config, tmp_path / "healed") == 0
    assert {path.name for path in (tmp_path / "disk").iterdir()} == {
        "step_60.pt",
        "step_70.pt",
        "step_80.pt",
    }
