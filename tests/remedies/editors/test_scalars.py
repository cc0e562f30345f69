from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.remedies.editors.scalars import Kind, Plain, Scalar, plain_word, read, render, rounded, same


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        (2e-5, "1e-4", "2e-5"),
        (2.5e-5, "1e-4", "2.5e-5"),
        (2e-5, "1.0e-4", "2.0e-5"),
        (2e-5, "1E-04", "2E-05"),
        (200.0, "1e+2", "2e+2"),
        (0.5, "1e+2", "5e-1"),
        (2e-5, "0.0001", "0.00002"),
        (0.05, "0.10", "0.05"),
        (2.0, "1.0", "2.0"),
        (384.0, "768", "384"),
        (0.5, "1", "0.5"),
        (384, "768", "384"),
        (500, "1_000", "500"),
        (2000, "1e3", "2e3"),
        (0.0, "1e-4", "0e0"),
        (0.0, "0.1", "0.0"),
        (-0.5, "-1.0", "-0.5"),
        (2e-5, None, "2.0e-5"),
        (0.1, None, "0.1"),
        (1.0, None, "1.0"),
        (2.0e7, None, "2.0e+7"),
        (2e-5, "auto", "2.0e-5"),
        (8, None, "8"),
        (False, "true", "false"),
        (False, "True", "False"),
        (True, "FALSE", "TRUE"),
        (False, "yes", "no"),
        (True, "Off", "On"),
        (True, "0", "1"),
        (True, None, "true"),
        (None, "1e-4", "null"),
    ],
)
def test_a_value_is_written_in_the_style_of_the_old_one(
    value: Plain, like: str | None, expected: str
) -> None:
    assert render(value, like) == Scalar(expected)


def test_a_word_is_a_string() -> None:
    assert render("cosine", "linear") == Scalar("cosine", string=True)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("1e-4", "float", 1e-4),
        ("1_000", "int", 1000),
        ("16.0", "int", 16),
        ("0.5", "int", 0.5),
        ("yes", "bool", True),
        ("0", "bool", False),
        ("null", "float", None),
        ("~", "str", None),
        ("", "int", None),
        (" cosine ", "str", "cosine"),
    ],
)
def test_a_text_is_read_as_the_kind_the_framework_wants(text: str, kind: Kind, expected: Plain) -> None:
    assert same(read(text, kind), expected)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("auto", "float"), ("${x}", "int"), ("maybe", "bool"), ("1e", "float"), ("nan", "float")],
)
def test_a_text_of_another_kind_is_refused(text: str, kind: Kind) -> None:
    with pytest.raises(ValueError, match="is not a"):
        read(text, kind)


def test_one_is_not_true_and_rounding_hides_binary_noise() -> None:
    assert not same(1, True)
    assert same(1, 1.0)
    assert rounded(1e-4 * 0.2) == 2e-5


@pytest.mark.parametrize("word", ["yes", "Null", "1e-4", "", "a b", "#x", "a: b", "true", "N"])
def test_a_word_that_yaml_would_read_otherwise_is_not_plain(word: str) -> None:
    assert not plain_word(word)


@given(
    st.floats(1e-12, 1e12).map(rounded),
    st.sampled_from(["1e-4", "1.0e-04", "0.0001", "1.0", "7", "1E+3", None, "auto"]),
)
def test_every_style_reads_back_as_the_value(value: float, like: str | None) -> None:
    assert same(read(render(value, like).text, "float"), value)
