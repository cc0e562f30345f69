"""`hrmdoc apply` on runs of other programs: which file is patched, how far, and what is left alone."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command

DENSE = """# dense text classifier
d_model: 256
n_layers: 4
n_heads: 4
ff_dim: 1024
dropout: 0.1
weight_decay: 0.01
lr: 3e-4
warmup_steps: 0
steps: 5000
batch_size: 32
train_limit: 2048
eval_every: 500
patience: 0
label_smoothing: 0.0
"""
AXOLOTL = """base_model: local/model
sequence_len: 2048
micro_batch_size: {batch}
gradient_accumulation_steps: 4
gradient_checkpointing: {checkpointing}
val_set_size: 0.05
adapter: {adapter}
attn_implementation: sdpa
"""
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 546.00 MiB. "
    "GPU 0 has a total capacity of 3.77 GiB of which 14.19 MiB is free.\n"
)


def _memorised(folder: Path) -> Path:
    """A log whose training and validation loss go to exactly zero."""
    log = folder / "train.log"
    rows = [
        f"step {step}/5000 loss {max(0.0, 1.386 * 0.9 ** (step / 40) - 0.004):.4f}"
        for step in range(0, 5001, 20)
    ]
    rows += [f"step {step} val_loss 0.0000" for step in range(3000, 5001, 500)]
    log.write_text("\n".join(sorted(rows, key=lambda row: int(row.split()[1].split("/")[0]))) + "\n")
    return log


def test_the_record_of_a_run_and_of_its_config_tell_of_a_patch_and_of_its_undo(
    hrmdoc: Command, apart: Path
) -> None:
    config = apart / "train.yaml"
    config.write_text(DENSE)
    log = _memorised(apart)
    assert "no record tells" in hrmdoc("log", config).err
    assert hrmdoc("apply", log, "--config", config, "--write").status == 0
    assert hrmdoc("apply", config, "--undo").status == 0
    for path in (log, config):
        assert [line[21:].split("  ")[0] for line in hrmdoc("log", path).out.splitlines()] == [
            "written",
            "taken back",
        ]
        assert hrmdoc("log", "--verify", path).status == 0


def test_all_changes_against_memorization_are_one_diff_and_one_undo(hrmdoc: Command, apart: Path) -> None:
    config = apart / "train.yaml"
    config.write_text(DENSE)
    log = _memorised(apart)
    done = hrmdoc("apply", log, "--config", config, "--all", "--write")
    assert done.status == 0, done.err
    values = dict(line.split(": ") for line in config.read_text().splitlines()[1:])
    wanted = {"d_model": "128", "n_layers": "2", "dropout": "0.4", "weight_decay": "0.1", "lr": "1e-4"}
    wanted |= {"warmup_steps": "250", "eval_every": "20", "patience": "5", "label_smoothing": "0.1"}
    assert {key: values[key] for key in wanted} == wanted
    assert hrmdoc("apply", config, "--undo").status == 0
    assert config.read_text() == DENSE
    again = hrmdoc("apply", config, "--undo")
    assert again.status == 2
    assert "taken back already" in again.err


@pytest.mark.parametrize(
    ("batch", "checkpointing", "adapter", "added"),
    [
        (4, "false", "lora", "+micro_batch_size: 2"),
        (1, "false", "lora", "+gradient_checkpointing: true"),
        (1, "true", "lora", "+load_in_4bit: true"),
    ],
)
def test_out_of_memory_climbs_the_ladder_one_step_after_the_other(
    hrmdoc: Command, apart: Path, batch: int, checkpointing: str, adapter: str, added: str
) -> None:
    config = apart / "axolotl.yaml"
    config.write_text(AXOLOTL.format(batch=batch, checkpointing=checkpointing, adapter=adapter))
    (apart / "train.log").write_text("{'loss': 2.1, 'learning_rate': 2e-05, 'epoch': 0.01}\n" + OOM)
    done = hrmdoc("apply", apart / "train.log", "--config", config)
    assert done.status == 0, done.err
    assert added in done.out.splitlines()


LADDER = [
    ["micro_batch_size: 1", "gradient_accumulation_steps: 8"],
    ["gradient_checkpointing: true"],
    ["adapter: qlora", "load_in_4bit: true", "lora_r: 16", "lora_alpha: 32", "lora_target_linear: true"],
    ["sequence_len: 2048"],
    ["sequence_len: 1024"],
    ["attn_implementation: flash_attention_2"],
    ["deepspeed: deepspeed_configs/zero3_bf16.json"],
]


def test_the_ladder_is_climbed_to_its_end_and_no_further(hrmdoc: Command, apart: Path) -> None:
    config, log = apart / "axolotl.yaml", apart / "train.log"
    text = AXOLOTL.format(batch=2, checkpointing="false", adapter="x").replace("adapter: x\n", "")
    config.write_text(text.replace("sequence_len: 2048", "sequence_len: 4096") + "bf16: true\n")
    log.write_text("{'loss': 2.1, 'learning_rate': 2e-05, 'epoch': 0.01}\n" + OOM)
    for rung in LADDER:
        done = hrmdoc("apply", log, "--config", config, "--write")
        assert done.status == 0, done.err
        added = [line[1:] for line in done.out.splitlines() if line.startswith("+") and line[1] != "+"]
        assert added == rung
        later = time.time() + 5  # the run was started again and has failed again
        os.utime(log, (later, later))
    done = hrmdoc("apply", log, "--config", config, "--write")
    assert done.status == 2
    assert "done by hand" in done.err


def test_a_setting_that_another_key_decides_is_changed_there(hrmdoc: Command, apart: Path) -> None:
    config = apart / "axolotl.yaml"
    config.write_text(AXOLOTL.format(batch=1, checkpointing="true", adapter="lora"))
    (apart / "train.log").write_text("{'loss': 2.1, 'learning_rate': 2e-05, 'epoch': 0.01}\n" + OOM)
    done = hrmdoc("apply", apart / "train.log", "--config", config, "--remedy", "use-flash-attention")
    assert done.status == 0, done.err
    assert "+attn_implementation: flash_attention_2" in done.out
    assert "flash_attention: true" not in done.out.replace("attn_implementation", "")


def test_an_hrm_that_does_not_fit_gets_the_row_of_its_memory(hrmdoc: Command, apart: Path) -> None:
    run = apart / "run"
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"schema": "hrmdoc.run/1", "framework": "hrm"}))
    config = apart / "config.yaml"
    config.write_text(
        "data_path: data\nglobal_batch_size: 64\nlr: 1e-4\n"
        "arch:\n  hidden_size: 256\n  H_layers: 4\n  L_layers: 4\n"
    )
    (run / "train.log").write_text("step 1/100 | lm_loss 2.1 | lr 1.0e-04\n" + OOM)
    done = hrmdoc("apply", run, "--config", config)
    assert done.status == 0, done.err
    for line in ("+global_batch_size: 4", "+  hidden_size: 32", "+  H_layers: 1", "+  L_layers: 1"):
        assert line in done.out.splitlines()


def test_a_config_that_agrees_with_the_run_is_shown_and_has_to_be_named(hrmdoc: Command, apart: Path) -> None:
    (apart / "conf").mkdir()
    config = apart / "conf" / "config.yaml"
    config.write_text("optim:\n  name: adam\n  lr: 2.0\ntrainer:\n  max_steps: 400\n")
    record = apart / "outputs" / "1" / ".hydra"
    record.mkdir(parents=True)
    (record / "config.yaml").write_text(config.read_text())
    rows = [f"step {step}/400 loss {60 + step % 7 * 9:.4f} lr 2.0" for step in range(5, 401, 5)]
    (record.parent / "train.log").write_text("\n".join(rows) + "\n")
    shown = hrmdoc("apply", record.parent)
    assert shown.status == 0, shown.err
    assert "-  lr: 2.0" in shown.out
    assert "optim.lr=" in shown.err
    assert hrmdoc("apply", record.parent, "--write").status == 2
    assert "lr: 2.0" in config.read_text()
    assert hrmdoc("apply", record.parent, "--config", config, "--write").status == 0
    assert "lr: 2.0" not in config.read_text()
    assert "lr: 2.0" in (record / "config.yaml").read_text()


def test_a_second_patch_waits_until_a_run_has_shown_the_effect_of_the_first(
    hrmdoc: Command, apart: Path
) -> None:
    config = apart / "axolotl.yaml"
    config.write_text(AXOLOTL.format(batch=4, checkpointing="false", adapter="lora"))
    log = apart / "train.log"
    log.write_text("{'loss': 2.1, 'learning_rate': 2e-05, 'epoch': 0.01}\n" + OOM)
    assert hrmdoc("apply", log, "--config", config, "--write").status == 0
    patched = config.read_text()
    other = ("apply", log, "--config", config, "--remedy", "use-flash-attention", "--write")
    refused = hrmdoc(*other)
    assert refused.status == 2
    assert "no run has shown its effect yet" in refused.err
    assert "--force" in refused.err
    assert config.read_text() == patched
    assert hrmdoc(*other, "--force").status == 0
    assert "attn_implementation: flash_attention_2" in config.read_text()


def _diverged(folder: Path, rate: float) -> Path:
    """A log whose loss is no number once its rate has come to `rate`."""
    log = folder / "t.log"
    rows = [
        f"step {i * 10}/1500 | loss {1.9 if i < 2 else 51.5 if i < 3 else math.nan} | accuracy 0.35 "
        f"| grad_norm {1.44 if i < 2 else 2e5 if i < 3 else math.nan} | lr {rate * min(1, i / 5):.2e}"
        for i in range(1, 151)
    ]
    log.write_text("\n".join(rows) + "\n")
    return log


def test_what_is_shown_of_a_config_that_nobody_named_is_what_is_written_once_it_is(
    hrmdoc: Command, apart: Path
) -> None:
    log = _diverged(apart, 0.1)
    (apart / "c.yaml").write_text("optimizer: adamw\nlr: 0.1\nbatch_size: 32\n")
    shown, named = hrmdoc("apply", log), hrmdoc("apply", log, "--config", "c.yaml")
    assert shown.out == named.out
    assert "+lr: 0.001\n" in shown.out
    assert "c.yaml --write" in shown.err
    refused = hrmdoc("apply", log, "--write")
    assert refused.status == 2
    assert "outside the run's folder" not in refused.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", "LR=1e-1\npython train.py --lr $LR --bs 3\n"),
        ("c.yaml", "lr: ${oc.env:LR,0.1}\nbs: 3\n"),
        ("c.yaml", "base: &opt {lr: 0.1}\noptimizer:\n  <<: *opt\n"),
        ("Makefile", "all:\n\tpython train.py --lr $(LR) --bs 3\n"),
        ("rs.sh", "python train.py --bs 3\nrsync -a --delete out/ nas:/out/\n"),
        ("config.yaml", "defaults:\n  - optimizer: adamw\nseed: 1\n"),
    ],
)
def test_no_key_of_ours_is_written_where_the_first_remedy_cannot_be_made(
    hrmdoc: Command, apart: Path, name: str, text: str
) -> None:
    log, config = _diverged(apart, 0.1), apart / name
    config.write_text(text)
    done = hrmdoc("apply", log, "--config", config, "--write")
    assert done.status == 2
    assert config.read_text() == text


def test_another_remedy_is_not_written_in_the_place_of_a_better_one(hrmdoc: Command, apart: Path) -> None:
    log, config = _diverged(apart, 0.1), apart / "run.sh"
    config.write_text("python train.py --lr $LR --bs 3 --warmup-steps 10\n")
    refused = hrmdoc("apply", log, "--config", config, "--write")
    assert refused.status == 2
    assert "the better remedy cannot be made" in refused.err
    assert "--warmup-steps 10" in config.read_text()
    assert hrmdoc("apply", log, "--config", config, "--remedy", "lengthen-warmup", "--write").status == 0
    assert "--warmup-steps 75" in config.read_text()


def test_a_config_that_the_log_contradicts_is_neither_believed_nor_changed(
    hrmdoc: Command, apart: Path
) -> None:
    log, config = _diverged(apart, 0.1), apart / "c.yaml"
    config.write_text("optimizer: adamw\nlr: 0.0003\n")
    told = hrmdoc("analyze", log, config).out
    assert "says 0.0003 for the learning rate, and the log shows 0.1: the log is believed" in " ".join(
        told.split()
    )
    assert "the learning rate is 0.1" in " ".join(told.split())
    refused = hrmdoc("apply", log, "--config", config, "--write")
    assert refused.status == 2
    assert "c.yaml says lr = 0.0003, but the log shows 0.1" in refused.err
    assert config.read_text() == "optimizer: adamw\nlr: 0.0003\n"


def test_contrary_options_are_refused_and_what_is_not_ours_is_not_written_to_be_started(
    hrmdoc: Command, apart: Path
) -> None:
    log, config = _diverged(apart, 0.1), apart / "c.yaml"
    config.write_text("optimizer: adamw\nlr: 0.1\n")
    for words in (["--undo", "--write"], ["--undo", "--diff"], ["--live", "--write"]):
        done = hrmdoc("apply", log, "--config", config, *words)
        assert done.status == 2
        assert "exclude each other" in done.err
    done = hrmdoc("apply", log, "--config", config, "--write", "--rerun")
    assert done.status == 2
    assert config.read_text() == "optimizer: adamw\nlr: 0.1\n"
    never = hrmdoc("apply", config, "--undo")
    assert "no patch of this file is known" in never.err


def test_an_accelerate_config_gets_no_key_that_accelerate_refuses(hrmdoc: Command, apart: Path) -> None:
    log, config = apart / "o.log", apart / "accelerate.yaml"
    rows = ["{'loss': 2.48, 'grad_norm': 1.1, 'learning_rate': 2e-05, 'epoch': 0.01}\n"] * 20
    log.write_text("".join([*rows, OOM]))
    text = "compute_environment: LOCAL_MACHINE\nmixed_precision: fp16\nnum_processes: 1\n"
    config.write_text(text)
    assert hrmdoc("apply", log, "--config", config, "--write").status == 2
    assert config.read_text() == text
