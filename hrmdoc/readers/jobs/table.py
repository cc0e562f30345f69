"""What sacct prints: columns below a rule, or cells with a delimiter between them (`-P`, `-p`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hrmdoc.readers.jobs.row import Row, known, short, state_of

_FIELDS = frozenset(
    """
    account admincomment alloccpus allocnodes alloctres associd avecpu avecpufreq avediskread avediskwrite
    avepages averss avevmsize blockid cluster comment constraints consumedenergy consumedenergyraw container
    cputime cputimeraw dbindex derivedexitcode elapsed elapsedraw eligible end exitcode extra failednode
    flags gid group jobid jobidraw jobname layout licenses lineage maxdiskread maxdiskreadnode
    maxdiskreadtask maxdiskwrite maxdiskwritenode maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss
    maxrssnode maxrsstask maxvmsize maxvmsizenode maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus
    nnodes nodelist ntasks partition planned plannedcpu plannedcpuraw priority qos qosraw qosreq reason
    reqcpufreq reqcpufreqgov reqcpufreqmax reqcpufreqmin reqcpus reqmem reqnodes reqreservation reqtres
    reservation reservationid reserved restartcnt restarts resvcpu resvcpuraw segmentsize start state stderr
    stderrexpanded stdin stdinexpanded stdout stdoutexpanded submit submitline suspended systemcomment
    systemcpu timelimit timelimitraw totalcpu uid user usercpu wckey wckeyid workdir
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
_RULER = re.compile(r"-+(?: +-+)* *")
_ID = re.compile(
    r"(?P<job>\d{1,12}(?:_(?:\d{1,9}|\[[^\]]{1,80}\]))?(?:\+\d{1,6})?)(?:\.(?P<step>[\w+]{1,40}))?"
)
_DELIMITERS = "|,;\t^"
_HEAD_LINES = 6


def is_table(text: str) -> bool:
    """Whether one of the first lines is a header of sacct."""
    lines = text.splitlines()[: _HEAD_LINES + 1]
    return any(_header_at(lines, at) for at in range(len(lines[:_HEAD_LINES])))


def rows(text: str) -> Iterator[Row]:
    """The rows of sacct, as columns or with a delimiter."""
    lines = text.splitlines()
    at = next((place for place in range(min(len(lines), _HEAD_LINES)) if _header_at(lines, place)), None)
    if at is None:
        return
    names, cut = _header_at(lines, at) or ((), _Spans([]))
    last = ""
    for place, line in enumerate(lines[at + 1 :], at + 2):
        if line.strip() and not _RULER.fullmatch(line):
            row = dict(zip(names, cut.cells(line), strict=False))
            found = _row(row, last, place)
            if found is not None:
                last = found.job
                yield found


class _Spans:
    """Cuts a line of columns by the rule below their names."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = spans

    def cells(self, line: str) -> list[str]:
        return [line[begin:end].strip() for begin, end in self._spans]


class _Delimited:
    """Cuts a line by a delimiter."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def cells(self, line: str) -> list[str]:
        return [cell.strip() for cell in line.split(self._delimiter)]


def _header_at(lines: Sequence[str], at: int) -> tuple[tuple[str, ...], _Spans | _Delimited] | None:
    """The fields that a line names, and how the lines below are cut; None where it is no header."""
    line = lines[at]
    below = lines[at + 1] if at + 1 < len(lines) else ""
    ways: list[_Spans | _Delimited] = [_Delimited(one) for one in _DELIMITERS if one in line]
    if _RULER.fullmatch(below):
        ways.append(_Spans([match.span() for match in re.finditer("-+", below)]))
    for way in ways:
        names = tuple(name.lower() for name in way.cells(line))
        named = [name for name in names if name]
        ours = all(name in _FIELDS or name.startswith("tresusage") for name in named)
        if "state" in named and len(named) > 1 and ours:
            return names, way
    return None


def _row(cells: Mapping[str, str], last: str, place: int) -> Row | None:
    """A row of sacct; one of a list without numbers belongs to the job of the row before."""
    state, _, by = cells.get("state", "").partition(" by ")
    found = _ID.fullmatch(cells.get("jobid") or cells.get("jobidraw") or last or "0")
    named = state_of(state)
    if found is None or not named:
        return None
    return Row(
        found["job"],
        found["step"] or "",
        named,
        short(cells.get("exitcode")),
        known(cells.get("failednode") or cells.get("nodelist")),
        short(cells.get("elapsed")),
        short(cells.get("timelimit")),
        short(cells.get("maxrss")),
        short(cells.get("reqmem")),
        known(cells.get("end")),
        short(by),
        place,
    )
