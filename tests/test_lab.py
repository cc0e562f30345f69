"""The installed fault lab, without training."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hrmdoc import lab
from hrmdoc.cli.lab import command
from hrmdoc.errors import UsageError
from hrmdoc.lab import Result


def result(
    verdict: str = "critical", named: tuple[str, ...] = ("wrong-targets",), rank: int | None = 1
) -> Result:
    return Result("wrong-labels", "wrong-targets", verdict, named, rank)


def test_a_fault_is_found_when_the_verdict_is_serious() -> None:
    assert not result("healthy").found
    assert not result("info").found
    assert result("warning").found


def test_a_line_tells_what_was_named_instead() -> None:
    assert "named at place 1" in result().line()
    assert "not named (first: labels-masked)" in result(named=("labels-masked",), rank=None).line()
    assert "not named (first: nothing)" in result(named=(), rank=None).line()


def test_a_trainer_that_cannot_be_loaded_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lab, "LIST", "import no_such_module_at_all")
    with pytest.raises(UsageError, match="No module named 'no_such_module_at_all'"):
        lab.faults()


def test_a_kept_run_is_judged_by_what_its_diagnosis_names(tmp_path: Path) -> None:
    lines = [f"step {i} | loss {2.0 - i / 100:.3f} | lr 0.001" for i in range(60)]
    (tmp_path / "train.log").write_text(
        "\n".join([*lines, "OSError: [Errno 28] No space left on device"]) + "\n"
    )
    judged = lab.examine("disk-full", "disk-exhausted", tmp_path)
    assert judged.rank == 1
    assert judged.found


def test_the_command_tries_the_faults_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "faults", lambda: {"wrong-labels": "wrong-targets", "hang": "process-hung"})
    tried: list[str] = []

    def fake(name: str, cause: str, output: Path) -> Result:
        tried.append(f"{name} {cause} {output.name}")
        return result()

    monkeypatch.setattr(lab, "try_fault", fake)
    done = CliRunner().invoke(
        command, ["--reference", "--runs", str(tmp_path / "kept"), "wrong-labels"], standalone_mode=False
    )
    assert tried == ["wrong-labels wrong-targets kept"]
    assert "1 of 1 named first, 1 found" in done.output
    assert done.return_value == 0


def test_a_fault_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "faults", lambda: {"wrong-labels": "wrong-targets"})
    done = CliRunner().invoke(command, ["--reference", "wrong-lables"], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "wrong-lables" in str(done.exception)
