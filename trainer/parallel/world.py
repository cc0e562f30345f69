"""The processes of one run: who this one is, and what they say to one another.

PyTorch's own engine does the work: torchrun starts the processes and restarts them, gloo carries what lives
on the host and NCCL what lives on a GPU. A run of one process uses the same calls, which then cost nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from hrmdoc.errors import ConfigError, HrmdocError

from ..devices.plan import Kind
from ..launch.env import world_size
from .clock import Clock

T = TypeVar("T")
BUCKET = 64 << 20  # bytes of gradients that travel together: few enough messages, and little memory on top
NEEDED = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass
class World:
    """This process among the processes of the run.

    Attributes:
        rank, size: which of how many.
        local_rank: which on this machine, so which of its GPUs.
        clock: counts the time that collectives take, with the rest of a step.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    clock: Clock = field(default_factory=Clock)

    @property
    def chief(self) -> bool:
        """Whether this process writes the run directory."""
        return self.rank == 0

    def agree(self, *flags: int) -> tuple[int, ...]:
        """The highest of each flag over all processes, on the host: a GPU is not waited for."""
        if self.size == 1:
            return flags
        highest = torch.tensor(flags)
        with self.clock.section("comm"):
            dist.all_reduce(highest, dist.ReduceOp.MAX)
        return tuple(int(flag) for flag in highest)

    def share(self, value: T) -> T:
        """The first process's `value`, in every process."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def from_first(self, make: Callable[[], T]) -> T:
        """What `make` gives in the first process, in every process; or the error that it raises there.

        Raises:
            HrmdocError: `make` raised it in the first process.
        """
        if self.size == 1:
            return make()
        found: tuple[T | None, HrmdocError | None] = (None, None)
        if self.chief:
            try:
                found = (make(), None)
            except HrmdocError as error:
                found = (None, error)
        value, failed = self.share(found)
        if failed is not None:
            raise failed
        return cast(T, value)

    def wait(self) -> None:
        """Until every process has come here."""
        self.agree(0)

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrites `tensors` by those of the first process."""
        if self.size > 1:
            with torch.no_grad():
                for tensor in tensors:
                    dist.broadcast(tensor.data, src=0)

    def add_up(self, values: Tensor) -> Tensor:
        """The sum of `values` over the processes, in place."""
        if self.size > 1:
            with self.clock.section("comm"):
                dist.all_reduce(values)
        return values

    def add_up_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Sums the gradients over the processes in flat buckets. The loss is divided by the global batch, so
        a sum is right."""
        if self.size == 1:
            return
        with self.clock.section("comm"), torch.no_grad():
            for bucket in _buckets([p.grad for p in parameters if p.grad is not None]):
                flat = torch.cat([grad.reshape(-1) for grad in bucket])
                dist.all_reduce(flat)
                parts = torch.split(flat, [grad.numel() for grad in bucket])
                torch._foreach_copy_(
                    bucket, [part.view_as(grad) for part, grad in zip(parts, bucket, strict=True)]
                )

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in order of rank, in every process."""
        if self.size == 1:
            return rows
        with self.clock.section("comm"):
            parts = [torch.empty_like(rows) for _ in range(self.size)]
            dist.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    def part(self, rows: Tensor) -> Tensor:
        """This process's part of rows that `gather` put together."""
        return rows.chunk(self.size)[self.rank] if self.size > 1 else rows

    def close(self) -> None:
        """Leaves the group, in good order: only when every process comes to its end."""
        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()


def start(kind: Kind, timeout_s: int, env: Mapping[str, str]) -> World:
    """Joins the processes that torchrun started, by its environment; a process on its own is a world of one.

    Raises:
        ConfigError: the environment is incomplete, or this machine has too few GPUs for its processes.
    """
    size = world_size(env)
    if size == 1:
        return World(clock=Clock(cuda=kind == "cuda"))
    missing = [name for name in NEEDED if not env.get(name)]
    if missing:
        raise ConfigError(
            f"WORLD_SIZE={size}, but {missing[0]} is not set",
            hint="start several processes with torchrun --nproc-per-node N -m hrmdoc.trainer train ..., "
            "or unset WORLD_SIZE",
        )
    if kind == "mps":
        raise ConfigError("several processes cannot share an Apple GPU", hint="device=cpu, or one process")
    rank, local = int(env["RANK"]), int(env["LOCAL_RANK"])
    if kind == "cuda":
        if local >= torch.cuda.device_count():
            raise ConfigError(
                f"process {rank} needs a GPU of its own, but the machine has {torch.cuda.device_count()}",
                hint=f"torchrun --nproc-per-node {torch.cuda.device_count()}",
            )
        torch.cuda.set_device(local)
    if not dist.is_initialized():
        # Some default arguments there are the group as it is at import. torch's optimizers import it, and a
        # group that a default argument keeps is never destroyed: its threads would run into the end of the
        # interpreter, which aborts the process.
        importlib.import_module("torch.distributed.nn.functional")
        backend = "cpu:gloo,cuda:nccl" if kind == "cuda" else "gloo"
        timeout = timedelta(seconds=timeout_s)
        store, _, _ = next(iter(rendezvous("env://", rank, size, timeout=timeout)))
        # torchrun keeps its store over restarts, with the addresses of processes that are gone.
        fresh = PrefixStore(f"start{env.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        dist.init_process_group(backend, store=fresh, rank=rank, world_size=size, timeout=timeout)
    return World(rank, size, local, Clock(cuda=kind == "cuda"))


def settings(kind: Kind, timeout_s: int, env: Mapping[str, str]) -> str:
    """One line on how the processes talk, with the NCCL settings that are in force."""
    if kind != "cuda":
        return f"gloo, timeout {timeout_s} s"
    version = ".".join(str(part) for part in torch.cuda.nccl.version())  # type: ignore[no-untyped-call]
    given = [
        f"{key}={value}" for key, value in sorted(env.items()) if key.startswith(("NCCL_", "TORCH_NCCL_"))
    ]
    in_force = " ".join(given) or "NCCL_* unset (NCCL_DEBUG=INFO shows the transports)"
    return f"NCCL {version}, timeout {timeout_s} s, {in_force}"


def local(tensor: Tensor) -> Tensor:
    """This process's part of `tensor` without its history, sharing its memory; a tensor that is not split is
    whole."""
    part: Tensor | None = getattr(
        tensor.detach(), "_local_tensor", None
    )  # the attribute of a split tensor (DTensor)
    return tensor.detach() if part is None else part


def _buckets(grads: list[Tensor]) -> list[list[Tensor]]:
    """`grads` in order, in groups of one dtype and of about `BUCKET` bytes."""
    buckets: list[list[Tensor]] = []
    room = 0
    for grad in grads:
        size = grad.numel() * grad.element_size()
        if not buckets or size > room or grad.dtype != buckets[-1][0].dtype:
            buckets.append([])
            room = BUCKET
        buckets[-1].append(grad)
        room -= size
    return buckets
