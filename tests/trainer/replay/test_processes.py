"""Training by reward in two processes: by torchrun and gloo, as the incidents do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.replay.story import program

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
SMALL = (
    "per_device_train_batch_size: 16\nnum_generations: 4\ntrain_prompts: 17\nimitation_steps: 2\n"
    "ddp_timeout: 30\n"
)


def two_processes(folder: Path, name: str, text: str) -> tuple[int, Path]:
    """The exit status and the run of two processes with these settings besides the small ones."""
    config, run = folder / f"{name}.yaml", folder / name
    config.write_text(SMALL + text)
    run.mkdir()
    with (run / "output.log").open("wb") as output:
        done = subprocess.run(
            [*program("grpo", processes=2), str(config), f"run_dir={run}"],
            stdout=output,
            stderr=output,
            timeout=200,
            check=False,
        )
    return done.returncode, run


def last_reward(run: Path) -> float:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return float([one["eval_reward"] for one in events if one["event"] == "evaluated"][-1])


def leading(analysis: Analysis) -> str:
    return analysis.diagnosis.hypotheses[0].cause


def test_a_rank_with_a_batch_more_ends_the_run_and_the_cause_is_named(tmp_path: Path) -> None:
    status, run = two_processes(tmp_path, "uneven", "drop_last: false\n")
    assert status != 0
    analysis = analyze(str(run))
    assert leading(analysis) == "rank-desync"
    assert next(one.remedy.id for one in analysis.prescriptions["rank-desync"]) == "drop-last-batch"


def test_weights_in_parts_learn_what_whole_ones_learn(tmp_path: Path) -> None:
    ended = [two_processes(tmp_path, name, f"fsdp: {name}\n") for name in ("true", "false")]
    assert [status for status, _ in ended] == [0, 0]
    parts, whole = (last_reward(run) for _, run in ended)
    assert parts == pytest.approx(whole, abs=1e-6)
