"""Patches are written and taken back from a page, where that was allowed, and as they were shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hrmdoc.web.app import BIGGEST_FORM, Site
from tests.web.conftest import client_of, key


def form(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that leads to `action`."""
    found = re.search(rf'<form[^>]*action="[^"]*/{action}">(.*?)</form>', page, re.DOTALL)
    assert found is not None
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', found[1]))


@pytest.fixture
def address(site: Site) -> str:
    return f"/runs/{key(site, 'sick')}"


def test_a_patch_is_written_as_shown_and_taken_back_byte_for_byte(
    client: TestClient, address: str, runs: Path
) -> None:
    config = runs / "sick" / "config.yaml"
    before = config.read_bytes()
    fields = form(client.get(address).text, "apply")
    written = client.post(f"{address}/apply", data=fields)
    assert written.status_code == 200
    assert b"learning_rate: 0.8" not in config.read_bytes()
    assert "Start the run again" in written.text
    undone = client.post(f"{address}/undo", data=form(written.text, "undo"))
    assert undone.status_code == 200
    assert config.read_bytes() == before


def test_a_patch_that_is_another_one_by_now_is_not_written(
    client: TestClient, address: str, runs: Path
) -> None:
    config = runs / "sick" / "config.yaml"
    fields = form(client.get(address).text, "apply")
    config.write_text("# changed meanwhile\nlearning_rate: 0.8\nbatch_size: 32\nwarmup_steps: 0\n")
    before = config.read_bytes()
    answer = client.post(f"{address}/apply", data=fields)
    assert answer.status_code == 409
    assert config.read_bytes() == before


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_form_without_the_token_of_its_page_changes_nothing(
    client: TestClient, address: str, runs: Path, token: str
) -> None:
    before = (runs / "sick" / "config.yaml").read_bytes()
    fields = form(client.get(address).text, "apply") | {"token": token}
    assert client.post(f"{address}/apply", data=fields).status_code == 403
    assert (runs / "sick" / "config.yaml").read_bytes() == before


def test_without_leave_there_is_no_button_and_no_way(site: Site, address: str, runs: Path) -> None:
    fields = form(client_of(site).get(address).text, "apply")
    site.allow_apply = False
    client = client_of(site)
    page = client.get(address).text
    assert "/apply" not in page
    assert "hrmdoc apply" in page
    assert client.post(f"{address}/apply", data=fields).status_code == 403
    assert not (runs / "sick" / ".hrmdoc").exists()


def test_only_what_was_patched_here_can_be_taken_back(
    client: TestClient, address: str, tmp_path: Path
) -> None:
    fields = form(client.get(address).text, "apply")
    for file in (str(tmp_path / "elsewhere.yaml"), "/etc/passwd", ""):
        answer = client.post(f"{address}/undo", data={"token": fields["token"], "file": file, "shown": "0"})
        assert answer.status_code == 409


def test_a_change_by_following_a_link_is_none(client: TestClient, address: str) -> None:
    assert client.get(f"{address}/apply").status_code == 405


def test_a_huge_form_is_refused(client: TestClient, address: str) -> None:
    assert client.post(f"{address}/apply", content=b"x" * (BIGGEST_FORM + 1)).status_code == 413
