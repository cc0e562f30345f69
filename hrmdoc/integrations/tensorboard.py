"""A tab of TensorBoard: what is wrong with each run below `--logdir`, live. Installing hrmdoc beside
TensorBoard brings it.

TensorBoard imports this when it starts, and a plugin that fails then would take it along: all else is
imported when the tab is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin
from werkzeug import wrappers

if TYPE_CHECKING:
    from hrmdoc.integrations.below import Below

_SCRIPT = Path(__file__).with_name("tensorboard.js")
application = wrappers.Request.application
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class HrmdocPlugin(base_plugin.TBPlugin):  # type: ignore[misc, unused-ignore]
    """Serves the tab: a script, a style sheet, the runs as JSON, and the page of one."""

    plugin_name = "hrmdoc"

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._folder = context.logdir or ""
        self._lock = Lock()
        self._below: Below | None = None

    def get_plugin_apps(self) -> Mapping[str, Callable[..., Any]]:
        """The addresses."""
        return {
            "/index.js": application(self._index),
            "/style.css": application(self._style),
            "/runs": application(self._runs),
            "/run": application(self._run),
        }

    def is_active(self) -> bool:
        """Whether there is a folder; what lies in it is looked for when the tab is opened."""
        return os.path.isdir(self._folder)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The tab; it renews itself."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Diagnosis", disable_reload=True
        )

    def _index(self, request: wrappers.Request) -> wrappers.Response:
        return _answer(_SCRIPT.read_text("utf-8"), "text/javascript")

    def _style(self, request: wrappers.Request) -> wrappers.Response:
        from hrmdoc.reports.html import style

        return _answer(style(), "text/css")

    def _runs(self, request: wrappers.Request) -> wrappers.Response:
        from hrmdoc.errors import HrmdocError

        try:
            return _json(self._opened().rows())
        except HrmdocError as error:
            return _json({"error": str(error)})

    def _run(self, request: wrappers.Request) -> wrappers.Response:
        from hrmdoc.errors import HrmdocError

        try:
            page = self._opened().page(request.args.get("key", ""))
        except HrmdocError as error:
            return _json({"error": str(error)})
        return (
            _json({"error": "there is no such run any more"}, 404) if page is None else _json({"html": page})
        )

    def _opened(self) -> Below:
        from hrmdoc.errors import UsageError
        from hrmdoc.integrations.below import Below

        with self._lock:
            if not os.path.isdir(self._folder):
                what = "the tab reads local folders: give TensorBoard --logdir FOLDER"
                raise UsageError(what, hint="hrmdoc triage reads object storage")
            if self._below is None:
                self._below = Below(self._folder)
            return self._below


def _json(content: Mapping[str, Any], status: int = 200) -> wrappers.Response:
    return _answer(json.dumps(content), "application/json", status)


def _answer(text: str, kind: str, status: int = 200) -> wrappers.Response:
    return wrappers.Response(text, status, headers=_HEADERS, content_type=f"{kind}; charset=utf-8")
