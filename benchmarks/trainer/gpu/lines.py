"""Parts of the benchmark for people."""

from __future__ import annotations

from benchmarks.trainer.gpu.settings import Part


def line(part: Part) -> str:
    """One part for people."""
    start = f"{part['part']:<6}{part['name']:<62}"
    if part["status"] != "done":
        return f"{start}{part['status']}: {part['reason']}"
    if part["part"] == "curve":
        end = part["scores"][-1]
        shown = f"exact {end['exact_accuracy']:.1%}, cells {end['accuracy']:.1%}, loss {end['lm_loss']:.3f}"
        return f"{start}{shown} at step {end['step']} after {end['seconds']:.0f} of {part['seconds']:.0f} s"
    mfu = "" if part["mfu"] is None else f"  MFU {part['mfu']:.1%}"
    shown = f"{part['puzzles_per_second']:,.1f} puzzles/s  {part['step_seconds'] * 1e3:.2f} ms"
    used = f"{part['tflop_per_second']:.3g} TFLOP/s{mfu}  {part['of_matmul']:.0%} of matmul"
    return f"{start}{shown}  {used}  {part['peak_memory_bytes'] / 2**30:.2f} GiB"
