"""hrmdoc.reports.verdict: the verdict in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import hrmdoc
from hrmdoc.reports.verdict import blame, of_ranks

STEP = "step={} loss={} grad_norm=0.5\n"
LOST = "[rank{0}]: RuntimeError: [Rank {0}] Connection closed by peer [10.0.0.7]:1234\n"


def logs(folder: Path, *, silent: tuple[int, ...], ranks: int = 4) -> Path:
    for rank in range(ranks):
        steps = "".join(STEP.format(step, 2.5 - step / 100) for step in range(0, 60, 5))
        (folder / f"rank{rank}.log").write_text(steps + ("" if rank in silent else LOST.format(rank)))
    return folder


def test_nothing_is_said_of_ranks_in_a_run_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(STEP.format(1, 2.5) + "ValueError: empty batch\n")
    assert of_ranks(hrmdoc.analyze(tmp_path / "train.log")) == ""


def test_the_silent_rank_is_named_once_and_with_the_place_of_its_last_record(tmp_path: Path) -> None:
    said = of_ranks(hrmdoc.analyze(logs(tmp_path, silent=(2,))))
    assert said.startswith("rank 2 fell silent first (")
    assert said.endswith("rank2.log:12)")


def test_several_silent_ranks_are_all_named(tmp_path: Path) -> None:
    assert (
        of_ranks(hrmdoc.analyze(logs(tmp_path, silent=(1, 2)))) == "silent while others miss a peer: rank 1-2"
    )


@pytest.mark.parametrize(
    ("probabilities", "said"),
    [
        ((0.11, 0.05), "no known cause fits well; the nearest: "),
        ((0.11, 0.09), "several causes are about as likely"),
        ((0.3, 0.1), "perhaps: "),
        ((0.6, 0.1), "most probably: "),
    ],
)
def test_a_cause_that_is_well_ahead_is_named_however_improbable(
    tmp_path: Path, probabilities: tuple[float, float], said: str
) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} loss {2.3 + 0.01 * (step % 3)}\n" for step in range(0, 600, 5)))
    analysis = hrmdoc.analyze(log)
    known = [one for one in analysis.diagnosis.hypotheses if one.cause != "unknown" and not one.benign][:2]
    shown = tuple(replace(one, probability=p) for one, p in zip(known, probabilities, strict=True))
    assert blame(replace(analysis, diagnosis=replace(analysis.diagnosis, hypotheses=shown))).startswith(said)
