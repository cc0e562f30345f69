from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hrmdoc.diagnosis.diagnose import Diagnosis, Evidence, Hypothesis
from hrmdoc.examination.examine import Situation
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.remedies.prescribe import Prescription, first_patch, fitting, prescribe
from hrmdoc.remedies.targets import Targets
from hrmdoc.rulebook import (
    Change,
    ConfigKey,
    Framework,
    LinesWhen,
    Remedy,
    Rulebook,
    SymptomRule,
    Verify,
    When,
)

HF = Framework(
    "hf",
    "HF Trainer",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "optimizer.grad_clip": ConfigKey(("max_grad_norm",)),
        "precision": ConfigKey(("bf16", "fp16"), "bool"),
    },
)


def remedy(name: str, *changes: Change, **more: object) -> Remedy:
    return Remedy(name, name, "patch", "safe", "because", Verify(), changes, **more)  # type: ignore[arg-type]


LOWER = remedy("lower", Change("optimizer.lr", "multiply", 0.5))
CLIP = remedy("clip", Change("optimizer.grad_clip", "clamp", max=1.0))
WARM = remedy("warm", Change("schedule.warmup_steps", "set", 100))
FULL = remedy("full", Change("precision", "set", "fp32"))


def offered(folder: Path, config: str, *remedies: Remedy, framework: str = "hf") -> list[Prescription]:
    """What is offered of these remedies to a run with this config."""
    path = folder / "c.yaml"
    path.write_text(config)
    book = Rulebook(remedies={one.id: one for one in remedies}, frameworks={"hf": HF})
    return fitting(
        [one.id for one in remedies], Situation(framework=framework), book, Targets((path,)), set()
    )


@pytest.mark.parametrize(("config", "change"), [("max_grad_norm: 0.5\n", CLIP), ("seed: 1\n", FULL)])
def test_a_remedy_whose_value_the_config_has_already_is_not_offered(
    tmp_path: Path, config: str, change: Remedy
) -> None:
    assert offered(tmp_path, config, change) == []


def test_what_the_framework_has_no_key_for_is_offered_only_where_nothing_else_is(tmp_path: Path) -> None:
    assert [one.remedy.id for one in offered(tmp_path, "learning_rate: 1e-3\n", WARM, LOWER)] == ["lower"]
    (alone,) = offered(tmp_path, "learning_rate: 1e-3\n", WARM)
    assert (alone.patch, alone.obstacle) == (None, "HF Trainer has no key for schedule.warmup_steps")


def test_a_remedy_that_cannot_be_applied_is_offered_with_what_hinders(tmp_path: Path) -> None:
    (one,) = offered(tmp_path, "learning_rate: auto\n", LOWER)
    assert (one.patch, one.changes, one.diff) == (None, (), "")
    assert (
        one.obstacle == "learning_rate: 'auto' is not a number (it is set by another file or by the trainer)"
    )
    (one,) = offered(tmp_path, "learning_rate: 1e-3\n", LOWER, framework="mine")
    assert one.obstacle == "the framework of this run is mine; its config keys are not known"


def test_a_remedy_for_another_framework_is_left_out_where_one_suits(tmp_path: Path) -> None:
    other = remedy("other", Change("optimizer.lr", "multiply", 0.1), frameworks=("trl",))
    assert [one.remedy.id for one in offered(tmp_path, "learning_rate: 1e-3\n", other, LOWER)] == ["lower"]
    (one,) = offered(tmp_path, "learning_rate: 1e-3\n", other)
    assert one.obstacle == "the remedy other is for trl, not for HF Trainer"


def test_a_change_that_another_remedy_makes_is_offered_once(tmp_path: Path) -> None:
    again = remedy("again", *LOWER.changes)
    both = remedy("both", *LOWER.changes, Change("optimizer.grad_clip", "set", 1.0))
    found = offered(tmp_path, "learning_rate: 1e-3\nmax_grad_norm: 0\n", LOWER, again, both)
    assert [one.remedy.id for one in found] == ["lower", "both"]


@pytest.mark.parametrize(("now", "offers"), [("2e-3", True), ("0.002", True), ("4e-4", False)])
def test_a_config_that_no_longer_says_what_the_run_had_is_not_patched(
    tmp_path: Path, now: str, offers: bool
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    source = tmp_path / "mine.yaml"
    source.write_text(f"learning_rate: {now}\n")
    run = Run(str(folder))
    run.add(Fact("run.config_source", str(source), "run", str(folder / "run.json")))
    run.add(Fact("learning_rate", 0.002, "config", str(folder / "config.yaml")))
    book = Rulebook(remedies={"lower": LOWER}, frameworks={"hf": HF})
    hypothesis = Hypothesis(1, "rate", "rate", 0.9, (), (), ("lower",), "", benign=False)
    diagnosis = Diagnosis("warning", (), {}, (hypothesis,), 0.0, 0.0, "")
    ((one,),) = prescribe(run, Situation(framework="hf"), diagnosis, book).values()
    assert (one.patch is not None) is offers
    if not offers:
        assert one.obstacle.startswith("mine.yaml says learning_rate = 0.0004, but this run had 0.002")


@pytest.mark.parametrize(
    ("probability", "seen", "sure"),
    [
        (0.2, "loss-spike", False),  # a curve alone, and one of several causes
        (0.6, "loss-spike", True),
        (0.2, "loss-high", False),  # a check that reads a series beside a setting
        (0.2, "lr-above-typical", True),  # the config itself is unusual
        (0.2, "loss-plateau", False),  # a curve, looked for under a setting
        (
            0.2,
            "warmup-never-ends",
            True,
        ),  # one of two ways to see it is the config, to which a series must agree
        (0.2, "a rule that is gone", False),
    ],
)
def test_a_config_is_changed_for_a_likely_cause_or_one_that_a_setting_speaks_for(
    tmp_path: Path, probability: float, seen: str, sure: bool
) -> None:
    source = tmp_path / "c.yaml"
    source.write_text("learning_rate: 0.002\n")
    checks = {
        "lr-above-typical": "optimizer.lr > 0.001",
        "loss-high": "last(train.loss) > 1 and optimizer.lr > 0",
    }
    rules = {name: SymptomRule(name, name, When(check=check), "page") for name, check in checks.items()}
    long = (When(check="schedule.warmup_steps >= run.total_steps"), When(check="last(lr) > 0"))
    ways = (When(all=long), When(detector="rising", role="lr"))
    flat = (When(check="optimizer.lr > 0"), When(detector="plateau", role="train.loss"))
    rules["loss-plateau"] = SymptomRule("loss-plateau", "plateau", When(all=flat), "page")
    rules["warmup-never-ends"] = SymptomRule("warmup-never-ends", "warmup", When(any=ways), "page")
    rules["loss-spike"] = SymptomRule("loss-spike", "spike", When(detector="spike"), "page")
    book = Rulebook(symptoms=rules, remedies={"lower": LOWER}, frameworks={"hf": HF})
    hypothesis = Hypothesis(
        1, "rate", "rate", probability, (Evidence(seen, 2.0, "seen"),), (), ("lower",), "", benign=False
    )
    diagnosis = Diagnosis("warning", (), {seen: "info"}, (hypothesis,), 0.0, 0.0, "")
    offered = prescribe(Run(str(tmp_path)), Situation(framework="hf"), diagnosis, book, source)
    assert offered["rate"][0].patch is not None
    assert (first_patch(offered) is not None) is sure


def test_a_remedy_for_what_the_config_itself_shows_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("learning_rate: 1.0\nmax_grad_norm: 50\n")
    high = SymptomRule("lr-high", "lr-high", When(check="optimizer.lr > 0.1"), "page")
    aimed = remedy("lower", *LOWER.changes)
    aimed = msgspec.structs.replace(aimed, verify=Verify(gone=("lr-high",)))
    book = Rulebook(symptoms={high.id: high}, remedies={"clip": CLIP, "lower": aimed}, frameworks={"hf": HF})

    def order(symptom: str, *, shows: bool = True) -> list[str]:
        evidence = (Evidence(symptom, 2.0, "seen"),)
        hypothesis = Hypothesis(1, "rate", "rate", 0.9, evidence, (), ("clip", "lower"), "", benign=False)
        diagnosis = Diagnosis("warning", (), {symptom: "info"} if shows else {}, (hypothesis,), 0.0, 0.0, "")
        return [
            one.remedy.id
            for one in prescribe(Run(), Situation(framework="hf"), diagnosis, book, path)["rate"]
        ]

    assert order("lr-high") == ["lower", "clip"]
    assert order("loss-spike") == ["clip", "lower"]
    assert order("lr-high", shows=False) == ["clip", "lower"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (("tiny-loss",), ["halve", "stop", "advice"]),
        (("overfit",), ["stop", "advice", "halve"]),
        ((), ["halve", "stop", "advice"]),
    ],
)
def test_a_remedy_against_what_does_not_show_comes_last(shown: tuple[str, ...], expected: list[str]) -> None:
    against = {"halve": ("tiny-loss",), "stop": ("overfit", "tiny-loss"), "advice": ()}
    remedies = {
        name: msgspec.structs.replace(remedy(name), kind="manual", verify=Verify(gone=gone))
        for name, gone in against.items()
    }
    hypothesis = Hypothesis(1, "heart", "heart", 0.9, (), (), tuple(remedies), "", benign=False)
    diagnosis = Diagnosis("warning", (), dict.fromkeys(shown, "warning"), (hypothesis,), 0.0, 0.0, "")
    offered = prescribe(
        Run(), Situation(framework="hf"), diagnosis, Rulebook(remedies=remedies, frameworks={"hf": HF})
    )
    assert [one.remedy.id for one in offered["heart"]] == expected


@pytest.mark.parametrize(
    ("shown", "expected"), [("full-disk", ["free", "advice"]), ("odd-exit", ["prefix", "free", "advice"])]
)
def test_a_remedy_against_a_message_that_nobody_printed_is_left_out(shown: str, expected: list[str]) -> None:
    against = {"prefix": ("foreign-prefix",), "free": ("full-disk",), "advice": ()}
    remedies = {
        name: msgspec.structs.replace(remedy(name), kind="manual", verify=Verify(gone=gone))
        for name, gone in against.items()
    }
    printed = When(lines=LinesWhen(at_least=1))
    symptoms = {name: SymptomRule(name, name, printed, "page") for name in ("foreign-prefix", "full-disk")}
    hypothesis = Hypothesis(1, "disk", "disk", 0.9, (), (), tuple(remedies), "", benign=False)
    diagnosis = Diagnosis("critical", (), {shown: "critical"}, (hypothesis,), 0.0, 0.0, "")
    book = Rulebook(symptoms=symptoms, remedies=remedies, frameworks={"hf": HF})
    offered = prescribe(Run(), Situation(framework="hf"), diagnosis, book)
    assert [one.remedy.id for one in offered["disk"]] == expected
