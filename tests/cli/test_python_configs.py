"""Configs and programs in Python: read, patched in place or shown to be pasted, never run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


NANOGPT = """Overriding config with config/train_char.py:
# a tiny one
block_size = 64
n_embd = 64
learning_rate = 0.003  # from the paper
max_iters = 500
lr_decay_iters = 60
warmup_iters = 20
min_lr = 0.0

number of parameters: 0.10M
"""


def test_preflight_and_apply_take_a_python_config_and_only_read_a_program(
    hrmdoc: Command, apart: Path
) -> None:
    sizes = "block_size = 256\nn_embd = 384\nmax_iters = 5000\n"
    (apart / "char.py").write_text(
        sizes + "lr_decay_iters = 500  # too few\nmin_lr = 0.0\nlearning_rate = 1e-3\n"
    )
    said = hrmdoc("preflight", "char.py").out
    assert "lr_decay_iters: 500 → 5000" in said
    assert "char.py:4" in said
    (apart / "train.py").write_text(
        "import torch\nargs = TrainingArguments(learning_rate=0.5, fp16=True, bf16=True)\nargs.run()\n"
    )
    said = hrmdoc("preflight", "train.py").out
    assert "precision-contradictory" in said
    assert "train.py:2" in said
    assert "seed-missing" not in said  # most of what a program sets cannot be seen
    (apart / "train.py").write_text("x = (\n")
    done = hrmdoc("preflight", "train.py")
    assert (done.status, done.out) == (2, "")
    assert "train.py:1: is no valid Python" in done.err


def test_the_config_that_a_log_names_and_quotes_is_patched(hrmdoc: Command, apart: Path) -> None:
    log = NANOGPT + "".join(
        f"iter {i}: loss {2 + 2.4 / (1 + i / 20):.4f}, time 9.00ms, mfu 1.00%\n" for i in range(0, 501, 10)
    )
    (apart / "train.log").write_text(log)
    assert "decay-ends-early" in hrmdoc("analyze", "train.log").out
    (apart / "config").mkdir()
    (apart / "config" / "train_char.py").write_text(NANOGPT.split(":\n", 1)[1].split("\n\n")[0] + "\n")
    before = (apart / "config" / "train_char.py").read_text()
    done = hrmdoc("apply", "train.log", "--write")
    assert "+lr_decay_iters = 500" in done.out
    assert "--lr_decay_iters=500" in done.err
    assert (apart / "config" / "train_char.py").read_text() == before.replace(
        "lr_decay_iters = 60", "lr_decay_iters = 500"
    )


def test_settings_of_a_program_are_shown_to_be_pasted_with_the_line_where_they_stand(
    hrmdoc: Command, apart: Path
) -> None:
    (apart / "train.py").write_text(
        "LR = 0.5\nargs = TrainingArguments(\n    learning_rate=LR,\n)\ntrain(args)\n"
    )
    rows = (
        {"loss": round(2.5 - i / 100 if i < 20 else 7 + i % 3, 4), "learning_rate": 0.5, "epoch": i / 20}
        for i in range(60)
    )
    (apart / "hf.log").write_text("".join(f"{row}\n" for row in rows))
    done = hrmdoc("apply", "hf.log", "--config", "train.py")
    assert "TrainingArguments(\n    learning_rate=" in done.out
    assert "train.py:3 sets learning_rate = 0.5" in done.err
    assert "to paste" in done.err
    done = hrmdoc("apply", "hf.log", "--config", "train.py", "--write")
    assert (done.status, "nothing was written" in done.err) == (2, True)


@pytest.mark.parametrize("named", ["../other/train_char.py", "/{}/other/train_char.py"])
def test_a_log_cannot_name_a_config_outside_its_folder(hrmdoc: Command, apart: Path, named: str) -> None:
    other = apart.parent / "other"
    other.mkdir()
    (other / "train_char.py").write_text("lr_decay_iters = 60\nmax_iters = 500\nmin_lr = 0.0\n")
    log = NANOGPT.replace("config/train_char.py", named.format(apart.parent))
    (apart / "train.log").write_text(
        log + "".join(f"iter {i}: loss {3 - i / 1000:.4f}, time 9ms\n" for i in range(0, 501, 10))
    )
    assert "lr_decay_iters" not in hrmdoc("apply", "train.log", "--write").out
    assert "= 60" in (other / "train_char.py").read_text()
