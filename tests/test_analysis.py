"""`hrmdoc.analysis`: how a run stands when its records end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hrmdoc
from hrmdoc.analysis import analyze
from hrmdoc.reports.verdict import sentence
from hrmdoc.settings import Acknowledgement, Settings

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
    "of 23.65 GiB\n"
)


def points(first: int, last: int) -> str:
    return "".join(f"step {i} | loss {2 - i / 200} | lr 5e-05\n" for i in range(first, last))


@pytest.mark.parametrize(
    ("title", "log", "state"),
    [
        ("nothing tells of an end", points(0, 30), "unknown"),
        ("an error that training outlived", points(0, 20) + OOM + points(20, 40), "unknown"),
        (
            "an error behind which stands the end of a line buffer",
            points(0, 20) + OOM + points(20, 21),
            "crashed",
        ),
        ("an error at the end", points(0, 20) + OOM, "crashed"),
        ("an error before the first step", OOM, "crashed"),
    ],
)
def test_a_run_has_crashed_when_it_did_not_outlive_its_error(
    tmp_path: Path, title: str, log: str, state: str
) -> None:
    file = tmp_path / "train.log"
    file.write_text(log)
    assert hrmdoc.analyze(file).state == state, title


def timed_log(folder: Path, *, last: float, written: float, steps: int = 40, planned: int = 1000) -> Path:
    """A JSON-lines log of `steps` steps, two seconds apart, whose file was last written at `written`; Unix
    seconds."""
    log = folder / "metrics.jsonl"
    count = range(1, steps + 1)
    rows = [
        {"step": step, "total_steps": planned, "loss": 2 - 0.01 * step, "time": last - 2 * (steps - step)}
        for step in count
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(log, (written, written))
    return log


@pytest.mark.parametrize(
    ("title", "ago", "copied", "steps", "found"),
    [
        ("it may still be running", 120, 0, 40, False),
        ("a copy does not tell how the run ended", 7200, 3600, 40, False),
        ("it is as good as finished", 7200, 0, 995, False),
        ("silent for two hours with most steps to go", 7205, 1, 40, True),
    ],
)
def test_a_run_that_fell_silent_before_its_end_has_stopped(
    tmp_path: Path, title: str, ago: float, copied: float, steps: int, found: bool
) -> None:
    last = time.time() - ago
    log = timed_log(tmp_path, last=last, written=last + copied, steps=steps)
    analysis = hrmdoc.analyze(log, facts={"run.total_steps": 1000})
    assert ("stopped-short" in {s.id for s in analysis.symptoms if s.state == "present"}) == found, title
    assert (analysis.state == "stopped") == found
    if found:
        stopped = next(s for s in analysis.symptoms if s.id == "stopped-short")
        assert (
            stopped.evidence
            == "1000 steps were planned; nothing was written for 2 h, neither an error nor an end"
        )


def test_a_run_that_ended_with_an_error_did_not_fall_silent(tmp_path: Path) -> None:
    last = time.time() - 7200
    log = tmp_path / "train.log"
    stamps = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(last + step - 40)) for step in range(1, 41)]
    lines = [f"{stamp} step {step}/1000 loss {2 - 0.01 * step:.3f}\n" for step, stamp in enumerate(stamps, 1)]
    found = []
    for end in ("", f"{stamps[-1]} {OOM}"):
        log.write_text("".join(lines) + end)
        os.utime(log, (last, last))
        analysis = hrmdoc.analyze(log, facts={"run.total_steps": 1000})
        found.append(
            ("stopped-short" in {s.id for s in analysis.symptoms if s.state == "present"}, analysis.state)
        )
    assert found == [(True, "stopped"), (False, "crashed")]


@pytest.mark.parametrize(
    "key", ["optimizer.lr", "optimizer.grad_clip", "schedule.warmup_steps", "run.total_steps"]
)
def test_a_word_where_a_number_belongs_is_no_error_and_no_verdict(tmp_path: Path, key: str) -> None:
    log = tmp_path / "train.log"
    rows = (
        f"step {step} loss {2.5 - step / 100 if step < 60 else 9} grad_norm 1.{step % 7} lr 0.5\n"
        for step in range(120)
    )
    log.write_text("".join(rows))
    assert hrmdoc.analyze(log, facts={key: "auto"}).verdict in ("warning", "critical")


THREADS = """
import sys, threading
import hrmdoc
sys.setswitchinterval(1e-6)
together, verdicts = threading.Barrier(8), []
def look():
    together.wait()
    verdicts.append(hrmdoc.analyze("run.log").verdict)
threads = [threading.Thread(target=look) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
print(verdicts)
"""


def test_many_threads_may_be_the_first_to_analyze(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("".join(f"step {i} loss {2 - i / 100:.3f}\n" for i in range(50)))
    (tmp_path / "hrmdoc.toml").write_text('fail_on = "info"\n')
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", THREADS], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, f"{['healthy'] * 8}\n")


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_folds_in_one_log_are_several_runs_and_no_fault(tmp_path: Path, folds: int) -> None:
    rows = [
        {
            "epoch": epoch,
            "train_loss": 2 * 0.9**epoch + 0.1 + 0.01 * (fold * epoch % 3),
            "val_loss": 2 * 0.9**epoch + 0.2 + 0.01 * fold,
        }
        for fold in range(folds)
        for epoch in range(20)
    ]
    (log := tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = hrmdoc.analyze(log)
    assert found.verdict in ("healthy", "info")
    assert [
        one.id
        for one in found.symptoms
        if one.seen and one.id in ("several-runs", "overfitting", "loss-relapse")
    ] == ["several-runs"]


def test_a_crash_that_is_acknowledged_is_said_to_be_so_and_is_no_oddity(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"step {i} loss {2 - i / 100:.3f}\n" for i in range(90))
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
    )
    known = Acknowledgement("oom-cuda", "the batch is tried out")
    found = analyze(log, settings=Settings(acknowledge=(known,)))
    assert found.verdict == "info"
    assert sentence(found).endswith("but what is acknowledged: oom-cuda")
