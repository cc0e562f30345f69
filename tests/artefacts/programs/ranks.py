"""Two ranks on gloo: `ranks.py crash` (rank 1 raises; run under torchrun) or `ranks.py recorder` (rank 1
skips a collective)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def crash() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for step in range(1, 41):
        loss = torch.tensor(3.0 / step)
        dist.all_reduce(loss, op=dist.ReduceOp.AVG if dist.get_backend() == "nccl" else dist.ReduceOp.SUM)
        if step % 5 == 0:
            print(f"step {step} | loss {loss.item() / 2:.4f} | lr 1e-3", flush=True)
        if rank == 1 and step == 22:
            raise RuntimeError("the labels of shard 7 are empty")
    dist.destroy_process_group()


def recorder() -> None:
    """Every rank leaves its flight record; rank 1 stands one collective behind."""
    from torch._C._distributed_c10d import _dump_fr_trace

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for _ in range(5):
        dist.all_reduce(torch.ones(4))
    if rank == 0:
        dist.all_reduce(torch.ones(8), async_op=True)
    time.sleep(1)
    Path(f"nccl_trace_rank_{rank}").write_bytes(_dump_fr_trace())
    os._exit(0)


torch.set_num_threads(1)
{"crash": crash, "recorder": recorder}[sys.argv[1]]()
