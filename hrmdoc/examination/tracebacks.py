"""Follows tracebacks through a log: which lines are frames and quoted source, and which line says what went
wrong.

Several ranks may write into one file, so each stream (file and rank) is followed by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from hrmdoc.text import patterns
from hrmdoc.text.clean import HARMLESS_TRACEBACKS, THREAD, strip_ansi
from hrmdoc.text.stamps import CLOCK, DAY, FRACTION, LEVEL, RAY_PROCESS, SYSLOG_SENDER, ZONE

if TYPE_CHECKING:
    from hrmdoc.record.records import Line

HEADER = "Traceback (most recent call last)"
MARKS = (HEADER, 'File "', THREAD, *HARMLESS_TRACEBACKS)
"""What the lines of a traceback hold; readers keep them beside the lines that signatures ask for."""

_FORGET_AFTER = 400  # lines: a traceback whose end has not come by then was cut off
_MOST_FRAMES = 200
_CHAINED = 4  # lines: so near stands what was raised while another exception was handled

_PREFIX = patterns.lazy(
    r"^(?:\[(?:rank|trainer|default|worker|Rank )?\d{1,6}(?:\|\d{1,6})?\]:? ?"
    rf"|{RAY_PROCESS}"
    rf"|\[?{DAY}[T ]{CLOCK}{FRACTION}{ZONE}\]? ?"
    rf"|\[?{CLOCK}{FRACTION}\]? (?=[ \S])"
    r"|\d{1,3}(?:\.\d{1,3}){3}: ?"
    # syslog, journald
    rf"|[A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} {CLOCK} {SYSLOG_SENDER}"
    r"|> ?(?=[ \w\[(])"  # quoted in a letter or an issue
    # a log that was commented out as a whole
    r"|# ?(?=\[(?:rank|default|Rank )?\d{1,6}\]:?|Traceback \(most| {1,8}File \")"
    # pdsh, compose and pods: the name of the machine
    r"|(?=[\w.-]{0,60}\d)[a-z][\w.-]{1,60}(?: {1,8}\| ?|: |:(?=[A-Z\[]))"
    r"|\[\d{1,5},(?:mpirank:)?\d{1,6}(?:,[\w.-]{1,60})?\](?:<std(?:err|out)>)?:? ?"  # mpirun
    r"|std(?:err|out) [FP] "  # containers of Kubernetes
    r"|\[\d{1,6}/[\w-]{1,40}/\d{1,9} \(pid \d{1,9}\)\] (?:\[[0-9a-f-]{36}\] ?)?"  # Metaflow
    rf"|{LEVEL} \d\d-\d\d {CLOCK} "
    r"(?:\[[\w./]{1,60}:\d{1,5}\]|[\w./]{1,60}:\d{1,5}\]) ?"  # vLLM
    r"|E {6,8}(?=[A-Za-z_])"  # pytest
    r"|(?:ERROR|CRITICAL) {1,4}[\w.]{1,60}:[\w.]{1,60}\.py:\d{1,6} "  # pytest's own log
    r"|wandb: (?=Traceback|  File|[\w.]{1,80}(?:Error|Exception)\b)"
    r"|(?i:training|trainer|run|job|experiment|process|script|program|execution)(?: [\w./'\"-]{1,40})? "
    r"(?:failed|crashed|aborted|stopped|ended|terminated)(?: (?:with|due to|because of)(?: an?)?(?: "
    r"error| exception)?)?[:,] "
    r"(?=(?:[a-z_]\w{0,40}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)\b)"
    r"|\d{1,5}: ?(?=\S))"
)
_RANK = patterns.lazy(r"^\[(?:rank|trainer|default|Rank )?(\d{1,6})(?:\|\d{1,6})?\]")
_FRAME = patterns.lazy(r'File "(?P<file>[^"]{1,400})", line \d{1,7}, in (?P<function>[^\s]{1,200})')
_BOXED = patterns.lazy(r"(?P<file>[^\s│|]{1,400}\.pyx?):\d{1,7} in (?P<function>[\w<>.]{1,200})")
_NAMED = patterns.lazy(r"[A-Za-z_]")
_RAISED = patterns.lazy(r"(?:[A-Za-z_]\w{0,60}\.){0,10}[A-Z]\w{0,60}(?:Error|Exception)(?:: |$)")
_INSIDE_MARKS = (
    'File "',
    "│",
    "|",
    "╭",
    "╰",
    "┃",
    "+ ",
)  # frames, also where indentation was lost, and the boxes of rich


def without_prefix(text: str) -> str:
    """`text` without the rank, process or time that a launcher puts before every line; indentation stays."""
    for _ in range(5):
        shorter = _PREFIX.sub("", text, count=1)
        if shorter == text:
            return text
        text = shorter
    return text


def rank_of(line: Line) -> int | None:
    """The rank that wrote `line`, from the record or from its prefix."""
    if line.rank is not None:
        return line.rank
    found = _RANK.match(line.text)
    return int(found[1]) if found else None


class _Open(Struct):
    """A traceback whose last line has not come yet."""

    indent: int
    line: int
    first: Line
    harmless: bool = False
    threaded: bool = False
    level: int = 0  # the indentation of its frames, where the head is missing
    frames: list[str] = field(default_factory=list)
    quoted: str = ""


class Place(Struct, frozen=True):
    """Where a line stands: `inside` a traceback, or the line that ends one (then `frames` is not None).

    `quoted`: the source that the innermost frame shows, which raised what the line says. `threaded`: it ended
    a thread.
    """

    inside: bool = False
    frames: tuple[str, ...] | None = None
    quoted: str = ""
    threaded: bool = False


_Stream = tuple[str, int | None]
"""A file and the rank that wrote into it."""
_OUTSIDE = Place()
_INSIDE = Place(inside=True)


class TracebackTracker:
    """Feed it the lines of a run in their order; it returns where each stands.

    Frames are written `file function`, the outermost first, behind `HEADER` where the traceback began with
    it.
    """

    def __init__(self) -> None:
        self._open: dict[_Stream, _Open] = {}
        # Python said that a traceback ends nothing; False once it came
        self._harmless: dict[_Stream, bool] = {}
        self._threaded: dict[_Stream, int] = {}
        """The last line above the traceback of a thread, or of it."""

    def take(self, line: Line) -> Place:
        """Where `line` stands."""
        key, body = (line.file, rank_of(line)), without_prefix(strip_ansi(line.text[:4096]))
        if any(mark in body for mark in HARMLESS_TRACEBACKS):
            self._harmless[key] = True
            return _INSIDE
        if body.startswith(THREAD):
            self._threaded[key] = line.line
            return _INSIDE
        if HEADER in body:
            self._begin(key, line, body)
            return _INSIDE
        opened = self._open.get(key)
        if opened is None:
            return self._without_head(key, line, body)
        if line.line - opened.line > _FORGET_AFTER:
            del self._open[key]
            return _OUTSIDE
        if _goes_on(opened, body):
            self._keep_frame(opened, body)
            return _INSIDE
        if _NAMED.match(body.lstrip()):
            # else a mark of lines that were cut out, or a rule: what ends it may still come
            del self._open[key]
        if opened.threaded:
            self._threaded[key] = line.line
        if opened.harmless:
            return _INSIDE
        return Place(frames=tuple(opened.frames), quoted=opened.quoted, threaded=opened.threaded)

    def _begin(self, key: _Stream, line: Line, body: str) -> None:
        harmless = self._harmless.pop(key, False)
        if harmless:
            self._harmless[key] = False
        above = self._threaded.get(key)
        threaded = above is not None and line.line - above <= _CHAINED
        self._open[key] = _Open(_indent(body), line.line, line, harmless, threaded, frames=[HEADER])

    def _without_head(self, key: _Stream, line: Line, body: str) -> Place:
        """Where a line stands behind which no traceback began: the log begins inside one, or its head was
        cut off."""
        indent = _indent(body)
        if not indent or not _FRAME.match(body.lstrip()):
            return _OUTSIDE
        if key not in self._harmless:  # else the call stack of a message that could not be logged
            opened = self._open[key] = _Open(0, line.line, line, level=indent)
            self._keep_frame(opened, body)
        return _INSIDE

    def close(self) -> list[Line]:
        """The first lines of the tracebacks that nothing ended: there the log was cut off."""
        first = [opened.first for opened in self._open.values() if not opened.harmless]
        self._open.clear()
        return first

    @staticmethod
    def _keep_frame(opened: _Open, body: str) -> None:
        found = _FRAME.search(body) or _BOXED.search(body)
        if found and len(opened.frames) == 1 and opened.frames[0] == HEADER:
            margin = _indent(body) - 2  # a paste may have left the head alone at the margin
            opened.indent = max(opened.indent, margin if body.lstrip().startswith('File "') else 0)
        if found and len(opened.frames) < _MOST_FRAMES:
            opened.frames.append(f"{found['file']} {found['function']}")
        if found or not opened.quoted:
            opened.quoted = "" if found else body.strip()


def _indent(body: str) -> int:
    return len(body) - len(body.lstrip())


def _goes_on(opened: _Open, body: str) -> bool:
    """Whether a line is still inside the traceback: nothing, a frame, or source that it quotes."""
    text, indent = body.lstrip(), _indent(body)
    ends = indent <= opened.level and _RAISED.match(text)
    return not text or (indent > opened.indent and not ends) or text.startswith(_INSIDE_MARKS)
