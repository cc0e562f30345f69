"""`preflight`, before a run costs anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hrmdoc.paths import data_dir

Command = Callable[..., Any]
CONFIG = "data_path: data/sudoku\nglobal_batch_size: 32\nepochs: 10\nlr: 1e-2\nlr_warmup_steps: 0\nseed: 1\n"


def test_preflight_names_the_line_of_a_config_that_cannot_work(hrmdoc: Command, apart: Path) -> None:
    text = CONFIG + "arch:\n  hidden_size: 32\n  num_heads: 3\n  H_layers: 1\n  L_layers: 1\n"
    (apart / "c.yaml").write_text(text)
    done = hrmdoc("preflight", "c.yaml")
    assert done.status == 1
    assert "heads-do-not-divide-hidden" in done.out
    assert "c.yaml:9" in done.out
    (apart / "c.yaml").write_text(text.replace("num_heads: 3", "num_heads: 4"))
    assert "heads-do-not-divide-hidden" not in hrmdoc("preflight", "c.yaml").out


def test_preflight_sees_what_several_checks_say_together(hrmdoc: Command, apart: Path) -> None:
    config = "learning_rate: {}\nper_device_train_batch_size: 8\noptim: adamw_torch\nseed: 1\n"
    (apart / "hf.yaml").write_text(config.format("1e-3"))
    assert "lr-extreme" not in hrmdoc("preflight", "hf.yaml").out
    (apart / "hf.yaml").write_text(config.format(5.0))
    done = hrmdoc("preflight", "hf.yaml")
    assert (done.status, "lr-extreme" in done.out, "hf.yaml:1" in done.out) == (1, True, True)


def test_after_a_clean_preflight_the_next_command_fits_the_program(hrmdoc: Command, apart: Path) -> None:
    (apart / "hf.yaml").write_text(
        "learning_rate: 2e-5\nper_device_train_batch_size: 8\nseed: 1\nmax_grad_norm: 1.0\n"
    )
    assert "Next: hrmdoc run -- COMMAND" in hrmdoc("preflight", "hf.yaml").out


def test_what_has_no_numbers_to_tell_is_said_once(hrmdoc: Command, apart: Path) -> None:
    (apart / "hf.yaml").write_text("learning_rate: 0.01\nbatch_size: 8\n")
    assert hrmdoc("preflight", "hf.yaml").out.count("No seed is set") == 1


def test_preflight_speaks_json_by_the_schema(hrmdoc: Command, apart: Path) -> None:
    (apart / "c.yaml").write_text(CONFIG)
    schema = json.loads((data_dir("reports") / "diagnosis.schema.json").read_text())
    told = json.loads(hrmdoc("preflight", "--json", "c.yaml").out)
    assert list(Draft202012Validator(schema).iter_errors(told)) == []


@pytest.mark.parametrize("content", [b"\0\0\0", b"a: [", b"\xff\xfe"])
def test_preflight_of_a_broken_config_is_one_error(hrmdoc: Command, apart: Path, content: bytes) -> None:
    (apart / "c.yaml").write_bytes(content)
    done = hrmdoc("preflight", "c.yaml")
    assert (done.status, done.out) == (2, "")
    assert "c.yaml" in done.err


def test_a_config_of_training_by_reward_is_known_and_checked_as_one(hrmdoc: Command, apart: Path) -> None:
    config = apart / "grpo.yaml"
    config.write_text(
        "base_model: local/model-0.5B\nrl: grpo\ntrl:\n  num_generations: 8\nlearning_rate: 1e-6\n"
        "micro_batch_size: 3\ngradient_accumulation_steps: 1\nsequence_len: 512\nsave_strategy: 'no'\n"
        "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n"
        "deepspeed: deepspeed_configs/zero3_bf16.json\nwarmup_steps: 0\n"
    )
    done = hrmdoc("preflight", config)
    for finding in ("generation-batch-uneven", "zero3-nonreentrant", "saving-off", "warmup-off"):
        assert finding in done.out
    assert "lr-below-typical" not in done.out
    assert "micro_batch_size: 3 → 8" in done.out
    assert "save_strategy: no → steps" in done.out


def test_what_no_config_can_say_is_not_asked_for_before_a_run(hrmdoc: Command, apart: Path) -> None:
    config = apart / "config.yaml"
    config.write_text("learning_rate: 1e-4\nmax_steps: 100\n")
    done = hrmdoc("preflight", config, "--verbose")
    assert "train.loss" not in done.out
    assert "run.steps_since_checkpoint" not in done.out


def test_a_broken_config_has_its_place_in_json(hrmdoc: Command, apart: Path) -> None:
    (apart / "broken.yaml").write_text("lr: 0.1\n  bad: [\n")
    (apart / "sound.yaml").write_text("learning_rate: 0.001\n")
    alone = hrmdoc("preflight", "--json", "broken.yaml")
    both = hrmdoc("preflight", "--json", "sound.yaml", "broken.yaml")
    assert (alone.status, both.status) == (2, 2)
    assert "broken.yaml:2" in alone.err
    one = json.loads(alone.out)
    assert one["verdict"] == "no_data"
    assert (one["input_errors"][0]["file"], one["input_errors"][0]["line"]) == ("broken.yaml", 2)
    verdicts = {run["run"]["path"]: run["verdict"] for run in json.loads(both.out)["runs"]}
    assert verdicts["broken.yaml"] == "no_data"
    assert verdicts["sound.yaml"] in ("healthy", "info", "warning")


def test_a_finding_of_one_file_changes_no_other(hrmdoc: Command, apart: Path) -> None:
    (apart / "other.yaml").write_text("lr: 0.1\nseed: 7\n")
    (apart / "Makefile").write_text("all:\n\tpython train.py --lr 0.1\n")
    done = hrmdoc("preflight", "Makefile")
    assert "seed-missing" in done.out
    assert "other.yaml" not in done.out
