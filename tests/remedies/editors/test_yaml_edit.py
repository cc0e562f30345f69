from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Wanted, find, verify
from hrmdoc.remedies.editors.scalars import Scalar, render
from hrmdoc.remedies.editors.yaml_edit import YamlDocument


def replaced(text: str, key: str, value: str) -> str:
    document = YamlDocument("c.yaml", text)
    route = find(document, key)
    assert route is not None
    return document.replace(route, Scalar(value))


def inserted(text: str, key: str, value: str) -> str:
    return YamlDocument("c.yaml", text).insert(tuple(key.split(".")), Scalar(value))


def removed(text: str, key: str) -> str:
    document = YamlDocument("c.yaml", text)
    route = find(document, key)
    assert route is not None
    return document.remove(route)


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ("a: 1e-4   # rate\nb: 2\n", "a", "2e-5", "a: 2e-5   # rate\nb: 2\n"),
        ("a:   1\r\nb: 2\r\n", "a", "3", "a:   3\r\nb: 2\r\n"),
        ('a: "1e-4"', "a", "2e-5", 'a: "2e-5"'),
        ("a: '1e-4'", "a", "2e-5", "a: '2e-5'"),
        ("a:   # nothing yet\nb: 1\n", "a", "3", "a: 3   # nothing yet\nb: 1\n"),
        ("a:\nb: 1\n", "a", "3", "a: 3\nb: 1\n"),
        ("a: ~", "a", "3", "a: 3"),
        ("a: &rate 1\nb: 2\n", "a", "3", "a: &rate 3\nb: 2\n"),
        ("a: !!float 1\n", "a", "3.0", "a: !!float 3.0\n"),
        ("x: {a: 1, b: 2} # c\n", "x.a", "3", "x: {a: 3, b: 2} # c\n"),
        ('{"x": {"a": 1}, "b": 2}', "x.a", "3", '{"x": {"a": 3}, "b": 2}'),
        ("x:\n- a: 1\n  b: 2\n- a: 5\n", "x.1.a", "3", "x:\n- a: 1\n  b: 2\n- a: 3\n"),
        ("\ufeff# first\na: 1\n", "a", "3", "\ufeff# first\na: 3\n"),
        ("---\na: 1\n...\n", "a", "3", "---\na: 3\n...\n"),
        ("😀: ü\na: 1 # é\n", "a", "3", "😀: ü\na: 3 # é\n"),
        ("optimizer.lr: 1\n", "optimizer.lr", "3", "optimizer.lr: 3\n"),
        ("'a': 1\n", "a", "3", "'a': 3\n"),
    ],
)
def test_a_replacement_changes_only_the_bytes_of_the_value(
    text: str, key: str, value: str, expected: str
) -> None:
    assert replaced(text, key, value) == expected


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("a: 1 # c\n", "b", "a: 1 # c\nb: 7\n"),
        ("a: 1", "b", "a: 1\nb: 7"),
        ("a: 1\r\n", "b", "a: 1\r\nb: 7\r\n"),
        ("a:\n    x: 1\nb: 2\n", "a.y", "a:\n    x: 1\n    y: 7\nb: 2\n"),
        ("a:\n    x: 1\n", "b.c", "b:\n    c: 7\na:\n    x: 1\n"),
        ("a: {x: 1}\n", "a.y", "a: {x: 1, y: 7}\n"),
        ("a: {x: 1, }\n", "a.y", "a: {x: 1, y: 7, }\n"),
        ("a: {}\n", "a.y", "a: {y: 7}\n"),
        ("a: {}\n", "a.y.z", "a: {y: {z: 7}}\n"),
        ("a:\nb: 1\n", "a.y", "a: {y: 7}\nb: 1\n"),
        ("a: null\n", "a.y", "a: {y: 7}\n"),
        ("{}\n", "y", "{y: 7}\n"),
        ("", "a.b", "a:\n  b: 7\n"),
        ("# only a remark", "b", "# only a remark\nb: 7\n"),
        ("a: 1\nx: |\n  text\n\n", "b", "a: 1\nb: 7\nx: |\n  text\n\n"),
        ("x:\n- a: 1\n", "x.0.b", None),
        ("a: 1\nx:\n  - q\n# tail\n", "b", "a: 1\nb: 7\nx:\n  - q\n# tail\n"),
        ('{"a": 1}', "b", '{"a": 1, "b": 7}'),
    ],
)
def test_an_inserted_key_follows_the_layout_of_its_section(text: str, key: str, expected: str | None) -> None:
    if expected is None:
        assert YamlDocument("c.yaml", text).insert(("x", 0, "b"), Scalar("7")) == "x:\n- a: 1\n  b: 7\n"
    else:
        assert inserted(text, key, "7") == expected


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("a: 1\nb: 2 # gone\n\nc: 3\n", "b", "a: 1\n\nc: 3\n"),
        ("a: 1\nb: 2", "b", "a: 1\n"),
        ("a: 1\r\nb: 2\r\nc: 3\r\n", "b", "a: 1\r\nc: 3\r\n"),
        ("a: 1\nb:\n  x: 1\n  y: [1, 2] # t\n\n# about c\nc: 3\n", "b", "a: 1\n\n# about c\nc: 3\n"),
        ("x: {a: 1, b: 2}\n", "x.a", "x: {b: 2}\n"),
        ("x: {a: 1, b: 2}\n", "x.b", "x: {a: 1}\n"),
        ("x:\n- a: 1\n  b: 2\n", "x.0.a", "x:\n- b: 2\n"),
        ("b: |\n  text\n  more\n\nc: 3\n", "b", "\nc: 3\n"),
        ("a: 1\nb:\nc: 3\n", "b", "a: 1\nc: 3\n"),
        ("a: &x 1\nb: *x\nc: 3\n", "b", "a: &x 1\nc: 3\n"),
    ],
)
def test_a_removed_key_takes_its_own_lines_and_no_others(text: str, key: str, expected: str) -> None:
    assert removed(text, key) == expected


def test_an_alias_is_refused_with_the_way_out() -> None:
    with pytest.raises(PatchError, match=r"c\.yaml:2: b is shared with another place by an alias") as refused:
        replaced("a: &x 1\nb: *x\n", "b", "3")
    assert refused.value.hint is not None


def test_an_anchored_value_that_is_used_elsewhere_is_caught_when_read_back() -> None:
    before = YamlDocument("c.yaml", "a: &x 1\nb: *x\n")
    after = YamlDocument("c.yaml", before.replace(("a",), Scalar("3")))
    with pytest.raises(PatchError, match="would also change b"):
        verify("c.yaml", before, after, {("a",): Wanted(3, "int")})


def test_a_key_from_a_merged_mapping_can_be_overridden_where_it_is_used() -> None:
    text = "base: &b\n  lr: 1\nrun:\n  <<: *b\n  x: 2\n"
    document = YamlDocument("c.yaml", text)
    assert find(document, "run.lr") is None
    assert (
        document.insert(("run", "lr"), Scalar("3")) == "base: &b\n  lr: 1\nrun:\n  <<: *b\n  x: 2\n  lr: 3\n"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: 1\n---\nb: 2\n", "single document"),
        ("a: 1\na: 2\n", "there twice"),
        ("a:\n\tb: 1\n", "cannot start any token"),
        ("a: [1, 2\n", "expected"),
        ("- a\n- b\n", "does not hold a mapping"),
        ("just words\n", "does not hold a mapping"),
        ("? [a, b]\n: 1\n", "is not supported"),
        ("a: \x1b[0m\n", "special characters"),
        ("a: " + "[" * 3000 + "]" * 3000, "nested too deeply|more values"),
        ("a: *missing\n", "undefined alias"),
    ],
)
def test_what_is_no_single_plain_mapping_is_refused(text: str, what: str) -> None:
    with pytest.raises(PatchError, match=what):
        YamlDocument("c.yaml", text)


def test_a_bomb_of_aliases_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(PatchError, match="more values than a config has"):
        YamlDocument("c.yaml", "\n".join(lines))


@pytest.mark.parametrize(
    ("text", "key", "what"),
    [
        ("a:\n  b: 1\n", "a", "holds a section"),
        ("a: |\n  text\n", "a", "block of text"),
        ("a: ${.hidden_size}\n", "a", "computed from another key"),
    ],
)
def test_a_value_that_is_no_plain_scalar_is_not_replaced(text: str, key: str, what: str) -> None:
    with pytest.raises(PatchError, match=what):
        replaced(text, key, "3")


def test_a_section_with_one_key_is_not_emptied() -> None:
    with pytest.raises(PatchError, match="cannot be removed alone"):
        removed("a:\n  b: 1\n", "a.b")


def test_a_section_cannot_be_made_inside_a_value() -> None:
    with pytest.raises(PatchError, match="holds no section"):
        inserted("a: 5\n", "a.b", "1")


KEYS = st.text(string.ascii_lowercase + "_", min_size=1, max_size=6).filter(
    lambda word: word not in {"y", "n", "on", "no", "yes", "off"}
)
VALUES = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.sampled_from(
        [
            "1e-4",
            "3.0e-05",
            "0.001",
            "true",
            "False",
            "null",
            "cosine",
            '"quoted # no comment"',
            "'single: quote'",
            "[1, 2]",
        ]
    ),
)
TREES = st.recursive(
    VALUES, lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=4), max_leaves=12
)
COMMENTS = st.sampled_from(["", "", "", "  # a remark: x", " # ü", "   "])


@st.composite
def yaml_files(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """A YAML text with comments in odd places, and the route of one of its numbers."""
    tree = draw(st.dictionaries(KEYS, TREES, max_size=4)) | {"lr": "1e-4"}
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    step = draw(st.sampled_from([2, 4]))
    lines: list[str] = []
    routes: list[tuple[str, ...]] = []

    def emit(node: dict[str, Any], route: tuple[str, ...]) -> None:
        for key, value in node.items():
            if draw(st.integers(0, 5)) == 0:
                lines.append(draw(st.sampled_from(["", "# note", " " * 3 + "# odd place"])))
            pad = " " * (step * len(route))
            if isinstance(value, dict):
                lines.append(f"{pad}{key}:{draw(COMMENTS)}")
                emit(value, (*route, key))
            else:
                lines.append(f"{pad}{key}:{draw(st.sampled_from([' ', '   ']))}{value}{draw(COMMENTS)}")
                if value.lstrip("-")[0].isdigit():
                    routes.append((*route, key))

    emit(tree, ())
    text = newline.join(lines) + (newline if draw(st.booleans()) else "")
    return text, draw(st.sampled_from(routes))


@settings(max_examples=80, deadline=None)
@given(yaml_files(), st.one_of(st.integers(1, 500), st.floats(1e-6, 10.0)))
def test_any_number_is_replaced_and_all_other_bytes_stay(
    file: tuple[str, tuple[str, ...]], value: float
) -> None:
    text, route = file
    before = YamlDocument("c.yaml", text)
    word = render(float(f"{value:.3g}"), before.leaves[route].text)
    after_text = before.replace(route, word)
    after = YamlDocument("c.yaml", after_text)
    verify("c.yaml", before, after, {route: Wanted(float(f"{value:.3g}"), "float")})
    assert after.replace(route, Scalar(before.leaves[route].text)) == text
    marked = before.replace(route, Scalar("@@"))
    assert marked.count("@@") == 1
    assert marked.replace("@@", word.text) == after_text
    assert marked.split("@@")[0].count("\n") == before.leaves[route].line - 1


@settings(max_examples=60, deadline=None)
@given(yaml_files(), st.booleans())
def test_an_inserted_key_is_read_back_and_its_removal_gives_the_old_tree(
    file: tuple[str, tuple[str, ...]], nested: bool
) -> None:
    text, sibling = file
    before = YamlDocument("c.yaml", text)
    route = (*sibling[:-1], "zz_new", "zz_inner") if nested else (*sibling[:-1], "zz_new")
    after = YamlDocument("c.yaml", before.insert(route, Scalar("7")))
    verify("c.yaml", before, after, {route: Wanted(7, "int")})
    again = YamlDocument("c.yaml", after.remove(route[: len(sibling)]))
    assert {key: leaf[:2] for key, leaf in again.leaves.items()} == {
        key: leaf[:2] for key, leaf in before.leaves.items()
    }
