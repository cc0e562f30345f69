"""With a real Alertmanager: an incident shows there, reaches its receiver, and is resolved."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.alerts.alerter import Alerter
from hrmdoc.routes import Alerts, Route
from tests.alerts.conftest import NAN, SPIKE, Hook, over
from tests.services import alertmanager
from tests.waiting import until

pytestmark = pytest.mark.services


def active(address: str) -> dict[str, Any]:
    """The alerts that it takes to be firing, by name."""
    with urllib.request.urlopen(f"{address}/api/v2/alerts?active=true", timeout=20) as answer:
        return {one["labels"]["alertname"]: one for one in json.load(answer)}


def test_an_incident_shows_reaches_the_receiver_is_renewed_and_resolves(tmp_path: Path, hook: Hook) -> None:
    hook.status = 200
    with alertmanager(tmp_path, hook.address) as address:
        alerter = Alerter(Alerts(route=(Route("alertmanager", url=address),))).start()
        alerter.follow("runs/a")
        alerter.notify([NAN, SPIKE])
        until(lambda: set(active(address)) == {"loss-nonfinite", "loss-spike"})
        shown = active(address)["loss-nonfinite"]
        assert (shown["labels"]["severity"], shown["annotations"]["summary"]) == (
            "critical",
            "The loss is NaN",
        )
        time.sleep(0.01)
        alerter.workers[0]._show_open(600)
        until(lambda: active(address)["loss-nonfinite"]["endsAt"] > shown["endsAt"])
        alerter.notify([over(NAN, time.time())])
        until(lambda: set(active(address)) == {"loss-spike"})
        until(lambda: "resolved" in {body["status"] for body in hook.bodies})
        alerter.close()
        assert active(address)["loss-spike"]["endsAt"] > shown["endsAt"]  # nobody renews it from here on
    sent = [(one["labels"]["alertname"], body["status"]) for body in hook.bodies for one in body["alerts"]]
    assert ("loss-nonfinite", "firing") in sent
    assert ("loss-nonfinite", "resolved") in sent
    assert ("loss-spike", "resolved") not in sent
