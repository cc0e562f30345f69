"""Reports of a row for each class: what they come to, and how many classes there are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points

REPORT = """\
              precision    recall  f1-score   support

    cold fog       {0}      0.50      0.55        40
        rain       0.70      0.90      0.79        60
{2}
{1}
   macro avg       0.65      0.70      0.67       100
weighted avg       0.66      0.74      0.69       100
"""
RIGHT = "    accuracy                           0.74       100"
EMPTY = "        snow       0.00      0.00      0.00         0"


def _log(right: str = RIGHT, extra: str = EMPTY, epochs: int = 1) -> str:
    return "".join(
        f"Epoch {at} loss 0.{9 - at}\n{REPORT.format(f'0.6{at}', right, extra)}"
        for at in range(1, epochs + 1)
    )


def test_a_report_tells_accuracy_and_what_chance_leaves_of_the_mean_recall(read: Any) -> None:
    run = read(_log())
    assert points(run, "accuracy (report)") == [(1, 0.74)]
    assert points(run, "macro f1 (report)") == [(1, 0.67)]
    assert points(run, "adjusted balanced accuracy (report)") == [(1, pytest.approx(0.4))]
    assert {key.metric for key in run.series if "report" not in key.metric} == {"loss"}


def test_classes_of_which_there_is_a_sample_are_counted(read: Any) -> None:
    assert read(_log()).facts["run", "data.classes"].value == 2
    snow = EMPTY.replace("        0", "        3")
    assert read(_log(extra=snow)).facts["run", "data.classes"].value == 3


def test_reports_of_all_epochs_are_curves(read: Any) -> None:
    run = read(_log(epochs=5))
    assert points(run, "accuracy (report)") == [(at, 0.74) for at in range(1, 6)]
    assert points(run, "loss")[-1] == (5, 0.4)


def test_where_a_sample_is_of_several_classes_nothing_is_stated_of_chance(read: Any) -> None:
    run = read(_log(right="   micro avg       0.64      0.74      0.68       100"))
    assert {key.metric for key in run.series} == {"loss"}
    assert ("run", "data.classes") not in run.facts


def test_rows_without_a_header_are_none_of_a_report(read: Any) -> None:
    run = read("epoch 1 loss 0.5\n" + REPORT.partition("\n")[2].format("0.61", RIGHT, EMPTY))
    assert not [key for key in run.series if "report" in key.metric]


def test_classes_that_are_as_frequent_as_others_and_never_found_are_counted(read: Any) -> None:
    head = "              precision    recall  f1-score   support\n\n"
    rows = (("fox", 0.9, 60), ("owl", 0.04, 30), ("newt", 0.0, 9))
    lines = "".join(
        f"{name:>12}       0.50      {recall:.2f}      0.50     {count:>5}\n" for name, recall, count in rows
    )
    ends = "\n    accuracy                           0.56        99\n   macro avg       0.50      0.31      0.50        99\n"
    facts = read(head + lines + ends).facts
    said = {key: fact.value for (_, key), fact in facts.items()}
    assert (said["data.classes"], said["report.classes"], said["report.unfound"]) == (3, 3, 1)
