"""The ranked causes as the terminal shows them."""

from __future__ import annotations

import io
import re
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.reports.terminal_causes import show_causes

METRICS = (
    "| epoch 003 | loss 6.1 | ppl 31 | num_updates 900 | lr 0.0006 | gnorm 0.4 | loss_scale 0.5 | wall 80\n"
)
LOWERED = "| WARNING: overflow detected, setting loss scale to: 0.000244140625\n"


def shown_of(analysis: Analysis) -> str:
    page = io.StringIO()
    show_causes(analysis, Console(file=page, width=100), verbose=False)
    return page.getvalue()


def printed(log: Path) -> str:
    return shown_of(analyze(log))


def shares(text: str) -> list[int]:
    """The percentages of the causes with a name, in their order; the unknown one stands behind them, however
    probable it is."""
    return [int(share) for share in re.findall(r"^ \d\. +(\d+)%(?!.*  unknown$)", text, re.MULTILINE)]


def test_causes_that_fall_in_probability_need_no_line_between_them(tmp_path: Path) -> None:
    log = tmp_path / "full.log"
    log.write_text("OSError: [Errno 28] No space left on device: 'runs/last.pt'\n")
    found = shares(printed(log))
    assert found
    assert found == sorted(found, reverse=True)
    assert "behind lesser findings" not in printed(log)


def test_a_likelier_cause_of_a_lesser_finding_stands_below_a_line_that_says_so(tmp_path: Path) -> None:
    log = tmp_path / "scale.log"
    log.write_text(METRICS + 2 * LOWERED)
    analysis = analyze(log)
    shown = zip(analysis.diagnosis.hypotheses[:2], (0.3, 0.6), strict=True)
    hypotheses = tuple(replace(one, probability=probability) for one, probability in shown)
    first, line, rest = shown_of(
        replace(analysis, diagnosis=replace(analysis.diagnosis, hypotheses=hypotheses))
    ).partition(" behind lesser findings:\n")
    assert line
    assert (shares(first), shares(rest)) == ([30], [60])
