"""Draws the page of one run, in a process that keeps the runs which it drew last: another scale or a narrower
window needs no second reading."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hrmdoc import rulebook
from hrmdoc.analysis import Analysis
from hrmdoc.readers import RunGroup
from hrmdoc.remedies import store
from hrmdoc.remedies.files import digest
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.remedies.store import Entry
from hrmdoc.remedies.targets import targets
from hrmdoc.reports.charts import View, charts
from hrmdoc.reports.review import chapter
from hrmdoc.reports.twins import companion_of
from hrmdoc.reports.verdict import likely
from hrmdoc.web.history import history
from hrmdoc.web.pages import environment
from hrmdoc.web.playbooks import address
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import examine

KEPT = 4
"""Analyses that are kept: a run, those laid over it, and the one before."""
SCALES = (("", "auto"), ("log", "logarithmic"), ("linear", "linear"))
_kept: OrderedDict[tuple[str, object], Analysis] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Request:
    """One page of a run that is asked for.

    Attributes:
        stamp: how the run's files stand.
        over: the runs to lay over it, with their stamps and names.
        token: what forms carry; "" where patches may not be applied.
        choices: keys and names of the runs that may be laid over it, `beside` those that are; `scale` as the
            address has it.
    """

    key: str
    group: RunGroup
    stamp: object
    over: Sequence[tuple[RunGroup, object, str]] = ()
    view: View = field(default_factory=View)
    token: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    scale: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A patch that stands in a config of the run and can be taken back."""

    file: str
    name: str
    remedy: str
    digest: str


def warm() -> None:
    """Loads the rules before the first page is asked for."""
    rulebook.load(())


def draw(asked: Request, roots: Roots) -> str:
    """The page's middle as HTML."""
    analysis = _analysis(asked.group, asked.stamp, roots)
    others = [
        companion_of(analysis, _analysis(group, stamp, roots), name) for group, stamp, name in asked.over
    ]
    return (
        environment()
        .get_template("_one.html.j2")
        .render(
            key=asked.key,
            c=chapter(analysis),
            a=analysis,
            shown=charts(analysis, others, asked.view),
            token=asked.token,
            name_of=roots.name,
            writable=lambda one: writable(one, roots),
            proof=proof,
            written=list(written(analysis, roots)) if asked.token else [],
            history=history(asked.group.folder),
            address=address,
            choices=asked.choices,
            beside=asked.beside,
            view=asked.view,
            scale=asked.scale,
            scales=SCALES,
            playbook_of=playbook_of,
        )
    )


def playbook_of(analysis: Analysis) -> list[str]:
    """The page on the leading cause."""
    named = (one for one in likely(analysis) if not one.benign and one.playbook)
    return [one.playbook for one in islice(named, 1)]


def writable(offer: Prescription, roots: Roots) -> list[str]:
    """The files that a patch would change, if all of them may be changed from here, else none."""
    files = [str(edit.path) for edit in offer.patch.edits] if offer.patch else []
    return files if all(map(roots.hold, files)) else []


def proof(offer: Prescription) -> str:
    """What a form carries so that exactly the patch that was shown is made."""
    return digest(offer.diff.encode())


def written(analysis: Analysis, roots: Roots) -> Iterator[Written]:
    """The newest patch that still holds in each config of a run."""
    where = targets(analysis.run, analysis.situation, analysis.book, within=roots.hold)
    for path in (*where.files, *where.records):
        held: tuple[Entry, ...] = store.history(path)
        if held:
            title = (
                analysis.book.remedies[held[-1].remedy].title
                if held[-1].remedy in analysis.book.remedies
                else ""
            )
            yield Written(
                str(path), roots.name(str(Path(path).resolve())), title or held[-1].remedy, held[-1].after
            )


def _analysis(group: RunGroup, stamp: object, roots: Roots) -> Analysis:
    known = (group.folder, stamp)
    if known not in _kept:
        _kept[known] = examine(group, roots)
        for old in [one for one in _kept if one[0] == group.folder and one != known]:
            del _kept[old]
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(known)
    return _kept[known]
