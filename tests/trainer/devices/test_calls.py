"""What is called on a GPU and on a Mac, with their capabilities faked: no such device is needed, and
none of it says how fast or how exact the device is."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.devices import machine
from hrmdoc.trainer.devices.plan import Machine, Request, plan
from hrmdoc.trainer.loop.update import precision
from hrmdoc.trainer.model.attention import Attention, check_backend
from hrmdoc.trainer.parallel import world as parallel
from hrmdoc.trainer.parallel.clock import Clock
from hrmdoc.trainer.state import rng
from hrmdoc.trainer.state.feed import Feed

GPU = Machine(cuda=True, cuda_bf16=True, flash_attn=True, cpus=16)
MAC = Machine(mps=True, mps_bf16=True, cpus=8)


@pytest.fixture
def calls() -> list[Any]:
    return []


def recorder(calls: list[Any], answer: Any = None) -> Any:
    """A function that keeps what it is called with."""

    def called(*positional: Any, **named: Any) -> Any:
        calls.append((positional, named))
        return answer

    return called


@pytest.mark.parametrize(("asked", "dtype"), [("auto", torch.bfloat16), ("float16", torch.float16)])
def test_the_forward_pass_on_a_gpu_runs_under_autocast_in_the_planned_precision(
    asked: Any, dtype: torch.dtype, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.amp.autocast_mode.autocast", recorder(calls, "autocast"))
    assert precision(plan(Request(dtype=asked), GPU, {})) == "autocast"
    assert calls == [(("cuda",), {"dtype": dtype})]


@pytest.mark.parametrize(
    ("request_", "where"),
    [(Request(dtype="float32"), GPU), (Request(dtype="bfloat16"), MAC), (Request(), Machine())],
)
def test_nothing_else_runs_under_autocast(
    request_: Request, where: Machine, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.amp.autocast_mode.autocast", recorder(calls))
    assert isinstance(precision(plan(request_, where, {})), nullcontext)
    assert calls == []


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attn_gets_positions_before_heads_and_pytorchs_attention_the_other_way_round(
    causal: bool, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = ModuleType("flash_attn")
    fake.flash_attn_func = lambda q, k, v, **named: (recorder(calls)(q, k, v, **named), v)[1]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", fake)
    check_backend("flash", torch.bfloat16)
    x_BSD = torch.randn(2, 5, 8, dtype=torch.bfloat16)
    Attention(8, 4, "flash", causal).to(torch.bfloat16)(x_BSD, None)
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda q, k, v, **named: (recorder(calls)(q, k, v, **named), real(q, k, v, **named))[1],
    )
    Attention(8, 4, "sdpa", causal).to(torch.bfloat16)(x_BSD, None)
    (flash, flash_named), (sdpa, sdpa_named) = calls
    assert {tuple(part.shape) for part in flash} == {(2, 5, 4, 2)}
    assert {tuple(part.shape) for part in sdpa} == {(2, 4, 5, 2)}
    assert (flash_named, sdpa_named) == ({"causal": causal}, {"is_causal": causal})


def test_flash_attn_is_refused_in_float32_and_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="float16 or bfloat16 only"):
        check_backend("flash", torch.float32)
    monkeypatch.setitem(sys.modules, "flash_attn", None)
    with pytest.raises(ConfigError, match="cannot be used"):
        check_backend("flash", torch.bfloat16)


@pytest.mark.parametrize(
    ("where", "accum", "expected"),
    [
        (GPU, 1, {"backend": "inductor", "mode": "reduce-overhead", "dynamic": False}),
        (GPU, 2, {"backend": "inductor", "mode": None, "dynamic": False}),
        (MAC, 1, {"backend": "aot_eager", "mode": None, "dynamic": False}),
    ],
)
def test_the_core_is_compiled_with_cuda_graphs_where_gradients_do_not_accumulate(
    where: Machine, accum: int, expected: dict[str, Any], lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hrmdoc.trainer.model.core import Core
    from hrmdoc.trainer.setup import make

    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(Core, "compile", lambda _, **named: seen.append(named))
    chosen = plan(Request(compile=True, grad_accum=accum), where, {})
    here = replace(chosen, device="cpu", dtype="float32", autocast=False, pin_memory=False, num_workers=0)
    monkeypatch.setattr(make, "make_plan", lambda *_: here)
    lab.job()
    assert seen == [expected]


def test_processes_on_gpus_join_over_nccl_each_on_its_own_device(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[Any] = []
    store = torch.distributed.HashStore()
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    monkeypatch.setattr("torch.cuda.set_device", devices.append)
    monkeypatch.setattr(parallel, "rendezvous", lambda *_, **__: iter([(store, 5, 8)]))
    monkeypatch.setattr(parallel.dist, "is_initialized", lambda: False)
    monkeypatch.setattr(parallel.dist, "init_process_group", recorder(calls))
    env = {**dict.fromkeys(parallel.NEEDED, "0"), "WORLD_SIZE": "8", "RANK": "5", "LOCAL_RANK": "1"}
    joined = parallel.start("cuda", 90, {**env, "TORCHELASTIC_RESTART_COUNT": "2"})
    ((backend,), named) = calls[0]
    assert (backend, devices) == ("cpu:gloo,cuda:nccl", [1])
    assert (named["rank"], named["world_size"], named["timeout"]) == (5, 8, timedelta(seconds=90))
    named["store"].set("a", "b")
    assert store.get("start2/a") == b"b"
    assert (joined.rank, joined.size, joined.clock.cuda) == (5, 8, True)
    with pytest.raises(ConfigError, match="needs a GPU of its own, but the machine has 4"):
        parallel.start("cuda", 90, {**env, "LOCAL_RANK": "4"})


class Boards:
    """One batch, again and again."""

    def __iter__(self) -> Boards:
        return self

    def __next__(self) -> dict[str, torch.Tensor]:
        return {"inputs": torch.zeros(2, 4, dtype=torch.int32)}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


@pytest.mark.parametrize("pin", [True, False])
def test_batches_go_to_the_device_through_pinned_memory_without_waiting(
    pin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: list[torch.Tensor] = []
    moved: list[tuple[Any, ...]] = []

    def pins(self: torch.Tensor) -> torch.Tensor:
        pinned.append(self)
        return self

    monkeypatch.setattr(torch.Tensor, "pin_memory", pins)
    to = torch.Tensor.to

    def moves(self: torch.Tensor, device: torch.device, non_blocking: bool) -> torch.Tensor:
        moved.append((device.type, non_blocking))
        return to(self, device, non_blocking=non_blocking)

    monkeypatch.setattr(torch.Tensor, "to", moves)
    batch = Feed(Boards(), torch.device("meta"), pin=pin).next()
    assert batch["inputs"].device.type == "meta"
    assert (len(pinned), moved) == (int(pin), [("meta", pin)])


def test_the_machine_is_asked_for_bfloat16_that_is_no_emulation(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", recorder(calls, False))
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "V100")
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _: SimpleNamespace(total_memory=16 << 30))
    found = machine.probe()
    assert (found.cuda, found.cuda_bf16, found.name, found.memory_bytes) == (True, False, "V100", 16 << 30)
    assert calls == [((), {"including_emulation": False})]
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    monkeypatch.setattr("torch.backends.mps.is_macos_or_newer", lambda major, _: major < 14)
    mac = machine.probe()
    assert (mac.mps, mac.mps_bf16, mac.name) == (True, False, "Apple GPU")


def test_the_environment_is_set_before_the_device_is_used_and_determinism_only_warns(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("use_deterministic_algorithms", "set_float32_matmul_precision", "set_num_threads"):
        monkeypatch.setattr(torch, name, recorder(calls))
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    monkeypatch.setattr(os, "environ", {})
    device = machine.apply(plan(Request(deterministic=True), GPU, {}))
    assert (device.type, os.environ["CUBLAS_WORKSPACE_CONFIG"]) == ("cuda", ":4096:8")
    assert calls == [(("highest",), {}), ((True,), {"warn_only": True})]
    assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == (True, False)
    assert machine.apply(plan(Request(), MAC, {})).type == "mps"
    assert os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"


def test_sections_on_a_gpu_are_timed_by_its_own_events_and_waiting_for_data_by_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter(range(0, 9000, 250))

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.at: int | None = None
            self.waited = False

        def record(self) -> None:
            self.at = next(now)

        def synchronize(self) -> None:
            self.waited = True

        def elapsed_time(self, end: Event) -> float:
            assert end.waited, "the host must wait for the event before it reads it"
            assert self.at is not None
            assert end.at is not None
            return end.at - self.at

    monkeypatch.setattr("torch.cuda.Event", Event)
    clock = Clock(cuda=True)
    with clock.section("compute"), clock.section("comm"):
        pass
    with clock.section("data"):
        pass
    spent = clock.take()
    assert (spent["compute"], spent["comm"]) == (0.5, 0.25)
    assert 0 <= spent["data"] < 0.2


def test_the_gpus_own_generator_is_kept_and_put_back(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = torch.arange(4, dtype=torch.uint8)
    monkeypatch.setattr("torch.cuda.get_rng_state", lambda: kept)
    monkeypatch.setattr("torch.cuda.set_rng_state", lambda state: calls.append(state))
    host = torch.Generator()
    on_gpu: Any = SimpleNamespace(
        device=torch.device("cuda"), get_state=host.get_state, set_state=host.set_state
    )
    state = rng.rng_state(on_gpu)
    rng.set_rng_state(on_gpu, state)
    assert calls == [kept]
    assert "cuda" not in rng.rng_state(host)
