"""The report of a validation: the keys that its document asks for, and what they stand on. Nothing in it
depends on time, so that two runs of the same can be compared bit by bit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hrmdoc.errors import InputError

from ..evaluation.passk import bootstrap, mean_pass_at_k, pass_at_k
from .answers import BOTH

SCHEMA = "hrmdoc.validation/1"
Counts = Mapping[str, Sequence[tuple[int, int]]]
SHOWN = 4  # decimals for a person


def scores(counts: Counts, ks: Sequence[int], seed: int) -> dict[str, Any]:
    """pass@k of both models, their difference, and the intervals of each."""
    found: dict[str, Any] = {}
    intervals: dict[str, Any] = {}
    for k in ks:
        each = {name: [pass_at_k(*pair, k) for pair in counts[name]] for name in BOTH}
        for name in BOTH:
            whole = mean_pass_at_k(counts[name], k)
            found[f"{name}_pass@{k}"] = whole.estimate
            intervals[f"{name}_pass@{k}"] = {
                "bootstrap": list(bootstrap(each[name], seed)),
                "wilson": [whole.low, whole.high],
            }
        delta = "delta" if k == ks[0] else f"delta@{k}"
        found[delta] = found[f"hrm_pass@{k}"] - found[f"gpt2_pass@{k}"]
        gains = [ours - theirs for ours, theirs in zip(each["hrm"], each["gpt2"], strict=True)]
        intervals[delta] = {"bootstrap": list(bootstrap(gains, seed))}
    return {**found, "intervals": intervals}


def gate(report: Mapping[str, Any]) -> dict[str, Any]:
    """Whether HRM is no worse than GPT-2, as the gate of the validation asks (`delta >= 0`), and what that
    means."""
    delta = report.get("delta")
    if not isinstance(delta, int | float) or math.isnan(delta):
        return {"passed": False, "rule": "delta >= 0", "why": "no problem was answered by both models"}
    solved = [report[key] for key in report if key.startswith(("hrm_pass@", "gpt2_pass@"))]
    if delta < 0:
        why = f"HRM's pass@1 is {-delta:.{SHOWN}f} lower than GPT-2's"
    elif not any(solved):
        why = "neither model solves anything: that HRM is no worse says nothing"
    else:
        why = (
            f"HRM's pass@1 is {delta:.{SHOWN}f} higher than GPT-2's" if delta else "both have the same pass@1"
        )
    return {"passed": delta >= 0, "rule": "delta >= 0", "why": why}


def check(report: Any, file: str) -> dict[str, Any]:
    """The gate of a report that was written earlier, by hrmdoc or by hand with the document's keys.

    Raises:
        InputError: it is no such report, or its numbers contradict each other.
    """
    if not isinstance(report, dict):
        raise InputError("is no report of a validation: not a JSON object", file=file)
    keys = ("hrm_pass@1", "gpt2_pass@1", "delta")
    for key in keys:
        value = report.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"is no report of a validation: {key} is {value!r}, not a number", file=file)
    ours, theirs, delta = (float(report[key]) for key in keys)
    if not (0 <= ours <= 1 and 0 <= theirs <= 1):
        raise InputError("holds a pass@1 that is no share from 0 to 1", file=file)
    if abs(ours - theirs - delta) > 5e-4:  # the document gives three decimals
        raise InputError(
            f"contradicts itself: delta is {delta}, the difference is {ours - theirs:.6g}", file=file
        )
    return gate(report)


def table(report: Mapping[str, Any]) -> str:
    """The report as a Markdown table, with what was run on how much compute."""
    models, scored = report["models"], report["problems"]
    lines = [
        f"{report['data']['name']}: {scored['scored']} of {scored['asked']} problems, "
        f"{scored['samples']} programs each, seed {report['seed']}",
        "",
        "| | HRM | GPT-2 | difference |",
        "|---|---|---|---|",
        f"| model | {models['hrm']['label']} | {models['gpt2']['label']} | |",
        _row("parameters", [f"{models[name]['parameters']:,}" for name in BOTH]),
        _row("of them in its layers", [f"{models[name]['parameters_in_layers']:,}" for name in BOTH]),
        _row("training", [_training(models[name]) for name in BOTH]),
        _row("test loss, 64 rows at most", [_spelled(models[name]["test_lm_loss"]) for name in BOTH]),
    ]
    for key in report:
        if key.startswith("hrm_pass@"):
            k = key.partition("@")[2]
            delta = "delta" if "delta" in report and k == "1" else f"delta@{k}"
            cells = [_share_of(report, f"{name}_pass@{k}") for name in BOTH]
            lines.append(_row(f"pass@{k}", [*cells, _share_of(report, delta)]))
    ended = [
        ", ".join(f"{count} {status}" for status, count in models[name]["ended"].items()) for name in BOTH
    ]
    lines += [_row("how the programs ended", ended), ""]
    return "\n".join(lines) + "\n"


def _row(name: str, cells: Sequence[str]) -> str:
    return "| " + " | ".join([name, *cells, *[""] * (3 - len(cells))]) + " |"


def _training(model: Mapping[str, Any]) -> str:
    training = model["training"]
    if training["flops"] is None:
        return "not here"
    return f"{training['flops']:.3g} FLOP in {training['steps']:,} steps"


def _spelled(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _share_of(report: Mapping[str, Any], key: str) -> str:
    """A share with its bootstrap interval; with Wilson's where all problems are alike, of which the bootstrap
    knows nothing."""
    found = report["intervals"][key]
    low, high = found["bootstrap"]
    if low == high and "wilson" in found:
        low, high = found["wilson"]
    return f"{report[key]:.{SHOWN}f} ({low:.{SHOWN}f} to {high:.{SHOWN}f})"
