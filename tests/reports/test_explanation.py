"""A rule is its own documentation: for every id there is something complete to read."""

from __future__ import annotations

import pytest

from hrmdoc import measures, rulebook
from hrmdoc.reports.explanation import explanation
from hrmdoc.reports.rule_words import condition
from hrmdoc.rulebook import EventWhen, LinesWhen, Rulebook, SymptomRule, Variant, When
from hrmdoc.rulebook.pages import sections

BOOK = rulebook.load()


def section_of(playbook: str) -> str:
    page, _, anchor = playbook.partition("#")
    if not anchor:
        return "## Meaning"
    return next(f"### {section.title}" for section in sections(page) if section.anchor == anchor)


def test_an_id_that_names_a_symptom_and_a_cause_is_explained_as_both() -> None:
    text = explanation("communication-bound", BOOK) or ""
    assert "· symptom ·" in text
    assert "· cause ·" in text


def test_an_unknown_id_has_no_explanation() -> None:
    assert explanation("no-such-rule", BOOK) is None


def test_a_condition_inside_another_stands_in_brackets() -> None:
    check, lines, event = (
        When(check="lr > 1"),
        When(lines=LinesWhen()),
        When(event=EventWhen("restart", 3, 100)),
    )
    either = "a log line matches one of its signatures or at least 3 restart events occur within 100 steps"
    assert condition(When(any=(lines, event))) == either
    assert condition(When(all=(check, When(any=(lines, event))))) == f"`lr > 1` and ({either})"
    assert condition(When(absent=check)) == "it is not so that `lr > 1`"
    assert condition(When(lines=LinesWhen(got_over="said"))).endswith(
        "; it is over where the program says that it goes on"
    )


def test_a_detector_is_told_with_its_patience_only_where_it_has_some() -> None:
    level = When(detector="level", role=("lr", "grad_norm"), enter=0.5)
    assert condition(level) == "the level score of lr or grad_norm is at or above 0.5"
    waiting = When(detector="level", role="lr", enter=0.5, direction="below", patience=3, min_points=8)
    assert (
        condition(waiting)
        == "the level score of lr stays at or below 0.5 for 3 points, judged from 8 points on"
    )


def test_a_variant_tells_what_it_changes_and_nothing_else() -> None:
    variant = Variant(kinds=("rl",), with_={"window": 9}, patience=2, severity="info")
    text = (
        explanation(
            "a", Rulebook({"a": SymptomRule("a", "A", When(check="lr > 1"), "loss", variants=(variant,))})
        )
        or ""
    )
    assert "* for rl: window 9, patience 2, severity info\n" in text


@pytest.mark.parametrize("name", measures.names())
def test_a_detector_tells_what_it_measures_each_parameter_and_who_uses_it(name: str) -> None:
    text = explanation(name, BOOK) or ""
    assert text.startswith(f"# {name}\n")
    assert measures.describe(name) in text
    for parameter in measures.parameters(name):
        assert parameter.text
        assert (
            f"* `{parameter.name}` ({parameter.type}, default {parameter.default!r}): {parameter.text}"
            in text
        )
    assert "**Symptoms that use it**" in text


def test_a_detector_and_a_function_of_one_name_are_both_explained_each_with_its_own() -> None:
    text = explanation("share", BOOK) or ""
    detector, _, function = text.partition("\n# share\n")
    assert measures.describe("share", detector=True) in detector
    assert "* `tolerance` (float, default 0.005): relative tolerance of `near`.\n" in detector
    assert "* `clipping-saturated`" in detector
    assert measures.describe("share") in function
    assert "* `points` (float, default 1): the median of so many of the last ones.\n" in function
    assert "* `loss-above-guess`" in function
    assert "`loss-above-guess`" not in detector
    assert "* `share`: Share of the last `window` points" in (explanation("grad-norm-unstable", BOOK) or "")
    assert len(measures.names()) == len(set(measures.names()))


def test_a_symptom_says_what_its_detectors_measure_each_once() -> None:
    level = When(detector="level", role="lr", enter=1.0)
    rule = SymptomRule(
        "a", "A", When(any=(level, When(all=(level, When(detector="nonfinite", role="lr"))))), "loss"
    )
    text = explanation("a", Rulebook({"a": rule})) or ""
    assert (
        text.count(
            "* `level`: The value, or the median of the last few values, in the unit the rule asks for."
        )
        == 1
    )
    assert "* `nonfinite`: 1 where the value is NaN or infinite, else 0." in text


@pytest.mark.parametrize("name", sorted(BOOK.symptoms))
def test_a_symptom_gives_title_condition_causes_remedies_and_its_section(name: str) -> None:
    rule, text = BOOK.symptoms[name], explanation(name, BOOK) or ""
    assert text.startswith(f"# {rule.title}\n")
    assert f"**Present when** {condition(rule.when)}" in text
    assert "**Causes that produce it" in text
    assert section_of(rule.playbook) in text
    assert "## Verification" in text
    causes = [cause for cause in BOOK.causes.values() if name in cause.produces]
    assert any(f"`{cause.id}`" in text for cause in causes)
    if any(cause.remedies for cause in causes):
        assert "**Remedies**" in text
    if rule.when.lines is not None:
        assert "**Lines that show it**" in text


@pytest.mark.parametrize("name", sorted(BOOK.causes))
def test_a_cause_gives_its_signs_its_remedies_and_its_section(name: str) -> None:
    cause, text = BOOK.causes[name], explanation(name, BOOK) or ""
    assert f"# {cause.title}\n" in text
    assert "**What it shows as**" in text
    assert section_of(cause.playbook) in text
    assert all(f"`{remedy}`" in text for remedy in cause.remedies)
    assert cause.summary
    assert "## Verification" in text


@pytest.mark.parametrize("name", sorted(BOOK.remedies))
def test_a_remedy_gives_what_to_do_how_to_verify_it_and_what_it_helps_against(name: str) -> None:
    remedy, text = BOOK.remedies[name], explanation(name, BOOK) or ""
    assert text.startswith(f"# {remedy.title}\n")
    assert remedy.why in text
    assert "**Changes**" in text or "**Steps**" in text or "**Action on a live run:**" in text
    assert all(f"`{change.key}`" in text for change in remedy.changes)
    assert "**Verified when**" in text
    assert "**Helps against**" in text
    assert "## Verification" in text


def test_a_signature_gives_its_example_and_the_section_of_its_symptom() -> None:
    text = explanation("ds-dummy-optimizer", BOOK) or ""
    assert BOOK.signatures["ds-dummy-optimizer"].shown()[0] in text
    assert "### DeepSpeed DummyOptim" in text


def test_a_page_is_not_printed_whole() -> None:
    text = explanation("entropy-collapse", BOOK) or ""
    assert "### Entropy collapse" in text
    assert "### KL high" not in text
    assert "## Prevention" not in text


def test_remedies_that_name_the_symptom_come_first() -> None:
    text = explanation("is-ratio-collapse", BOOK) or ""
    offered = text.partition("**Remedies**")[2]
    assert offered.strip().startswith("* Sync weights")


def test_a_change_tells_what_the_key_is_called_in_familiar_frameworks() -> None:
    text = explanation("clip-gradients", BOOK) or ""
    assert "hrm `grad_clip`" in text
    assert "axolotl `max_grad_norm`" in text
    assert "deepspeed `gradient_clipping`" in text
