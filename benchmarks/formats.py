"""The table of formats in benchmarks/formats.md: what was read from the artefacts and samples of each,
measured, not claimed.

`python benchmarks/formats.py` writes the table; `--check` fails when what is written there is no longer true.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "benchmarks" / "formats.md"
ARTEFACTS = ROOT / "tests" / "artefacts"
sys.path.insert(0, str(ROOT))

from hrmdoc import readers  # noqa: E402
from hrmdoc.analysis import AnalysisSession  # noqa: E402
from hrmdoc.readers import Source  # noqa: E402
from hrmdoc.record.records import Points  # noqa: E402

_HEAD = """# Formats

What hrmdoc reads, measured on artefacts that the real frameworks left behind (`tests/artefacts`, with
their versions). Made by `python benchmarks/formats.py`; `tests/readers/test_formats_table.py` fails when
a row is no longer true.

- recognised: the reader that is surest of the file by name and first bytes, and the framework that the
  run shows
- metrics: how many were read, and how many of them have a role
- steps: the axis of the training loss (or reward) and its last value; `-` where the artefact holds none
- config facts: keys of the run's settings that were found in it
- tail-able: whether the file can be followed while it grows (appended: yes; rewritten as a whole: read
  again on change)

| artefact | recognised by | framework | kind | metrics (with a role) | steps | config facts | tail-able |
|---|---|---|---|---:|---|---:|---|
"""

_BY_EYE = """
## Real logs, read by eye

73 logs that people published (36 excerpts of failing runs, 37 whole series: printed logs, tables, JSON
histories, Trainer states, output of clusters) were shown by `hrmdoc series` and compared with the file by
eye: framework, axis and last step, roles.

- 64 were right at first sight
- 9 were not: five tables of Keras without a log named no framework; one evaluation before the first step
  stood at a later step; one average over a training epoch, below the heading of an evaluation, was taken
  for its loss; one log of nanoGPT's kind named no framework; one export of a tracker named no kind of run
- all nine are right now, by changes that name no file: what they changed is held by tests on invented
  logs of the same shape
- what stays a guess is shown with `?`: averages such as `avg loss`, errors such as `MAE` beside a loss,
  parts of a reward
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    readers: str
    framework: str
    kind: str
    metrics: int
    roles: int
    steps: str
    facts: int
    tail: str

    def text(self) -> str:
        """As Markdown."""
        metrics = f"{self.metrics} ({self.roles})"
        cells = (
            self.name,
            self.readers,
            self.framework,
            self.kind,
            metrics,
            self.steps,
            str(self.facts),
            self.tail,
        )
        return f"| {' | '.join(cells)} |"


def measure(folder: Path) -> Row:
    """Examines one artefact, and feeds each file in small pieces to see whether points come before its
    end."""
    with tempfile.TemporaryDirectory() as temporary:
        where = folder
        if packed := sorted(folder.glob("*.gz")):
            where = Path(temporary)
            for path in packed:
                (where / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        session = AnalysisSession(str(where))
        session.read([str(where)])
        analysis = session.diagnose(closed=True, prescriptions=False)
        sources = readers.discover(where)
        tail = {source.reader: _grows(source) for source in sources}
    run = analysis.run
    main = run.best("train.loss") or run.best("rl.reward")
    return Row(
        name=folder.relative_to(ARTEFACTS).as_posix(),
        readers=", ".join(sorted(set(run.formats))),
        framework=analysis.situation.framework,
        kind=analysis.situation.kind,
        metrics=len({key.metric for key in run.series}),
        roles=len({key.metric for key, series in run.series.items() if series.role.role}),
        steps="-" if main is None else f"{main.axis} {int(main.steps[-1])}",
        facts=sum(scope == "config" for scope, _ in run.facts),
        tail=", ".join(f"{name}: {'yes' if grows else 'read again'}" for name, grows in sorted(tail.items())),
    )


def _grows(source: Source) -> bool:
    """Whether points come while the file is fed, before it is closed. A file without points counts by what
    its reader says."""
    whole = readers.reader(source.reader).WHOLE
    session = readers.open_source(source)
    data = source.file.read_bytes()
    early = any(
        isinstance(record, Points)
        for start in range(0, len(data), 512)
        for record in session.feed(data[start : start + 512])
    )
    late = any(isinstance(record, Points) for record in session.close())
    if early and whole:
        raise AssertionError(
            f"{source.path}: points come early although the reader says that it needs the whole file"
        )
    return not whole and (early or not late)


def table() -> str:
    """The whole document."""
    folders = sorted(
        path
        for group in ARTEFACTS.iterdir()
        if group.is_dir() and group.name != "programs"
        for path in group.iterdir()
    )
    rows = [measure(folder).text() for folder in folders if folder.is_dir()]
    listed = "\n".join(f"- `{name}`: {readers.reader(name).TITLE}" for name in readers.names())
    return _HEAD + "\n".join(rows) + "\n\n## Readers\n\n" + listed + "\n" + _BY_EYE


def main() -> int:
    """Writes or checks the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    made = table()
    if options.check:
        if TABLE.read_text() != made:
            print("benchmarks/formats.md is out of date: run python benchmarks/formats.py", file=sys.stderr)
            return 1
        return 0
    TABLE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
