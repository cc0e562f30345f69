"""The manual is served to this machine, from the package, and nothing else is."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.errors import UsageError
from hrmdoc.manual.pages import Manual, Page
from hrmdoc.manual.server import HOST, listen, serve
from hrmdoc.manual.show import Shown


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "job.sh").write_text("#!/bin/sh\n<b>")
    pages = (Page("index.md", "# Hello { #hello }\n\n<b>x</b>\n"),)
    server = listen(Shown(Manual({"": pages}, {"job.sh": tmp_path / "job.sh"})), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://{HOST}:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_pages_files_and_searches_are_answered_and_may_run_nothing(address: str) -> None:
    for path, kind, part in (
        ("/", "text/html", '<h1 id="hello">Hello</h1>'),
        ("/index.md", "text/html", "&lt;b&gt;x"),
        ("/search?q=hello", "text/html", "1 sections"),
        ("/job.sh", "text/plain", "<b>"),
    ):
        with urllib.request.urlopen(address + path) as answer:
            assert answer.headers.get_content_type() == kind
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert part in answer.read().decode()


@pytest.mark.parametrize("path", ["/../server.py", "/%2e%2e/server.py", "/etc/passwd", "/nothing.md"])
def test_what_is_no_page_of_the_manual_is_not_found(address: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught, urllib.request.urlopen(address + path):
        pass
    assert caught.value.code == 404
    caught.value.close()


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        with pytest.raises(UsageError, match="cannot listen on port"):
            serve(Shown(Manual({}, {})), port=other.getsockname()[1], say=print)
