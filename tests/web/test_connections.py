"""hrmdoc.web.connections: clients that are slow, and too many of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn

from hrmdoc.web import connections
from hrmdoc.web.connections import Bounded

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    del scope
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(0.4)  # longer than a request may take to arrive
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"well"})


def _with_server(monkeypatch: pytest.MonkeyPatch, part: Callable[[int], Awaitable[None]]) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.2)

    async def whole() -> None:
        server = uvicorn.Server(uvicorn.Config(_app, port=0, http=Bounded, lifespan="off", log_level="error"))
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            await asyncio.wait_for(part(server.servers[0].sockets[0].getsockname()[1]), 10)
        finally:
            server.should_exit = True
            await task

    asyncio.run(whole())


async def _told(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "begun",
    [b"", HEAD, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"],
    ids=["silent", "head", "body"],
)
def test_a_request_that_does_not_come_to_its_end_is_closed(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    async def part(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        assert await _told(reader) == b""

    _with_server(monkeypatch, part)


def test_a_whole_request_has_all_the_time_for_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def part(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Connection: close\r\n\r\n")
        assert (await _told(reader)).endswith(b"well")

    _with_server(monkeypatch, part)


def test_a_connection_too_many_is_closed_and_the_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)

    async def part(port: int) -> None:
        first, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Connection: close\r\n\r\n")
        await asyncio.sleep(0.05)
        second, other = await asyncio.open_connection("127.0.0.1", port)
        assert await _told(second) == b""
        assert (await _told(first)).endswith(b"well")
        other.close()

    _with_server(monkeypatch, part)
