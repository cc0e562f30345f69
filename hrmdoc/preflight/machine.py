"""The machine and the process environment, as far as training depends on them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hrmdoc.monitors.gpu.program import asked
from hrmdoc.monitors.sensor import Absent
from hrmdoc.preflight.config import config_value
from hrmdoc.preflight.ranks import rank_problem
from hrmdoc.record.records import Fact, Value

GIB = 2**30
VARIABLES = (
    "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "PYTORCH_ENABLE_MPS_FALLBACK",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO", "USE_FLASH_ATTN", "DISABLE_COMPILE", "CUDA_VISIBLE_DEVICES", "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NCCL_DEBUG", "NCCL_IB_DISABLE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "SLURM_JOB_ID", "SLURM_NTASKS", "HF_HUB_DISABLE_XET",
)  # fmt: skip
"""Environment variables that training depends on. No other is read, so that no secret gets into a report."""
PACKAGES = (
    "torch", "transformers", "accelerate", "trl", "peft", "datasets", "tokenizers", "deepspeed", "lightning",
    "pytorch-lightning",
    "axolotl", "vllm", "bitsandbytes", "flash-attn", "adam-atan2", "omegaconf", "hydra-core", "numpy",
    "wandb",
)  # fmt: skip
_LOW_WATERMARK = 1.4
_LOGIN = re.compile(r"(?:^|[.-])login\d*(?:[.-]|$)|^login", re.IGNORECASE)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _importable(name: str) -> bool:
    """Whether a top-level module can be found; it is not imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as training sees it. None means that it could not be found out.

    Attributes:
        variables: environment variables.
        gpu_memory_gib: memory of each GPU that the driver lists.
        version: installed version of a package, None when it is not installed; asked of the Python that runs
            hrmdoc.
        importable: whether a module can be found without importing it.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    system: str = "Linux"
    processor: str = "x86_64"
    host: str = ""
    cpu_count: int | None = None
    shm_gib: float | None = None
    disk_free_gib: float | None = None
    open_files: int | None = None
    nvidia_driver: bool = False
    gpu_memory_gib: tuple[float, ...] = ()
    version: Callable[[str], str | None] = _installed
    importable: Callable[[str], bool] = _importable

    @classmethod
    def here(cls, folder: Path) -> Machine:
        """This machine; `folder` says which disk counts."""
        gpus = _gpus()
        return cls(
            variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
            system=platform.system(),
            processor=platform.machine(),
            host=socket.gethostname(),
            cpu_count=_cores(),
            shm_gib=_space(Path("/dev/shm"), total=True),  # noqa: S108 (the size is read, nothing is written)
            disk_free_gib=_space(folder, total=False),
            open_files=_open_files(),
            nvidia_driver=Path("/proc/driver/nvidia/version").exists() or bool(gpus),
            gpu_memory_gib=gpus,
        )


def _cores() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _space(folder: Path, *, total: bool) -> float | None:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return (usage.total if total else usage.free) / GIB


def _open_files() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _gpus() -> tuple[float, ...]:
    """Memory of each NVIDIA GPU in GiB; empty without a driver that answers."""
    query = ("--query-gpu=memory.total", "--format=csv,noheader,nounits")
    try:
        said = asked("nvidia-smi", *query, patience=10.0)
    except Absent:
        return ()
    return tuple(float(line) / 1024 for line in said.split("\n") if re.fullmatch(r"\s*\d{1,12}\s*", line))


def machine_facts(machine: Machine, known: Mapping[str, Fact]) -> Iterator[Fact]:
    """Facts of the machine, and those that follow from the machine and the config together."""
    for name, text in machine.variables.items():
        yield Fact(name, text, "env")
    for name in PACKAGES:
        if version := machine.version(name):
            yield Fact(name, version, "version")
    for key, value in _canonical(machine, known):
        if value is not None:
            yield Fact(key, value)


def _canonical(machine: Machine, known: Mapping[str, Fact]) -> Iterator[tuple[str, Value]]:
    variables = machine.variables
    yield "env.platform", f"{machine.system} {machine.processor}"
    yield "env.cpu_count", machine.cpu_count
    yield "env.omp_num_threads", _leading_number(variables.get("OMP_NUM_THREADS"))
    yield "env.shm_gib", None if machine.system != "Linux" else machine.shm_gib
    yield "env.disk_free_gib", machine.disk_free_gib
    yield "env.open_files", machine.open_files
    yield "env.nvidia_driver", machine.nvidia_driver
    yield "env.rank_problem", rank_problem(variables)
    yield "env.login_node", bool(_LOGIN.search(machine.host)) and "SLURM_JOB_ID" not in variables
    if machine.version("tokenizers"):
        yield "env.tokenizers_parallelism", variables.get("TOKENIZERS_PARALLELISM", "unset").lower()
    device = device_kind(machine, config_value(known, "device", "accelerator"))
    yield "device.kind", device
    if machine.gpu_memory_gib:
        yield "device.gpus", len(machine.gpu_memory_gib)
    if machine.gpu_memory_gib and device == "cuda":
        yield "device.gpu_memory_gib", min(machine.gpu_memory_gib)
    if device == "mps":
        yield "env.mps_fallback", variables.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1"
        yield "env.mps_high_watermark", _leading_number(variables.get("PYTORCH_MPS_HIGH_WATERMARK_RATIO"))
        yield (
            "env.mps_low_watermark",
            _leading_number(variables.get("PYTORCH_MPS_LOW_WATERMARK_RATIO")) or _LOW_WATERMARK,
        )


def device_kind(machine: Machine, asked: Value) -> str:
    """`cuda`, `mps` or `cpu`: what the config asks for, else what the machine has."""
    word = str(asked).split(":")[0].lower() if asked is not None else "auto"
    if word in {"cuda", "gpu"}:
        return "cuda"
    if word in {"mps", "cpu"}:
        return word
    if machine.system == "Darwin" and machine.processor == "arm64":
        return "mps"
    return "cuda" if machine.nvidia_driver else "cpu"


def _leading_number(text: str | None) -> float | None:
    """The value of a numeric environment variable; lists (`OMP_NUM_THREADS=4,2`) count by their first
    entry."""
    try:
        return None if text is None else float(text.split(",")[0])
    except ValueError:
        return None
