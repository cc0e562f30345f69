"""Two ranks under torchrun with gloo: data-parallel steps, and faults of a single rank."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

STEPS, ONSET, TIMEOUT_S = 80, 40, 6.0


def disturb(fault: str, rank: int, step: int, x: torch.Tensor) -> None:
    """What rank 1 does at `ONSET`."""
    if rank != 1 or step != ONSET:
        return
    if fault == "ranks-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "ranks-hung":
        time.sleep(TIMEOUT_S * 3)
    if fault == "ranks-uneven":
        raise StopIteration
    if fault == "ranks-exception":
        raise KeyError("input_ids")
    if fault == "ranks-bad-label":
        nn.functional.cross_entropy(x[:, :4], torch.full((len(x),), 7))


def main() -> None:
    """All-reduces the gradients of a linear model by hand."""
    fault = sys.argv[1]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT_S))
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    random = torch.Generator().manual_seed(rank)
    try:
        for step in range(1, STEPS + 1):
            x = torch.randn(32, 16, generator=random)
            disturb(fault, rank, step, x)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            optimizer.step()
            if rank == 0 and step % 4 == 0:
                print(f"[rank0] step {step}/{STEPS} loss {loss.item():.4f} lr 0.05", flush=True)
    except StopIteration:
        print(f"[rank{rank}] data exhausted after {ONSET} steps", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
