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
    """A fault, its diagnosis, the patch, the healthy rerun and the report, on a real HRM training run, in
    about a minute."""
    from hrmdoc.demo import Demo

    out = console()
    demo = Demo(folder, out)
    story = demo.play()
    left = sorted(
        one.id
        for one in story.healed.present
        if one.state == "present" and story.healed.severity(one) in ("warning", "critical")
    )
    out.print()
    if left:
        out.print(f"Not cured: {', '.join(left)}")
    else:
        out.print("Cured. Every curve, cause and change is on one page:", style="bold green")
    out.print(f"  {story.report}")
    out.print("For a run of your own: hrmdoc analyze training.log")
    return 1 if left else 0
