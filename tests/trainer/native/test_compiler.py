from __future__ import annotations

import os
import stat
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
    assert list((cache / "hrmdoc" / "kernels").iterdir()) == []


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A compiler that writes what it was called for the how-manieth time, and a cache of its own."""
    program = tmp_path / "cc"
    program.write_text(
        "#!/bin/sh\n"
        f"echo built >> {tmp_path}/calls\n"
        'while [ "$1" != -o ]; do shift; done\n'
        f'wc -l < {tmp_path}/calls > "$2"\n'
    )
    program.chmod(0o755)
    return {"CC": str(program), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_what_was_built_is_kept_for_this_user_alone(env: dict[str, str]) -> None:
    library = built(env)
    assert built(env) == library
    assert library.read_text().strip() == "1"
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700


def test_a_library_that_is_not_what_was_built_is_built_again(env: dict[str, str]) -> None:
    library = built(env)
    library.write_text("something else")
    assert built(env).read_text().strip() == "2"
    library.write_bytes(b"")
    assert built(env).read_text().strip() == "3"
    library.unlink()
    other = library.with_name("planted")
    other.write_text("3\n")
    library.symlink_to(other)
    assert built(env).read_text().strip() == "4"
    assert not library.is_symlink()


def test_a_library_that_others_could_change_is_built_again(env: dict[str, str]) -> None:
    library = built(env)
    library.chmod(0o777)
    assert built(env).read_text().strip() == "2"
    library.parent.chmod(0o777)
    assert built(env).read_text().strip() == "3"
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700


def test_a_library_of_another_user_is_not_loaded(env: dict[str, str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    library = built(env)
    os.chown(library, 1234, 1234)
    assert built(env).read_text().strip() == "2"
    os.chown(library.parent, 1234, 1234)
    with pytest.raises(ConfigError, match="folder of another user"):
        built(env)
