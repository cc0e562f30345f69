"""Alerts: an incident sent to a command or a webhook that the user named. A target that fails never stops the
watch."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from dataclasses import asdict
from http.client import HTTPException

from hrmdoc.errors import ConfigError
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Alerts

TIMEOUT_S = 10.0
ORDER = ("info", "warning", "critical")


class Alerter:
    """Sends incidents of at least the configured severity.

    Args:
        targets: the user's settings.
        run: the path of the run, named in each alert.

    Raises:
        ConfigError: the command is no command line, or the webhook no web address.
    """

    def __init__(self, targets: Alerts, run: str) -> None:
        self._targets = targets
        self._run = run
        self._command = _words(targets.command)
        if targets.webhook is not None and not targets.webhook.startswith(("http://", "https://")):
            raise ConfigError(f"alerts.webhook must be an http or https address, not {targets.webhook!r}")

    def send(self, incidents: Iterable[Incident]) -> None:
        """Sends what is severe enough; a failure is said on stderr."""
        for incident in incidents:
            if ORDER.index(incident.severity) < ORDER.index(self._targets.minimum):
                continue
            body = json.dumps({"schema": "hrmdoc.incident/1", "run": self._run, **asdict(incident)}).encode()
            for deliver in (self._to_command, self._to_webhook):
                problem = deliver(body)
                if problem:
                    print(f"hrmdoc: alert not delivered: {problem}", file=sys.stderr)  # noqa: T201

    def _to_command(self, body: bytes) -> str | None:
        if not self._command:
            return None
        try:
            done = subprocess.run(
                self._command, input=body, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return f"{self._command[0]} exited with {done.returncode}" if done.returncode else None

    def _to_webhook(self, body: bytes) -> str | None:
        if self._targets.webhook is None:
            return None
        headers = {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(self._targets.webhook, data=body, headers=headers, method="POST")  # noqa: S310 (scheme checked)
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
                return None
        except (
            OSError,
            HTTPException,
            ValueError,
        ) as error:  # no answer, an answer that is no HTTP, a name that is no host
            return str(error) or type(error).__name__


def _words(command: str | None) -> list[str]:
    if command is None:
        return []
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"alerts.command is no command line: {error}: {command!r}") from error
    if not words:
        raise ConfigError("alerts.command is empty", hint="leave it out to run no command")
    return words
