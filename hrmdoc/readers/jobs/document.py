"""Jobs and their steps in the JSON of sacct, of any version; squeue and scontrol write the jobs alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hrmdoc.readers.jobs.row import Row, known, short, state_of
from hrmdoc.readers.support.json_text import part


def rows(tree: Any) -> Iterator[Row]:
    """The jobs of a parsed document, each before its steps."""
    jobs = tree.get("jobs") if isinstance(tree, dict) else None
    for job in jobs if isinstance(jobs, list) else ():
        if not isinstance(job, dict) or not (state := _json_state(job.get("state", job.get("job_state")))):
            continue
        number, task = _set_number(job.get("job_id")), _set_number(part(job, "array", "task_id"))
        array = _set_number(part(job, "array", "job_id"))
        name = f"{array}_{task}" if array and task is not None else f"{number or 0}"
        yield Row(
            name,
            "",
            state,
            _json_code(job.get("exit_code")),
            known(str(job.get("failed_node") or job.get("nodes") or "")),
            _iso_clock(_set_number(part(job, "time", "elapsed"))),
            _iso_clock(_set_number(part(job, "time", "limit")), 60),
            "",
            _json_memory(part(job, "required", "memory_per_node")),
            str(_set_number(part(job, "time", "end")) or ""),
        )
        steps = job.get("steps")
        yield from (_json_step(name, step) for step in (steps if isinstance(steps, list) else ()))


def _json_step(job: str, step: Any) -> Row:
    ident = part(step, "step", "id")
    ident = ident.get("step_id") if isinstance(ident, dict) else ident
    most = part(step, "tres", "requested", "max")
    used = [_set_number(one.get("count")) or 0 for one in _dicts(most) if one.get("type") == "mem"]
    nodes = part(step, "nodes", "range")
    return Row(
        job,
        short(str(ident).rpartition(".")[2] if ident is not None else "?"),
        _json_state(step.get("state") if isinstance(step, dict) else None),
        _json_code(part(step, "exit_code")),
        known(nodes if isinstance(nodes, str) else ""),
        memory=f"{max(used) // 1024}K" if any(used) else "",
    )


def _dicts(value: Any) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _set_number(value: Any) -> int | None:
    """A number as every version of Slurm writes it: bare, or with the word that it is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _json_state(value: Any) -> str:
    value = value.get("current") if isinstance(value, dict) else value
    value = value[0] if isinstance(value, list) and value else value
    return state_of(value) if isinstance(value, str) else ""


def _json_code(value: Any) -> str:
    if isinstance(value, int):
        return f"{value}:0"
    code = _set_number(part(value, "return_code"))
    by = _set_number(part(value, "signal", "id"))
    by = _set_number(part(value, "signal", "signal_id")) if by is None else by
    return "" if code is None and by is None else f"{code or 0}:{by or 0}"


def _json_memory(value: Any) -> str:
    megabytes = _set_number(value)
    return "" if not megabytes else f"{megabytes}M"


def _iso_clock(amount: int | None, unit: int = 1) -> str:
    if amount is None or not 0 <= amount < 10**9:
        return ""
    minutes, seconds = divmod(amount * unit, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
