"""What a notebook shows: an analysis by itself, and the magic in a real IPython."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hrmdoc
from hrmdoc.record.records import Damage

SICK = "".join(f"step {n} loss {'nan' if n > 60 else 3.0 - n / 40:} lr 0.001\n" for n in range(100))
HEALTHY = "".join(f"step {n} loss {0.2 + 2.0 / (1 + n / 9) + n % 3 / 50:.4f} lr 0.001\n" for n in range(300))


def test_an_analysis_shows_itself(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(SICK)
    shown = hrmdoc.analyze(log)._repr_html_()
    assert "✗ critical" in shown
    assert "Loss is NaN or infinite, from step 61" in shown
    assert "What to do first" in shown
    assert "▁" in shown
    assert len(shown) < 8_000
    assert not re.search(r"<(script|link|img|iframe|style)|\bsrc=|\burl\(|https?://", shown)


def test_a_healthy_run_is_shown_without_a_finding(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(HEALTHY)
    shown = hrmdoc.analyze(log)._repr_html_()
    assert "✓ healthy" in shown or "· info" in shown
    assert "What to do first" not in shown


def test_text_of_a_run_is_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(
        "".join(f'{{"step": {n}, "loss": 1.5, "<script>loss": {n}}}\n' for n in range(50))
    )
    analysis = hrmdoc.analyze(folder)
    analysis.run.add(Damage("<script>", 1, "<script>alert(1)</script>", incomplete=True))
    shown = analysis._repr_html_()
    assert "&lt;img" in shown
    assert "<script" not in shown
    assert "<img" not in shown


def test_a_monitor_shows_its_last_examination() -> None:
    monitor = hrmdoc.Monitor()
    assert monitor._repr_html_() is None
    with monitor:
        monitor.log(0, {"loss": float("nan")})
    assert "Loss is NaN" in str(monitor._repr_html_())


@pytest.fixture
def shell() -> Iterator[Any]:
    pytest.importorskip("IPython", reason="IPython is not installed")
    from IPython.core.interactiveshell import InteractiveShell

    found = InteractiveShell()
    found.history_manager.enabled = False
    found.run_line_magic("load_ext", "hrmdoc")
    yield found
    found.run_line_magic("hrmdoc", "stop")


def test_the_magic_analyzes(shell: Any, tmp_path: Path) -> None:
    log = tmp_path / "my train.log"
    log.write_text(SICK)
    assert shell.run_line_magic("hrmdoc", f"analyze '{log}'").verdict == "critical"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("analyze nowhere.log", "nowhere.log: no such file or folder"),
        ("", "%hrmdoc analyze PATH"),
        ("dance", "%hrmdoc analyze PATH"),
        ("analyze 'open", "No closing quotation"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    assert shell.run_line_magic("hrmdoc", line) is None
    assert words in capsys.readouterr().out


def test_a_live_run_is_shown_anew_while_it_grows(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from IPython.core import display_functions

    shown: list[str] = []

    class Handle:
        def update(self, analysis: hrmdoc.Analysis) -> None:
            shown.append(analysis._repr_html_())

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: Handle())
    assert display_functions.display is not None
    log = tmp_path / "train.log"
    log.write_text(SICK[: SICK.index("step 50")])
    shell.run_line_magic("hrmdoc", f"watch {log}")
    _wait(lambda: bool(shown))
    assert "NaN" not in shown[-1]
    log.write_text(SICK)
    _wait(lambda: "Loss is NaN" in shown[-1])
    shell.run_line_magic("hrmdoc", "stop")
    seen = len(shown)
    log.write_text(SICK + SICK[-40:])
    time.sleep(0.8)
    assert len(shown) == seen


def _wait(holds: Any) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
