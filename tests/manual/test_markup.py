"""Markdown that reads the same in the site and in `hrmdoc docs`."""

from __future__ import annotations

from hrmdoc.manual.docstrings import prose
from hrmdoc.manual.markup import settled, table


def test_each_heading_gets_the_anchor_that_rules_use_and_one_in_code_gets_none() -> None:
    text = settled("# Data\n\n### GPU & host, 2\n\n```bash\n# no heading\n```")
    assert text == "# Data { #data }\n\n### GPU & host, 2 { #gpu--host-2 }\n\n```bash\n# no heading\n```"


def test_a_tag_outside_of_code_is_shown_as_text() -> None:
    assert settled("a <script> and `<pad>`, <https://example.org>") == (
        "a &lt;script> and `<pad>`, <https://example.org>"
    )


def test_a_name_in_code_is_linked_once_and_never_inside_a_link_or_a_fence() -> None:
    def link(name: str, bracket: bool) -> str | None:
        return {"loss-spike": "cause.md" if bracket else "symptom.md"}.get(name)

    text = settled("`loss-spike` (`loss-spike`) [`loss-spike`](x.md) `other`\n\n```\n`loss-spike`\n```", link)
    assert text == (
        "[`loss-spike`](symptom.md) ([`loss-spike`](cause.md)) [`loss-spike`](x.md) `other`\n\n"
        "```\n`loss-spike`\n```"
    )


def test_a_stray_backquote_swallows_no_later_paragraph() -> None:
    assert settled("a ` b <x>\n\nc ` d <y>") == "a ` b &lt;x>\n\nc ` d &lt;y>"


def test_a_list_right_below_a_sentence_is_set_off() -> None:
    assert settled("such as:\n- one\n- two\n  more\n- three") == "such as:\n\n- one\n- two\n  more\n- three"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert table(("a", "b"), [("x|y", "z")]).splitlines()[-1] == "| x\\|y | z |"


def test_the_parts_of_a_docstring_become_lists() -> None:
    text = "Does.\n\nArgs:\n    port: 0 takes\n        a free one.\n\nRaises:\n    UsageError: taken."
    assert prose(text) == (
        "Does.\n\n**Args**\n\n* `port`: 0 takes\n  a free one.\n\n**Raises**\n\n* `UsageError`: taken."
    )
