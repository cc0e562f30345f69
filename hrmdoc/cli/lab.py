"""`hrmdoc lab`"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from hrmdoc.cli.shared.options import progress
from hrmdoc.errors import UsageError

PASS = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command("lab", context_settings=PASS)
@click.option(
    "--reference",
    is_flag=True,
    help="The faults of the HRM trainer only, also where the whole lab is at hand.",
)
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/lab-reference"),
    show_default=True,
    help="Where the runs of the HRM trainer go.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], *, reference: bool, runs: Path) -> int:
    """Give training programs known faults and see whether the diagnosis names them.

    In a checkout this is the fault lab: `--matrix ci`, the default, takes minutes, `small` an hour and more.
    An installed hrmdoc gives its own HRM trainer each of its faults; WORDS then name
    the faults [default: all].
    """
    root = Path(__file__).parents[2]
    if not reference and (root / "benchmarks" / "lab" / "__main__.py").is_file():
        words_of_lab = [sys.executable, "-m", "benchmarks.lab", *(words or ("--matrix", "ci"))]
        return subprocess.run(words_of_lab, cwd=root, check=False).returncode
    from hrmdoc import lab

    known = lab.faults()
    if unknown := [word for word in words if word not in known]:
        raise UsageError(
            f"the HRM trainer has no fault {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}"
        )
    results, names = [], words or sorted(known)
    with progress("training with the fault", len(names)) as advance:
        for name in names:
            advance(name)
            result = lab.try_fault(name, known[name], runs)
            results.append(result)
            click.echo(result.line())
    right = sum(result.rank == 1 for result in results)
    click.echo(
        f"{right} of {len(results)} named first, {sum(result.found for result in results)} found; runs "
        f"are kept in {runs}"
    )
    return 0 if all(result.found for result in results) else 1
