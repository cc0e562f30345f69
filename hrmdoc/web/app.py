"""The application: which address shows what."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import parse_qs

from markupsafe import Markup
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hrmdoc.errors import HrmdocError
from hrmdoc.reports.charts import View
from hrmdoc.reports.layout import safe
from hrmdoc.rulebook.pages import playbooks as playbook_names
from hrmdoc.web import changes, pages, playbooks, run_page
from hrmdoc.web.board import Board, Entry
from hrmdoc.web.guard import Guard, form_token, same
from hrmdoc.web.workers import WorkerDiedError, Workers

BIGGEST_FORM = 10_000
"""Bytes of a form; a path and three words fit many times."""
MOST_BESIDE = 3
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Site:
    """What the addresses answer with.

    Args:
        board: the runs.
        drawers: the processes that draw their pages.
        token: what the address holds.
        allow_apply: whether patches may be written and taken back from a page.
    """

    board: Board
    drawers: Workers
    token: str
    allow_apply: bool = False

    async def overview(self, request: Request) -> Response:
        """All runs, the worst first."""
        return HTMLResponse(pages.board(self.board, request.query_params))

    async def run(self, request: Request) -> Response:
        """One run."""
        return await self._page(request, self._entry(request))

    async def _page(self, request: Request, entry: Entry, outcome: changes.Outcome | None = None) -> Response:
        asked = request.query_params
        named = dict.fromkeys(key for key in asked.getlist("with") if key != entry.key)
        over = [one for key in named if (one := self.board.entries.get(key)) is not None][:MOST_BESIDE]
        beside = tuple(one.key for one in over)
        version = self.board.version
        drawn = run_page.Request(
            entry.key,
            entry.group,
            entry.stamp,
            [(one.group, one.stamp, one.name) for one in over],
            View(_window(asked.get("from", ""), asked.get("to", "")), _scale(asked.get("scale", ""))),
            form_token(self.token) if self.allow_apply else "",
            tuple(pages.choices(self.board, entry, beside)),
            beside,
            asked.get("scale", ""),
        )
        middle = await self._worked(run_page.draw, drawn, self.board.roots)
        page = pages.render(
            "run.html.j2",
            entry=entry,
            middle=Markup(middle),  # noqa: S704 (drawn by the same templates)
            version_of=version,
            said=outcome.said if outcome else "",
            done=bool(outcome and outcome.done),
        )
        return HTMLResponse(page, 200 if outcome is None or outcome.done else 409)

    async def _worked(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a process of the drawers returns.

        Raises:
            HTTPException: it could not; one run that breaks the doctor is shown as such.
        """
        try:
            return await self.drawers.call(function, *args, **kwargs)
        except HrmdocError as error:
            raise HTTPException(503, error.what) from error
        except Exception as error:
            said = f"a fault of hrmdoc itself: {type(error).__name__}: {safe(str(error))}"
            raise HTTPException(503, said) from error

    async def apply(self, request: Request) -> Response:
        """Writes the patch that was shown."""
        entry, form = self._entry(request), await self._form(request)
        outcome = await self._worked(
            changes.apply, entry.group, self.board.roots, form.get("remedy", ""), form.get("shown", "")
        )
        return await self._page(request, entry, outcome)

    async def undo(self, request: Request) -> Response:
        """Takes the last patch of a config back."""
        entry, form = self._entry(request), await self._form(request)
        outcome = await self._worked(
            changes.undo, entry.group, self.board.roots, form.get("file", ""), form.get("shown", "")
        )
        return await self._page(request, entry, outcome)

    async def events(self, request: Request) -> Response:
        """Server-sent events: which runs changed since the version that the page has."""
        stated = request.headers.get("last-event-id") or request.query_params.get("since", "")
        since = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 16 else -1

        async def changed() -> AsyncIterator[dict[str, str]]:
            async for version, keys in self.board.news(since):
                data = json.dumps({"version": version, "runs": keys})
                yield {"event": "changed", "id": str(version), "data": data}

        return EventSourceResponse(changed(), ping=15)

    async def playbook(self, request: Request) -> Response:
        """One playbook, or the list of all."""
        name = request.path_params.get("page")
        if name is None:
            every = [playbooks.page(one) for one in playbook_names()]
            return HTMLResponse(pages.render("playbook.html.j2", page=None, pages=every))
        page = playbooks.page(name)
        if page is None:
            raise HTTPException(404, "There is no such playbook.")
        return HTMLResponse(pages.render("playbook.html.j2", page=page))

    async def style(self, request: Request) -> Response:
        """The style sheet."""
        del request
        return Response(
            pages.style(), media_type="text/css", headers={"Cache-Control": "private, max-age=3600"}
        )

    def _entry(self, request: Request) -> Entry:
        entry = self.board.entries.get(request.path_params["key"])
        if entry is None:
            raise HTTPException(404, "There is no such run; it may have been moved or deleted.")
        return entry

    async def _form(self, request: Request) -> dict[str, str]:
        """The fields of a form that may change something.

        Raises:
            HTTPException: it may not, or is no form of these pages.
        """
        if not self.allow_apply:
            raise HTTPException(403, "This server shows runs and changes nothing: hrmdoc serve --allow-apply")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BIGGEST_FORM:
                raise HTTPException(413, "The form is too large.")
        fields = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if not same(fields.get("token", ""), form_token(self.token)):
            raise HTTPException(403, "The form lacks the token of its page; nothing was done.")
        return fields


def application(site: Site) -> Guard:
    """The whole application, behind its guard. The board is followed as long as it runs."""

    @asynccontextmanager
    async def following(app: Starlette) -> AsyncIterator[None]:
        del app
        task = asyncio.create_task(site.board.keep())
        warm = asyncio.create_task(site.drawers.call(run_page.warm))
        yield
        for one in (task, warm):
            one.cancel()
            with suppress(asyncio.CancelledError, WorkerDiedError):
                await one

    routes = [
        Route("/", site.overview),
        Route("/runs/{key}", site.run),
        Route("/runs/{key}/apply", site.apply, methods=["POST"]),
        Route("/runs/{key}/undo", site.undo, methods=["POST"]),
        Route("/playbooks", site.playbook),
        Route("/playbooks/{page}", site.playbook),
        Route("/events", site.events),
        Route("/static/style.css", site.style),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _message}, lifespan=following)
    return Guard(app, site.token)


async def _message(request: Request, error: Exception) -> Response:
    """What went wrong, as a page."""
    del request
    assert isinstance(error, HTTPException)
    titles = {404: "Nothing is here", 403: "Not allowed", 405: "Not allowed", 503: "That did not work"}
    title = titles.get(error.status_code, "That did not work")
    return HTMLResponse(pages.render("message.html.j2", title=title, said=error.detail), error.status_code)


def _window(first: str, last: str) -> tuple[float, float] | None:
    """The steps to show, None where they are no numbers in order; an end that is left out is far away."""
    try:
        window = (float(first or 0), float(last or 2**53))
    except ValueError:
        return None
    stated = bool(first or last) and all(map(math.isfinite, window)) and abs(window[1]) <= 2**53
    return window if stated and window[0] < window[1] else None


def _scale(name: str) -> bool | None:
    return {"log": True, "linear": False}.get(name)
