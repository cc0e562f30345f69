"""`hrmdoc.analysis`: how a run stands when its records end."""

from __future__ import annotations

from pathlib import Path

import pytest

import hrmdoc

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB\n"


def points(first: int, last: int) -> str:
    return "".join(f"step {i} | loss {2 - i / 200} | lr 5e-05\n" for i in range(first, last))


@pytest.mark.parametrize(
    ("title", "log", "state"),
    [
        ("nothing tells of an end", points(0, 30), "unknown"),
        ("an error that training outlived", points(0, 20) + OOM + points(20, 40), "unknown"),
        ("an error behind which stands the end of a line buffer", points(0, 20) + OOM + points(20, 21), "crashed"),
        ("an error at the end", points(0, 20) + OOM, "crashed"),
        ("an error before the first step", OOM, "crashed"),
    ],
)
def test_a_run_has_crashed_when_it_did_not_outlive_its_error(tmp_path: Path, title: str, log: str, state: str) -> None:
    file = tmp_path / "train.log"
    file.write_text(log)
    assert hrmdoc.analyze(file).state == state, title
