"""Serves the manual to this machine alone, with what Python itself brings."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from hrmdoc.errors import UsageError
from hrmdoc.manual.show import Shown

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'"
)
"""No script, nothing from elsewhere."""


def serve(shown: Shown, *, port: int, say: Callable[[str], None]) -> None:
    """Serves until it is interrupted.

    Args:
        port: 0 takes a free one.
        say: is told the address.

    Raises:
        UsageError: the port is taken.
    """
    try:
        server = listen(shown, port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}", hint="leave --port out"
        ) from error
    with server:
        say(f"http://{HOST}:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes before its answer came is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def listen(shown: Shown, port: int) -> ThreadingHTTPServer:
    """A server that listens and does not answer yet.

    Raises:
        OSError: the port cannot be had.
    """

    class Handler(BaseHTTPRequestHandler):
        server_version = "hrmdoc"
        sys_version = ""

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            path = unquote(address.path).lstrip("/") or "index.md"
            if path == "search":
                asked = parse_qs(address.query).get("q", [""])[0][:200]
                self._send(shown.search(asked).encode(), "text/html")
            elif (text := shown.page(path)) is not None:
                self._send(text.encode(), "text/html")
            elif path in shown.manual.files:
                kind = "image/svg+xml" if path.endswith(".svg") else "text/plain"
                self._send(shown.manual.files[path].read_bytes(), kind)
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the library's)
            del format, args

    return _Server((HOST, port), Handler)
