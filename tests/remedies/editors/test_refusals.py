"""What an editor refuses, with the file, the line and what to do instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hrmdoc.errors import HrmdocError
from hrmdoc.remedies.editors.document import Document, Wanted, dotted, find, verify
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.json_edit import JsonDocument
from hrmdoc.remedies.editors.overrides import override
from hrmdoc.remedies.editors.scalars import Scalar
from hrmdoc.remedies.effects import Effect, check_effects
from hrmdoc.rulebook import ConfigKey, Framework

SEVEN = Scalar("7")


def told(act: Callable[[], object]) -> tuple[str, str | None, int | None, str | None]:
    """What is said of an act that is refused: what, the file, the line and the hint."""
    with pytest.raises(HrmdocError) as error:
        act()
    file = error.value.file
    return error.value.what, None if file is None else str(file), error.value.line, error.value.hint


@pytest.mark.parametrize(
    ("name", "text", "what", "line"),
    [
        ("c.json", '{"a": 1} x', "not valid JSON: text after the end of the JSON value", 1),
        ("c.json", "[1]", "not valid JSON: the file does not hold an object of keys and values", 1),
        ("c.json", '{\n"a": 1,\n"a": 2}', "not valid JSON: the key 'a' is there twice", 3),
        ("c.json", '{"a": \n', "not valid JSON: the text ends in the middle", 2),
        ("c.json", '{"a": x}', "not valid JSON: expected a value, found 'x'", 1),
        ("c.json", '{"a": 1 2}', "not valid JSON: expected a comma or '}'", 1),
        ("c.json", '{"a": 1', "not valid JSON: the text ends in the middle", 1),
        ("c.json", "{a: 1}", "not valid JSON: expected a key in double quotes", 1),
        ("c.json", "{", "not valid JSON: the text ends in the middle", 1),
        ("c.json", '{"a" 1}', "not valid JSON: expected a colon after the key", 1),
        ("c.json", '{"\\x": 1}', "not valid JSON: a bad escape in a string", 1),
        ("c.yaml", "- 1\n- 2\n", "the file does not hold a mapping of keys to values", 1),
        ("c.yaml", "a: 1\nb: 2\na: 3\n", "the key a is there twice", 3),
        ("c.yaml", "a: 1\n? [x]\n: 2\n", "a key that is itself a list or a mapping is not supported", 2),
        ("c.toml", "a = 1", "a .toml file is neither read nor edited as a config", None),
    ],
)
def test_a_text_that_is_no_document_is_refused_with_its_line(
    name: str, text: str, what: str, line: int | None
) -> None:
    hint = "YAML, JSON, Python and key=value files are" if name == "c.toml" else None
    assert told(lambda: parse(name, text)) == (what, name, line, hint)


def test_a_document_is_a_hundred_deep_at_most() -> None:
    def nested(depth: int) -> str:
        return '{"a": ' * depth + "1" + "}" * depth

    assert len(JsonDocument("c.json", nested(100)).routes) == 100
    assert told(lambda: JsonDocument("c.json", nested(101)))[0] == "not valid JSON: nested too deeply"
    rows = "".join(f"{' ' * at}a:\n" for at in range(100)) + " " * 100 + "b: 1\n"
    assert told(lambda: parse("c.yaml", rows))[0] == "the file holds more values than a config has"
    assert len(parse("c.yaml", rows.replace("b: 1", "").rstrip() + "\n").routes) == 100


Edit = Callable[[Document], str]


@pytest.mark.parametrize(
    ("name", "text", "edit", "what", "line", "hint"),
    [
        ("c.json", '{\n"a": {"b": 1}}', lambda d: d.replace(("a",), SEVEN),
         "a holds a section or a list, not a value", 2, None),
        ("c.json", '{\n"a": 1}', lambda d: d.insert(("a", "b"), SEVEN),
         "a holds no section to add b to", 2, None),
        ("c.json", '{\n"a": 1}', lambda d: d.remove(("a",)), "a cannot be removed alone", 2, "edit by hand"),
        ("c.json", '{"b": 1,\n"a": [1, 2]}', lambda d: d.remove(("a", 0)),
         "a[0] cannot be removed alone", 2, "edit by hand"),
        ("c.yaml", "b: 1\na:\n  c: 1\n", lambda d: d.replace(("a",), SEVEN),
         "a holds a section or a list, not a value", 3, None),
        ("c.yaml", "b: 1\na: |\n  x\n", lambda d: d.replace(("a",), SEVEN),
         "a is a block of text, not a value", 2, None),
        ("c.yaml", "b: 1\na: ${b}\n", lambda d: d.replace(("a",), SEVEN),
         "a is computed from another key: ${b}", 2, None),
        ("c.yaml", "b: 1\na: [1]\n", lambda d: d.insert(("a", "c"), SEVEN),
         "a holds no section to add c to", 2, None),
        ("c.yaml", "b: 1\na: x\n", lambda d: d.insert(("a", "c"), SEVEN),
         "a holds no section to add c to", 2, None),
        ("c.yaml", "b: &x 1\na: *x\n", lambda d: d.replace(("a",), SEVEN),
         "a is shared with another place by an alias", 2,
         "give it a value of its own, or change the anchor by hand"),
        ("c.yaml", "b: &x {c: 1}\na: {d: 1, e: *x}\n", lambda d: d.insert(("a", "f"), SEVEN),
         "a flow mapping that ends in an alias is not edited", 2, None),
        ("c.yaml", "a: 1\n", lambda d: d.remove(("a",)), "a cannot be removed alone", 1, "edit by hand"),
        ("c.sh", "t.py lr=1\nt.py lr=2\n", lambda d: d.replace(("lr",), SEVEN),
         "lr is given 2 times (lines 1, 2)", 1, None),
        ("c.sh", "\nt.py lr=$LR\n", lambda d: d.replace(("lr",), SEVEN),
         "lr takes its value from a variable: $LR", 2, None),
        ("c.sh", "echo\n", lambda d: d.insert(("lr",), SEVEN),
         "no command in the file that an override could be added to", None, "add lr=7 by hand"),
        ("c.sh", "python a.py\npython b.py\n", lambda d: d.insert(("lr",), SEVEN),
         "2 commands in the file that an override could be added to", None, "add lr=7 by hand"),
        ("c.py", "a = 1\nb = a * 2\n", lambda d: d.replace(("b",), SEVEN),
         "b is computed", 2, "change it by hand"),
        ("c.py", "a = 1\nprint(a)\n", lambda d: d.replace(("a",), SEVEN),
         "a is set in code", 1, "change it by hand"),
        ("c.py", "a = 1\n", lambda d: d.insert(("b", "c"), SEVEN),
         "b.c has no place in this file", None, "set it by hand"),
        ("c.py", "a = 1\n", lambda d: d.insert(("b-c",), SEVEN),
         "b-c has no place in this file", None, "set it by hand"),
    ],
)  # fmt: skip
def test_an_edit_that_would_touch_more_than_its_value_is_refused(
    name: str, text: str, edit: Edit, what: str, line: int | None, hint: str | None
) -> None:
    document = parse(name, text)
    assert told(lambda: edit(document)) == (what, name, line, hint)


@pytest.mark.parametrize(
    ("name", "text", "edit", "expected"),
    [
        ("c.yaml", "x: {a: , b: 1}\n", lambda d: d.replace(("x", "a"), SEVEN), "x: {a: 7 , b: 1}\n"),
        ("c.yaml", "x: {a: 1, b: }\n", lambda d: d.insert(("x", "c"), SEVEN), "x: {a: 1, b:, c: 7 }\n"),
        ("c.yaml", "x: null\n", lambda d: d.insert(("x", "y", "z"), SEVEN), "x: {y: {z: 7}}\n"),
        ("c.yaml", "x: {}\n", lambda d: d.insert(("x", "y"), Scalar("w", string=True)), "x: {y: w}\n"),
        ("c.yaml", "a: 1\nx:\n  b: 1\n", lambda d: d.insert(("x", "y"), SEVEN), "a: 1\nx:\n  b: 1\n  y: 7\n"),
        ("c.yaml", "a: 1\nx:\n  b: 1\n", lambda d: d.insert(("y",), SEVEN), "a: 1\ny: 7\nx:\n  b: 1\n"),
        ("c.yaml", "a:\n    b: 1\n", lambda d: d.insert(("c", "d"), SEVEN), "c:\n    d: 7\na:\n    b: 1\n"),
        ("c.yaml", "a: 1\nb: x\n  y\n", lambda d: d.insert(("c",), SEVEN), "a: 1\nc: 7\nb: x\n  y\n"),
        ("c.yaml", "a: 1\nb:\n", lambda d: d.insert(("c",), SEVEN), "a: 1\nc: 7\nb:\n"),
        ("c.yaml", "a: 1\nb: |\n  x\n", lambda d: d.insert(("c",), SEVEN), "a: 1\nc: 7\nb: |\n  x\n"),
        ("c.yaml", "b:\n  x: 1\n", lambda d: d.insert(("c",), SEVEN), "c: 7\nb:\n  x: 1\n"),
        ("c.yaml", "", lambda d: d.insert(("c", "d"), SEVEN), "c:\n  d: 7\n"),
        ("c.yaml", "# only", lambda d: d.insert(("c",), SEVEN), "# only\nc: 7\n"),
        ("c.yaml", "{}", lambda d: d.insert(("c",), SEVEN), "{c: 7}"),
        ("c.yaml", "a: 1\nb: 2\n", lambda d: d.remove(("b",)), "a: 1\n"),
        ("c.yaml", "x: {a: 1, b: 2}\n", lambda d: d.remove(("x", "b")), "x: {a: 1}\n"),
        ("c.yaml", "x: {a: 1, b: 2}\n", lambda d: d.remove(("x", "a")), "x: {b: 2}\n"),
        ("c.yaml", "b:\na:\n  c: |\n    x\n\nd: 1\n", lambda d: d.remove(("a",)), "b:\n\nd: 1\n"),
        ("c.json", '{"a": 1, "b": 2}', lambda d: d.remove(("b",)), '{"a": 1}'),
        ("c.json", '{"a": 1, "b": 2}', lambda d: d.remove(("a",)), '{"b": 2}'),
        ("c.json", "{/* x\ny */}", lambda d: d.insert(("a",), SEVEN), '{"a": 7/* x\ny */}'),
        ("c.sh", "t.py lr= x=1\n", lambda d: d.replace(("lr",), SEVEN), "t.py lr=7 x=1\n"),
        ("c.sh", 't.py lr="" x=1\n', lambda d: d.replace(("lr",), SEVEN), 't.py lr="7" x=1\n'),
        ("c.sh", "- lr=1", lambda d: d.insert(("x",), SEVEN), "- lr=1\n- x=7"),
        ("c.sh", "t.py \\\n  lr=1 \\\n  x=2\n", lambda d: d.remove(("x",)), "t.py \\\n  lr=1\n"),
        ("c.sh", "t.py \\\n  lr=1 \\\n  x=2\n", lambda d: d.remove(("lr",)), "t.py \\\n  x=2\n"),
        ("c.sh", "t.py lr=1 x=2 y\n", lambda d: d.remove(("x",)), "t.py lr=1 y\n"),
        ("c.sh", "lr=1\nx=2", lambda d: d.remove(("x",)), "lr=1\n"),
        ("c.py", "", lambda d: d.insert(("a",), SEVEN), "a = 7\n"),
        ("c.py", "a = 1\r\n", lambda d: d.insert(("b",), SEVEN), "a = 1\r\nb = 7\r\n"),
        ("c.py", "a = 1\n", lambda d: d.replace(("a",), SEVEN), "a = 7\n"),
    ],
)  # fmt: skip
def test_an_edit_changes_its_value_and_nothing_else(name: str, text: str, edit: Edit, expected: str) -> None:
    document = parse(name, text)
    assert edit(document) == expected
    assert document.text == text


def test_values_that_shells_quote_differently_are_refused_and_others_are_words() -> None:
    document = parse("c.sh", "t.py lr=1\n")
    said = told(lambda: document.replace(("lr",), Scalar("a b")))
    assert said[0] == "the value 'a b' needs quoting that differs from shell to shell"
    assert said[3] == "edit by hand"
    assert (override("x", None), override("x", 0.5), override("x", 2e-5, "1e-4")) == ("~x", "x=0.5", "x=2e-5")


def test_an_edit_is_read_back_and_compared() -> None:
    before, after = parse("c.yaml", "a: 1\nb: 2\n"), parse("c.yaml", "a: 7\nb: 2\n")
    wanted = {("a",): Wanted(7, "int")}
    verify("c.yaml", before, after, wanted)
    for text, what, line in (
        ("a: 7\nb: 3\n", "the edit would also change b; nothing was written", 2),
        ("a: 7\n", "the edit would also remove b; nothing was written", 2),
        ("a: 8\nb: 2\n", "a would not read back as 7; nothing was written", None),
        ("a: x\nb: 2\n", "a would not read back as 7; nothing was written", None),
        ("b: 2\n", "a would not read back as 7; nothing was written", None),
    ):
        other = parse("c.yaml", text)
        assert told(lambda other=other: verify("c.yaml", before, other, wanted)) == (
            what,
            "c.yaml",
            line,
            None,
        )
    gone = {("a",): Wanted(None, "int", gone=True)}
    assert (
        told(lambda: verify("c.yaml", before, after, gone))[0]
        == "a would still be there; nothing was written"
    )
    verify("c.yaml", before, parse("c.yaml", "b: 2\n"), gone)


def test_routes_are_found_with_and_without_dots_in_their_names() -> None:
    document = parse("c.json", '{"a": {"b.c": 1, "d": [{"e": 2}]}, "f.g": 3, "1": 4}')
    assert find(document, "a.b.c") == ("a", "b.c")
    assert find(document, "a.d.0.e") == ("a", "d", 0, "e")
    assert find(document, "f.g") == ("f.g",)
    assert find(document, "1") == ("1",)
    assert find(document, "a.d.1.e") is None
    assert find(document, "a.x") is None
    assert dotted(("a", "d", 0, "e")) == "a.d[0].e"


FRAMEWORK = Framework("own", "Own", config={"optimizer.lr": ConfigKey(("opt.lr", "lr"))})


def test_a_key_that_still_decides_a_setting_is_named() -> None:
    patched = parse("c.yaml", "lr: 7\nopt:\n  lr: 3\n")
    effects = {"optimizer.lr": Effect("lr", 7)}
    assert told(lambda: check_effects("c.yaml", patched, effects, (FRAMEWORK,))) == (
        "optimizer.lr would still be 3.0, which another key says in line 3, not 7; nothing was written",
        "c.yaml",
        3,
        None,
    )
    check_effects("c.yaml", parse("c.yaml", "lr: 7\nopt:\n  lr: 7.0\n"), effects, (FRAMEWORK,))
    check_effects("c.yaml", parse("c.yaml", "lr: 7\n"), effects, (FRAMEWORK,))
    check_effects("c.yaml", patched, {"optimizer.lr": Effect("gone", 7)}, (FRAMEWORK,))
