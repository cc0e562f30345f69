"""What is known of a run before its first step: machine, versions, data, commit."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..config.schema import TrainConfig
from ..data import PuzzleData
from ..devices.machine import probe
from ..devices.plan import Plan
from ..launch.env import describe
from ..parallel.world import World

PACKAGES = ("hrmdoc", "torch", "numpy")
SAMPLED_LABELS = 10_000  # rows that are looked at to count the classes


def classes_in(data: PuzzleData) -> int:
    """How many different labels occur, in a sample of the rows."""
    labels = np.unique(np.concatenate([part.labels[:SAMPLED_LABELS].ravel() for part in data.sets]))
    return (
        int((labels != data.info.ignore_label_id).sum())
        if data.info.ignore_label_id is not None
        else len(labels)
    )


def facts_of(config: TrainConfig, plan: Plan, source: str | None, world: World) -> dict[str, Any]:
    machine = probe()
    return {
        "framework": "hrm",
        "kind": "hrm",
        "config_source": source,
        "git_commit": git_commit(),
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "device": plan.device,
        "device_name": machine.name,
        "device_memory_gib": None
        if machine.memory_bytes is None
        else round(machine.memory_bytes / (1 << 30), 2),
        "cpu_count": machine.cpus,
        "world_size": world.size,
        **describe(os.environ),
        "precision": {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[plan.dtype],
        "plan": asdict(plan),
        "env": {
            key: os.environ[key]
            for key in ("OMP_NUM_THREADS", "DISABLE_COMPILE", "USE_FLASH_ATTN")
            if key in os.environ
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "seed": config.seed,
    }


def git_commit(folder: Path | None = None) -> str | None:
    """The commit that `folder` (by default the working folder) is at, or None outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _version(package: str) -> str | None:
    if package in sys.modules and hasattr(sys.modules[package], "__version__"):
        return str(sys.modules[package].__version__)
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
