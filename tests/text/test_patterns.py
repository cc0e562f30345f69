"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys

import pytest

import hrmdoc
from hrmdoc.text import patterns

MODULES = pkgutil.walk_packages(hrmdoc.__path__, "hrmdoc.")
AGENT = [
    module.name for module in MODULES if not module.name.startswith(("hrmdoc.trainer", "hrmdoc.__main__"))
]


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    wrong = patterns.lazy("(")
    with pytest.raises(re.error):
        wrong.search("text")


def test_it_finds_what_the_compiled_pattern_finds() -> None:
    text, known = "step 12 of 34", re.compile(r"(\d)(\d)")
    found = patterns.lazy(r"(\d)(\d)")
    assert found.sub(r"\2\1", text) == known.sub(r"\2\1", text) == "step 21 of 43"
    assert found.findall(text) == known.findall(text)
    assert [one.span() for one in found.finditer(text)] == [(5, 7), (11, 13)]
    assert found.match(text) is None
    assert found.fullmatch("12") is not None
    assert found.split(text) == known.split(text)


def test_flags_and_bytes_are_taken() -> None:
    found = patterns.lazy(rb"LOSS", re.IGNORECASE).search(b"train loss")
    assert found is not None
    assert found.span() == (6, 10)


def test_it_has_nothing_that_a_pattern_has_not() -> None:
    with pytest.raises(AttributeError):
        _ = patterns.lazy("a").nonsense  # type: ignore[attr-defined]


def test_every_late_pattern_of_the_agent_compiles() -> None:
    program = (
        "import gc, importlib, hrmdoc.text.patterns\n"
        f"for name in {AGENT!r}:\n"
        "    try: importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        assert name.startswith('hrmdoc.integrations.'), (name, error)  # its framework is not here\n"
        "held = [one for one in gc.get_objects() if type(one) is hrmdoc.text.patterns._Lazy]\n"
        "print(len([one.search for one in held]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50
