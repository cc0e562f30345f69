"""A log's reader is handed the names of settings."""

from __future__ import annotations

from pathlib import Path

from hrmdoc import readers
from hrmdoc.analysis import AnalysisSession
from hrmdoc.record.run import Run


def test_what_is_handed_on_is_known_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("dropout_zeal: 4\n" + "".join(f"epoch {at} loss 0.{9 - at}\n" for at in range(1, 6)))
    run = Run(str(log))
    readers.read_into(run, readers.discover(log), settings=frozenset({"dropout_zeal"}))
    assert run.facts["config", "dropout_zeal"].value == 4


def test_an_analysis_hands_on_the_names_of_its_rules(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("nb_epochs: 40\n" + "".join(f"epoch {at} loss 0.{9 - at}\n" for at in range(1, 6)))
    session = AnalysisSession(str(log))
    session.read([str(log)])
    assert session.run.facts["config", "nb_epochs"].value == 40
