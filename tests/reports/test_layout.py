"""Lines of a report, and cells of a table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hrmdoc.reports.ink import Text
from hrmdoc.reports.layout import cell, put, safe


@pytest.mark.parametrize(
    "text", ["::set-output name=x::y", "x" * 35 + " ::error::y", "x" * 40 + "::error::y"]
)
def test_no_line_begins_with_a_command_of_a_build(text: str) -> None:
    out = io.StringIO()
    put(Console(file=out, width=40), Text(text))
    lines = out.getvalue().splitlines()
    assert not [line for line in lines if line.lstrip().startswith("::")]
    assert ": ::" in " ".join(lines)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd", "@x", "\x00=1", "\x1b[31m=1", " =1", "＝1"])
def test_a_cell_is_no_formula(text: str) -> None:
    assert cell(safe(text)).startswith("'")
    assert cell("loss") == "loss"
