"""hrmdoc.remedies.editors.python_edit: Python configs are spliced, programs only read."""

from __future__ import annotations

import pytest

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.python_edit import PythonDocument
from hrmdoc.remedies.editors.scalars import Scalar

CONFIG = """# tiny
learning_rate = 1e-1 # was 1e-3
max_iters = 5000
name = 'a'
compile = True
model = dict(depth=2)
steps = 2 * 3
"""


def test_a_value_is_replaced_where_it_stands_and_nothing_else_changes() -> None:
    document = PythonDocument("c.py", CONFIG)
    assert document.replace(("learning_rate",), Scalar("3e-4")) == CONFIG.replace("1e-1", "3e-4")
    assert document.replace(("model", "depth"), Scalar("4")) == CONFIG.replace("depth=2", "depth=4")
    assert document.replace(("name",), Scalar("it's", string=True)) == CONFIG.replace("'a'", '"it\'s"')
    assert document.replace(("compile",), Scalar("false")) == CONFIG.replace("True", "False")
    assert document.remove(("max_iters",)) == CONFIG.replace("5000", "None")


def test_a_new_name_comes_last() -> None:
    assert PythonDocument("c.py", "a = 1").insert(("seed",), Scalar("42")) == "a = 1\nseed = 42\n"
    with pytest.raises(PatchError, match="has no place"):
        PythonDocument("c.py", CONFIG).insert(("model", "heads"), Scalar("4"))


def test_computed_values_and_programs_are_not_edited() -> None:
    with pytest.raises(PatchError, match="is computed"):
        PythonDocument("c.py", CONFIG).replace(("steps",), Scalar("7"))
    with pytest.raises(PatchError, match="is set in code"):
        PythonDocument("t.py", "lr = 1\nprint(lr)\n").replace(("lr",), Scalar("2"))
