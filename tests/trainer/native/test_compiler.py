from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.native.compiler import built


def test_without_a_compiler_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="C compiler") as raised:
        built({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert "native=false" in str(raised.value)


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing_behind(tmp_path: Path) -> None:
    program = tmp_path / "cc"
    program.write_text("#!/bin/sh\necho 'no such processor' >&2\nexit 1\n")
    program.chmod(0o755)
    cache = tmp_path / "cache"
    with pytest.raises(ConfigError, match="no such processor"):
        built({"CC": str(program), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)})
    assert list((cache / "hrmdoc").iterdir()) == []
