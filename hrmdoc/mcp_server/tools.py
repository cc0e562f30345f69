"""What stands behind the tools: runs below the roots are examined, patches shown and, where that was allowed,
written."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hrmdoc import readers, rulebook, settings
from hrmdoc.analysis import Analysis
from hrmdoc.errors import ActionError, InputError, PatchError, UsageError, did_you_mean
from hrmdoc.mcp_server import answers, undoing
from hrmdoc.mcp_server.bounded import LIMITS, Detail, cut
from hrmdoc.mcp_server.quotes import Quotes
from hrmdoc.mcp_server.treatment import apply, refused
from hrmdoc.readers import RunGroup
from hrmdoc.record.records import Damage
from hrmdoc.remedies.files import digest
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.rulebook import current
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import examine

POINTS: dict[Detail, int] = {"short": 40, "more": 200, "full": 1000}


@dataclass(slots=True)
class Tools:
    """Answers what tools ask.

    Args:
        roots: nothing outside of them is read or written.
        allow_apply: patches may be written, as far as `[policy]` allows.
    """

    roots: Roots
    allow_apply: bool = False
    quotes: Quotes = field(default_factory=Quotes)

    def triage(self, folder: str) -> dict[str, Any]:
        """All runs below a folder, or below the roots."""
        from hrmdoc.fleet.store import Store
        from hrmdoc.fleet.triage import Asked, Triage
        from hrmdoc.fleet.work import Request

        paths = (self._inside(folder),) if self.quotes.bare(folder) else self.roots.paths
        request = Request(settings.load(Path.cwd()), {}, "", os.getcwd())
        store = Store(kept=True)
        try:
            work = Triage(paths, request, store, within=self._held)
            found = work.run(Asked((), (), float("-inf")), lambda _: lambda _: None)
        finally:
            store.close()
        return answers.fleet(found, (self.roots.name(run.path) for run in found.runs), self.quotes)

    def analyze(self, run: str) -> dict[str, Any]:
        """The diagnosis of one run."""
        return answers.diagnosis(self._analysis(run), self.quotes)

    def series(self, run: str, metric: str, detail: Detail) -> dict[str, Any]:
        """The metrics of a run, or the points of one."""
        known = [one for one in self._analysis(run).run.series.values() if len(one)]
        if not (wanted := self.quotes.bare(metric)):
            return {"metrics": answers.metrics(known, self.quotes)}
        named = [one for one in known if wanted in (one.key.metric, one.role.role)]
        if not named:
            names = [one.key.metric for one in known]
            raise UsageError(f"no metric {wanted!r}", hint=did_you_mean(wanted, names) or "ask without one")
        best = max(named, key=len)
        answer = answers.points(best, POINTS[detail])
        return {
            **answers.metrics([best], self.quotes)[0],
            "points_of": len(best),
            "points": answer,
        }

    def explain(self, name: str, detail: Detail) -> dict[str, Any]:
        """What a symptom, cause or remedy means; text of the rules and playbooks."""
        from hrmdoc.reports.explanation import explanation

        own = settings.load(Path.cwd())
        book = rulebook.load(Path(folder) for folder in own.rules)
        text = explanation(name.strip(), book)
        if text is None:
            known = [*book.symptoms, *book.causes, *book.remedies, *book.signatures]
            raise UsageError(f"nothing is called {name!r}", hint=did_you_mean(name, known))
        kept = cut(text, LIMITS[detail] - 400)
        return {"id": name.strip(), "markdown": kept, **({"cut": True} if kept != text else {})}

    def preview(self, run: str, remedy: str, detail: Detail) -> dict[str, Any]:
        """The patch of a remedy as a diff, with the proof that `apply` asks for."""
        analysis = self._analysis(run)
        offer, cause = self._offer(analysis, remedy)
        assert offer.patch is not None
        files = [str(edit.path) for edit in offer.patch.edits]
        answer: dict[str, Any] = {
            "remedy": offer.remedy.id,
            "title": offer.remedy.title,
            "why": offer.remedy.why,
            "risk": offer.remedy.risk,
            "cause": cause,
            "files": [self.quotes.line(self.roots.name(file), 300) for file in files[:5]],
            "diff": self.quotes.lines(offer.diff, LIMITS[detail] - 1_900),
            "proof": proof(offer),
        }
        why = refused(offer, cause, analysis, self.roots, allowed=self.allow_apply)
        return {**answer, "apply": f"refused: {why}" if why else "allowed; pass `proof` on"}

    def apply(self, run: str, remedy: str, shown: str) -> dict[str, Any]:
        """Writes a patch that was shown, where that was allowed.

        Raises:
            ActionError: it was not.
            PatchError: it is another patch by now, or cannot be written.
        """
        analysis = self._analysis(run)
        offer, cause = self._offer(analysis, remedy)
        if why := refused(offer, cause, analysis, self.roots, allowed=self.allow_apply):
            raise ActionError(f"nothing was written: {why}")
        if not hmac.compare_digest(proof(offer).encode(), self.quotes.bare(shown).encode()):
            raise PatchError(
                "this is not the patch that was shown", hint="call preview_patch, then apply_patch"
            )
        written = apply(analysis, offer)
        names = [self.quotes.line(self.roots.name(file), 300) for file in written[:5]]
        return {
            "written": names,
            "next": "start the run again to see its effect",
            "undo": "undo_patch, or hrmdoc apply --undo",
        }

    def undo(self, run: str, shown: str) -> dict[str, Any]:
        """The newest patch of a run that still holds, with a proof; with that proof it is taken back.

        Raises:
            ActionError: that is not allowed.
            PatchError: there is none, it is another one by now, or its file was edited since.
        """
        analysis = self._analysis(run)
        entry = undoing.newest(analysis, self.roots)
        why = undoing.refused(entry, analysis, self.roots, allowed=self.allow_apply)
        told = {
            "remedy": self.quotes.line(entry.remedy),
            "file": self.quotes.line(self.roots.name(entry.file), 300),
        }
        if not (given := self.quotes.bare(shown)):
            says = (
                f"refused: {why}" if why else "allowed; pass `proof` on, and the file is as before the patch"
            )
            return {
                **told,
                "written_at": undoing.written_at(entry),
                "proof": undoing.proof(entry),
                "undo": says,
            }
        if why:
            raise ActionError(f"nothing was taken back: {why}")
        if not hmac.compare_digest(undoing.proof(entry).encode(), given.encode()):
            raise PatchError("this is not the patch that was shown", hint="call undo_patch without a proof")
        undoing.undo(entry, analysis)
        return {**told, "taken_back": True}

    def _inside(self, path: str) -> str:
        """A path that a caller named, below a root.

        Raises:
            UsageError: it lies elsewhere.
        """
        bare = self.quotes.bare(path)
        candidates = [os.path.join(root, bare) for root in self.roots.paths]
        candidates += [os.path.join(os.path.dirname(root), bare) for root in self.roots.paths]
        for one in (bare, *candidates):
            file, part, name = one.partition("#")  # a run inside a database
            if file and "\0" not in file and os.path.lexists(file) and self.roots.hold(file):
                return os.path.realpath(file) + part + name
        raise UsageError(
            "there is no such run below the folders that may be read", hint="triage lists the runs"
        )

    def _held(self, group: RunGroup) -> bool:
        """Whether nothing of a run lies outside of the roots, whatever links say."""
        return all(self.roots.hold(source.path) for source in group.sources)

    def _analysis(self, run: str) -> Analysis:
        path = self._inside(run)
        problems: list[Damage] = []
        groups = [group for group in readers.runs_below([path], problems) if self._held(group)]
        if len(groups) > 1:
            raise UsageError(f"there are {len(groups)} runs in it", hint="triage lists them; name one")
        if not groups:
            what = problems[0].what if problems else "nothing in it can be read"
            raise InputError(what, file=os.path.basename(path))
        return examine(groups[0], self.roots)

    def _offer(self, analysis: Analysis, remedy: str) -> tuple[Prescription, str]:
        """The patch that is asked for, or the first one, and the cause that it is for.

        Raises:
            PatchError: there is none.
        """
        wanted = next(iter(current((self.quotes.bare(remedy),), analysis.book, analysis.book.remedies)), "")
        offers = list(_offers(analysis))
        for cause, one in offers:
            if one.patch is not None and (one.remedy.id == wanted if wanted else not one.unsure):
                return one, cause
        named = [one for _, one in offers if not wanted or one.remedy.id == wanted]
        why = next((one.obstacle for one in named if one.obstacle), "")
        lines = "; ".join(answers.remedy_line(one) for _, one in offers[:5])
        raise PatchError(
            "there is no patch" + (f" {wanted!r}" if wanted else "") + (f": {why}" if why else ""),
            hint=lines or "the run shows no fault that a config can mend",
        )


def _offers(analysis: Analysis) -> Iterator[tuple[str, Prescription]]:
    return ((cause, one) for cause, offered in analysis.prescriptions.items() for one in offered)


def proof(offer: Prescription) -> str:
    """What binds `apply` to the very patch that was shown."""
    return digest(offer.diff.encode())[:16]
