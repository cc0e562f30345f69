"""What of the symptoms becomes evidence: groups, cascades, and messages that a dead process could not print
any more."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from hrmdoc import rulebook
from hrmdoc.diagnosis.clues import CONSEQUENCE_LEAK, Clues, gather
from hrmdoc.examination.symptom import State, Symptom
from hrmdoc.rulebook import Rulebook, good_signs


@cache
def book() -> Rulebook:
    return rulebook.load()


def symptom(name: str, state: State = "present", role: str = "root") -> Symptom:
    values: dict[str, object] = {"role": role} if state == "present" else {}
    return Symptom(id=name, title=name, severity="critical", state=state, values=values)


def names(clues: Clues, part: str) -> set[str]:
    return {one.id for clue in getattr(clues, part) for one in clue.symptoms}


def leak_of(clues: Clues, name: str) -> float:
    return next(clue.leak for clue in clues.shown if any(one.id == name for one in clue.symptoms))


def test_a_message_that_is_missing_counts_while_the_run_goes_on() -> None:
    clues = gather([symptom("fp16-overflow-skips", "absent"), symptom("loss-nonfinite", role="")], book())
    assert names(clues, "absent") == {"fp16-overflow-skips"}


def test_that_nothing_has_ended_the_run_yet_is_no_evidence() -> None:
    clues = gather([symptom("oom-host", "absent"), symptom("host-memory-growth", role="")], book())
    assert names(clues, "open") == {"oom-host"}


def test_an_exception_without_a_name_takes_nothing_from_what_comes_in_its_wake() -> None:
    unnamed = replace(symptom("unhandled-exception"), file="train.log", line=124)
    full = replace(symptom("disk-full"), file="train.log", line=142)
    assert leak_of(gather([unnamed, full], book()), "disk-full") < CONSEQUENCE_LEAK
    assert leak_of(gather([unnamed, full], book()), "unhandled-exception") < CONSEQUENCE_LEAK


def test_an_exception_without_a_name_behind_another_failure_is_its_consequence() -> None:
    peer = replace(symptom("nccl-remote-exit"), file="train.log", line=7)
    unnamed = replace(symptom("unhandled-exception"), file="train.log", line=9)
    assert leak_of(gather([peer, unnamed], book()), "unhandled-exception") == CONSEQUENCE_LEAK


def test_the_second_of_two_failures_with_a_name_is_weak_evidence() -> None:
    first = replace(symptom("oom-cuda"), file="train.log", line=7)
    second = replace(symptom("disk-full"), file="train.log", line=9)
    assert leak_of(gather([first, second], book()), "disk-full") == CONSEQUENCE_LEAK


def test_of_two_failures_the_earlier_by_the_clock_is_first_whichever_line_it_has() -> None:
    late = replace(symptom("oom-cuda"), file="train.log", line=7, first_time=20.0)
    early = replace(symptom("disk-full"), file="train.log", line=9, first_time=10.0)
    clues = gather([late, early], book())
    assert leak_of(clues, "oom-cuda") == CONSEQUENCE_LEAK
    assert leak_of(clues, "disk-full") < CONSEQUENCE_LEAK


def test_lines_decide_which_failure_is_first_where_one_of_them_has_no_time() -> None:
    first = replace(symptom("oom-cuda"), file="train.log", line=7, first_time=20.0)
    second = replace(symptom("disk-full"), file="train.log", line=9)
    clues = gather([first, second], book())
    assert leak_of(clues, "oom-cuda") < CONSEQUENCE_LEAK
    assert leak_of(clues, "disk-full") == CONSEQUENCE_LEAK


def test_the_earlier_step_is_first_whichever_line_tells_of_it() -> None:
    late = replace(symptom("oom-cuda"), file="train.log", line=7, first_step=12)
    early = replace(symptom("disk-full"), file="train.log", line=9, first_step=10)
    assert leak_of(gather([late, early], book()), "disk-full") < CONSEQUENCE_LEAK


def test_a_failure_behind_which_training_went_on_ended_nothing() -> None:
    first = replace(symptom("oom-cuda"), file="train.log", line=7, first_step=10)
    same, later = (replace(symptom("disk-full"), file="train.log", line=9, first_step=n) for n in (10, 11))
    assert leak_of(gather([first, same], book()), "disk-full") == CONSEQUENCE_LEAK
    assert leak_of(gather([first, later], book()), "disk-full") < CONSEQUENCE_LEAK


def test_a_message_that_is_missing_counts_unless_another_ended_the_run() -> None:
    missing, ended = symptom("fp16-overflow-skips", "absent"), symptom("oom-cuda")
    assert names(gather([missing, ended], book()), "open") == {"fp16-overflow-skips"}
    harmless = gather([missing, replace(ended, severity="info")], book())
    assert names(harmless, "absent") == {"fp16-overflow-skips"}
    assert [clue.shows for clue in (*harmless.shown, *harmless.absent)] == [True, False]


def test_what_ended_the_program_leaves_open_what_else_it_would_have_printed() -> None:
    clues = gather(
        [symptom("nccl-system-error"), symptom("nccl-init", "absent"), symptom("loss-nonfinite", "absent")],
        book(),
    )
    assert names(clues, "shown") == {"nccl-system-error"}
    assert names(clues, "absent") == {"loss-nonfinite"}
    assert names(clues, "open") == {"nccl-init"}


def test_a_traceback_that_was_cut_off_is_no_evidence_beside_a_message() -> None:
    clues = gather(
        [symptom("index-out-of-bounds", role="confirmation"), symptom("unhandled-exception", role="cascade")],
        book(),
    )
    assert names(clues, "shown") == {"index-out-of-bounds"}


def test_a_traceback_that_was_cut_off_is_evidence_when_there_is_no_other() -> None:
    clues = gather([symptom("unhandled-exception", role="cascade")], book())
    assert names(clues, "shown") == {"unhandled-exception"}


def test_a_symptom_counts_as_missing_only_where_its_question_arises() -> None:
    quiet = gather([symptom("spike-isolated", "absent"), symptom("loss-spike", "absent")], book())
    assert "spike-isolated" in names(quiet, "open")
    jumped = gather([symptom("spike-isolated", "absent"), symptom("loss-spike")], book())
    assert "spike-isolated" in names(jumped, "absent")


def test_an_excuse_in_a_check_presupposes_nothing() -> None:
    """`lr-extreme` passes over runs that learn well, so in those that do not its absence counts."""
    clues = gather([symptom("lr-extreme", "absent"), symptom("learns-well", "absent")], book())
    assert "lr-extreme" in names(clues, "absent")


def test_a_benign_cause_needs_no_other_sign_than_these_to_excuse_what_it_does() -> None:
    signs = {"amp-deprecated", "learns-well", "mps-pin-memory", "process-group-leak", "score-rises"}
    signs.add("solved-metrics")
    assert good_signs(book()) == signs


def test_a_message_that_training_outlived_explains_no_end_that_another_one_tells_of() -> None:
    over = replace(symptom("oom-cuda"), state="resolved", line=7, first_step=3)
    end = replace(symptom("disk-full"), line=90, first_step=50)
    assert leak_of(gather([over, end], book()), "oom-cuda") == CONSEQUENCE_LEAK
    assert leak_of(gather([over], book()), "oom-cuda") < CONSEQUENCE_LEAK
