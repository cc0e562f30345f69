from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.devices.plan import Machine, Request, plan

CPU = Machine(cpus=2)
GPU = Machine(cuda=True, cuda_bf16=True, flash_attn=True, cpus=16)
MAC = Machine(mps=True, mps_bf16=True, cpus=8)


def test_the_best_device_is_chosen_when_none_is_asked_for() -> None:
    assert [plan(Request(), machine, {}).device for machine in (CPU, GPU, MAC)] == ["cpu", "cuda", "mps"]


@pytest.mark.parametrize(("device", "machine"), [("cuda", CPU), ("mps", CPU), ("cuda", MAC), ("mps", GPU)])
def test_a_device_that_is_not_there_is_refused(device: str, machine: Machine) -> None:
    with pytest.raises(ConfigError, match=f"device={device} is not available"):
        plan(Request(device=device), machine, {})  # type: ignore[arg-type]


def test_a_gpu_trains_compiled_in_bfloat16_with_pinned_memory() -> None:
    chosen = plan(Request(), GPU, {})
    assert (chosen.dtype, chosen.autocast, chosen.scaler, chosen.pin_memory) == (
        "bfloat16",
        True,
        False,
        True,
    )
    assert (chosen.compile_backend, chosen.compile_mode, chosen.matmul_precision) == (
        "inductor",
        "reduce-overhead",
        "high",
    )


def test_only_float16_on_a_gpu_scales_the_loss() -> None:
    assert plan(Request(dtype="float16"), GPU, {}).scaler
    assert not plan(Request(dtype="float32"), GPU, {}).scaler
    assert not plan(Request(dtype="float32"), GPU, {}).autocast


def test_a_gpu_without_bfloat16_says_what_it_does_instead() -> None:
    old = Machine(cuda=True)
    assert plan(Request(), old, {}).dtype == "float32"
    chosen = plan(Request(dtype="bfloat16"), old, {})
    assert (chosen.dtype, chosen.scaler) == ("float16", True)
    assert "no bfloat16" in chosen.warnings[0]


def test_a_cpu_trains_in_float32_uncompiled() -> None:
    chosen = plan(Request(), CPU, {})
    assert (chosen.dtype, chosen.autocast, chosen.scaler, chosen.pin_memory, chosen.compile_backend) == (
        "float32",
        False,
        False,
        False,
        None,
    )
    assert plan(Request(dtype="bfloat16"), CPU, {}).dtype == "bfloat16"


def test_mps_trains_in_float32_unless_bfloat16_is_asked_for_and_supported() -> None:
    assert plan(Request(), MAC, {}).dtype == "float32"
    assert plan(Request(dtype="bfloat16"), MAC, {}).dtype == "bfloat16"
    old = plan(Request(dtype="bfloat16"), Machine(mps=True), {})
    assert old.dtype == "float32"
    assert "macOS 14" in old.warnings[0]
    assert plan(Request(dtype="float16"), MAC, {}).dtype == "float32"


def test_mps_never_pins_memory_or_autocasts_and_compiles_with_aot_eager() -> None:
    chosen = plan(Request(dtype="bfloat16", compile=True), MAC, {})
    assert (chosen.pin_memory, chosen.autocast, chosen.compile_backend) == (False, False, "aot_eager")


def test_mps_gets_the_fallback_flag_and_a_low_watermark_not_above_the_high_one() -> None:
    env = dict(plan(Request(), MAC, {}).env)
    assert env["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"
    assert (
        float(env["PYTORCH_MPS_LOW_WATERMARK_RATIO"]) <= float(env["PYTORCH_MPS_HIGH_WATERMARK_RATIO"]) == 0.9
    )


def test_a_users_own_watermarks_stay_unless_pytorch_would_refuse_them() -> None:
    fine = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.5"}
    assert not [key for key, _ in plan(Request(), MAC, fine).env if "WATERMARK" in key]
    wrong = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "1.4"}
    assert dict(plan(Request(), MAC, wrong).env)["PYTORCH_MPS_LOW_WATERMARK_RATIO"] == "0.7"
    unlimited = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0"}
    assert not [key for key, _ in plan(Request(), MAC, unlimited).env if "WATERMARK" in key]


def test_disable_compile_counts_whatever_its_value() -> None:
    assert plan(Request(compile=True), GPU, {"DISABLE_COMPILE": "0"}).compile_backend is None
    assert plan(Request(compile=False), GPU, {}).compile_backend is None
    assert plan(Request(compile=True), CPU, {}).compile_backend == "inductor"


def test_accumulated_gradients_are_not_put_into_cuda_graphs() -> None:
    chosen = plan(Request(grad_accum=2), GPU, {})
    assert (chosen.compile_backend, chosen.compile_mode) == ("inductor", None)


@pytest.mark.parametrize("value", ["", "0"])
def test_flash_attn_is_not_used_unless_asked_for(value: str) -> None:
    assert plan(Request(), GPU, {"USE_FLASH_ATTN": value}).attention == "sdpa"
    assert not plan(Request(), GPU, {"USE_FLASH_ATTN": value}).warnings


@pytest.mark.parametrize(
    ("machine", "dtype", "why"),
    [
        (CPU, "auto", "CUDA only"),
        (Machine(cuda=True, cuda_bf16=True), "auto", "not installed"),
        (GPU, "float32", "needs float16 or bfloat16"),
    ],
)
def test_flash_attn_that_cannot_run_falls_back_and_says_why(machine: Machine, dtype: str, why: str) -> None:
    chosen = plan(Request(dtype=dtype), machine, {"USE_FLASH_ATTN": "1"})  # type: ignore[arg-type]
    assert chosen.attention == "sdpa"
    assert why in chosen.attention_reason
    assert any(why in warning for warning in chosen.warnings)


def test_flash_attn_is_used_where_it_is_asked_for_and_can_run() -> None:
    chosen = plan(Request(), GPU, {"USE_FLASH_ATTN": "1"})
    assert chosen.attention == "flash"
    assert not chosen.warnings


def test_as_many_threads_as_cores_is_no_warning() -> None:
    assert plan(Request(), CPU, {"OMP_NUM_THREADS": "2"}).warnings == ()


def test_more_threads_than_cores_are_honoured_and_the_better_number_is_named() -> None:
    chosen = plan(Request(hidden_size=32), CPU, {"OMP_NUM_THREADS": "8"})
    assert chosen.threads == 8
    assert "OMP_NUM_THREADS=8 on 2 cores" in chosen.warnings[0]
    assert "OMP_NUM_THREADS=1 is faster" in chosen.warnings[0]
    assert "threads=2 is faster" in plan(Request(threads=9), CPU, {}).warnings[0]


def test_a_small_model_on_a_cpu_gets_one_thread_and_a_large_one_torchs_choice() -> None:
    assert plan(Request(hidden_size=32), CPU, {}).threads == 1
    assert plan(Request(hidden_size=512), CPU, {}).threads is None


def native(
    machine: Machine = CPU, env: dict[str, str] | None = None, **changes: Any
) -> tuple[bool, str, tuple[str, ...]]:
    chosen = plan(Request(**{"hidden_size": 32, **changes}), machine, env or {})
    return chosen.native, chosen.native_reason, chosen.warnings


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"native": False}, "native=false"),
        ({"hidden_size": 256, "threads": 1}, "beyond a hidden size of 64"),
        ({"hidden_size": 256, "threads": 1, "native_pace": 0.52}, "do 52% of it here"),
        ({"threads": 2}, "one thread, not 2"),
        ({"hidden_size": 80, "threads": 1}, "beyond a hidden size of 64"),
        ({"hidden_size": 80, "native_pace": 1.0, "threads": 2}, "one thread, not 2"),
        ({"dtype": "bfloat16"}, "float32"),
        ({"compile": True}, "compiled"),
        ({"native_obstacle": "causal"}, "causal"),
        ({"machine": GPU}, "CPU only"),
        ({"machine": MAC}, "CPU only"),
        ({"env": {"OMP_NUM_THREADS": "2"}}, "one thread, not 2"),
    ],
)
def test_the_native_kernels_are_left_alone_where_they_cannot_help_without_a_warning(
    changes: dict[str, Any], why: str
) -> None:
    taken, reason, warnings = native(**changes)
    assert not taken
    assert why in reason
    assert warnings == ()


def test_the_native_kernels_train_a_small_model_on_one_cpu_thread() -> None:
    assert native()[0]
    assert native(Machine(cpus=1), hidden_size=64)[0]
    assert native(hidden_size=64, threads=1)[0]
    assert native(hidden_size=512, threads=1, native_pace=0.97)[0]


def test_native_kernels_that_are_asked_for_run_whatever_the_size_or_the_reason_is_a_warning() -> None:
    assert native(native=True, hidden_size=1024, threads=2) == (True, "asked for", ())
    chosen = plan(Request(native=True, native_obstacle="it is causal"), CPU, {})
    assert not chosen.native
    assert "it is causal" in chosen.warnings[0]


def test_determinism_asks_for_full_precision_and_the_cublas_workspace() -> None:
    chosen = plan(Request(deterministic=True), GPU, {})
    assert chosen.matmul_precision == "highest"
    assert dict(chosen.env)["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
