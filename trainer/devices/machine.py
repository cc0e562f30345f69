"""What this machine can do, and carrying out a plan on it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
from .plan import Machine, Plan

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def probe() -> Machine:
    """What this machine can do."""
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    return Machine(
        cuda=cuda,
        mps=mps,
        cuda_bf16=cuda and torch.cuda.is_bf16_supported(including_emulation=False),
        mps_bf16=mps and torch.backends.mps.is_macos_or_newer(14, 0),
        flash_attn=importlib.util.find_spec("flash_attn") is not None,
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        name=torch.cuda.get_device_name() if cuda else "Apple GPU" if mps else "CPU",
        memory_bytes=torch.cuda.get_device_properties(0).total_memory if cuda else None,
    )


def apply(chosen: Plan) -> torch.device:
    """Sets the environment, threads and backend flags of `chosen`. Must run before the device is first
    used."""
    os.environ.update(chosen.env)
    import torch

    if chosen.threads is not None:
        torch.set_num_threads(chosen.threads)
    torch.set_float32_matmul_precision(chosen.matmul_precision)
    torch.use_deterministic_algorithms(chosen.deterministic, warn_only=True)
    torch.backends.cudnn.deterministic = chosen.deterministic
    torch.backends.cudnn.benchmark = False
    if chosen.device == "cpu":
        keep_memory()
    return torch.device(chosen.device)


def keep_memory() -> bool:
    """Makes the C library keep the memory of freed tensors; whether it can (glibc only).

    By default it returns blocks of some 100 KiB and more to the system at once, so that every activation of a
    larger model costs fresh pages, which takes longer than most elementwise operations on it.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    largest = (1 << 31) - 1
    return bool(mallopt(_M_MMAP_THRESHOLD, 1 << 30)) and bool(mallopt(_M_TRIM_THRESHOLD, largest))
