"""What `watch` and `run` tell of a run elsewhere than on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hrmdoc.live.watch import Look, Observer, Watch
    from hrmdoc.settings import Settings


@contextmanager
def telling(settings: Settings) -> Iterator[Observer]:
    """Shows every look of a watch to the targets of the user; at the end they get a last, bounded try.

    Raises:
        ConfigError: a target can never be told.
    """
    from hrmdoc.alerts.alerter import Alerter

    alerter = Alerter(settings.alerts, settings.alerts_origin).start()

    def observe(watch: Watch, look: Look) -> None:
        alerter.follow(watch.following, watch.incidents.latest.values())
        alerter.tell(look.changes)

    try:
        yield observe
    finally:
        alerter.close()
