"""Alerts: an incident told to a command or a webhook that the user named. A target that fails never stops the watch."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from hrmdoc.errors import ConfigError
from hrmdoc.incidents import Incident
from hrmdoc.settings import Alerts

TIMEOUT_S = 10.0
ORDER = ("info", "warning", "critical")


class Alerter:
    """Tells incidents of at least the configured severity.

    Args:
        targets: the user's settings.
        run: the path of the run, named in each alert.
    """

    def __init__(self, targets: Alerts, run: str) -> None:
        self._targets = targets
        self._run = run
        if targets.webhook is not None and not targets.webhook.startswith(("http://", "https://")):
            raise ConfigError(f"alerts.webhook must be an http or https address, not {targets.webhook!r}")

    def tell(self, incidents: Iterable[Incident]) -> None:
        """Sends what is severe enough; a failure is said on stderr."""
        for incident in incidents:
            if ORDER.index(incident.severity) < ORDER.index(self._targets.minimum):
                continue
            body = json.dumps({"schema": "hrmdoc.incident/1", "run": self._run, **asdict(incident)}).encode()
            for send in (self._to_command, self._to_webhook):
                problem = send(body)
                if problem:
                    print(f"hrmdoc: alert not delivered: {problem}", file=sys.stderr)  # noqa: T201

    def _to_command(self, body: bytes) -> str | None:
        if self._targets.command is None:
            return None
        arguments = shlex.split(self._targets.command)
        try:
            done = subprocess.run(arguments, input=body, capture_output=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired, IndexError) as error:
            return str(error)
        return f"{arguments[0]} exited with {done.returncode}" if done.returncode else None

    def _to_webhook(self, body: bytes) -> str | None:
        if self._targets.webhook is None:
            return None
        headers = {"Content-Type": "application/json"}
        request: Any = urllib.request.Request(self._targets.webhook, data=body, headers=headers, method="POST")  # noqa: S310 (scheme checked)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
                return None
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            return str(error)
