"""The report of the lab and its picture, from the verdicts: every number in them is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.lab import history, peers, tables
from benchmarks.lab.effects import CRITERION
from benchmarks.lab.faults import NEW_FAULTS
from benchmarks.lab.judge import Verdict
from benchmarks.lab.metrics import reliability
from benchmarks.lab.picture import reliability_svg
from benchmarks.lab.spec import BLIND, TRAINING
from benchmarks.revision import commit

INTRODUCTION = """# Accuracy on the fault lab

Written by `python -m benchmarks.lab --matrix {matrix}` at commit {commit}; no number is typed by hand.
{total} runs: {faulty} with one known fault ({kinds} different ones in {programs} programs), put into
data, model, optimizer, schedule, precision or process, never into a log, and {healthy} healthy ones, many
of odd shapes. Each was examined with the public `hrmdoc.analyze` and default settings. Intervals are
Wilson's, 95 %; runs that differ only in their seed are not independent, so the intervals are somewhat too
narrow.

- *found*: the verdict of a faulty run is `warning` or `critical`. *named first*, *among three*: the true
  cause is the first, or one of the first three, faults that the diagnosis lists. Where two causes
  describe one defect, either counts.
- *did harm*: {criterion} The last figures of a row (found of these, named first, among three, MRR) are
  those of the faults that did.
- *false alarm*: a healthy run whose verdict is `warning` or `critical`.
- *learnt on*: {training}, the programs whose runs were looked at while rules were written. Nothing is
  estimated from the others, the *held out*, but rules have been changed after looking at single runs of
  them.
- *came after the rules*: the programs {blind}, which train through the real libraries, and the faults
  {new}. The first commit below was measured before anybody who works on rules had seen one of their runs;
  that figure alone is blind. Since then single runs of them have been looked at, as of all others.
- Faults that did no harm were made stronger where that was cheap, whatever the verdict was.
"""

PEERS = """\
runmedic, trainspotter and gradsnitch read logs as hrmdoc does. Each was called as its documentation says
(`benchmarks/lab/peers_read.py`): a run's folder, every log file that it has a reader for, or every CSV.
Their finding counts as found when it is a warning or worse, whatever it says; none of them ranks causes.
*found of all*: of all faults that did harm, those in runs that it cannot read not found. *found of read*
and *false alarms* count the runs that it can read; the last column has hrmdoc on those same runs. Faults
and healthy shapes were chosen by the authors of hrmdoc."""


def write(verdicts: Sequence[Verdict], path: Path, matrix: str, answers: peers.Answers | None = None) -> None:
    """Writes the report to `path` and the picture beside it. `answers`: what other doctors say of the same
    runs."""
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_suffix(".svg")
    picture.write_text(reliability_svg(reliability(*tables.claims(verdicts))))
    sections = {
        "Summary": tables.table(("programs", *tables.COLUMNS), tables.groups(verdicts)),
        "Before and after": _history(verdicts),
        "By program": tables.table(("program", *tables.COLUMNS), tables.programs(verdicts)),
        "Other doctors": _peers(verdicts, answers),
        "Missed": tables.misses(faulty),
        "False alarms": tables.false_alarms(healthy),
        "Delay": tables.delays(faulty),
        "Confusion": tables.confusion(faulty),
        "Calibration": tables.calibration(verdicts, picture.name),
        "By fault": tables.faults(faulty),
    }
    head = INTRODUCTION.format(
        matrix=matrix,
        commit=commit(),
        total=len(verdicts),
        faulty=len(faulty),
        kinds=len({v.spec.fault for v in faulty}),
        programs=len({v.spec.program for v in verdicts}),
        healthy=len(healthy),
        criterion=CRITERION.replace("\n", "\n  "),
        training=", ".join(TRAINING),
        blind=", ".join(BLIND),
        new=", ".join(NEW_FAULTS),
    )
    parts = [head, *(f"## {title}\n\n{text}" for title, text in sections.items() if text)]
    path.write_text("\n\n".join(part.rstrip() for part in parts) + "\n")


def _history(verdicts: Sequence[Verdict]) -> str:
    rows = history.comparable(verdicts)
    if not rows:
        return ""
    text = (
        "The runs of one matrix under the rules of several commits. What harm a fault did is read with "
        "that commit's own\n"
        "readers. The runs were trained anew with the same seeds before 6df205d: compare within the rows\n"
        "before it, and within those from it on.\n\n"
    )
    return text + tables.table(("commit", "programs", *tables.COLUMNS), rows)


def _peers(verdicts: Sequence[Verdict], answers: peers.Answers | None) -> str:
    if answers is None or not answers.versions:
        return ""
    header = (
        "doctor",
        "runs it can read",
        "found of all",
        "found of read",
        "false alarms",
        "hrmdoc on these: found; false alarms",
    )
    return f"{PEERS}\n\n{tables.table(header, peers.table(verdicts, answers))}"
