"""What Slurm says of a job: `sacct` as columns, with `-P` and `--json`, and `seff`.

How the job ended becomes one line, in the words of `seff`, by which rules know it; the step that failed tells
more than the job around it. Of a list of jobs that one counts whose number a file beside it bears
(`slurm-412.out`), else the last.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hrmdoc.errors import InputError
from hrmdoc.readers.jobs import document, seff, table
from hrmdoc.readers.jobs.row import Row
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.whole import Whole
from hrmdoc.readers.tables.cells import unix_time
from hrmdoc.record.records import Damage, Fact, Line, Record

NAME = "slurm"
TITLE = "Slurm's accounting (sacct as columns, with -P and --json; seff)"
WHOLE = True

_LIVING = frozenset({"COMPLETING", "RESIZING", "RUNNING", "STOPPED", "SUSPENDED"})
_KNOWN = {"COMPLETED": 0, "CANCELLED": -signal.SIGTERM}
_WAITING = frozenset({"CONFIGURING", "PENDING", "REQUEUED", "REQUEUE_HOLD", "REVOKED", "SPECIAL_EXIT"})
_JSON = re.compile(rb"\s*\{")


def sniff(path: Path, head: bytes) -> float:
    """By a header of sacct's fields, the first lines of seff, or the keys of Slurm's JSON."""
    del path
    if _JSON.match(head):
        ours = b'"jobs"' in head and (b'"slurm' in head.lower() or b'"job_id"' in head)
        return 0.97 if ours and (b'"state"' in head or b'"job_state"' in head) else 0.0
    text = head[:8192].decode("utf-8", "replace")
    return 0.97 if table.is_table(text) or seff.is_seff(text) else 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return Whole(context, _read)


def _read(context: Context, blob: bytes) -> Iterator[Record]:
    if _JSON.match(blob):
        try:
            tree = json_text.document(blob, context.path)
        except InputError as error:
            yield Damage(context.path, error.line, error.what, incomplete=True)
            return
        rows = list(document.rows(tree))
    else:
        text = blob.decode("utf-8", "replace")
        rows = list(table.rows(text)) or list(seff.rows(text))
    if not rows:
        yield Damage(context.path, None, "it names no job and its state", incomplete=True)
        return
    jobs = list(dict.fromkeys(row.job for row in rows))
    chosen = _beside(Path(context.path), jobs) or jobs[-1]
    if len(jobs) > 1:
        yield Damage(
            context.path,
            None,
            f"it lists {len(jobs):,} jobs, of which {chosen} is read; `sacct -j JOB` lists another one",
        )
    yield from _told(context, [row for row in rows if row.job == chosen])


def _beside(listing: Path, jobs: Sequence[str]) -> str | None:
    """The last of the jobs whose number is in the name of another file of the folder."""
    names: list[str] = []
    with suppress(OSError):
        names = [path.name for path, _ in zip(listing.parent.iterdir(), range(1000), strict=False)]
    held = {number for name in names if name != listing.name for number in re.findall(r"\d+(?:_\d+)?", name)}
    return next((job for job in reversed(jobs) if job in held), None)


def _told(context: Context, rows: Sequence[Row]) -> Iterator[Record]:
    """What is known of one job. A job that was requeued is listed once a try: the last one counts."""
    job = [row for row in rows if not row.step][-1:] or [rows[-1]]
    steps = rows[rows.index(job[0]) + 1 :]
    found = _decisive(job[0], steps)
    for key, value in (("SLURM_JOB_ID", found.job), ("SLURMD_NODENAME", found.node)):
        if value and not re.search(r"[\[,]", value):
            yield Fact(key, value, "env", context.path, found.place)
    if found.state in _LIVING:
        yield Fact("run.process_alive", True, "run", context.path, found.place)
    elif found.state in _WAITING:
        yield Damage(context.path, found.place, f"job {found.job} is {found.state}: it has not ended")
    else:
        yield Line(_words(found, steps), context.path, found.place, unix_time(found.ended))
        if (status := _status(found)) is not None:
            yield Fact("run.exit_status", status, "run", context.path, found.place)


def _decisive(job: Row, steps: Sequence[Row]) -> Row:
    """The job, or the step that tells more: a job that `FAILED` says nothing of memory or nodes, and a script
    whose last command went well hides what happened before."""
    worse = {"OUT_OF_MEMORY", "NODE_FAIL"} if job.state == "FAILED" else set()
    if job.state == "COMPLETED":
        numbered = [row for row in steps if row.step.isdigit()][-1:]
        steps, worse = numbered, {"OUT_OF_MEMORY", "NODE_FAIL", "FAILED"}
    told = next((row for row in reversed(steps) if row.state in worse), None)
    return job if told is None else told._replace(node=told.node or job.node, ended=told.ended or job.ended)


def _words(row: Row, steps: Sequence[Row]) -> str:
    """How it ended, in the words of seff."""
    name = f"{row.job}.{row.step}" if row.step else row.job
    memory = max((one.memory for one in (row, *steps)), key=_bytes, default="")
    status, short_of = _status(row), row.state == "OUT_OF_MEMORY"
    by = f" by {row.by}" if row.by else ""
    of = f" of {row.limit}" if row.limit else ""
    parts = [
        f"slurm: job {name}" + (f" on {row.node}" if row.node else ""),
        f"State: {row.state}{by} (exit code {row.code or '?'})" + (" for host memory" if short_of else ""),
        _ended_by(status) if row.state == "FAILED" and status is not None else "",
        f"elapsed {row.elapsed}{of}" if row.elapsed else "",
        f"MaxRSS {memory}" + (f" of {row.asked}" if row.asked else "") if memory else "",
    ]
    return ", ".join(part for part in parts if part)


def _ended_by(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return f"terminated with signal {signal.Signals(number).name}"
    except ValueError:
        return f"exited with status {status}"


def _status(row: Row) -> int | None:
    """As `subprocess` gives it; None where the state tells, and the status says nothing more."""
    if row.state in _KNOWN:
        return _KNOWN[row.state]
    exit_status, _, number = row.code.partition(":")
    if row.state != "FAILED" or not exit_status.isdigit():
        return None
    return -int(number) if number.isdigit() and 0 < int(number) < 65 else int(exit_status) or 1


def _bytes(text: str) -> float:
    """`66060288K` as a number; -1 for none."""
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?)\s?([KMGTP]?)(?:i?B)?[cn]?", text)
    return float(found[1]) * 1024.0 ** " KMGTP".index(found[2] or " ") if found else -1.0
