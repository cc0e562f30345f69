from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.preflight.imports import flash_attn_imports, import_facts
from hrmdoc.preflight.machine import Machine
from hrmdoc.record.records import Fact


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "models").mkdir()
    return tmp_path


def facts(project: Path, **variables: str) -> dict[str, Fact]:
    machine = Machine(variables=variables, version=lambda _: None, importable=lambda _: False)
    return {fact.key: fact for fact in import_facts(project, machine, {})}


def test_comments_names_and_strings_are_no_imports(project: Path) -> None:
    (project / "models" / "layers.py").write_text(
        '# import flash_attn\nx = "from flash_attn import y"\nimport flash_attention\nuse_flash_attn = 1\n'
    )
    assert [one[1] for one in flash_attn_imports(project)] == []
    assert facts(project)["env.flash_attn_imports"].value == 0


def test_a_guarded_import_asks_for_nothing(project: Path) -> None:
    (project / "models" / "layers.py").write_text(
        "try:\n    from flash_attn import flash_attn_func\nexcept ImportError:\n    pass\n"
    )
    found = facts(project)
    assert found["env.flash_attn_imports"].value == 1
    assert "memory.flash_attention" not in found


def test_a_bare_import_asks_for_flash_attention_and_has_a_place(project: Path) -> None:
    path = project / "models" / "layers.py"
    path.write_text("import os\nfrom flash_attn_interface import flash_attn_func\n")
    found = facts(project)["memory.flash_attention"]
    assert (found.value, found.file, found.line) == (True, str(path), 2)


def test_other_peoples_code_is_not_searched(project: Path) -> None:
    for folder in (".venv", "env", "node_modules", "build"):
        (project / folder).mkdir()
        (project / folder / "x.py").write_text("import flash_attn\n")
    (project / "env" / "pyvenv.cfg").touch()
    assert list(flash_attn_imports(project)) == []


def test_a_folder_that_is_no_project_is_not_searched(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c" / "d" / "e"
    deep.mkdir(parents=True)
    assert "env.flash_attn_imports" not in facts(deep)


def test_the_environment_and_the_config_can_ask_for_it(project: Path) -> None:
    assert facts(project, USE_FLASH_ATTN="1")["memory.flash_attention"].value is True
    machine = Machine(version=lambda _: None, importable=lambda _: True)
    known = {"attn_implementation": Fact("attn_implementation", "flash_attention_2", "config")}
    found = {fact.key: fact.value for fact in import_facts(project, machine, known)}
    assert (found["memory.flash_attention"], found["env.flash_attn_importable"]) == (True, True)
