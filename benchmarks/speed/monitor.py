"""What `hrmdoc.Monitor` costs a training loop: `python -m benchmarks.speed.monitor [--seconds 60]`.

A loop sleeps through its steps, so that what the process computes is the monitor's: the call itself by the
loop's own CPU time, the examination by that of the process.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

import hrmdoc

WARM_UP_S = 10.0
STEPS_S = (0.02, 0.1)
METRICS = ("loss", "learning_rate", "grad_norm", "eval_loss", "tokens_per_second", "epoch", "memory", "mfu")


def main() -> None:
    """Measures loops of several paces."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    seconds = options.parse_args().seconds
    for step_s in STEPS_S:
        print(measured(step_s, seconds), flush=True)


def measured(step_s: float, seconds: float) -> str:
    """The cost for steps of this length, in a sentence."""
    monitor = hrmdoc.Monitor("benchmark")
    began = time.process_time()
    first = time.perf_counter()
    monitor.log(0, _metrics(0))
    first = time.perf_counter() - first
    step = _loop(monitor, 1, step_s, WARM_UP_S, [])
    start, calls = time.process_time() - began, list[float]()
    own, process, wall = time.thread_time(), time.process_time(), time.perf_counter()
    last = _loop(monitor, step, step_s, seconds, calls)
    own, process = time.thread_time() - own, time.process_time() - process
    wall = time.perf_counter() - wall
    monitor.close()
    call = statistics.median(calls)
    share = (process - own) / wall + call / step_s
    return (
        f"steps of {step_s * 1e3:.0f} ms, {len(METRICS)} metrics: {share:.2%} of one ({last - step} steps); "
        f"a call {call * 1e6:.1f} us (the first {first * 1e3:.1f} ms); "
        f"{start:.2f} s of CPU once, to load the rules"
    )


def _loop(monitor: hrmdoc.Monitor, step: int, step_s: float, seconds: float, calls: list[float]) -> int:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(step_s)
        metrics = _metrics(step)
        began = time.perf_counter()
        monitor.log(step, metrics)
        calls.append(time.perf_counter() - began)
        step += 1
    return step


def _metrics(step: int) -> dict[str, float]:
    return {name: 2.0 * math.exp(-step / 2000) + 0.1 * math.sin(37.0 * step) for name in METRICS}


if __name__ == "__main__":
    main()
