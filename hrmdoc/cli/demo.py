"""`hrmdoc demo`"""

from __future__ import annotations

from pathlib import Path

import click

from hrmdoc.cli.shared.options import console


@click.command("demo")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where runs/ is made [default: here].",
)
def command(folder: Path) -> int:
    """A fault, its diagnosis, the patch, the healthy rerun and the report, on a real HRM training run in two
    minutes."""
    from hrmdoc.demo import Demo
    from hrmdoc.reports.terminal import show

    out = console()
    demo = Demo(folder, out)
    story = demo.play()
    show(story.healed, out)
    sick = [
        s.id
        for s in story.sick.present
        if s.state == "present" and story.sick.severity(s) in ("warning", "critical")
    ]
    still = {s.id: story.healed.severity(s) for s in story.healed.present if s.state == "present"}
    left = sorted(name for name, severity in still.items() if severity in ("warning", "critical"))
    healed = story.healed.verdict in ("healthy", "info")
    out.print()
    out.print(f"gone: {', '.join(name for name in sick if name not in still) or 'nothing'}")
    if left:
        out.print(f"left: {', '.join(left)}")
    out.print(f"The report: {story.report}")
    out.print(f"The run:    {demo.runs / 'latest'}   (hrmdoc analyze {demo.runs / 'latest'})")
    return 0 if healed else 1
