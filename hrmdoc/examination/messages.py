"""Log lines as a condition: what the signatures of a symptom matched, and whether the run went on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain

from hrmdoc.examination.behind import behind_end
from hrmdoc.examination.evidence import behind_bar
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.signatures import NEAR_THE_END, SignatureMatch
from hrmdoc.record.records import CELL_ENDED, Line
from hrmdoc.record.run import Run
from hrmdoc.rulebook import LinesWhen

_Matches = Sequence[tuple[Line, SignatureMatch]]


def _has_log(run: Run) -> bool:
    """Whether any text was read. Lines that the comparison of flight records makes are no log that others
    could be absent in."""
    return bool(run.line_count or (run.lines and run.formats != ["flight_recorder"]))


_REPORTED_WITHIN = 300
"""Lines: between a refusal of memory and the word that it was caught stands what the devices hold, a table
for each of them."""


class LinesNode:
    """Log lines that the signatures of a symptom matched. A fatal line is over once training outlived it or
    says so."""

    def __init__(self, symptom: str, when: LinesWhen) -> None:
        self._symptom = symptom
        self._when = when

    def evaluate(self, scene: Scene) -> Finding:
        matches = scene.matches.get(self._symptom, ())
        if not matches:
            return Finding("absent" if _has_log(scene.run) else "not_evaluated", missing=("log lines",))
        if len(matches) < self._when.at_least:
            return Finding("absent", count=len(matches))
        open_ = self._open(scene, matches)
        line, match = _speaking(open_ or matches)
        steps = [one.step for one, _ in matches if one.step is not None]
        over = not open_ or self._got_over(scene)
        return Finding(
            "resolved" if over else "present",
            first_step=line.step,
            last_step=max(steps, default=None),
            first_time=None if math.isnan(line.time) else line.time,
            count=len(matches),
            values={
                **match.groups,
                "text": behind_bar(line.text, match.signature.pattern),
                "signature": match.signature.id,
                "role": match.signature.role,
                "of_last_run": not (over and all(scene.run.launched_behind(one) for one, _ in matches)),
                **({} if over else _place_behind(scene.run, open_)),
            },
            file=line.file,
            line=line.line,
            rank=line.rank,
        )

    def _open(self, scene: Scene, matches: _Matches) -> _Matches:
        """The matches behind which training did not go on; all of them where it may with what they say."""
        if not (self._when.recovers or _speaking(matches)[1].signature.fatal):
            return matches
        return [
            pair for pair in matches if not (scene.run.outlived(pair[0]) or _of_a_thread(scene.run, *pair))
        ]

    def _got_over(self, scene: Scene) -> bool:
        """Whether the program says behind every line, or in it, that it goes on."""
        reported: dict[str, list[int]] = {}
        if self._when.got_over:
            for line, match in chain.from_iterable(scene.matches.values()):
                if match.signature.id == self._when.got_over:
                    reported.setdefault(line.file, []).append(line.line)
        if not reported:
            return False
        for numbers in reported.values():
            numbers.sort()
        return all(
            _follows(line.line, reported.get(line.file, [])) for line, _ in scene.matches[self._symptom]
        )


def _of_a_thread(run: Run, line: Line, match: SignatureMatch) -> bool:
    """Whether it ended a thread, and the program wrote on."""
    return match.threaded and run.line_count - line.line > NEAR_THE_END


def _place_behind(run: Run, matches: _Matches) -> dict[str, str]:
    """Whether all fatal lines stand behind the end of the training: `cell`, in another cell of a notebook, or
    `end`. What training did not outlive stands behind none or one, so that the first and last of a file say
    it."""
    lines: dict[str, list[Line]] = {}
    for line, match in matches:
        if match.signature.fatal:
            lines.setdefault(line.file, []).append(line)
    asked = [ask(own, key=lambda one: one.line) for own in lines.values() for ask in (min, max)]
    ends = [behind_end(run, line) for line in asked]
    if not ends or None in ends:
        return {}
    return {"behind": "cell" if all(end and end.detail.startswith(CELL_ENDED) for end in ends) else "end"}


def _speaking(matches: _Matches) -> tuple[Line, SignatureMatch]:
    """The match that the symptom quotes: the earliest root, or the earliest of all where none is a root."""
    roots = [pair for pair in matches if pair[1].signature.role == "root"] or matches
    return min(roots, key=lambda pair: pair[0].time if not math.isnan(pair[0].time) else math.inf)


def _follows(line: int, reported: Sequence[int]) -> bool:
    """Whether one of the numbers `reported`, which ascend, is `line` or stands shortly behind it."""
    index = bisect_left(reported, line)
    return index < len(reported) and reported[index] - line <= _REPORTED_WITHIN
