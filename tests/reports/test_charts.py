"""Which curves a page draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.reports.charts import charts
from hrmdoc.reports.twins import companion_of

REFUSED = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 546.00 MiB."


def run(folder: Path, name: str, *lines: str) -> Analysis:
    log = folder / f"{name}.log"
    log.write_text("\n".join(lines) + "\n")
    return analyze(str(log))


@pytest.fixture
def well(tmp_path: Path) -> Analysis:
    return run(tmp_path, "well", *(f"step {n} loss {2 / n:.4f}" for n in range(1, 60)))


@pytest.mark.parametrize(("before", "ends"), [((), "no curve"), (("step 1 loss 2.0",), "2 (one point)")])
def test_a_run_that_ended_before_it_had_a_curve_shows_those_of_its_companions(
    tmp_path: Path, well: Analysis, before: tuple[str, ...], ends: str
) -> None:
    early = run(tmp_path, "early", *before, REFUSED)
    assert charts(early).drawn == ()
    (loss,) = charts(early, [companion_of(early, well), companion_of(early, well)]).drawn
    assert (loss.name, loss.ends, len(loss.lines)) == ("loss", ends, 2)
    assert "<path" in loss.picture


def test_a_run_with_curves_shows_its_own(tmp_path: Path, well: Analysis) -> None:
    later = run(tmp_path, "later", *(f"step {n} loss {3 / n:.4f}" for n in range(1, 9)), REFUSED)
    (loss,) = charts(later, [companion_of(later, well)]).drawn
    assert loss.ends == "3 → 0.375"
    assert len(loss.lines) == 1
