"""Where a team looks: findings go back to W&B, MLflow and TensorBoard, if a run of theirs is active.

None of them is imported here: what the training has not imported cannot be active.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from hrmdoc.integrations.wording import blamed

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.incidents import Incident

_WEIGHT = {"info": 0, "warning": 1, "critical": 2}


class Board(Protocol):
    """A place where findings are shown. Whatever a method raises is logged, and training goes on."""

    @property
    def key(self) -> object:
        """What tells one board from another."""

    def report(self, incident: Incident, analysis: Analysis, open_: int) -> None:
        """Shows that an incident opened, changed or is over; `open_` are open now."""

    def closed(self, analysis: Analysis) -> None:
        """Shows the last word on the run."""


def active() -> Iterator[Board]:
    """The runs of W&B and MLflow that are active in this thread."""
    wandb: Any = sys.modules.get("wandb")
    if wandb is not None and getattr(wandb, "run", None) is not None:
        yield WandB(wandb)
    mlflow: Any = sys.modules.get("mlflow")
    if mlflow is not None and (run := mlflow.active_run()) is not None:
        yield MLflow(mlflow, run.info.run_id)


class WandB:
    """An alert for each incident that opens, and the verdict in the summary of the run."""

    def __init__(self, wandb: Any) -> None:
        self._run, self._levels = wandb.run, wandb.AlertLevel
        self.key = ("wandb", self._run.id)

    def report(self, incident: Incident, analysis: Analysis, open_: int) -> None:
        """Alerts, and renews the summary."""
        if incident.is_open:
            level = self._levels.ERROR if incident.severity == "critical" else self._levels.WARN
            place = "" if incident.step is None else f"from step {incident.step}: "
            title = f"hrmdoc: {incident.title or incident.symptom}"
            self._run.alert(title=title, text=f"{place}{incident.evidence}; {blamed(incident)}", level=level)
        self._run.summary.update(summary(analysis, "hrmdoc/", open_))

    def closed(self, analysis: Analysis) -> None:
        """The summary says how it ended."""
        self._run.summary.update(summary(analysis, "hrmdoc/"))


class MLflow:
    """The verdict as tags of the run, by which runs can be searched."""

    def __init__(self, mlflow: Any, run_id: str) -> None:
        self._client, self._run_id = mlflow.MlflowClient(), run_id
        self.key = ("mlflow", run_id)

    def report(self, incident: Incident, analysis: Analysis, open_: int) -> None:
        """Renews the tags."""
        self._tag(summary(analysis, "hrmdoc.", open_))
        if incident.is_open:
            words = f"step {incident.step}: {incident.evidence}; {blamed(incident)}"
            self._client.set_tag(self._run_id, f"hrmdoc.incident.{incident.symptom}", words[:4000])

    def closed(self, analysis: Analysis) -> None:
        """The tags say how it ended."""
        self._tag(summary(analysis, "hrmdoc."))

    def _tag(self, found: dict[str, object]) -> None:
        for name, value in found.items():
            self._client.set_tag(self._run_id, name, str(value))


class TensorBoard:
    """Incidents as text, and `hrmdoc/severity` as a curve beside the others: 0 none, 1 warning, 2 critical.

    Args:
        open_writer: gives a `SummaryWriter` of torch or tensorboardX; called with the first finding, so that
            a healthy run is left as it is.
    """

    key = "tensorboard"

    def __init__(self, open_writer: Callable[[], Any]) -> None:
        self._open_writer = open_writer
        self._open: dict[str, int] = {}

    @cached_property
    def _writer(self) -> Any:
        return self._open_writer()

    def report(self, incident: Incident, analysis: Analysis, open_: int) -> None:
        """Writes the incident at the step that training is at now."""
        del open_
        self._open[incident.symptom] = _WEIGHT[incident.severity] if incident.is_open else 0
        over = "" if incident.is_open else " (over)"
        since = "" if incident.step is None else f" from step {incident.step}"
        words = f"**{incident.symptom}**{since}{over}: {markdown(incident.evidence)}; {blamed(incident)}"
        self._writer.add_text("hrmdoc/incidents", words, last_step(analysis))
        self._mark(analysis)

    def closed(self, analysis: Analysis) -> None:
        """The last word, and the end of the curve."""
        if self._open:
            words = f"**{analysis.verdict}** {_leading(analysis)}"
            self._writer.add_text("hrmdoc/verdict", words, last_step(analysis))
            self._mark(analysis)

    def _mark(self, analysis: Analysis) -> None:
        self._writer.add_scalar("hrmdoc/severity", max(self._open.values()), last_step(analysis))
        self._writer.flush()


def markdown(text: str) -> str:
    """Text of a run in Markdown, where no character of it means anything."""
    return "".join("\\" + c if c in "\\`*_{}[]<>()#+!|~&" else c for c in text)


def last_step(analysis: Analysis) -> int:
    """How far the run has come."""
    return max((int(series.steps[-1]) for series in analysis.run.series.values() if len(series)), default=0)


def summary(analysis: Analysis, prefix: str, open_: int | None = None) -> dict[str, object]:
    """The verdict as plain values."""
    found: dict[str, object] = {"verdict": analysis.verdict, "cause": _leading(analysis)}
    if open_ is not None:
        found["open_incidents"] = open_
    return {prefix + name: value for name, value in found.items()}


def _leading(analysis: Analysis) -> str:
    first = next(iter(analysis.diagnosis.hypotheses), None)
    return "" if first is None or first.benign else f"{first.cause} ({first.probability:.0%})"
