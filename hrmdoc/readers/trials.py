"""Consoles of a search over settings (Ray Tune, Optuna), where several trials print into one log.

Each trial is a run of its own: what its process prints, and what the tables of Ray Tune say of it, are read
apart from the other trials. Optuna runs one trial after the other; a line of its own ends each. Everything
else is read as the plain text log that it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import compress
from pathlib import Path

from msgspec.structs import replace

from hrmdoc.readers.log.grammar.words import is_result
from hrmdoc.readers.log.session import TextSession
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.decode import codec_of
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.support.placed import Placed
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Event, Fact, Points, Record
from hrmdoc.text import patterns
from hrmdoc.text.stamps import RAY_PROCESS

NAME = "trials"
TITLE = "consoles of several trials (Ray Tune, Optuna)"
WHOLE = False

_RAY = patterns.lazy(
    rb"^[|\xe2\x94\x82 ]*Trial name\b|^Result for \S+:\r?$|^Trial \S+ (?:started|finished it)", re.MULTILINE
)
_RAY_TOO = patterns.lazy(rb"^(?:== Status ==|Trial status: |Number of trials: |\(\S+ pid=\d+)", re.MULTILINE)
_OPTUNA = patterns.lazy(rb"\] (?:A new study created|Trial \d+ (?:finished with value|pruned))")
_PROCESS = patterns.lazy(RAY_PROCESS)
_ENDED = patterns.lazy(r"\] Trial (?P<trial>\d{1,9}) (?:finished with value|pruned|failed)")
_CHOSEN = patterns.lazy(r" and parameters: (?P<settings>\{[^{}]{0,20000}\})")
_RESULT = patterns.lazy(r"^(?:[│|] Trial (?P<boxed>\S+) result\b|Result for (?P<listed>\S+):$)")
_BORDER = patterns.lazy(r"^[╭╰├+|][-─═=+|┼┬┴╮╯┤]{3,}$")
_CELLS = patterns.lazy(r"\s*[│|]\s*|\s{2,}")
_BEST = patterns.lazy(r"\s{0,8}Best (?:\w{1,20} ){0,3}[\w-]{1,20} ?(?:is|are|were|was|:|=).{0,40}\{")
_COUNTERS = ("training_iteration", "iter")
_READ = 1 << 20


def sniff(path: Path, head: bytes) -> float:
    """By the tables of Ray Tune, or the lines with which Optuna ends a trial."""
    del path
    if b"\0" in head:
        return 0.0
    return 0.7 if _OPTUNA.search(head) or (_RAY.search(head) and _RAY_TOO.search(head)) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one log."""
    return _Session(context)


def runs(path: str) -> list[str]:
    """The trials that logged a metric, in the order in which they began."""
    found: dict[str, None] = {}
    with open(path, "rb") as file:
        block = file.read(_READ)
        if codec_of(block):
            return []
        session = _Session(Context(path, path))
        while block:
            found |= dict.fromkeys(_trials(session.feed(block)))
            block = file.read(_READ)
    return list(found | dict.fromkeys(_trials(session.close())))


def _trials(records: Iterator[Record]) -> list[str]:
    named = (record.source.rpartition("#") for record in records if isinstance(record, Points))
    return [trial for _, mark, trial in named if mark]


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._common = Placed(TextSession(context))
        self._printed: dict[str, Placed] = {}
        self._tables: dict[str, Rows] = {}
        self._last: dict[str, float] = {}
        """The iteration that the last row of a trial gave; tables repeat it."""
        self._names: list[str] = []
        """The header of the table at hand."""
        self._result: dict[str, float] = {}
        self._of = ""
        """The trial whose result is at hand, as a block of names and values."""
        self._optuna = 0
        """The trial of Optuna that runs."""
        self._study = False
        self._held: list[tuple[int, str]] = []
        """Lines of one trial that follow each other: they are read at once, since a search prints many."""
        self._holder = ""

    @property
    def lines(self) -> int:
        """How many lines of text have ended so far."""
        return self._lines.number - 1

    def close(self) -> Iterator[Record]:
        """The last line, and what waited for more."""
        yield from super().close()
        self._end_result(self._lines.number)
        yield from self._rows()
        for trial, session in self._printed.items():
            yield from self._wanted(trial, session.close())
        yield from self._common.close()

    def _block(self, block: bytes) -> Iterator[Record]:
        first = self._lines.number
        for place, line in enumerate(self._lines.split(block) if block else (), first):
            yield from self._line(line.decode("utf-8", "replace").rstrip("\r"), place)
        yield from self._read_held()
        yield from self._overlong()
        yield from self._rows()

    def _rows(self) -> Iterator[Record]:
        for trial, rows in self._tables.items():
            yield from self._wanted(trial, rows.points())

    def _wanted(self, trial: str, records: Iterator[Record]) -> Iterator[Record]:
        """The records of a trial; where the user named another one, without its points."""
        other = self._context.part not in ("", trial)
        return (record for record in records if not (other and isinstance(record, Points)))

    def _line(self, line: str, place: int) -> Iterator[Record]:
        """Reads a line; what waits of a trial comes before a line of another one, or of none."""
        if process := _PROCESS.match(line):
            yield from self._print(process["process"], line[process.end() :], place)
        elif ended := _ENDED.search(line):
            yield from self._read_held()
            yield from self._begin(place)
            yield from self._say(line, place)
            yield from self._settings(f"trial {int(ended['trial'])}", line, place)
            self._optuna = int(ended["trial"]) + 1
        elif self._tabled(line, place) or _BEST.match(line):
            return  # the settings of the best trial are none of the others'
        elif self._study or "] A new study created" in line:
            yield from self._begin(place)
            yield from self._print(f"trial {self._optuna}", line, place)
        else:
            yield from self._read_held()
            yield from self._common.feed([(place, line)])

    def _begin(self, place: int) -> Iterator[Event]:
        """Notes that this is a study of Optuna."""
        if not self._study:
            self._study = True
            yield Event("start", self._context.path, place, detail="a study of Optuna")

    def _say(self, line: str, place: int) -> Iterator[Record]:
        """A line that sums up a trial, without the numbers in it: they are settings, and one value of each
        trial is no curve."""
        yield from self._common.feed([(place, line.partition(" finished with ")[0])])

    def _settings(self, trial: str, line: str, place: int) -> Iterator[Fact]:
        """What Optuna chose for the trial that the user named."""
        chosen = _CHOSEN.search(line) if trial == self._context.part else None
        if chosen is None:
            return
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            for key, value in ast.literal_eval(chosen["settings"]).items():
                if isinstance(key, str) and (value is None or isinstance(value, str | int | float)):
                    yield Fact(key, value, "config", self._context.path, place)

    def _print(self, trial: str, line: str, place: int) -> Iterator[Record]:
        if trial != self._holder:
            yield from self._read_held()
            self._holder = trial
        self._held.append((place, line))

    def _read_held(self) -> Iterator[Record]:
        """Reads the lines of a trial that wait."""
        trial, held = self._holder, self._held
        if not held:
            return
        self._held = []
        session = self._printed.get(trial)
        if session is None:
            context = replace(self._context, source=self._source(trial))
            session = self._printed[trial] = Placed(TextSession(context))
        yield from self._wanted(trial, session.feed(held))

    def _source(self, trial: str) -> str:
        return f"{self._context.source or self._context.path}#{trial}"

    def _tabled(self, line: str, place: int) -> bool:
        """Takes a line of a table or of a result in; whether it was one."""
        text = line.strip()
        if found := _RESULT.match(text):
            self._end_result(place)
            self._of = found["boxed"] or found["listed"]
            return True
        if not text or text[0] in "╰":
            self._end_result(place)
            self._names = []
            return bool(text)
        if _BORDER.match(text):
            return bool(self._of or self._names)
        if self._of:
            name, _, value = text.strip("│| ").replace(":", " ", 1).partition(" ")
            cell = number(value.strip())
            if cell is not None and name:
                self._result[name] = cell
            return True
        cells = _CELLS.split(text.strip("│| "))
        if cells[0] == "Trial name":
            self._names = cells
            return True
        if self._names and len(cells) == len(self._names):
            self._row(cells, place)
            return True
        return False

    def _row(self, cells: list[str], place: int) -> None:
        """One row of a status table; metrics stand behind the iteration, settings before it, and results
        as well where a script chose the columns itself."""
        counter = next((self._names.index(name) for name in _COUNTERS if name in self._names), None)
        if counter is None:
            return
        measured = [at > counter or is_result(name) for at, name in enumerate(self._names)]
        named = compress(zip(self._names, cells, strict=True), measured)
        row = {name: value for name, cell in named if (value := number(cell)) is not None}
        count = number(cells[counter])
        if count is not None and row:
            self._take(cells[0], count, row, place)

    def _end_result(self, place: int) -> None:
        result, trial = self._result, self._of
        self._result, self._of = {}, ""
        count = result.pop("training_iteration", None)
        if trial and result and count is not None:
            self._take(trial, count, result, place)

    def _take(self, trial: str, count: float, row: dict[str, float], place: int) -> None:
        if self._last.get(trial) == count:
            return
        self._last[trial] = count
        if trial not in self._tables:
            self._tables[trial] = Rows(replace(self._context, source=self._source(trial)), precision=1)
        self._tables[trial].add({"step": count, **row}, place)
