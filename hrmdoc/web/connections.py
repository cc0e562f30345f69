"""Connections of the server: bounded in number, and none may take for ever to say what it asks.

uvicorn waits without end for the head and the body of a request; a few hundred clients that send a byte
now and then would hold all files that the process may open.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
"""Seconds within which a request is there as a whole."""
MOST_CONNECTIONS = 256
"""At once; more are closed as they come. A browser opens six to one address."""


class Bounded(H11Protocol):
    """HTTP/1.1 that closes what is slow and what is too much."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._clock()

    def data_received(self, data: bytes) -> None:
        """Stops the clock where the request is whole; what comes next starts it again."""
        super().data_received(data)
        self._clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop()
        super().connection_lost(exc)

    def _clock(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
