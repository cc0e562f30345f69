"""hrmdoc.readers.trials: rows of different trials are not one series, and several trials are several runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hrmdoc.readers import choose, discover, read_into, runs_below, trials
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Fact, Points, Record
from hrmdoc.record.run import Run
from tests.fuzz.harness import _TRIALS
from tests.readers.feeding import fed

RAY = """Trial status: 2 RUNNING
Current time: 2026-01-02 03:04:15. Total running time: 10s
╭──────────────────────────────────────────────────────────────╮
│ Trial name     status      lr     iter   total time (s)  loss │
├──────────────────────────────────────────────────────────────┤
│ fn_a1_00000    RUNNING    0.1     1      1.02            2.1  │
│ fn_a1_00001    RUNNING    0.01    1      1.03            5.2  │
╰──────────────────────────────────────────────────────────────╯

Trial fn_a1_00000 finished iteration 2 at 2026-01-02 03:04:16. Total running time: 11s
╭────────────────────────────────╮
│ Trial fn_a1_00000 result       │
├────────────────────────────────┤
│ training_iteration           2 │
│ loss                    1.9123 │
╰────────────────────────────────╯
"""
WORKERS = "Trial status: 2 RUNNING\nTrial fn_0 started with configuration:\n" + "".join(
    f"(fn pid={pid}) epoch {epoch} loss {pid / 10 - epoch / 10:.2f}\n"
    for epoch in range(1, 9)
    for pid in (20, 50, 90)
)
OPTUNA = "[I 2026-01-02 03:04:05,123] A new study created in memory with name: no-name\n" + "".join(
    "".join(f"step {step} loss {trial + 2.0 / step:.4f}\n" for step in range(1, 9))
    + f"[I 2026-01-02 03:04:1{trial},123] Trial {trial} finished with value: 0.{trial}1 and parameters: "
    f"{{'lr': 0.{trial}1, 'dropout': 0.2}}. Best is trial 0 with value: 0.01.\n"
    for trial in range(3)
)


def by_trial(records: list[Record]) -> dict[str, dict[str, list[float]]]:
    """Values by trial and metric, NaN as -1 so that it compares."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if isinstance(record, Points):
            trial = found.setdefault(record.source.rpartition("#")[2], {})
            trial.setdefault(record.metric, []).extend(np.nan_to_num(record.values, nan=-1.0).tolist())
    return found


def read(text: str, part: str = "") -> dict[str, dict[str, list[float]]]:
    return by_trial(fed(trials.open_session(Context("console.log", part=part)), text.encode()))


def test_the_reader_is_chosen_by_what_searches_print() -> None:
    for text in (RAY, WORKERS, OPTUNA):
        assert choose(Path("console.log"), text.encode()).NAME == "trials"  # type: ignore[union-attr]
    plain = "".join(f"(WorkerDict pid={pid}) step 1 loss 2.0\n" for pid in (1, 2))
    assert choose(Path("console.log"), plain.encode()).NAME == "text"  # type: ignore[union-attr]


def test_tables_and_results_of_a_trial_are_its_rows_without_its_settings() -> None:
    found = read(RAY)
    assert found["fn_a1_00000"]["loss"] == [2.1, 1.9123]
    assert found["fn_a1_00001"]["loss"] == [5.2]
    assert not any("lr" in metrics for metrics in found.values())


def test_what_each_process_prints_is_a_series_of_its_own() -> None:
    found = read(WORKERS)
    assert list(found) == ["fn pid=20", "fn pid=50", "fn pid=90"]
    assert [len(metrics["loss"]) for metrics in found.values()] == [8, 8, 8]


def test_trials_of_optuna_follow_one_another_and_their_parameters_are_no_curve() -> None:
    found = read(OPTUNA)
    assert list(found) == ["trial 0", "trial 1", "trial 2"]
    assert found["trial 1"]["loss"] == [round(1 + 2.0 / step, 4) for step in range(1, 9)]
    assert {metric for metrics in found.values() for metric in metrics} == {"loss"}


def test_a_study_without_a_curve_is_read_and_shows_none(tmp_path: Path) -> None:
    path = tmp_path / "study.log"
    path.write_text("".join(line for line in OPTUNA.splitlines(keepends=True) if line.startswith("[")))
    run = Run()
    read_into(run, discover(path))
    assert run.points == 0
    assert [event.kind for event in run.events] == ["start"]


def test_trials_are_listed_as_runs_and_one_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_text(WORKERS)
    groups = runs_below(str(path))
    assert [group.folder for group in groups] == [f"{path}#fn pid={pid}" for pid in (20, 50, 90)]
    run = Run()
    read_into(run, discover(groups[1].folder))
    assert [key.source for key in run.series] == [f"{path}#fn pid=50"]


def test_the_trials_do_not_depend_on_how_the_bytes_are_cut() -> None:
    whole = by_trial(fed(trials.open_session(Context("c.log")), _TRIALS))
    for cut in range(0, len(_TRIALS), 7):
        assert by_trial(fed(trials.open_session(Context("c.log")), _TRIALS, (cut,))) == whole


def test_places_are_lines_of_the_file() -> None:
    records = fed(trials.open_session(Context("console.log")), WORKERS.encode())
    first = next(one for one in records if isinstance(one, Points) and one.source.endswith("pid=50"))
    assert first.lines is not None
    assert first.lines.tolist()[:2] == [4, 7]


def test_what_optuna_chose_is_a_setting_of_its_trial(tmp_path: Path) -> None:
    path = tmp_path / "study.log"
    path.write_text(OPTUNA)
    run = Run()
    read_into(run, runs_below(str(path))[1].sources)
    chosen = {key: fact.value for (scope, key), fact in run.facts.items() if scope == "config"}
    assert chosen == {"lr": 0.11, "dropout": 0.2}


def test_results_stand_before_the_iteration_where_a_script_chose_the_columns() -> None:
    head = "| Trial name | status | loc | l1 | lr | loss | mean_accuracy | training_iteration |\n"
    row = "| fn_{0}_0000{0} | {1} | {2} | 64 | 0.01 | {3} | {4} | {5} |\n"
    table = "== Status ==\nNumber of trials: 2/2\n" + head
    ran = read(
        table
        + row.format(1, "RUNNING", "10.0.0.1:5", 1.5, 0.4, 1)
        + row.format(2, "PENDING", "", "", "", "")
        + "\n"
        + table
        + row.format(1, "RUNNING", "10.0.0.1:5", 1.25, 0.5, 2)
        + row.format(2, "RUNNING", "10.0.0.1:6", 2.5, 0.1, 1)
        + "\n"
    )
    assert ran == {
        "fn_1_00001": {"loss": [1.5, 1.25], "mean_accuracy": [0.4, 0.5]},
        "fn_2_00002": {"loss": [2.5], "mean_accuracy": [0.1]},
    }


def test_the_settings_of_the_best_trial_are_none_of_the_others() -> None:
    text = "== Status ==\nNumber of trials: 2/2\n| Trial name | status | loc | iter | loss |\n"
    row = "| fn_1 | TERMINATED | 1 | 1 | 0.5 |\n\n"
    best = "Best trial config: {'l1': 64, 'l2': 32, 'lr': 0.01, 'batch_size': 4}\n"
    facts = [
        record
        for record in fed(trials.open_session(Context("console.log")), (text + row + best).encode())
        if isinstance(record, Fact)
    ]
    assert not [fact for fact in facts if fact.key in ("l2", "batch_size")]
