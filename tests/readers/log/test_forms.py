"""A known form cuts a line exactly where the general search for numbers does."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hrmdoc.readers.log.forms import Forms
from hrmdoc.readers.log.template import split_numbers

NUMBERS = st.sampled_from(
    ["1", "0.25", "-3", "+7", "1e-4", "12,345", "nan", "inf", ".5", "1.", "007", "-0.0", "3.1e+05", "9" * 30]
)
GAPS = st.sampled_from(
    [" ", ": ", ", lr ", "/", " | norm: ", "ms, mfu ", "-", "e", ".", ",", " -", "=", "%", "v", " nan is "]
)
TEXT = st.text(alphabet="step 0123456789.,:-+eEnaif%/|", max_size=40)


def _warmed(text: str) -> Forms:
    forms = Forms()
    parts = split_numbers(text)
    for _ in range(8):
        forms.note(tuple(parts[::2]), parts[1::2])
    return forms


def _line(gaps: list[str], numbers: list[str]) -> str:
    return "step" + "".join(gap + number for gap, number in zip(gaps, numbers, strict=True)) + gaps[0]


@example([(" -", "-3", "1")])
@given(st.lists(st.tuples(GAPS, NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_a_form_learned_from_one_line_cuts_another_as_the_search_does(
    parts: list[tuple[str, str, str]],
) -> None:
    gaps = [gap for gap, _, _ in parts]
    forms = _warmed(_line(gaps, [number for _, number, _ in parts]))
    other = _line(gaps, [number for _, _, number in parts])
    known = forms.match(other)
    if known is not None:
        cut = split_numbers(other)
        assert known == (tuple(cut[::2]), cut[1::2])


@given(TEXT, TEXT)
def test_a_form_never_cuts_arbitrary_text_in_another_way(first: str, second: str) -> None:
    known = _warmed("step " + first).match("step " + second)
    if known is not None:
        cut = split_numbers("step " + second)
        assert known == (tuple(cut[::2]), cut[1::2])


def test_a_template_seen_seven_times_is_not_yet_a_form() -> None:
    forms = Forms()
    for _ in range(7):
        forms.note(("step ", ": loss ", ""), ["1", "0.5"])
    assert forms.match("step 2: loss 0.25") is None


def test_a_template_seen_eight_times_is_a_form() -> None:
    assert _warmed("step 1: loss 0.5").match("step 2: loss -1.25e-3") == (
        ("step ", ": loss ", ""),
        ["2", "-1.25e-3"],
    )


def test_a_line_of_a_form_with_a_number_that_is_not_made_of_digits_is_left_to_the_search() -> None:
    assert _warmed("step 1: loss 0.5").match("step 2: loss nan") is None


def test_a_template_whose_text_could_go_on_as_a_number_is_no_form() -> None:
    assert _warmed("step 1,234.5, loss 3").match("step 1,234.5, loss 4") is None
