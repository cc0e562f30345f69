"""Starts the server on this machine alone, says its address, and ends it with all its processes."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable, Sequence

import uvicorn

from hrmdoc.errors import UsageError
from hrmdoc.web.app import Site, application
from hrmdoc.web.board import Board
from hrmdoc.web.connections import Bounded
from hrmdoc.web.kept import Kept
from hrmdoc.web.roots import Roots
from hrmdoc.web.workers import Workers

HOST = "127.0.0.1"
MOST_WORKERS = 4


def serve(
    paths: Sequence[str], *, port: int, allow_apply: bool, browser: bool, say: Callable[[str], None]
) -> None:
    """Serves until it is interrupted.

    Args:
        paths: the folders, none for the default.
        port: 0 takes a free one.
        browser: opens one.
        say: gets the address.

    Raises:
        UsageError: a folder does not exist, or the port is taken.
    """
    roots = Roots.of(paths)
    listener = _listen(port)
    token = secrets.token_urlsafe(24)
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"
    examiners = Workers(max(1, min(MOST_WORKERS, (os.cpu_count() or 2) - 1)))
    drawers, followers = Workers(1, tasks=None), Workers(1, tasks=None)
    kept = Kept(roots)
    site = Site(Board(roots, examiners, kept, followers), drawers, token, allow_apply)
    config = uvicorn.Config(
        application(site),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        http=Bounded,
    )
    signal.signal(signal.SIGTERM, _interrupt)
    say(address)
    if browser:
        webbrowser.open(address)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
        for workers in (examiners, drawers, followers):
            workers.close()
        kept.close()


def _interrupt(number: int, frame: object) -> None:
    """A polite request to end is one to end, with all processes."""
    del number, frame
    raise KeyboardInterrupt


def _listen(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)  # who opens the address before the server is up waits for it
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        what = f"port {port} is taken" if taken else f"port {port} cannot be used: {error.strerror}"
        raise UsageError(what, hint="without --port a free one is taken") from error
    return listener
