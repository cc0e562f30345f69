"""`hrmdoc verdict RUN`"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hrmdoc.cli.shared.options import answered, note_other_runs, run_options, stated
from hrmdoc.errors import UsageError
from hrmdoc.text.clean import clean

if TYPE_CHECKING:
    from hrmdoc.supervision.attempts import Attempt
    from hrmdoc.supervision.verdict import Verdict


@click.command("verdict")
@click.argument("path", metavar="RUN")
@click.option(
    "--status",
    "ended",
    metavar="N",
    help="How its process ended, as the shell or Slurm says it: 137, 0:9 [default: what `hrmdoc run` saw].",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (schema hrmdoc.verdict/1).")
@run_options
def command(
    path: str,
    *,
    ended: str | None,
    as_json: bool,
    roles: tuple[str, ...],
    kind: str | None,
    facts: tuple[str, ...],
) -> int:
    """Say in one line whether a run that has ended should be started again.

    RUN is a log or run folder; of a log that `hrmdoc run` wrote, its attempts count too. The exit status says
    the same:

    \b
       0  OK                 it finished, or goes on; there is nothing to restart
      10  RESTART            what ended it may be gone; go on from the last checkpoint
      11  RESTART ELSEWHERE  this machine is at fault
      12  FIX FIRST          it comes back until something is changed
      13  STOP               nothing is gained, or the same failure came twice at the same step
       2  RUN cannot be read
    """
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.record.records import Damage
    from hrmdoc.supervision.verdict import verdict

    how = None if ended is None else status_of(ended)
    newest, how, before = _known(Path(path), how)
    session = AnalysisSession(newest[0], **stated(kind, facts, roles))
    session.try_to_read(newest)
    note_other_runs(session.other_runs)
    analysis = session.diagnose(closed=True, prescriptions=False)
    silent = not any(analysis.run.fact(key) for key in ("run.exit_status", "run.process_alive"))
    if analysis.verdict == "no_data" and how is None and silent:
        unread = Damage(newest[0], None, "nothing in it says how the run went")
        first = next(iter(analysis.run.damages), unread)
        raise UsageError(clean(first.what), file=first.file, hint="--status says how it ended")
    found = verdict(analysis, status=how, history=before)
    code = answered(found.status)
    click.echo(_document(found, len(before) + 1) if as_json else found.line)
    return code


def status_of(text: str) -> int:
    """An exit status as the shell gives it (137), or as Slurm does (`0:9`); negative for a signal.

    Raises:
        UsageError: it is neither.
    """
    exit_status, _, by = text.partition(":")
    try:
        numbers = int(exit_status), int(by or 0)
    except ValueError:
        raise UsageError(f"--status wants a number or EXIT:SIGNAL, not {text!r}") from None
    return -numbers[1] if numbers[1] else numbers[0]


def _known(path: Path, how: int | None) -> tuple[list[str], int | None, tuple[Attempt, ...]]:
    """The logs of the last attempt, how that ended, and the attempts before, where a supervisor kept them."""
    from hrmdoc.supervision.ending import kept
    from hrmdoc.supervision.state import load
    from hrmdoc.supervision.supervise import errors_beside

    state = load(path) if path.is_file() else None
    if state is not None and state.attempts:
        *before, last = state.attempts
        log, status = last.log, last.status
    elif path.is_file() and (ended := kept(path)) is not None:
        before, log, status = [], str(path), ended.status
    else:
        return [str(path)], how, ()
    logs = [log, *(str(one) for one in (errors_beside(Path(log)),) if one.is_file())]
    return logs, status if how is None else how, tuple(before)


def _document(found: Verdict, attempts: int) -> str:
    plain = asdict(found)
    return json.dumps(
        {
            "schema": "hrmdoc.verdict/1",
            "verdict": plain.pop("call"),
            **plain,
            "attempts": attempts,
            "status": found.status,
        }
    )
