from __future__ import annotations

from hrmdoc.reports.pages import excerpt
from hrmdoc.rulebook.pages import sections


def test_a_page_that_does_not_exist_has_no_sections() -> None:
    assert sections("no-such-page") == ()
    assert excerpt("no-such-page#anchor") == ""


def test_front_matter_and_comments_in_code_are_no_sections() -> None:
    titles = [section.title for section in sections("environment")]
    assert titles[0] == "Environment"
    assert all("last_reviewed" not in section.text for section in sections("environment"))
    assert len(titles) == len(set(titles))


def test_the_section_that_a_rule_names_comes_first_then_what_to_do_then_how_to_verify() -> None:
    text = excerpt("memory#oom-cuda")
    order = [
        text.index(heading)
        for heading in ("### OOM CUDA\n", "## Mitigation", "### GPU memory exceeded", "## Verification")
    ]
    assert order == sorted(order)
    assert order[0] == 0
    assert "## Prevention" not in text
    assert "## Impact" not in text
    assert "### OOM CUDA eval" not in text


def test_of_the_mitigation_only_the_parts_of_likely_causes_are_given() -> None:
    text = excerpt("memory#oom-cuda", ["memory#fragmentation", "learning-rate#too-high"])
    assert "### Fragmentation" in text
    assert "### Shared memory" not in text


def test_an_anchor_within_the_mitigation_is_told_once() -> None:
    text = excerpt("learning-rate#too-high")
    assert text.startswith("### Too high")
    assert text.count("### Too high") == 1
    assert "### Too low" not in text


def test_without_an_anchor_the_meaning_stands_first() -> None:
    assert excerpt("zero-loss").startswith("## Meaning")
