"""Runs of several processes for the tests: torch is imported once, then each run forks its processes, as
torchrun does.

`python worlds.py '[{"size": 2, "words": [...], "signal": ["SIGTERM", 0, 4]}, ...]'` prints the processes'
exit statuses for each run. A `signal` is sent by process 0 to process `[1]` of the run when it is about to
look into its inbox after step `[2]`. `backend` compiles the model with it, whatever the machine would take.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

LEFT_BEHIND = 99  # the status of a process that ended well but has not left the process group


def launch(*runs: dict[str, Any], timeout: float = 300) -> tuple[list[list[int]], str]:
    """Executes the runs one after the other; the statuses of their processes, and what they wrote to
    stderr."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(runs)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def main() -> None:
    import torch  # noqa: F401

    from hrmdoc.trainer.setup import make  # noqa: F401

    print(json.dumps([fork(**run) for run in json.loads(sys.argv[1])]))


def fork(
    size: int, words: list[str], signal: list[Any] | None = None, backend: str | None = None
) -> list[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    from hrmdoc.trainer.devices import plan

    children = []
    for rank in range(size):
        child = os.fork()
        if child == 0:
            names = {
                "RANK": rank,
                "LOCAL_RANK": rank,
                "WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            os.environ.update({name: str(value) for name, value in names.items()} if size > 1 else {})
            if backend is not None:
                plan._compilation = lambda *_: (backend, None)
            os._exit(child_main(rank, words, signal))
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def child_main(rank: int, words: list[str], signalled: list[Any] | None) -> int:
    from hrmdoc.trainer.loop.inbox import Inbox
    from hrmdoc.trainer.main import main as trainer

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if signalled is not None and rank == signalled[1]:
        number = getattr(signal, signalled[0])

        def waiting(self: Inbox) -> bool:
            if self.job.state.step == signalled[2]:
                os.kill(os.getpid(), number)
            return False

        Inbox.waiting = waiting  # type: ignore[method-assign]
    status = trainer(words)
    split = (
        "hrmdoc.trainer.state.fsdp" in sys.modules
    )  # a split model holds on to the group; the program ends without waiting for it
    return LEFT_BEHIND if status == 0 and not split and _gloo_threads() else status


def _gloo_threads() -> list[str]:
    """The process group's threads: while they live, the end of the interpreter can abort the process."""
    names = [file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if "gloo" in name]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
