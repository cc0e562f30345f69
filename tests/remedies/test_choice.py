"""Which patch is made of a diagnosis, and what is said of those that are not."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hrmdoc.diagnosis.diagnose import Diagnosis, Evidence, Hypothesis
from hrmdoc.errors import PatchError
from hrmdoc.examination.examine import Situation
from hrmdoc.record.records import Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.remedies import store
from hrmdoc.remedies.choice import BY_HAND, BY_NAME, Choice, check_rerun, choose
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.prescribe import first_patch, misfit, prescribe, suited, together
from hrmdoc.remedies.targets import Targets
from hrmdoc.rulebook import Change, ConfigKey, Framework, Remedy, Rulebook, SymptomRule, Verify, When
from hrmdoc.rulebook.schema.remedies import Fit
from hrmdoc.rulebook.schema.symptoms import Applies

HF = Framework(
    "hf",
    "HF Trainer",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "optimizer.grad_clip": ConfigKey(("max_grad_norm",)),
    },
)


def remedy(name: str, *changes: Change, **more: Any) -> Remedy:
    kind = "patch" if changes else "manual"
    verify = Verify(gone=more.pop("gone", ()))
    return Remedy(name, f"Do {name}", kind, more.pop("risk", "safe"), f"why {name}", verify, changes, **more)


LOWER = remedy("lower", Change("optimizer.lr", "multiply", 0.5), gone=("spike",))
LEAST = remedy("least", Change("optimizer.lr", "set", 1e-6), risk="guarded")
CLIP = remedy("clip", Change("optimizer.grad_clip", "set", 1.0), gone=("spike", "rise"))
HAND = remedy("look")
SYMPTOM = SymptomRule("spike", "Spike", When(detector="spike"), "page")


def cause(
    name: str, *remedies: str, probability: float = 0.9, rank: int = 1, benign: bool = False
) -> Hypothesis:
    shows = (Evidence("spike", 2.0, "seen"),)
    return Hypothesis(rank, name, name, probability, shows, (), remedies, "", benign=benign)


def analysis(folder: Path, *causes: Hypothesis, verdict: str = "warning", lr: float = 1e-3) -> Any:
    """A run in a folder beside its config, and its diagnosis."""
    config = folder / "c.yaml"
    config.write_text(f"learning_rate: {lr}\nmax_grad_norm: 5.0\n")
    (folder / "run").mkdir(exist_ok=True)
    run = Run(str(folder / "run"))
    run.add(Fact("run.config_source", str(config), "run", str(folder / "run" / "run.json")))
    run.add(Fact("learning_rate", 1e-3, "config", str(folder / "run" / "config.yaml")))
    known = {one.id: one for one in (LOWER, LEAST, CLIP, HAND)}
    return SimpleNamespace(
        run=run,
        situation=Situation(framework="hf"),
        diagnosis=Diagnosis("warning", (), {"spike": "warning"}, causes, 0.0, 0.0, ""),
        book=Rulebook(symptoms={"spike": SYMPTOM}, remedies=known, frameworks={"hf": HF}),
        verdict=verdict,
    )


def chosen(given: Any, remedy: str | None = None, *, every: bool = False) -> Choice:
    return choose(given, remedy, None, every=every)


def refused(given: Any, remedy: str | None = None, *, every: bool = False) -> tuple[str, str]:
    with pytest.raises(PatchError) as error:
        chosen(given, remedy, every=every)
    return error.value.what, str(error.value.hint or "")


def test_the_first_remedy_that_is_a_patch_is_chosen_and_what_stands_before_it_is_told(tmp_path: Path) -> None:
    made = chosen(analysis(tmp_path, cause("rate", "look", "lower", "clip")))
    assert (made.prescription.remedy.id, made.patch.remedy) == ("lower", "lower")
    assert made.notes == (f"look stands before it: {BY_HAND}",)


def test_a_cause_that_is_one_of_several_gives_no_patch_unless_its_remedy_is_named(tmp_path: Path) -> None:
    unsure = analysis(
        tmp_path, cause("rate", "lower", probability=0.4), cause("norm", "clip", probability=0.4)
    )
    what, hint = refused(unsure)
    assert what == "no remedy of the leading causes can be applied to a config"
    assert hint == f"lower, clip: {BY_NAME}"
    assert chosen(unsure, "lower").patch.remedy == "lower"
    assert chosen(unsure, "lower").notes == ()
    sure = analysis(tmp_path, cause("rate", "lower", probability=0.4), cause("norm", "clip", probability=0.6))
    assert chosen(sure).notes == (f"lower stands before it: {BY_NAME}",)


def test_reasons_for_no_patch_are_told_by_reason(tmp_path: Path) -> None:
    given = analysis(tmp_path, cause("rate", "look"), cause("norm", "look", "lower", probability=0.3))
    assert refused(given)[1] == f"look: {BY_HAND}\n        lower: {BY_NAME}"


def test_a_healthy_run_and_an_unknown_remedy_are_refused_by_name(tmp_path: Path) -> None:
    for verdict in ("healthy", "info", "incomplete"):
        nothing = analysis(tmp_path, verdict=verdict)
        assert refused(nothing)[0] == "nothing to patch: the run shows no fault"
    given = analysis(tmp_path, cause("rate", "look", "lower"))
    assert refused(given, "clip") == ("no cause in question here has the remedy clip", "see hrmdoc analyze")
    assert refused(given, "look") == ("look cannot be applied to a config", BY_HAND)
    benign = analysis(tmp_path, cause("rate", "lower", benign=True))
    assert refused(benign, "lower")[0] == "no cause in question here has the remedy lower"


def test_a_named_remedy_that_does_not_fit_says_why(tmp_path: Path) -> None:
    given = analysis(tmp_path, cause("rate", "only"))
    only = remedy("only", *LOWER.changes, gone=("rise",), specific=True)
    given.book.remedies["only"] = only
    what, hint = refused(given, "only")
    assert what == "only does not fit this run: it helps only against rise, which this run does not show"
    assert hint == "see hrmdoc analyze"


def test_a_config_that_says_something_else_by_now_is_told_before_all(tmp_path: Path) -> None:
    late = analysis(tmp_path, cause("rate", "lower", "look", "clip"), lr=2e-3)
    made = chosen(late)
    assert made.patch.remedy == "clip"
    first = "lower: c.yaml says learning_rate = 0.002, but this run had 0.001: changed since"
    assert [note.partition(",")[0] for note in made.notes] == [
        "lower: c.yaml says learning_rate = 0.002",
        f"look stands before it: {BY_HAND}".partition(",")[0],
    ]
    assert made.notes[0].startswith(first)
    assert len(made.notes) == 2


def test_all_that_go_together_are_one_patch(tmp_path: Path) -> None:
    made = chosen(analysis(tmp_path, cause("rate", "lower", "least", "look", "clip")), every=True)
    one = made.prescription.remedy
    assert (one.id, one.title, one.risk) == ("lower+clip", "Do lower; Do clip", "safe")
    assert (one.why, one.verify.gone) == ("why lower why clip", ("spike", "rise"))
    assert [(change.path, change.after) for change in made.patch.changes] == [
        ("learning_rate", 5e-4),
        ("max_grad_norm", 1.0),
    ]
    guarded = chosen(analysis(tmp_path, cause("rate", "least", "clip")), every=True).prescription.remedy
    assert (guarded.id, guarded.risk) == ("least+clip", "guarded")


def test_all_of_the_causes_that_are_sure_count_else_those_of_the_first_with_a_patch(tmp_path: Path) -> None:
    sure = analysis(tmp_path, cause("a", "lower", probability=0.4), cause("b", "clip", probability=0.5))
    assert chosen(sure, every=True).patch.remedy == "clip"
    unsure = analysis(tmp_path, cause("a", "look", probability=0.4), cause("b", "clip", probability=0.4))
    assert chosen(unsure, every=True).patch.remedy == "clip"
    benign = analysis(tmp_path, cause("a", "lower", benign=True), cause("b", "clip", probability=0.4))
    assert chosen(benign, every=True).patch.remedy == "clip"
    by_hand = analysis(tmp_path, cause("a", "look"))
    assert refused(by_hand, every=True)[1] == f"look: {BY_HAND}"


def test_nothing_goes_together_where_nothing_is_a_patch(tmp_path: Path) -> None:
    given = analysis(tmp_path, cause("a", "look"))
    (offers,) = prescribe(given.run, given.situation, given.diagnosis, given.book).values()
    with pytest.raises(PatchError, match="none of the remedies changes a config"):
        together(offers, given.situation, given.book, Targets(()))


def test_causes_are_prescribed_for_as_far_as_they_lead(tmp_path: Path) -> None:
    def named(*causes: Hypothesis) -> list[str]:
        given = analysis(tmp_path, *causes)
        return [*prescribe(given.run, given.situation, given.diagnosis, given.book)]

    likely = [cause(name, "lower", probability=0.2, rank=rank) for rank, name in enumerate("abcd", 1)]
    assert named(*likely) == ["a", "b", "c"]
    assert named(cause("a", "lower", probability=0.01)) == ["a"]
    assert named(cause("a", "lower"), cause("b", "lower", probability=0.05, rank=2)) == ["a", "b"]
    assert named(cause("a", "lower"), cause("b", "lower", probability=0.049, rank=2)) == ["a"]
    assert named(cause("a", "lower", benign=True), cause("b", "clip", rank=2)) == ["b"]


def test_a_prescription_shows_what_changes_as_words_and_as_a_diff(tmp_path: Path) -> None:
    given = analysis(tmp_path, cause("a", "look", "lower"))
    offers = prescribe(given.run, given.situation, given.diagnosis, given.book)
    by_hand, lower = offers["a"]
    assert (by_hand.changes, by_hand.overrides, by_hand.diff) == ((), "", "")
    assert lower.overrides == "--learning_rate=0.0005"
    assert "-learning_rate: 0.001\n+learning_rate: 0.0005\n" in lower.diff
    assert (by_hand.late, lower.late, lower.unsure) == (False, False, False)
    assert lower.unnamed, "the file lies outside of the run's folder, and only the run names it"
    assert first_patch(offers) is None
    named = prescribe(given.run, given.situation, given.diagnosis, given.book, tmp_path / "c.yaml")
    found = first_patch(named)
    assert found is not None
    assert (found.remedy.id, found.unnamed) == ("lower", False)


def test_a_remedy_suits_by_kind_framework_fit_and_what_shows(tmp_path: Path) -> None:
    situation = Situation(facts={"a.b": 1.0}, framework="hf", kind="sft")
    shown = {"spike"}
    assert misfit(remedy("x", specific=True, gone=("spike", "rise")), situation, shown) == ""
    helps = misfit(remedy("x", specific=True, gone=("rise", "fall")), situation, shown)
    assert helps == "it helps only against rise or fall, which this run does not show"
    assert misfit(remedy("x", gone=("rise",)), situation, shown) == ""
    not_sft = "it is not for runs of kind sft"
    assert misfit(remedy("x", applies=Applies(kinds=("rl",))), situation, shown) == not_sft
    assert misfit(remedy("x", applies=Applies(kinds=("rl", "sft"))), situation, shown) == ""
    assert misfit(remedy("x", applies=Applies(not_kinds=("sft",))), situation, shown) == not_sft
    fits = (Fit("c.d > 1", "unknown"), Fit("a.b > 1", "a.b is too low"))
    assert misfit(remedy("x", fits=fits), situation, shown) == "a.b is too low"
    assert misfit(remedy("x", fits=(Fit("a.b >= 1", "no"),)), situation, shown) == ""
    assert misfit(remedy("x", fits=(Fit("known(c.d)", "c.d is open"),)), situation, shown) == "c.d is open"
    given = analysis(tmp_path, cause("a", "lower", "gone", "trl", "clip"))
    given.book.remedies["trl"] = remedy("trl", *LOWER.changes, frameworks=("trl",))
    fit = suited(cause("a", "lower", "gone", "trl", "clip"), given.situation, given.diagnosis, given.book)
    assert [one.id for one in fit] == ["lower", "clip"]
    alone = suited(cause("a", "trl"), given.situation, given.diagnosis, given.book)
    assert [one.id for one in alone] == ["trl"]


@pytest.mark.parametrize(("later", "again"), [(-10.0, True), (10.0, False)])
def test_a_config_is_not_patched_again_before_a_run_has_seen_the_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: float, again: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2\n")
    given = analysis(tmp_path, cause("rate", "lower"))
    at = np.arange(2)
    given.run.add(Points("loss", at, at / 1.0, at * np.nan, str(log)))
    given.run.add(Line("x", str(tmp_path / "gone.log"), 1))
    patch: Patch = chosen(given).patch
    check_rerun(given, patch)
    store.write(patch)
    (entry,) = store.history(tmp_path / "c.yaml")
    os.utime(log, (entry.time - later, entry.time - later))
    if again:
        check_rerun(given, patch)
        return
    unsure = analysis(tmp_path, cause("rate", "lower", probability=0.4))
    unsure.run = given.run
    assert refused(unsure)[0].startswith("lower was written already")
    with pytest.raises(PatchError) as error:
        check_rerun(given, patch)
    assert error.value.what == "lower was written already, and no run has shown its effect yet"
    assert str(error.value.file) == str(tmp_path / "c.yaml")
    assert "--force" in str(error.value.hint)
