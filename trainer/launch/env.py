"""What the environment says of the launch: torchrun's and Slurm's variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def world_size(env: Mapping[str, str]) -> int:
    """The number of processes that the environment names; 1 without a sensible number."""
    text = env.get("WORLD_SIZE", "1")
    return int(text) if text.isdigit() and int(text) > 0 else 1


def is_chief(env: Mapping[str, str]) -> bool:
    """Whether this process speaks for the run, before any group is joined."""
    return world_size(env) == 1 or env.get("RANK", "0") == "0"


def restarted(env: Mapping[str, str]) -> bool:
    """Whether torchrun or Slurm has started this run before."""
    return any(
        env.get(key, "0") not in ("", "0") for key in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")
    )


def launch_of(env: Mapping[str, str]) -> str | None:
    """What stays the same when torchrun or Slurm starts the processes of a run again, and differs between
    runs."""
    if "SLURM_JOB_ID" in env:
        return f"slurm:{env['SLURM_JOB_ID']}"
    if "TORCHELASTIC_RUN_ID" in env:
        return f"torchrun:{env['TORCHELASTIC_RUN_ID']}:{os.getppid()}"
    return None


def describe(env: Mapping[str, str]) -> dict[str, Any]:
    """What run.json keeps of the launch."""
    names = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID")
    return {"launch": launch_of(env), "launcher": {name: env[name] for name in names if name in env}}
