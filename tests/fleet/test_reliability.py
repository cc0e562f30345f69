"""The figures of a review, and the review as files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hrmdoc.cli.main import main
from hrmdoc.fleet import review
from hrmdoc.fleet.reliability import reliability
from hrmdoc.fleet.summary import Account, Likely, Lost, Summary
from tests.fleet.runs_of import write_run

MONDAY = 1_699_833_600.0  # 2023-11-13, a Monday


def of(
    name: str, account: Account, *, sick: bool = False, at: float = MONDAY, devices: int | None = 8
) -> Summary:
    return Summary(
        f"runs/{name}",
        "critical" if sick else "healthy",
        "",
        causes=(Likely("oom", "Out of memory", 0.9),) if sick else (),
        account=account,
        ended=at,
        devices=devices,
        user="ada",
        remedy="Halve the batch",
    )


def test_the_figures_are_those_of_their_definitions() -> None:
    lost = (Lost("gap", "a gap", 3600.0, 0, 10, ""), Lost("unsaved", "never saved", 1800.0, 400, 0, ""))
    broken = Account(duration=36_000.0, steps=1000, lost=lost, interruptions=3, repairs=(600.0, 1200.0))
    whole = Account(duration=18_000.0, steps=1000)
    found = reliability([of("whole", whole), of("broken", broken, sick=True, at=MONDAY + 8 * 86_400)])
    assert found.ettr == pytest.approx(1 - 5400 / 54_000)
    assert found.goodput == pytest.approx(1 - 400 / 2000)
    assert (found.mtbf, found.mttr, found.interruptions, found.repaired) == (18_000.0, 900.0, 3, 2)
    assert found.hours == pytest.approx(8 * 1.5)
    assert [(one.name, one.seconds, one.steps) for one in found.kinds] == [
        ("gaps without a record", 3600.0, 0),
        ("work that was never saved", 1800.0, 400),
    ]
    assert [(week.monday, week.runs, week.sick) for week in found.weeks] == [
        ("2023-11-13", 1, 0),
        ("2023-11-20", 1, 1),
    ]
    (action,) = found.actions
    assert (action.what, action.owners, action.runs) == ("Halve the batch", ("ada",), ("runs/broken",))


def test_what_is_not_known_is_none_and_said() -> None:
    found = reliability([of("a", Account(steps=100), devices=None)])
    assert (found.ettr, found.mtbf, found.mttr, found.hours) == (None, None, None, 0.0)
    assert any("carry no times" in said for said in found.unjudged)


def test_a_host_whose_runs_fail_is_an_offender() -> None:
    runs = []
    for number in range(24):
        bad = number % 4 == 0
        one = of(str(number), Account(), sick=bad)
        runs.append(
            Summary(
                one.path, one.verdict, "", causes=one.causes, host="node7" if bad else f"node{number % 3}"
            )
        )
    assert "host = node7: 6 of 6 sick, else 0 of 18" in reliability(runs).offenders[0].said


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        write_run(tmp_path / "runs" / f"run_{number}", oom=number == 2)
    return tmp_path


def test_a_review_has_its_figures_first_and_each_run_behind_them(fleet: Path) -> None:
    assert main(["report", "runs", "-o", "review.html"]) == 0
    page = (fleet / "review.html").read_text()
    places = [page.index(text) for text in ("ETTR", "What to do", "By cause", "Incidents", 'id="run')]
    assert places == sorted(places)
    assert page.count('<article class="run"') == 4
    assert page.index('id="run3"') < page.index('id="run1"')  # the one that broke off comes first
    assert len(page) < 4 * 200_000
    assert "400 of 1,600" in page


def test_many_runs_are_written_as_few_are(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrmdoc.cli.report.FEW", 1)
    assert main(["report", "runs", "-o", "review.html"]) == 0
    assert (fleet / "review.html").read_text().count('<article class="run"') == 4


def test_json_holds_figures_and_runs(fleet: Path) -> None:
    assert main(["report", "runs", "-o", "review.json"]) == 0
    found = json.loads((fleet / "review.json").read_text())
    assert found["schema"] == "hrmdoc.review/1"
    assert found["reliability"]["lost_steps"] == 400
    assert len(found["runs"]) == 4


def test_a_pdf_without_a_browser_is_refused_with_what_to_do(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(review, "BROWSERS", ("no-such-browser",))
    assert main(["report", "runs", "-o", "review.pdf"]) == 2
    assert "install chromium" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_pdf_is_printed_by_the_browser(fleet: Path) -> None:
    assert main(["report", "runs", "-o", "review.pdf"]) == 0
    assert (fleet / "review.pdf").read_bytes().startswith(b"%PDF")
