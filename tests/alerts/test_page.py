"""The page on alerts says what holds: its examples are read as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from hrmdoc import settings, trust
from hrmdoc.alerts.alerter import checked

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "alerts.md"


def test_the_settings_on_the_page_hold_a_route_for_every_target(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    (tmp_path / "hrmdoc.toml").write_text(example)
    trust.trust(tmp_path / "hrmdoc.toml")
    found = settings.load(tmp_path)
    names = [route.name for route in checked(found.alerts, found.alerts_origin)]
    assert names == ["pagerduty", "alertmanager", "chat", "webhook", "command"]
    assert len(text.splitlines()) < 80


def test_every_file_that_the_page_names_is_there() -> None:
    for name in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE.read_text()):
        assert (PAGE.parent / name).is_file(), name
