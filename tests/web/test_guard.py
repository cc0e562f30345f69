"""Who is answered, and who is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hrmdoc.web.app import Site
from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from tests.web.conftest import TOKEN, Here, client_of


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """One without runs: who is answered does not depend on them."""
    return Site(Board(Roots.of([str(tmp_path)]), Here()), Here(), TOKEN, allow_apply=True)


def test_without_the_token_nothing_is_shown(site: Site) -> None:
    stranger = client_of(site, cookie=False)
    for path in ("/", "/playbooks", "/static/app.js", "/static/style.css", "/events", "/runs/1234"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert "<" not in answer.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ünïcödé"])
def test_a_wrong_token_opens_nothing(site: Site, token: str) -> None:
    stranger = client_of(site, cookie=False)
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_address_with_the_token_becomes_one_without_and_a_cookie_that_scripts_do_not_see(
    site: Site, method: str
) -> None:
    answer = client_of(site, cookie=False).request(method, "/", params={"token": TOKEN, "show": "critical"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?show=critical"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1.example.org:80", "evil:80", "", "127.0.0.1@evil:80", "[::1]:80"]
)
def test_another_host_is_refused_though_it_leads_here(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost:9999"])
def test_this_machine_is_answered_through_a_tunnel_too(client: TestClient, host: str) -> None:
    client.cookies.clear()
    assert client.get("/", headers={"host": host, "cookie": f"hrmdoc-80={TOKEN}"}).status_code == 200


@pytest.mark.parametrize("site_", ["cross-site", "same-site"])
def test_what_another_site_sends_is_refused(client: TestClient, site_: str) -> None:
    assert client.get("/", headers={"sec-fetch-site": site_}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "https://127.0.0.1:80", "http://127.0.0.1:81"]
)
def test_a_form_of_another_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.post("/runs/1234/apply", headers={"origin": origin}).status_code == 403


def test_only_reading_and_posting_exist(client: TestClient) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.request(method, "/").status_code == 405


def test_every_answer_forbids_what_pages_must_not_do(client: TestClient) -> None:
    for path in ("/", "/static/app.js", "/nowhere"):
        headers = client.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
