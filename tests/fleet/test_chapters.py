"""A review of many runs: chapters for the worst alone, the others by their summaries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hrmdoc.cli.main import main
from hrmdoc.fleet import chapters
from hrmdoc.fleet.chapters import Review
from hrmdoc.fleet.store import Store
from hrmdoc.fleet.triage import Asked, Triage
from hrmdoc.fleet.work import Request
from hrmdoc.readers import runs_below
from hrmdoc.settings import Settings
from tests.fleet.runs_of import write_run

REQUEST = Request(Settings())


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six runs of which the third is sick, where reviews have two chapters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chapters, "MOST", 2)
    monkeypatch.setattr("hrmdoc.fleet.examine.FEW", 20)  # in this process
    monkeypatch.setattr("hrmdoc.cli.report.FEW", 1)
    for number in range(6):
        write_run(tmp_path / "runs" / f"run_{number}", sick=number == 3)
    return tmp_path / "runs"


def test_the_worst_that_are_sick_have_chapters_and_every_run_its_row(fleet: Path) -> None:
    assert main(["report", "runs", "-o", "review.html"]) == 0
    page = Path("review.html").read_text()
    assert page.count('<article class="run"') == 1
    assert page.count("<details") >= 5
    assert page.index("runs/run_3</a>") < page.index("hrmdoc analyze runs/run_")
    for number in (1, 2, 4, 5):
        assert f"<code>hrmdoc analyze runs/run_{number}</code>" in page
    assert page.count('href="#run') == page.count('href="#run4"') > 0
    assert 'id="run4"' in page


def test_the_markdown_lists_all_of_them(fleet: Path) -> None:
    assert main(["report", "runs", "-o", "review.md"]) == 0
    text = Path("review.md").read_text()
    assert all(f"run\\_{number}" in text for number in range(6))


def test_a_review_takes_what_a_triage_found(fleet: Path, tmp_path: Path) -> None:
    asked: list[int] = []

    def counted(total: int) -> Callable[[str], None]:
        asked.append(total)
        return lambda _: None

    store = Store(tmp_path / "cache.sqlite")
    Triage(["runs"], REQUEST, store).run(Asked(), counted)
    found = Review(REQUEST, store, counted).reviewed(runs_below("runs"), "html", lambda _: True)
    store.close()
    assert asked == [6, 1]
    assert [run.verdict for run in found.runs[:2]] == ["critical", "healthy"]
    assert [done.summary.path for done in found.chapters] == [found.runs[0].path]


def test_a_review_from_nothing_examines_each_run_once(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1, 2, 4, 5):
        write_run(fleet / f"run_{number}", sick=True, steps=40 + 10 * number)
    asked: list[int] = []

    def counted(total: int) -> Callable[[str], None]:
        asked.append(total)
        return lambda _: None

    monkeypatch.setattr(chapters, "FEWEST_KEPT", 2)
    store = Store(kept=False)
    found = Review(REQUEST, store, counted).reviewed(runs_below("runs"), "html", lambda _: True)
    store.close()
    assert asked == [6]
    assert [done.summary.path for done in found.chapters] == [run.path for run in found.runs[:2]]
    assert len({done.number for done in found.chapters}) == 2
    assert all("<article" in done.extra for done in found.chapters)


@pytest.mark.parametrize("name", ["gone/review.html", "review.docx"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(
    fleet: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hrmdoc.cli.report.Runs", lambda *_, **__: pytest.fail("runs were listed"))
    assert main(["report", "runs", "-o", name]) == 2
    assert name.split("/")[0] in capsys.readouterr().err
