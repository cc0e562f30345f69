"""A large text log with the whole signature catalogue, against ripgrep with the same literals on one core."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import Section, Target, compare, mb, options, run, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """Scans one log in several ways. `folder` takes the generated files."""
    size = (128 if quick else 1024) << 20
    log = data.text_log(folder / "train.log", size)
    rich = data.text_log(folder / "rich.log", size // 16, metric_every=10)
    hostile = data.hostile_log(folder / "hostile.log", size // 8)
    words = folder / "literals.txt"
    catalogue = run(task("literals", words)).said
    programs = {
        "signatures alone": task("signature_scan", log),
        "whole reader": task("hrmdoc_read", log),
        "metric lines": task("hrmdoc_read", rich),
        "hostile lines": task("hrmdoc_read", hostile),
        "start": task(
            "bare",
            "hrmdoc.readers.sources.feed",
            "hrmdoc.examination.signatures",
            "hrmdoc.rulebook",
            "hrmdoc.readers.text",
        ),
    }
    if shutil.which("rg"):
        programs["rg -j1 -c -F"] = ["rg", "-j1", "-c", "-F", "-f", str(words), str(log)]
    found = compare(programs, 3 if quick else 5)
    sizes = {"metric lines": rich, "hostile lines": hostile}
    rows = [
        (name, f"{one.cpu:.2f}", f"{sizes.get(name, log).stat().st_size / one.cpu / 1e6:.0f}", mb(one.peak))
        for name, one in found.items()
        if name != "start"
    ]
    section = Section(
        "Text logs",
        f"{size >> 20} MiB of notices with a line of trouble in 20,000; all {catalogue['signatures']} "
        f"signatures "
        f"({catalogue['literals']} literals). *Signatures alone* finds the literals and confirms each "
        f"hit by the signature's own "
        "pattern; *whole reader* also looks for metrics, bars, tracebacks, events and facts; *metric "
        "lines* is a log in which "
        "every tenth line is a record of metrics; *hostile lines* has lines without end, deep brackets, "
        "NUL, half-drawn bars.",
        [table(("what", "CPU s", "MB/s", "peak MB"), rows)],
    )
    if rg := found.get("rg -j1 -c -F"):
        ratios = {name: rg.cpu / found[name].cpu for name in ("signatures alone", "whole reader")}
        scan = ratios["signatures alone"]
        section.targets = [
            Target(
                "the signature catalogue at the speed of `rg -c -F` with the same literals",
                f"{scan:.2f} times",
                scan >= 1,
            ),
            Target(
                "the whole reader at that speed",
                f"{ratios['whole reader']:.2f} times",
                ratios["whole reader"] >= 1,
            ),
        ]
    else:
        section.targets = [Target("the speed of `rg -c -F`", "rg is not installed", None)]
    peaks = [
        one.peak or 1e9
        for name, one in found.items()
        if name in ("whole reader", "signatures alone", "hostile lines")
    ]
    section.targets.append(Target("peak memory under 100 MB", f"{max(peaks):.0f} MB", max(peaks) < 100))
    pace = hostile.stat().st_size / found["hostile lines"].cpu / 1e6
    section.targets.append(Target("hostile lines no slower than 5 MB/s", f"{pace:.0f} MB/s", pace >= 5))
    return section


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
