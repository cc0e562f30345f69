"""Remedies that are offered fit the run: its packages, its platform, its kind."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command

CONFIG = "attn_implementation: flash_attention_2\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"
NO_FLASH = (
    "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: "
    "the package flash_attn seems to be not installed.\n"
)
OF_CUDA = ("nvidia-smi", "nvcc", "torch.version.cuda", "CUDA_", "dcgmi", "TORCH_CUDA_ARCH_LIST")


def _crashed(folder: Path, message: str, before: str = "") -> Path:
    """A run that ended with a message, beside its config."""
    start = "Traceback (most recent call last):\n" + '  File "train.py", line 7, in <module>\n    main()\n'
    (folder / "train.log").write_text(before + start + message)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


def test_after_a_crash_of_flash_attention_the_attention_of_torch_is_offered_with_its_value(
    hrmdoc: Command, apart: Path
) -> None:
    done = hrmdoc("apply", _crashed(apart, NO_FLASH), "--write")
    assert done.status == 0
    assert "attn_implementation: sdpa\n" in (apart / "config.yaml").read_text()


@pytest.mark.parametrize(
    "message",
    [
        "ModuleNotFoundError: No module named 'coolname'\n",
        "ImportError: libbitsandbytes_cuda121.so: undefined symbol: cget_managed_ptr\n",
    ],
)
def test_another_missing_package_switches_no_attention_and_upgrades_no_other_package(
    hrmdoc: Command, apart: Path, message: str
) -> None:
    run = _crashed(apart, message)
    shown = hrmdoc("analyze", run).out
    assert "Probable causes" in shown
    assert "attention" not in shown
    assert "deepspeed" not in shown.lower()
    done = hrmdoc("apply", run, "--remedy", "use-sdpa", "--write")
    assert done.status == 2
    assert "helps only against flash-attn-abi" in done.err
    assert (apart / "config.yaml").read_text() == CONFIG


@pytest.mark.parametrize(
    ("before", "message", "says"),
    [
        ("Device: AMD Instinct MI300X\n", "RuntimeError: HIP error: invalid device function\n", "rocm-smi"),
        ("", "RuntimeError: No HIP GPUs are available\n", "--device=/dev/kfd"),
        (
            "PyTorch version: 2.4.0+rocm6.1\n",
            "ImportError: /x/_C.so: undefined symbol: _ZN3c106detail14torchInternalE\n",
            "hipcc",
        ),
    ],
)
def test_a_run_on_rocm_gets_no_advice_for_cuda(
    hrmdoc: Command, apart: Path, before: str, message: str, says: str
) -> None:
    shown = hrmdoc("analyze", _crashed(apart, message, before)).out
    assert says in shown
    causes = shown[shown.index("Probable causes") :]
    assert [word for word in OF_CUDA if word in causes] == []


def test_without_a_word_of_rocm_the_advice_is_that_for_cuda(hrmdoc: Command, apart: Path) -> None:
    message = "RuntimeError: No CUDA GPUs are available\n"
    assert "nvidia-smi" in hrmdoc("analyze", _crashed(apart, message)).out


def _nan(folder: Path, config: str) -> Path:
    """A run of a Transformers trainer whose loss is not a number any more."""
    rows = [
        f"{{'loss': {2.0 - i / 100:.3f}, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': {i / 50:.2f}}}"
        for i in range(1, 60)
    ]
    rows += [
        f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': {i / 50:.2f}}}"
        for i in range(60, 80)
    ]
    (folder / "train.log").write_text("\n".join(rows) + "\n")
    (folder / "config.yaml").write_text(config)
    return folder


def test_a_run_without_an_inbox_is_not_told_to_roll_back_by_itself(hrmdoc: Command, apart: Path) -> None:
    shown = hrmdoc("analyze", _nan(apart, CONFIG), "--verbose").out
    assert "Go back to the last good checkpoint and go on from there" in shown
    assert "resume_from_checkpoint" in shown
    done = hrmdoc("apply", apart, "--remedy", "roll-back")
    assert done.status == 2
    assert "only a live run with an inbox takes actions" in done.err


HRM = """data_path: data/sudoku
lr: 1e-4
puzzle_emb_lr: 1e-4
global_batch_size: 384
arch:
  hidden_size: 512
  H_layers: 4
  L_layers: 4
  num_heads: 8
  halt_max_steps: 16
"""


def test_the_halves_of_an_hrm_are_halved_both(hrmdoc: Command, apart: Path) -> None:
    (apart / "train.log").write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. "
        "GPU 0 has a total capacity of 23.60 GiB of which 3.00 MiB is free.\n"
    )
    (apart / "config.yaml").write_text(HRM)
    done = hrmdoc("apply", apart, "--remedy", "halve-model", "--write")
    assert done.status == 0
    halved = (apart / "config.yaml").read_text()
    assert [line.strip() for line in halved.splitlines()[5:8]] == [
        "hidden_size: 256",
        "H_layers: 2",
        "L_layers: 2",
    ]
    shown = hrmdoc("analyze", apart).out
    assert "8-bit" not in shown
    assert "Shard the model" not in shown


RISING = "\n".join(
    f"step {i} loss {2.3 - 0.005 * i if i < 100 else 1.8 + 0.03 * (i - 100):.4f} lr 0.5 grad {1 + i / 50}"
    for i in range(1, 300)
)


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        (
            "train.py",
            'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", default=0.5)\n',
            "--lr=0.004",
        ),
        (
            "train.py",
            '@click.option("-l", "--learning-rate", default=0.5)\ndef main(): ...\n',
            "--learning-rate=0.004",
        ),
        ("run.sh", "python train.py --lr 0.5 --batch-size 32\n", "--lr=0.004"),
        ("run.sh", "python train.py lr=0.5 batch_size=32\n", "lr=0.004"),
    ],
)
def test_an_override_is_worded_as_the_program_takes_it(
    hrmdoc: Command, apart: Path, name: str, text: str, word: str
) -> None:
    (apart / "log.txt").write_text(RISING)
    (apart / name).write_text(text)
    done = hrmdoc("apply", "log.txt", "--config", name, "--remedy", "reduce-learning-rate")
    assert done.status == 0, done.err
    assert f"as overrides: {word}\n" in done.err
    assert "TrainingArguments" not in done.out


GRPO = (
    "num_generations: 8\nper_device_train_batch_size: 8\nlearning_rate: 1.0e-6\nmax_completion_length: 512\n"
)


def test_more_generations_come_with_a_batch_that_they_divide(hrmdoc: Command, apart: Path) -> None:
    """TRL refuses to start otherwise: generation_batch_size must be divisible by num_generations."""
    same = "'loss': 0.0, 'grad_norm': 0.1, 'reward': 0.3, 'reward_std': 0.0, 'frac_reward_zero_std': 1.0"
    rows = [f"{{{same}, 'kl': 0.01, 'entropy': 0.4, 'epoch': {i / 100}}}\n" for i in range(1, 80)]
    (apart / "log.txt").write_text("".join(rows))
    (apart / "config.yaml").write_text(GRPO)
    done = hrmdoc("apply", "log.txt", "--config", "config.yaml", "--remedy", "more-generations", "--write")
    assert done.status == 0, done.err
    assert (
        (apart / "config.yaml")
        .read_text()
        .startswith("num_generations: 16\nper_device_train_batch_size: 16\n")
    )


def test_what_is_done_by_hand_asks_for_no_diff(hrmdoc: Command, apart: Path) -> None:
    shown = hrmdoc("analyze", _crashed(apart, "ModuleNotFoundError: No module named 'coolname'\n")).out
    assert "Install what is missing  [by hand]" in shown


def test_what_starts_the_run_again_can_be_pasted(hrmdoc: Command, apart: Path) -> None:
    config = apart / "my config.yaml"
    config.write_text("lr: 1.0\nlr_warmup_steps: 0\n" + HRM.partition("lr: 1e-4\n")[2])
    run = apart / "runs" / "one"
    run.mkdir(parents=True)
    started = ["/usr/lib/hrmdoc/__main__.py", "train", str(config)]
    record = {"schema": "hrmdoc.run/1", "framework": "hrm", "command": started, "config_source": str(config)}
    (run / "run.json").write_text(json.dumps(record))
    rows = [
        f"step {i} lm_loss {2.2 if i < 20 else 9.0 + i / 10:.3f} exact_accuracy 0.0 lr 1.0"
        for i in range(1, 99)
    ]
    (run / "train.log").write_text("\n".join(rows))
    done = hrmdoc("apply", run, "--config", config, "--remedy", "lower-hrm-learning-rate", "--write")
    assert done.status == 0, done.err
    typed = done.err.partition("start the run again: ")[2].splitlines()[0]
    assert shlex.split(typed) == ["python", "-m", "hrmdoc", "train", str(config)]
