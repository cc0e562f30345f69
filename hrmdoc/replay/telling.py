"""What a replay says while it plays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hrmdoc.replay.story import Story

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.incidents import Incident
    from hrmdoc.remedies.patch import KeyChange


class Teller:
    """Tells a story on a rich console, in numbered chapters."""

    def __init__(self, story: Story, out: Any) -> None:
        self.story, self.out = story, out
        self._chapter = 0

    def chapter(self, title: str, command: str) -> None:
        """The next chapter, with the command that does the same by hand."""
        from rich.text import Text

        self.out.print()
        self._chapter += 1
        line = Text(f"{self._chapter}. {title}", style="bold").append(f"   $ {command}", style="dim")
        self.out.print(line, soft_wrap=True)

    def incident(self, incident: Incident) -> None:
        """What the watch reports."""
        from hrmdoc.reports.terminal import show_incident

        show_incident(incident, self.out)

    def evaluations(self, analysis: Analysis, reported: int) -> int:
        """Reports the evaluations beyond the first `reported`, by the last goal; how many there are."""
        from rich.text import Text

        goal = self.story.goals[-1]
        reached = goal.curve(analysis)
        if reached is None:
            return reported
        for step, share in zip(reached.steps[reported:], reached.values[reported:], strict=True):
            said = f"    step {step:>4}: {share:{goal.form}} of the {goal.label}"
            self.out.print(Text(time.strftime("%H:%M:%S"), style="dim").append(said, style="not dim"))
        return len(reached)

    def diagnosis(self, analysis: Analysis) -> None:
        """What `hrmdoc analyze` shows."""
        from hrmdoc.reports.terminal import show

        show(analysis, self.out)

    def diff(self, diff: str) -> None:
        """A patch."""
        from rich.text import Text

        for line in diff.splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            self.out.print(Text(line, style=style))

    def comparison(self, runs: Sequence[Analysis], changes: Sequence[KeyChange]) -> None:
        """What the patches have changed: settings, goals, verdicts. `runs` are the sick one, the mended one
        and, where one was trained, the twin."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 3, 0, 2), title_justify="left")
        for heading in ("", "sick", "mended", "healthy twin")[: len(runs) + 1]:
            table.add_column(heading)
        for path in dict.fromkeys(change.path for change in changes):
            steps = [change for change in changes if change.path == path]
            table.add_row(path, _brief(steps[0].before), _brief(steps[-1].after))
        for goal in self.story.goals:
            ends = [goal.at_end(one) for one in runs]
            table.add_row(goal.label, *("-" if end is None else format(end, goal.form) for end in ends))
        table.add_row("verdict", *(one.verdict for one in runs))
        self.out.print(table)


def _brief(value: object) -> str:
    """A setting as it is shown in the table."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
