from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.trainer.config.help import GROUPS
from hrmdoc.trainer.config.load import key_types
from hrmdoc.trainer.config.overrides import preset_names
from hrmdoc.trainer.main import main


def test_a_run_is_trained_evaluated_and_resumed_from_the_command_line(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *lab.words("max_steps=4", "ema=true")]) == 0
    printed = capsys.readouterr()
    run = lab.folder / "run"
    assert printed.out.splitlines() == [str(run)]
    assert f"hrmdoc watch {run}" in printed.err
    logged = json.loads((run / "events.jsonl").read_text().splitlines()[1])["metrics"]
    for checkpoint in (str(run), str(run / "checkpoints" / "step_4"), f"checkpoint={run}"):
        assert main(["evaluate", checkpoint]) == 0
        scored = json.loads(capsys.readouterr().out)["all"]
        assert scored == {key.removeprefix("all."): value for key, value in logged.items()}
    assert main([f"resume={run}", "max_steps=6"]) == 0
    assert "steps 4 to 6" in capsys.readouterr().err


def test_a_configuration_of_a_run_starts_a_new_run_when_used_again(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.words("max_steps=2")) == 0
    assert main(["train", str(lab.folder / "run" / "config.yaml"), f"run_dir={lab.folder / 'again'}"]) == 0
    assert json.loads((lab.folder / "again" / "run.json").read_text())["config_source"].endswith(
        "run/config.yaml"
    )
    losses = [lab.scalars(name)["train/lm_loss"] for name in ("run", "again")]
    assert losses[0] == losses[1]


def test_at_the_end_it_says_what_was_reached_and_what_comes_next(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = lab.folder / "run"
    assert main(lab.words("max_steps=2")) == 0
    last = capsys.readouterr().err.splitlines()[-4:]
    assert last[0].startswith("finished at step 2 of 2 | all.exact_accuracy 0.")
    best = last.pop(1)
    assert best.startswith("  best      exact_accuracy 0.0000, lm_loss ")
    assert best.endswith("at step 2 (ACT steps: 4)")
    assert last[1:] == [f"  diagnose  hrmdoc analyze {run}", f"  evaluate  hrmdoc evaluate {run} --show 2"]


def test_a_run_whose_checkpoints_failed_says_that_the_weights_are_lost(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.words("max_steps=2", "fault=disk-full:1")) == 1
    printed = capsys.readouterr().err
    assert "checkpoint of step 2 not saved: OSError: [Errno 28] No space left on device" in printed
    assert "  no checkpoint was saved: the weights are lost" in printed.splitlines()
    assert "error: the state of step 2 was not saved: OSError: [Errno 28]" in printed


def test_run_json_says_what_a_diagnosis_needs(lab: Any) -> None:
    main(lab.words("max_steps=2"))
    found = json.loads((lab.folder / "run" / "run.json").read_text())
    assert (
        found["samples"],
        found["vocab_size"],
        found["classes"],
        found["total_steps"],
        found["precision"],
    ) == (
        16,
        6,
        4,
        2,
        "fp32",
    )
    assert len(found["data_hash"]) == 64
    assert found["parameters"] > 0
    assert set(found["versions"]) == {"python", "hrmdoc", "torch", "numpy"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["arch.hiden_size=3"], "did you mean 'arch.hidden_size'?"),
        (["no.yaml"], "no.yaml: cannot read the configuration"),
        (["a.yaml", "b.yaml"], "one configuration file at most"),
        (["--resume"], "unknown option --resume"),
        (
            ["data_path=data/sudoku-extreme-small"],
            "hrmdoc dataset sudoku sapientinc/sudoku-extreme data/sudoku-extreme-small",
        ),
        (["data_path=data/nothing"], "builtin:sudoku-4x4"),
        (["data_path=builtin:sudoku-5x5"], "there is no built-in dataset"),
        (["resume=runs/nothing"], "there is no"),
        (["fault=nonsense"], "there is no fault 'nonsense'"),
        (["device=mps"], "not available"),
        (["evaluate"], "evaluate takes one checkpoint"),
        (["evaluate", "nowhere"], "there is no such run or checkpoint"),
    ],
)
def test_a_mistake_ends_in_one_message_and_status_2(
    words: list[str],
    expected: str,
    lab: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words if words[0] == "evaluate" or words[0].startswith("data_path") else [*lab.words(), *words]
    assert main(given) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_processes_that_cannot_share_the_batch_or_find_each_other_are_refused(
    lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert main(lab.words()) == 2
    assert "cannot be shared evenly by 3 processes" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(lab.words()) == 2
    assert "start several processes with torchrun" in capsys.readouterr().err


def test_a_run_that_fails_gives_status_1_and_names_its_directory(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.words("fault=nan-weights@3")) == 1
    assert f"hrmdoc analyze {lab.folder / 'run'}" in capsys.readouterr().err


def test_threads_beyond_the_cores_are_warned_about(
    lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)
    words = [word for word in lab.words("max_steps=1") if not word.startswith("threads=")]
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    assert main(words) == 0
    assert "warning: OMP_NUM_THREADS=4096" in capsys.readouterr().err
    assert "OMP_NUM_THREADS=4096" in lab.events("warning")[0]["message"]


def test_an_interrupt_ends_with_130_and_a_checkpoint(lab: Any) -> None:
    script = (
        "import os, signal, sys\n"
        "from hrmdoc.trainer.loop import inbox; from hrmdoc.trainer.main import main\n"
        "inbox.Inbox.waiting = lambda self: (\n"
        "  self.job.state.step == 3 and bool(os.kill(os.getpid(), signal.SIGINT)))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *lab.words()], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert "SIGINT received at step 3" in done.stderr
    assert lab.checkpoints() == ["step_3"]


def test_without_a_word_a_person_learns_what_to_start_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train"]) == 2
    assert "hrmdoc train preset=demo" in capsys.readouterr().err


def test_a_run_whose_last_state_was_not_saved_ends_with_an_error_and_names_the_one_that_was(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.words("max_steps=4", "checkpoint_interval=2", "fault=disk-full:1@4")) == 1
    printed = capsys.readouterr().err
    assert "error: the state of step 4 was not saved: OSError: [Errno 28]" in printed
    assert lab.checkpoints() == ["step_2"]


def test_a_run_whose_last_checkpoint_is_damaged_ends_with_an_error(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.words("max_steps=4", "checkpoint_interval=2", "fault=corrupt-checkpoint@4")) == 1
    assert "error: the state of step 4 was not saved: the checkpoint is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["resume", "checkpoint_path"])
def test_a_second_trainer_is_kept_out_of_a_folder_until_the_first_has_ended(
    lab: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("hrmdoc.trainer.rundir.directory.WAIT_S", 0.0)
    shared = f"checkpoint_path={lab.folder / 'kept'}" if kind == "checkpoint_path" else "max_steps=2"
    assert main(lab.words("max_steps=2", shared)) == 0
    first = lab.job(f"resume={lab.folder / 'run'}", "max_steps=4")
    before = lab.checkpoints(), (lab.folder / "run" / "run.json").read_bytes()
    words = lab.words(shared, run="other") if kind == "checkpoint_path" else [f"resume={lab.folder / 'run'}"]
    assert main([*words, "max_steps=6"]) == 2
    assert "another process is training in this folder" in capsys.readouterr().err
    assert before == (lab.checkpoints(), (lab.folder / "run" / "run.json").read_bytes())
    first.run.close(2, "stopped")
    first.state.feed.close()
    assert main([*words, "max_steps=6"]) == 0


def test_help_names_every_key_once_with_its_default_and_every_preset(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", "--help"]) == 0
    printed = capsys.readouterr().out
    named = [key for keys in GROUPS.values() for key in keys]
    assert sorted(named) == sorted(key_types())
    assert all(f"  {key}=" in printed for key in named)
    assert "lr=0.0001" in printed
    assert "ema=false" in printed
    assert all(f"\n  {name} " in printed for name in preset_names())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["epochs=3"], "no data are named"),
        (["preset=small"], "builtin:sudoku-4x4"),
        (["demo"], "preset=demo"),
        (["resume=auto"], "no run here is unfinished"),
    ],
)
def test_what_a_beginner_leaves_out_is_named(
    words: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
