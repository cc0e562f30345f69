"""The image and the workflows: what they name is there, and no step has more rights than it needs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

TOP = Path(__file__).parents[2]
WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (TOP / "Dockerfile").read_text()


def steps_of(path: Path) -> list[dict[str, Any]]:
    jobs = YAML(typ="safe").load(path)["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_only_and_every_job_ends(path: Path) -> None:
    workflow = YAML(typ="safe").load(path)
    assert workflow["permissions"] == {"contents": "read"}
    granted = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert granted <= {"publish"}
    assert workflow["jobs"]
    assert all("timeout-minutes" in job or name == "publish" for name, job in workflow["jobs"].items())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_step_runs_files_that_are_here_and_takes_no_text_from_outside_into_its_script(path: Path) -> None:
    for step in steps_of(path):
        assert ("uses" in step) != ("run" in step)
        script = step.get("run", "")
        assert "${{" not in script
        for word in shlex.split(script, comments=True):
            if word.startswith((".ci/", "tests/")):
                assert (TOP / word).exists(), word


def test_what_is_published_is_what_passed_all_tests_under_the_version_of_its_tag() -> None:
    build = [step.get("run", "") for step in steps_of(TOP / ".github/workflows/release.yml")]
    order = [
        next(i for i, run in enumerate(build) if word in run) for word in ("$TAG", ".ci/run", "-m build")
    ]
    assert order == sorted(order)


def test_the_image_has_all_that_an_install_reads_and_no_more() -> None:
    kept = {line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert kept
    assert all((TOP / name).exists() for name in kept)
    folders = re.findall(r'^"hrmdoc[.\w]*" = "(\w+)"$', (TOP / "pyproject.toml").read_text(), re.MULTILINE)
    assert {*folders, "pyproject.toml", "setup.py", "README.md", "LICENSE", "constraints.txt"} == kept


def test_the_image_runs_as_a_user_without_rights() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    instructions = [line.split()[0] for line in last.splitlines() if re.match(r"[A-Z]+ ", line)]
    assert instructions.index("USER") < instructions.index("ENTRYPOINT")
    assert "USER root" not in DOCKERFILE
