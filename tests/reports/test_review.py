"""The review as a page: what stands first, what is laid over each other, and what hostile text becomes."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec import structs

import hrmdoc
from hrmdoc.analysis import Analysis
from hrmdoc.reports import review
from hrmdoc.reports.charts import View, charts
from hrmdoc.reports.html import OF_TIMES, diff_lines, first_step, marked
from hrmdoc.reports.twins import companion
from tests.reports.runs_of import HOSTILE, write_hostile, write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def sick(folder: Path) -> Analysis:
    return hrmdoc.analyze(write_run(folder / "sick", lr=0.8, sick_from=200))


@pytest.fixture(scope="module")
def healed(folder: Path) -> Analysis:
    return hrmdoc.analyze(write_run(folder / "healed", at=5000.0))


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_what_to_do_stands_before_curves_and_causes(sick: Analysis) -> None:
    page = review.html([sick])
    step = first_step(sick)
    assert step is not None
    places = [
        page.index(text)
        for text in (step.remedy.title, '<svg class="chart"', "Probable causes", "What shows")
    ]
    assert places == sorted(places)


def test_a_healthy_run_is_told_to_do_nothing(healed: Analysis) -> None:
    assert first_step(healed) is None
    assert "What to do first" not in review.html([healed])


def test_findings_are_named_by_titles_whose_links_lead_somewhere(sick: Analysis) -> None:
    tags = Tags(review.html([sick])).found
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    targets = {str(attrs["href"]) for tag, attrs in tags if tag == "a"}
    assert targets
    assert all(target.startswith("#") and target[1:] in ids for target in targets)
    assert sick.present
    assert all(symptom.title in review.html([sick]).replace("&#39;", "'") for symptom in sick.present)


def test_a_patch_is_shown_line_by_line_as_what_it_is(sick: Analysis) -> None:
    kinds = [kind for kind, _ in diff_lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-lr: 1\n+lr: 0.1\n same\n")]
    assert kinds == ["file", "file", "at", "del", "add", "same"]
    page = review.html([sick])
    assert re.search(r'<span class="del">-learning_rate: 0.8</span>', page)
    assert re.search(r'<span class="add">\+learning_rate: [\d.e-]+</span>', page)


def test_a_page_loads_nothing_and_is_small(sick: Analysis) -> None:
    page = review.html([sick])
    assert not [tag for tag, _ in Tags(page).found if tag in ("script", "link", "img", "iframe", "object")]
    assert "url(" not in page
    assert "@import" not in page
    assert len(page) < 200_000


def test_the_healed_run_is_laid_over_the_sick_one(sick: Analysis, healed: Analysis) -> None:
    found = companion(sick, [sick, healed])
    assert found is not None
    assert found.style == "healed"
    page = review.html([sick, healed])
    assert '<polyline class="c healed"' in page
    assert companion(healed, [sick, healed]) is None


def test_a_healthy_run_of_another_folder_is_no_twin(sick: Analysis, tmp_path: Path) -> None:
    assert companion(sick, [hrmdoc.analyze(write_run(tmp_path / "elsewhere"))]) is None


def test_a_healthy_run_before_the_sick_one_is_its_twin(sick: Analysis, folder: Path) -> None:
    earlier = hrmdoc.analyze(write_run(folder / "earlier", at=-5000.0))
    found = companion(sick, [earlier])
    assert found is not None
    assert found.style == "twin"


def test_what_does_not_move_is_a_line_of_text(healed: Analysis) -> None:
    shown = charts(healed)
    assert [one.name for one in shown.drawn] == ["loss"]
    assert dict(shown.flat)["learning_rate"] == "0.0003 throughout 200 points"


def test_marks_are_numbered_and_named(sick: Analysis) -> None:
    loss = charts(sick).drawn[0]
    assert loss.broken
    assert [one.number for one in loss.marks] == list(range(1, len(loss.marks) + 1))
    assert {one.symptom for one in loss.marks} <= {symptom.id for symptom in sick.present}
    assert loss.marks
    assert any(one.severity == "critical" for one in loss.marks)  # the worst is never left out for being late


def test_a_view_says_its_scale(healed: Analysis) -> None:
    assert not charts(healed).drawn[0].logarithmic
    assert charts(healed, view=View(logarithmic=True)).drawn[0].logarithmic


def test_hostile_names_and_lines_are_text(tmp_path: Path) -> None:
    page = review.html([hrmdoc.analyze(write_hostile(tmp_path / "run"))])
    assert HOSTILE not in page
    assert "window.hit" in page
    tags = {tag for tag, _ in Tags(page).found}
    assert not tags & {"script", "img"}


def test_code_in_the_text_of_a_rule_is_code_and_nothing_else() -> None:
    assert marked("set `lr: 1` <b>") == "set <code>lr: 1</code> &lt;b&gt;"


def test_a_run_without_steps_is_told_by_its_points(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    losses = [f"{3 * 0.98**n:.4f}" if n < 60 else "nan" for n in range(100)]
    log.write_text("".join(f"{{'loss': {loss}, 'grad_norm': 1.{n:03}}}\n" for n, loss in enumerate(losses)))
    page = review.html([hrmdoc.analyze(log)])
    assert "from point 60" in page
    assert "point 60</time>" in re.sub(r" <span class=.clock.*?</span>", "", page)
    assert "step 60" not in page


def test_curves_of_a_healthy_run_stand_side_by_side(healed: Analysis) -> None:
    page = review.html([healed])
    assert '<div class="side drawn">' in page
    assert "<h2>No fault" in page


def test_a_finding_without_numbers_is_told_once_in_the_course_of_events(folder: Path) -> None:
    found = hrmdoc.analyze(write_run(folder / "wordless", lr=0.8, sick_from=200))
    spike = next(one for one in found.present if one.id == "loss-spike")
    found = structs.replace(found, symptoms=[structs.replace(spike, evidence=spike.title)])
    assert [one.what for one in review.chapter(found).timeline if spike.title in one.what] == [spike.title]


def test_times_of_events_say_whose_they_are_where_any_are_shown(sick: Analysis, tmp_path: Path) -> None:
    for told in (review.html, review.markdown):
        assert OF_TIMES in told([sick])
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} loss {'nan' if n > 60 else 2.5}\n" for n in range(100)))
    unstamped = [hrmdoc.analyze(log)]
    assert unstamped[0].present
    assert OF_TIMES not in review.html(unstamped) + review.markdown(unstamped)
