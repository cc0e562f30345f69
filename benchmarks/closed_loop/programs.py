"""What the closed loop treats: two training programs, each with a healthy config of its own and faults that a
config can mend.

A fault is one to three keys of the config that a person might set wrongly; the program, its data and its logs
stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from benchmarks.lab.spec import PROGRAMS as FOLDER

LIMIT_S = 900

Changes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Program:
    """One training program.

    Attributes:
        name: as reports call it.
        title: what it is, in a few words.
        framework: id of the framework whose config keys it takes.
        healthy: the config as text, by key; dotted keys stand in a section.
        seeds: a healthy run and all faults are tried with each.
        faults: name -> the true cause, and what differs from the healthy config.
        start: trains by a config file into an empty folder.
        milder: as `faults`, but no more than a person often has; reported apart.
    """

    name: str
    title: str
    framework: str
    healthy: Changes
    seeds: tuple[int, ...]
    faults: Mapping[str, tuple[str, Changes]]
    start: Callable[[Path, Path, int], None]
    milder: Mapping[str, tuple[str, Changes]] = field(default_factory=dict)

    def config_text(self, changes: Changes) -> str:
        """The config as a person would write it, sections and all."""
        values = {**self.healthy, **changes}
        lines = [f"{key}: {value}" for key, value in values.items() if "." not in key]
        for section in dict.fromkeys(key.partition(".")[0] for key in values if "." in key):
            inside = [
                (key.partition(".")[2], value)
                for key, value in values.items()
                if key.startswith(f"{section}.")
            ]
            lines += [f"{section}:", *(f"  {key}: {value}" for key, value in inside)]
        return "\n".join(lines) + "\n"

    def train(self, config: Path, folder: Path, seed: int) -> None:
        """Trains into `folder` unless a finished run of this very config stands there."""
        kept = folder.with_suffix(".yaml")
        text = config.read_text("utf-8")
        if kept.is_file() and kept.read_text("utf-8") == text:
            return
        shutil.rmtree(folder, ignore_errors=True)
        self.start(config, folder, seed)
        kept.write_text(text, "utf-8")


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def _train_hrm(config: Path, folder: Path, seed: int) -> None:
    command = [sys.executable, "-m", "hrmdoc", "train", str(config), f"run_dir={folder}", f"seed={seed}"]
    silent = subprocess.DEVNULL
    subprocess.run(command, check=False, stdout=silent, stderr=silent, env=_environment(), timeout=LIMIT_S)


GPT_KEYS = {
    "learning_rate": "lr", "warmup_iters": "warmup", "max_iters": "steps", "batch_size": "batch_size",
    "grad_clip": "grad_clip",
    "weight_decay": "weight_decay", "dropout": "dropout", "n_embd": "hidden", "n_layer": "layers",
    "min_lr_ratio": "min_lr_ratio",
    "optimizer": "optimizer", "eval_interval": "eval_every", "log_interval": "log_every",
}  # fmt: skip
"""Keys of the config -> settings of the fault lab's GPT."""


def _train_gpt(config: Path, folder: Path, seed: int) -> None:
    folder.mkdir(parents=True)
    tree = YAML(typ="safe", pure=True).load(config.read_text("utf-8"))
    settings = {name: tree[key] for key, name in GPT_KEYS.items() if key in tree}
    spec = {
        "program": "gpt",
        "fault": "",
        "seed": seed,
        "settings": settings,
        "strength": None,
        "onset": None,
    }
    command = [sys.executable, str(FOLDER / "gpt.py"), json.dumps(spec)]
    with (folder / "train.log").open("w") as log:
        subprocess.run(
            command, check=False, stdout=log, stderr=log, cwd=folder, env=_environment(), timeout=LIMIT_S
        )


HRM = Program(
    name="hrm",
    title="a tiny HRM on 4x4 Sudoku",
    framework="hrm",
    seeds=(0, 1, 2),
    healthy={
        "data_path": "builtin:sudoku-4x4", "epochs": "6", "eval_interval": "3", "global_batch_size": "32",
        "log_interval": "4",
        "lr": "3e-3", "lr_warmup_steps": "20", "lr_min_ratio": "1.0", "puzzle_emb_lr": "1e-3",
        "weight_decay": "0.1",
        "threads": "1", "arch.hidden_size": "32", "arch.H_layers": "1", "arch.L_layers": "1",
        "arch.num_heads": "4",
        "arch.expansion": "2", "arch.H_cycles": "1", "arch.halt_max_steps": "8",
        "arch.pos_encodings": "learned",
    },
    faults={
        "rate 300 times too high": ("learning-rate-too-high", {"lr": "0.9", "puzzle_emb_lr": "0.3"}),
        "rate 30 times too high": ("learning-rate-too-high", {"lr": "0.09", "puzzle_emb_lr": "0.03"}),
        "rate 300 times too low": ("learning-rate-too-low", {"lr": "1e-5", "puzzle_emb_lr": "3e-6"}),
        "no warmup, rate 20 times too high": (
            "warmup-too-short", {"lr": "0.06", "puzzle_emb_lr": "0.02", "lr_warmup_steps": "0"}
        ),
        "warmup longer than the run": ("lr-schedule-misconfigured", {"lr_warmup_steps": "100000"}),
        "weight decay that forgets": ("weight-decay-too-high", {"weight_decay": "100.0"}),
    },
    start=_train_hrm,
)  # fmt: skip

GPT = Program(
    name="gpt",
    title="a character-level GPT with nanoGPT's keys",
    framework="nanogpt",
    seeds=(0, 1, 2),
    healthy={
        "learning_rate": "0.003", "warmup_iters": "20", "max_iters": "400", "min_lr_ratio": "0.1",
        "batch_size": "8",
        "block_size": "32", "vocab_size": "32", "n_embd": "32", "n_layer": "2", "dropout": "0.0",
        "weight_decay": "0.01",
        "grad_clip": "1.0", "optimizer": "adamw", "eval_interval": "40", "log_interval": "4",
    },
    faults={
        "rate 300 times too high": ("learning-rate-too-high", {"learning_rate": "1.0"}),
        "rate 300 times too low": ("learning-rate-too-low", {"learning_rate": "1e-5"}),
        "rate 3,000 times too low": ("learning-rate-too-low", {"learning_rate": "1e-6"}),
        "no warmup, rate 100 times too high": ("warmup-too-short", {"learning_rate": "0.3",
        "warmup_iters": "0"}),
        "warmup longer than the run": ("lr-schedule-misconfigured", {"warmup_iters": "100000"}),
        "weight decay that forgets": ("weight-decay-too-high", {"weight_decay": "100.0"}),
        "dropout of nineteen in twenty": ("regularization-too-strong", {"dropout": "0.95"}),
    },
    start=_train_gpt,
    milder={
        "a thirtieth of the rate": ("learning-rate-too-low", {"learning_rate": "1e-4"}),
        "a tenth of the rate": ("learning-rate-too-low", {"learning_rate": "3e-4"}),
        "SGD at the rate of AdamW": ("learning-rate-too-low", {"optimizer": "sgd"}),
        "one sample a batch": ("batch-too-small-noisy", {"batch_size": "1"}),
        "a width of 4": ("model-too-small", {"n_embd": "4"}),
    },
)  # fmt: skip

PROGRAMS = (GPT, HRM)
