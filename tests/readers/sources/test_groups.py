"""hrmdoc.readers.sources.groups: several runs in one folder are kept apart, the parts of one run are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.analysis import AnalysisSession
from hrmdoc.errors import InputError
from hrmdoc.readers import RunGroup, discover, runs_below, runs_in, runs_note
from tests.readers.feeding import database

ROWS = "step,loss\n" + "".join(f"{step},{2.0 / (step + 1)}\n" for step in range(8))


def lay(root: Path, *names: str) -> Path:
    """Files with a small table each, the later ones newer."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROWS)
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))
    return root


def folders(root: Path) -> list[str]:
    return [Path(group.folder).relative_to(root).as_posix() for group in runs_in(discover(root))]


@pytest.mark.parametrize(
    "names",
    [
        ("train/metrics.csv", "validation/metrics.csv"),
        ("rank_0/train.csv", "rank_1/train.csv"),
        (
            "logs/x_1/attempt_0/0/stdout.log",
            "logs/x_1/attempt_0/1/stdout.log",
            "logs/x_1/attempt_1/0/stdout.log",
        ),
        ("checkpoint-10/log.csv", "checkpoint-20/log.csv"),
        ("version_0/metrics.csv",),
        ("a.csv", "b.csv"),
        ("runs/train/metrics.csv", "runs/val/metrics.csv"),
        ("train/metrics.csv", "heldout/metrics.csv"),
        ("gpu0/train.csv", "gpu1/train.csv"),
        ("metrics.csv", "encoder/metrics.csv", "decoder/metrics.csv"),
        ("0/m.csv", "1/m.csv"),
        ("csv_logs/metrics.csv", "tb_logs/metrics.csv"),
        ("big/train.csv", "small/eval.csv"),
        ("best/log.csv", "last/log.csv"),
        ("events.out.tfevents.1.csv", "events.out.tfevents.2.csv"),
    ],
)
def test_parts_of_one_run_stay_together(tmp_path: Path, names: tuple[str, ...]) -> None:
    groups = runs_in(discover(lay(tmp_path, *names)))
    assert len(groups) == 1
    assert runs_note(groups) == ""


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("lightning_logs/version_0/metrics.csv", "lightning_logs/version_10/metrics.csv"),
         ["version_0", "version_10"]),
        (("runs/blue/metrics.csv", "runs/red/metrics.csv"), ["blue", "red"]),
        (("detect/train/results.csv", "detect/train2/results.csv"), ["train", "train2"]),
        (("out/2026-01-02/10-00-00/m.csv", "out/2026-01-02/11-00-00/m.csv", "out/2026-01-03/09-00-00/m.csv"),
         ["10-00-00", "11-00-00", "2026-01-03"]),
        (("outputs/2026-01-01/12-00-00/m.csv", "outputs/2026-01-01/12-30-00/m.csv"),
         ["12-00-00", "12-30-00"]),
        (("exp1/train.csv", "exp2/train.csv"), ["exp1", "exp2"]),
        (("exp1/train.csv", "exp2/train.csv", "baseline/train.csv"), ["exp1", "exp2", "baseline"]),
        (("exp1/train.csv", "exp2/train.csv", "a/plot.csv", "b/plot.csv"), ["exp1", "exp2"]),
        (("sweep/trial_a/train.csv", "sweep/trial_b/train.csv"), ["trial_a", "trial_b"]),
        (("baseline/m.csv", "no-warmup/m.csv", "lr-1e-3/m.csv"), ["baseline", "no-warmup", "lr-1e-3"]),
        (("sweep/a/version_0/m.csv", "sweep/a/version_1/m.csv", "sweep/b/version_0/m.csv"),
         ["version_0", "version_1", "b"]),
        (("multirun/2026-01-02/10-00-00/0/m.csv", "multirun/2026-01-02/10-00-00/1/m.csv"), ["0", "1"]),
    ],
)  # fmt: skip
def test_runs_side_by_side_are_told_apart_and_the_newest_comes_last(
    tmp_path: Path, names: tuple[str, ...], expected: list[str]
) -> None:
    assert [folder.rpartition("/")[2] for folder in folders(lay(tmp_path, *names))] == expected


def test_event_folders_of_one_trainer_are_one_run(tmp_path: Path) -> None:
    lay(tmp_path, "out/runs/Jan01_10-00-00_host/log.csv", "out/runs/Jan01_11-00-00_host/log.csv")
    assert len(runs_in(discover(tmp_path))) == 2
    (tmp_path / "out/trainer_state.json").write_text(
        '{"global_step": 2, "log_history": [{"loss": 1.0, "step": 2}]}'
    )
    assert len(runs_in(discover(tmp_path))) == 1


def test_a_newer_log_beside_the_runs_goes_to_the_newest_and_an_older_one_does_not(tmp_path: Path) -> None:
    lay(tmp_path, "old.csv", "runs/a/m.csv", "runs/b/m.csv", "new.csv")
    newest = runs_in(discover(tmp_path))[-1]
    assert [Path(source.path).name for source in newest.sources] == ["m.csv", "new.csv"]


def test_tasks_of_a_slurm_array_are_runs(tmp_path: Path) -> None:
    lay(tmp_path, "slurm-100_1.out", "slurm-100_2.out")
    assert folders(tmp_path) == ["slurm-100_1", "slurm-100_2"]


def test_runs_in_a_database_are_named_so_that_they_can_be_typed(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    session = AnalysisSession(str(path))
    session.read([str(path)])
    assert session.other_runs.startswith(f"2 runs are in {path}; this is the newest, {path}#new.")
    other = session.other_runs.rpartition(" ")[2]
    assert other == f"{path}#old"
    older = AnalysisSession(other)
    older.read([other])
    assert older.other_runs == ""
    assert [series.values.tolist() for series in older.run.series.values()] == [[9.0]]


def test_a_file_that_is_no_database_holds_no_runs_by_name(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    with pytest.raises(InputError, match="no such file"):
        discover(f"{tmp_path / 'train.log'}#first")


def test_a_patient_reads_the_newest_run_and_names_the_others(tmp_path: Path) -> None:
    lay(tmp_path, "lightning_logs/version_0/metrics.csv", "lightning_logs/version_1/metrics.csv")
    session = AnalysisSession(str(tmp_path))
    session.read([str(tmp_path)])
    assert len(session.run.series) == 1
    assert "2 runs lie here" in session.other_runs
    assert session.other_runs.endswith("version_0")
    both = AnalysisSession(str(tmp_path))
    both.read([str(tmp_path / "lightning_logs/version_0"), str(tmp_path / "lightning_logs/version_1")])
    assert both.other_runs == ""
    assert len(both.run.series) == 2


def version(root: Path, number: int, steps: range, *, above: float = 0.0) -> None:
    """A folder of Lightning's logger, newer than those of smaller numbers."""
    path = root / f"lightning_logs/version_{number}/metrics.csv"
    path.parent.mkdir(parents=True)
    path.write_text(
        "epoch,step,train_loss\n"
        + "".join(f"{step // 20},{step},{above + 2.0 / (1 + step)}\n" for step in steps)
    )
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (range(49, 500, 50), range(49, 500, 50)),  # a second run from the beginning, logged every 50 steps
        (range(49, 500, 50), range(999, 1500, 50)),  # a part of another run
        (
            range(49, 2000, 50),
            range(999, 1500, 50),
        ),  # taken up from the middle: another run with the same beginning
        (range(0), range(999, 1500, 50)),
    ],
)
def test_a_version_that_does_not_go_on_where_another_ended_is_a_run_of_its_own(
    tmp_path: Path, first: range, second: range
) -> None:
    version(tmp_path, 0, first)
    version(tmp_path, 1, second)
    assert [group.before for group in runs_in(discover(tmp_path))] == [()] * 2


def test_a_resumed_training_of_lightning_is_one_run_with_its_resumes(tmp_path: Path) -> None:
    version(tmp_path, 3, range(4, 100, 5))
    version(tmp_path, 4, range(4, 100, 5))
    version(tmp_path, 5, range(104, 200, 5))
    version(tmp_path, 6, range(204, 300, 5))
    assert folders(tmp_path) == ["lightning_logs/version_3", "lightning_logs/version_6"]
    session = AnalysisSession(str(tmp_path))
    session.read([str(tmp_path)])
    loss = session.run.best("train.loss")
    assert loss is not None
    assert loss.steps.tolist() == list(range(4, 100, 5)) + list(range(104, 200, 5)) + list(range(204, 300, 5))
    assert [event.step for event in session.run.events if event.kind == "resume"] == [104, 204]
    assert "version_6 goes on where" in session.other_runs


def test_weights_that_a_resume_into_the_next_version_lost_are_noticed(tmp_path: Path) -> None:
    version(tmp_path, 0, range(4, 400, 5))
    version(tmp_path, 1, range(404, 600, 5), above=1.5)
    session = AnalysisSession(str(tmp_path))
    session.read([str(tmp_path)])
    assert {"resume-loss-jump", "loss-begins-anew"} & {
        symptom.id for symptom in session.diagnose(closed=True).present
    }


def tell(root: Path, *names: str, like: str = "step {step} loss: {loss:.4f}\n", same: bool = False) -> Path:
    """Files of a course each, no two alike unless they are to be the `same`."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        scale = 1.0 if same else 1.0 + 0.37 * age
        path.write_text("".join(like.format(step=step, loss=scale / (step + 1)) for step in range(8)))
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))
    return root


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("resnet.log", "vit.log"), ["resnet.log", "vit.log"]),
        (("resnet/a.log", "vit/b.log"), ["resnet", "vit"]),
        (("0012/train.log", "0013/train.log"), ["0012", "0013"]),
        (("1/train.log", "2/train.log"), ["1", "2"]),
    ],
)
def test_logs_that_tell_other_courses_of_one_metric_are_runs(
    tmp_path: Path, names: tuple[str, ...], expected: list[str]
) -> None:
    found = runs_below(tell(tmp_path, *names))
    assert [group.folder.rpartition("/")[2] for group in found] == expected


@pytest.mark.parametrize(
    "names",
    [
        ("0/train.log", "1/train.log"),
        ("gpu0/train.log", "gpu1/train.log"),
        ("train.log", "heldout/m.log"),
        ("train.log", "val.log"),
        ("checkpoint-10/a.log", "checkpoint-20/b.log"),
    ],
)
def test_logs_of_ranks_parts_and_checkpoints_stay_together_whatever_they_tell(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    assert len(runs_below(tell(tmp_path, *names))) == 1


def test_logs_that_say_the_same_or_speak_of_other_things_are_one_run(tmp_path: Path) -> None:
    assert len(runs_below(tell(tmp_path / "same", "console.log", "kept.log", same=True))) == 1
    other = tell(tmp_path / "other", "resnet.log")
    tell(other, "debug.log", like="worker {step} took {loss:.4f} s\n")
    assert len(runs_below(other)) == 1
    rounded = tell(tmp_path / "rounded", "short.log", same=True)
    tell(rounded, "long.log", like="step {step} train loss = {loss:.12f}\n", same=True)
    assert len(runs_below(rounded)) == 1


def newest(*files: Path) -> None:
    """Makes these the files that were written last."""
    for age, file in enumerate(files):
        os.utime(file, (1_800_000_000 + age, 1_800_000_000 + age))


def test_rival_logs_of_a_folder_are_runs_though_a_folder_lies_beside_them(tmp_path: Path) -> None:
    tell(tmp_path, "resnet.log", "vit.log", "old/swin.log", "val/val.log")
    found = [sorted(name.name for name in map(Path, paths)) for paths in paths_of(runs_below(tmp_path))]
    assert found == [["resnet.log"], ["vit.log"], ["swin.log"], ["val.log"]]


@pytest.mark.parametrize("same", [False, True])
def test_a_later_log_beside_folders_of_runs_stays_apart_where_it_tells_another_course(
    tmp_path: Path, same: bool
) -> None:
    tell(tmp_path, "exp_1/train.log", "exp_2/train.log")
    beside = tmp_path / "slurm-4711.out"
    written = (tmp_path / "exp_2/train.log").read_text()
    beside.write_text(written if same else written.replace(": 1", ": 2").replace(": 0.", ": 0.9"))
    errors = tmp_path / "slurm-4711.err"
    errors.write_text("torch.OutOfMemoryError: CUDA out of memory.\n")
    newest(beside, errors)
    *_, run = runs_below(tmp_path)
    last = [Path(source.path).name for source in run.sources]
    expected = ["slurm-4711.out", "slurm-4711.err"]
    assert last == (["train.log", *expected] if same else expected)
    (again,) = runs_below(run.folder)  # its name can be typed
    assert [Path(source.path).name for source in again.sources] == (["train.log"] if same else expected)
    followed = [Path(path).name for path in paths_of(runs_in(discover([str(tmp_path)])))[-1]]
    assert followed == (["train.log", *expected] if same else ["train.log"])


def paths_of(groups: list[RunGroup]) -> list[list[str]]:
    """The files of each run, in the order in which they are read."""
    return [[source.path for source in group.sources] for group in groups]


def test_one_run_is_read_of_a_folder_of_rival_logs_and_the_others_are_named(tmp_path: Path) -> None:
    tell(tmp_path, "resnet.log", "vit.log")
    session = AnalysisSession(str(tmp_path))
    session.read([str(tmp_path)])
    assert session.run.points == 8
    assert "2 runs lie here" in session.other_runs
    assert "resnet.log" in session.other_runs
