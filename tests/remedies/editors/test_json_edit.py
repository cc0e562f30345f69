from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Route, Wanted, find, verify
from hrmdoc.remedies.editors.json_edit import JsonDocument
from hrmdoc.remedies.editors.scalars import Scalar, render


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ('{"a": 1e-4}', "a", Scalar("2e-5"), '{"a": 2e-5}'),
        ('{\r\n  "a" : 1 ,\r\n  "b": 2\r\n}', "a", Scalar("3"), '{\r\n  "a" : 3 ,\r\n  "b": 2\r\n}'),
        ('{"a": "1e-4"}', "a", Scalar("2e-5"), '{"a": "2e-5"}'),
        ('{"a": "auto"}', "a", Scalar("2e-5"), '{"a": 2e-5}'),
        ('{"a": "cosine"}', "a", Scalar("linear", string=True), '{"a": "linear"}'),
        ('{"a": true}', "a", Scalar("false"), '{"a": false}'),
        (
            '{// rate\n"a": 1, /* old: 2 */ "b": [1, {"c": 2}]}',
            "b.1.c",
            Scalar("3"),
            '{// rate\n"a": 1, /* old: 2 */ "b": [1, {"c": 3}]}',
        ),
        ('{"a.b": 1}', "a.b", Scalar("3"), '{"a.b": 3}'),
        ('{"\\u00e9": 1}', "é", Scalar("3"), '{"\\u00e9": 3}'),
        ('\ufeff{"a": 1}\n', "a", Scalar("3"), '\ufeff{"a": 3}\n'),
    ],
)
def test_a_replacement_changes_only_the_bytes_of_the_value(
    text: str, key: str, value: Scalar, expected: str
) -> None:
    document = JsonDocument("c.json", text)
    route = find(document, key)
    assert route is not None
    assert document.replace(route, value) == expected


@pytest.mark.parametrize(
    ("text", "route", "expected"),
    [
        ('{"a": 1}', ("b",), '{"a": 1, "b": 7}'),
        ('{\n  "a": 1\n}\n', ("b",), '{\n  "a": 1,\n  "b": 7\n}\n'),
        ('{\r\n\t"a": 1 // c\r\n}', ("b",), '{\r\n\t"a": 1,\r\n\t"b": 7 // c\r\n}'),
        ('{"a": {}}', ("a", "b"), '{"a": {"b": 7}}'),
        ('{"a": null}', ("a", "b"), '{"a": {"b": 7}}'),
        ("{}", ("a", "b"), '{"a": {"b": 7}}'),
        (
            '{\n  "a": {\n    "x": {"y": 1}\n  }\n}',
            ("a", "b", "c"),
            '{\n  "a": {\n    "x": {"y": 1},\n    "b": {"c": 7}\n  }\n}',
        ),
        ('{"a": 1,}', ("b",), '{"a": 1, "b": 7,}'),
    ],
)
def test_an_inserted_key_follows_the_layout_of_its_section(text: str, route: Route, expected: str) -> None:
    assert JsonDocument("c.json", text).insert(route, Scalar("7")) == expected


@pytest.mark.parametrize(
    ("text", "route", "expected"),
    [
        ('{"a": 1, "b": 2}', ("a",), '{"b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{"a": 1, "b": 2,}', ("b",), '{"a": 1,}'),
        ('{\n  "a": 1,\n  "b": {"c": 1}\n}\n', ("b",), '{\n  "a": 1\n}\n'),
    ],
)
def test_a_removed_key_takes_its_comma_along(text: str, route: Route, expected: str) -> None:
    assert JsonDocument("c.json", text).remove(route) == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "ends in the middle"),
        ('{"a": 1', "ends in the middle"),
        ('{"a"', "expected a colon"),
        ('{"a": 1, "a": 2}', "there twice"),
        ('{"x": {"\\u0061": 1, "a": 2}}', "there twice"),
        ("[1, 2]", "does not hold an object"),
        ('{"a": 1} {"b": 2}', "text after the end"),
        ('{"a": 01}', "expected a comma"),
        ("{a: 1}", "double quotes"),
        ('{"a": "\\x"}', "bad escape"),
        ('{"a": ' + "[" * 500, "nested too deeply"),
        ("/* never closed", "expected a value"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_line(text: str, what: str) -> None:
    with pytest.raises(PatchError, match=what) as refused:
        JsonDocument("c.json", text)
    assert refused.value.line == 1


def test_a_section_is_not_replaced_by_a_value() -> None:
    with pytest.raises(PatchError, match="holds a section"):
        JsonDocument("c.json", '{"a": {"b": 1}}').replace(("a",), Scalar("1"))


def test_a_section_cannot_be_made_inside_a_value() -> None:
    with pytest.raises(PatchError, match="holds no section"):
        JsonDocument("c.json", '{"a": 5}').insert(("a", "b"), Scalar("1"))


@pytest.mark.parametrize(
    ("text", "route"), [('{"a": {"b": 1}, "c": 2}', ("a", "b")), ('{"a": [1, 2]}', ("a", 0))]
)
def test_a_section_is_not_emptied_and_a_list_keeps_its_places(text: str, route: Route) -> None:
    with pytest.raises(PatchError, match="cannot be removed alone"):
        JsonDocument("c.json", text).remove(route)


def numbers(tree: Any, route: Route = ()) -> list[Route]:
    if isinstance(tree, dict):
        return [found for key, value in tree.items() for found in numbers(value, (*route, key))]
    if isinstance(tree, list):
        return [found for index, value in enumerate(tree) for found in numbers(value, (*route, index))]
    return [route] if isinstance(tree, int | float) and not isinstance(tree, bool) else []


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-99, 99),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
TREES = st.dictionaries(
    st.text(string.printable, max_size=5),
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@settings(max_examples=120, deadline=None)
@given(TREES, st.sampled_from([None, 2, "\t"]), st.booleans(), st.data())
def test_any_number_is_replaced_and_all_other_bytes_stay(
    tree: dict[str, Any], indent: int | None, ascii_only: bool, data: st.DataObject
) -> None:
    tree["lr"] = 1e-4
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    route = data.draw(st.sampled_from(numbers(tree)))
    before = JsonDocument("c.json", text)
    word = render(0.25, before.leaves[route].text)
    after_text = before.replace(route, word)
    verify("c.json", before, JsonDocument("c.json", after_text), {route: Wanted(0.25, "float")})
    target = tree
    for part in route[:-1]:
        target = target[part]  # type: ignore[index]
    target[route[-1]] = 0.25  # type: ignore[index]
    assert json.loads(after_text) == tree
    old = before.leaves[route].text
    assert JsonDocument("c.json", after_text).replace(route, Scalar(old)) == text


@settings(max_examples=80, deadline=None)
@given(TREES, st.sampled_from([None, 2]))
def test_an_inserted_key_and_its_removal_give_the_same_bytes(
    tree: dict[str, Any], indent: int | None
) -> None:
    tree["lr"] = 1
    text = json.dumps(tree, indent=indent)
    inserted = JsonDocument("c.json", text).insert(("zz new",), Scalar("7"))
    assert json.loads(inserted) == tree | {"zz new": 7}
    assert JsonDocument("c.json", inserted).remove(("zz new",)) == text
