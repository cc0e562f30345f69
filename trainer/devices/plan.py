"""What a run does on the machine it finds itself on: device, precision, attention, compilation, threads and
environment flags.

`plan` is a pure function of what is asked for, what the machine can do and the environment, so that every
device's plan is tested without having the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hrmdoc.errors import ConfigError

from ..config.schema import DeviceChoice, DtypeChoice

if TYPE_CHECKING:
    pass

Kind = Literal["cpu", "cuda", "mps"]
Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "flash"]
MPS_HIGH_WATERMARK = 0.9  # of the recommended memory; the rest stays with the desktop
SMALL_MODEL = 64
"""Hidden size up to which one CPU thread is fastest: an operator's work is less than waking a thread."""
NATIVE_MODEL = 64
"""Hidden size up to which the kernels in C are known to be faster than PyTorch's operations, on every
processor that was tried."""
NATIVE_PACE = 0.9
"""Share of the library's rate of products from which they are faster beyond it: they save a tenth and more
around the products, and at half of the rate a fifth was lost."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine can do."""

    cuda: bool = False
    mps: bool = False
    cuda_bf16: bool = False
    mps_bf16: bool = False
    flash_attn: bool = False
    cpus: int = 1
    name: str = "cpu"
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What the configuration asks for. `compile` None lets the device decide; `processes` share the machine.

    `native_obstacle` says why the kernels in C cannot train the model, whatever the device; `native_pace` how
    fast they multiply matrices as a share of PyTorch's library, None where nobody measured it.
    """

    device: DeviceChoice = "auto"
    dtype: DtypeChoice = "auto"
    compile: bool | None = None
    native: bool | Literal["auto"] = "auto"
    native_obstacle: str | None = None
    native_pace: float | None = None
    threads: int | None = None
    deterministic: bool = False
    hidden_size: int = 512
    grad_accum: int = 1
    processes: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done.

    Attributes:
        dtype: of activations; parameters are always float32.
        autocast: run the forward pass under `torch.amp.autocast`.
        scaler: scale the loss, because float16 gradients underflow.
        num_workers: batches prepared ahead by a background thread (0: none; a Sudoku batch is one array
            slice).
        native, native_reason: whether the levels run in the project's own C kernels (`native`), and why.
        compile_backend: None leaves the model uncompiled; `compile_mode` goes with it.
        attention, attention_reason: which attention runs, and why.
        threads: None leaves the number to torch, which reads OMP_NUM_THREADS.
        env: variables to set before the device is first used.
        warnings: what the user should know, one sentence each.
    """

    device: Kind
    dtype: Dtype
    autocast: bool
    scaler: bool
    pin_memory: bool
    num_workers: int
    compile_backend: str | None
    compile_mode: str | None
    attention: Attention
    attention_reason: str
    threads: int | None
    matmul_precision: Literal["highest", "high"]
    deterministic: bool
    env: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    native: bool = False
    native_reason: str = ""


def plan(request: Request, machine: Machine, env: Mapping[str, str]) -> Plan:
    """The plan for `request` on `machine` under the environment `env`.

    Raises:
        ConfigError: a device is asked for that the machine does not have.
    """
    warnings: list[str] = []
    kind = _device(request.device, machine)
    dtype = _dtype(kind, request.dtype, machine, warnings)
    attention, reason = _attention(kind, dtype, machine, env, warnings)
    backend, mode = _compilation(kind, request, env)
    threads = _threads(kind, request, machine, env, warnings)
    native, why_native = _native(kind, dtype, backend is not None, threads or machine.cpus, request, warnings)
    return Plan(
        device=kind,
        dtype=dtype,
        autocast=kind == "cuda" and dtype != "float32",
        scaler=kind == "cuda" and dtype == "float16",
        pin_memory=kind == "cuda",
        num_workers=batches_ahead(kind, machine.cpus // max(1, request.processes)),
        compile_backend=backend,
        compile_mode=mode,
        attention=attention,
        attention_reason=reason,
        threads=threads,
        matmul_precision="highest" if request.deterministic else "high",
        deterministic=request.deterministic,
        env=_environment(kind, request, env),
        warnings=tuple(warnings),
        native=native,
        native_reason=why_native,
    )


def batches_ahead(kind: Kind, cpus: int) -> int:
    """How many batches a background thread keeps ready, for a process that has `cpus` cores to itself.

    A GPU must find the next batch waiting, and more in reserve evens out a disk that stutters. On a CPU the
    thread would take its time from the step itself; a Mac's has cores to spare.
    """
    if kind == "cuda":
        return max(1, min(4, cpus // 2))
    return 1 if kind == "mps" and cpus >= 4 else 0


def _device(asked: DeviceChoice, machine: Machine) -> Kind:
    if asked == "auto":
        return "cuda" if machine.cuda else "mps" if machine.mps else "cpu"
    if (asked == "cuda" and not machine.cuda) or (asked == "mps" and not machine.mps):
        raise ConfigError(
            f"device={asked} is not available on this machine", hint="leave device out, or use device=cpu"
        )
    return asked


def _dtype(kind: Kind, asked: DtypeChoice, machine: Machine, warnings: list[str]) -> Dtype:
    """bfloat16 on a GPU that has it; float32 elsewhere, because CPUs are slower in bfloat16 and MPS autocast
    is not stable."""
    if kind == "cuda":
        if asked == "bfloat16" and not machine.cuda_bf16:
            warnings.append("this GPU has no bfloat16: training in float16 with loss scaling instead")
            return "float16"
        return ("bfloat16" if machine.cuda_bf16 else "float32") if asked == "auto" else asked
    if asked == "auto":
        return "float32"
    if asked == "float16":
        warnings.append(
            f"float16 is not used on {kind}: there is no loss scaling for it; training in float32"
        )
        return "float32"
    if asked == "bfloat16" and kind == "mps" and not machine.mps_bf16:
        warnings.append("bfloat16 on MPS needs macOS 14 or newer: training in float32")
        return "float32"
    return asked


def _attention(
    kind: Kind, dtype: Dtype, machine: Machine, env: Mapping[str, str], warnings: list[str]
) -> tuple[Attention, str]:
    if env.get("USE_FLASH_ATTN", "0") in ("", "0"):
        return "sdpa", "PyTorch's scaled dot-product attention (USE_FLASH_ATTN=1 asks for flash-attn)"
    obstacle = (
        f"flash-attn runs on CUDA only, not on {kind}"
        if kind != "cuda"
        else "flash-attn is not installed"
        if not machine.flash_attn
        else "flash-attn needs float16 or bfloat16"
        if dtype == "float32"
        else None
    )
    if obstacle is None:
        return "flash", "flash-attn, asked for by USE_FLASH_ATTN"
    reason = f"{obstacle}: using PyTorch's scaled dot-product attention, which gives the same result"
    warnings.append(f"USE_FLASH_ATTN is set, but {reason}")
    return "sdpa", reason


def _compilation(kind: Kind, request: Request, env: Mapping[str, str]) -> tuple[str | None, str | None]:
    """HRM compiles unless DISABLE_COMPILE is set, to whatever value. Off a GPU, compiling costs more than a
    short run."""
    wanted = request.compile if request.compile is not None else kind == "cuda"
    if not wanted or "DISABLE_COMPILE" in env:
        return None, None
    if kind != "cuda":
        return ("aot_eager" if kind == "mps" else "inductor"), None
    # CUDA graphs reuse the memory of gradients that accumulation still needs.
    return "inductor", "reduce-overhead" if request.grad_accum == 1 else None


def _threads(
    kind: Kind, request: Request, machine: Machine, env: Mapping[str, str], warnings: list[str]
) -> int | None:
    small = request.hidden_size <= SMALL_MODEL
    better = 1 if small else machine.cpus
    given, name = request.threads, "threads"
    if given is None and env.get("OMP_NUM_THREADS", "").isdigit():
        given, name = int(env["OMP_NUM_THREADS"]), "OMP_NUM_THREADS"
    if given is None:
        return better if kind == "cpu" and small else None
    if given > machine.cpus:
        cores = "1 core" if machine.cpus == 1 else f"{machine.cpus} cores"
        warnings.append(
            f"{name}={given} on {cores}: the threads wait for one another; {name}={better} is faster"
        )
    return given


def _native(
    kind: Kind, dtype: Dtype, compiled: bool, threads: int, request: Request, warnings: list[str]
) -> tuple[bool, str]:
    """Whether the kernels in C train the model, which they do to the same result but for rounding, and
    why."""
    if request.native is False:
        return False, "native=false"
    obstacle = (
        "they run on the CPU only"
        if kind != "cpu"
        else "they compute in float32"
        if dtype != "float32"
        else "the model is compiled"
        if compiled
        else request.native_obstacle
    )
    if request.native is True:
        if obstacle is not None:
            warnings.append(
                f"native=true, but not with this run ({obstacle}): training with PyTorch's operations"
            )
        return obstacle is None, obstacle or "asked for"
    obstacle = obstacle or _slower(threads, request)
    why = "a small model on one CPU thread"
    if request.hidden_size > NATIVE_MODEL:
        why = "one CPU thread, on which they multiply as fast as PyTorch's library"
    return obstacle is None, obstacle or why


def _slower(threads: int, request: Request) -> str | None:
    """Why the kernels in C would be slower than PyTorch's operations, None where they are not."""
    if threads > 1:
        return f"they use one thread, not {threads}"
    if request.hidden_size <= NATIVE_MODEL or (request.native_pace or 0.0) >= NATIVE_PACE:
        return None
    known = "" if request.native_pace is None else f", and do {request.native_pace:.0%} of it here"
    return f"beyond a hidden size of {NATIVE_MODEL} they must multiply as fast as PyTorch's library{known}"


def _environment(kind: Kind, request: Request, env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Only what is missing or would stop the run; a user's own value stays."""
    wanted = {"TOKENIZERS_PARALLELISM": "false"}
    if kind == "mps":
        wanted["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
        wanted["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = str(MPS_HIGH_WATERMARK)
    if kind == "cuda" and request.deterministic:
        wanted["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    missing = {key: value for key, value in wanted.items() if key not in env}
    if kind == "mps":
        high = env.get("PYTORCH_MPS_HIGH_WATERMARK_RATIO", str(MPS_HIGH_WATERMARK))
        low = env.get("PYTORCH_MPS_LOW_WATERMARK_RATIO")
        # PyTorch refuses to start with LOW above HIGH, and LOW's own default is 1.4. A HIGH of 0 means no
        # limit.
        if _ratio(high) > 0 and (low is None or _ratio(low) > _ratio(high)):
            missing["PYTORCH_MPS_LOW_WATERMARK_RATIO"] = high
    return tuple(sorted(missing.items()))


def _ratio(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return MPS_HIGH_WATERMARK
