"""A stand-in for the hub of Hugging Face: one dataset repository, `team/runs`, by the API that its file
system asks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

COMMIT = "c" * 40


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the requests as they come in."""
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"files": files, "asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: Mapping[str, bytes]
    asked: list[str]

    def log_message(self, *words: Any) -> None:
        self.asked.append(f"{self.command} {unquote(self.path)}")

    def do_GET(self) -> None:
        path = unquote(urlparse(self.path).path)
        tree, found = "/api/datasets/team/runs/tree/main", "/datasets/team/runs/resolve/main/"
        if path.startswith(tree):
            below = path[len(tree) :].strip("/")
            entries = [self._entry(name) for name in self.files if name.startswith(below)]
            self._send(*((200, entries) if entries else (404, {"error": "none"})), code="EntryNotFound")
        elif path == "/api/datasets/team/runs":
            self._send(200, {"id": "team/runs", "sha": COMMIT, "siblings": []})
        elif path.startswith(found) and path[len(found) :] in self.files:
            self._piece(self.files[path[len(found) :]])
        else:
            self._send(404, {"error": "none"}, code="RepoNotFound")

    do_HEAD = do_GET  # noqa: N815 (the name that the server calls)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        wanted = json.loads(body)["paths"] if body[:1] == "{" else parse_qs(body).get("paths", [])
        folders = {name.rpartition("/")[0] for name in self.files} | {"runs"}
        found = [self._entry(name) for name in wanted if name in self.files]
        found += [
            {"type": "directory", "oid": "0", "size": 0, "path": one} for one in wanted if one in folders
        ]
        self._send(200, found)

    def _entry(self, name: str) -> dict[str, Any]:
        data = self.files[name]
        return {"type": "file", "oid": hashlib.sha1(data).hexdigest(), "size": len(data), "path": name}

    def _piece(self, data: bytes) -> None:
        first, _, last = self.headers.get("Range", "bytes=0-").partition("=")[2].partition("-")
        begin, end = int(first), min(int(last or len(data)), len(data) - 1)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(data)}")
        self.send_header("ETag", '"x"')
        self.send_header("X-Repo-Commit", COMMIT)
        self._body(data[begin : end + 1])

    def _send(self, status: int, found: Any, code: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 200:
            self.send_header("X-Error-Code", code)
        self._body(json.dumps(found).encode())

    def _body(self, data: bytes) -> None:
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
