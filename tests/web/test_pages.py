"""What the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from hrmdoc.rulebook.pages import playbooks as playbook_names
from hrmdoc.web import playbooks
from hrmdoc.web.app import Site
from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import _spark
from tests.reports.runs_of import HOSTILE
from tests.web.conftest import TOKEN, Here, key, settled, write_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def site(runs: Path) -> Site:
    """Nothing is changed through it."""
    return Site(settled(Board(Roots.of([str(runs)]), Here())), Here(), TOKEN)


def rows(page: str) -> list[str]:
    """The names of the runs in the order of the board."""
    return re.findall(r'<tr role="row" id="run-[^>]*data-name="([^"]*)"', page)


def test_the_board_lists_the_worst_first_with_what_to_do(client: TestClient, site: Site) -> None:
    page = client.get("/").text
    assert rows(page)[-1] == "healthy"
    assert "2 of 3 runs need a look" in page
    assert site.board.entries[key(site, "sick")].row.remedy in page  # type: ignore[union-attr]


def test_the_board_is_sifted_by_verdict_and_by_words(client: TestClient) -> None:
    assert rows(client.get("/", params={"q": "learning rate SICK"}).text) == ["sick"]
    healthy = client.get("/", params={"show": "info"}).text + client.get("/", params={"show": "healthy"}).text
    assert rows(healthy) == ["healthy"]
    assert "No run matches" in client.get("/", params={"q": "zzz"}).text


def test_a_run_has_its_diagnosis_curves_and_patch(client: TestClient, site: Site) -> None:
    page = client.get(f"/runs/{key(site, 'sick')}").text
    for text in (
        "What to do first",
        "Probable causes",
        "What shows",
        "What happened",
        'class="del">-learning_rate: 0.8',
    ):
        assert text in page
    assert page.count('<svg class="chart"') >= 1
    assert 'href="/playbooks/' in page


def test_another_run_is_laid_over(client: TestClient, site: Site) -> None:
    answer = client.get(f"/runs/{key(site, 'sick')}", params={"with": key(site, "healthy")})
    assert re.search(r'<polyline class="c (twin|healed)"', answer.text)
    unknown = client.get(f"/runs/{key(site, 'sick')}", params={"with": "../../etc"})
    assert unknown.status_code == 200


def test_a_window_and_a_scale_are_taken_from_the_address(client: TestClient, site: Site) -> None:
    address = f"/runs/{key(site, 'healthy')}"
    page = client.get(address, params={"from": "100", "to": "200", "scale": "log"}).text
    assert 'data-first="100" data-last="200"' in page
    assert "log scale" in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": "x"},
        {"to": "nan"},
        {"from": "9", "to": "1"},
        {"to": "1e400"},
        {"scale": "<b>"},
        {"from": "-inf"},
    ],
)
def test_a_senseless_window_shows_all(client: TestClient, site: Site, wrong: dict[str, str]) -> None:
    answer = client.get(f"/runs/{key(site, 'healthy')}", params=wrong)
    assert answer.status_code == 200
    assert 'data-first="0" data-last="398"' in answer.text


def test_hostile_names_and_lines_are_text(client: TestClient, site: Site) -> None:
    for path in ("/", f"/runs/{key(site, 'hostile')}"):
        page = client.get(path).text
        assert HOSTILE not in page
        assert "<img" not in page
        assert page.count("<script") == 1
    assert "window.hit" in page


def test_what_is_searched_for_is_text(client: TestClient) -> None:
    for asked in ({"q": HOSTILE}, {"show": HOSTILE}, {"q": '"><script>', "show": "'\"><b>"}):
        page = client.get("/", params=asked).text
        assert HOSTILE not in page
        assert page.count("<script") == 1
        assert '<b>"' not in page


def test_no_page_needs_what_its_policy_forbids(client: TestClient, site: Site) -> None:
    for path in ("/", f"/runs/{key(site, 'sick')}", "/playbooks", "/playbooks/loss"):
        page = client.get(path).text
        assert not re.search(r"\sstyle=", page)
        assert not re.search(r"\son\w+=", page)
        assert "<style" not in page


@pytest.mark.parametrize(
    "path",
    [
        "/runs/none",
        "/runs/..%2f..%2fetc",
        "/playbooks/none",
        "/playbooks/..%2fREADME",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
    ],
)
def test_what_is_not_there_is_said_so(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_incidents_and_actions_of_a_watch_are_told(client: TestClient, site: Site, runs: Path) -> None:
    (runs / "sick" / "run.json").write_text("{}")
    (runs / "sick" / "incidents.jsonl").write_text(
        '{"symptom": "loss-spike", "change": "opened", "severity": "critical", '
        '"title": "Loss <b>spike</b>", "at": 1.7e9, "step": 7}\n'
        '{"at": "x"}\nno json\n'
    )
    page = client.get(f"/runs/{key(site, 'sick')}").text
    assert "opened: Loss &lt;b&gt;spike&lt;/b&gt;" in page


def test_every_playbook_is_readable_and_its_links_lead_to_pages() -> None:
    for name in playbook_names():
        page = playbooks.page(name)
        assert page is not None
        for target in re.findall(r'href="/playbooks/([\w-]+)', page.text):
            assert target in playbook_names()
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page.text))
        assert "<h1 id=" in page.text


def test_html_in_a_playbook_would_be_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "bad.md").write_text("# Bad\n\n<script>x</script> [a](javascript:alert(1))\n")
    monkeypatch.setattr("hrmdoc.rulebook.pages.data_dir", tmp_path.joinpath)
    monkeypatch.setattr("hrmdoc.web.playbooks.playbooks", lambda: ("bad",))
    page = playbooks.page.__wrapped__("bad")
    assert "<script" not in page.text
    assert 'href="javascript' not in page.text


def test_values_that_are_not_finite_show_in_the_small_curve_and_in_words(
    client: TestClient, site: Site
) -> None:
    row = client.get("/").text.partition(f'id="run-{key(site, "sick")}"')[2].partition("</tr>")[0]
    assert re.search(r'<path class="broken" d="M\d+ 18V24', row)
    assert "loss, not finite" in row
    row = client.get("/").text.partition(f'id="run-{key(site, "healthy")}"')[2].partition("</tr>")[0]
    assert "broken" not in row


def test_small_curves_are_drawn_of_what_is_finite() -> None:
    assert _spark(np.array([np.nan, np.nan])) == ("", "M1 18V24 M99 18V24")
    points, broken = _spark(np.array([2.0, 1.0, np.nan]))
    assert points == "1,2.0 50,22.0"
    assert broken == "M99 18V24"
